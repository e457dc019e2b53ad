import { explain, preview, readMoment, resolveRule, systemClock } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { hasRule, type RuleOptions, readRule } from '../cli/rule-options.ts';
import { readCount, usageError } from '../cli/usage.ts';
import { ruleOf, withSchedules } from '../schedules/schedule-client.ts';
import { printSlots } from '../schedules/schedule-slots.ts';

interface SchedulesPreviewOptions extends CommonOptions, RuleOptions {
  after?: string;
  count?: string;
}

/** `duly schedules preview`: of a stored schedule, or of a rule that is only tried. */
export async function schedulesPreview(
  context: CommandContext,
  options: SchedulesPreviewOptions,
  name: string | undefined,
): Promise<undefined> {
  const count = readCount(options.count, '--count') ?? 10;
  if ((name === undefined) !== hasRule(options)) {
    throw usageError('Name a schedule, or give a rule with --cron, --every, --delay or --rrule.');
  }
  if (name === undefined) {
    const now = systemClock.now();
    const input = readRule(options);
    const { timezone } = resolveRule(input);
    const afterAt = options.after === undefined ? now : readMoment(options.after, '--after', timezone);
    const rule = resolveRule(input, { now: Math.min(now, afterAt), anchorAt: afterAt });
    const slots = preview(rule, { after: afterAt, count });
    printSlots(context, { rule, words: explain(rule, { now }), slots, afterAt, count });
    return;
  }
  await withSchedules(context, options, async ({ duly }) => {
    const schedule = await duly.schedules.get(name);
    const rule = ruleOf(schedule);
    const { after } = options;
    const slots = await duly.schedules.preview(
      { id: schedule.id },
      { count, ...(after === undefined ? {} : { after }) },
    );
    const afterAt = after === undefined ? systemClock.now() : readMoment(after, '--after', schedule.timezone);
    printSlots(context, { rule, words: schedule.words, slots, afterAt, count });
    const { paused, status } = schedule;
    if (paused !== null) {
      const until = paused.until === null ? 'no slot fires meanwhile' : `until ${paused.until.toISOString()}`;
      context.warn(`The schedule is ${status}${paused.until === null ? '; ' : ' '}${until}.`);
    }
  });
}
