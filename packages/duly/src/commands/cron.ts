import { DulyError, explain, isDulyError, preview, readMoment, resolveRule, systemClock } from '@duly/core';
import type { CommandContext } from '../cli/context.ts';
import { readCount } from '../cli/usage.ts';
import { printJson } from '../output/json.ts';
import { printSlots } from '../schedules/schedule-slots.ts';

interface CronOptions {
  timezone?: string;
}

/** `duly cron next`. */
export async function cronNext(
  context: CommandContext,
  options: CronOptions & { count?: string; after?: string },
  words: string[],
): Promise<undefined> {
  const count = readCount(options.count, '--count') ?? 10;
  withQuotes(words, (cron) => {
    const now = systemClock.now();
    const input = { cron, timezone: options.timezone ?? 'UTC' };
    const afterAt = options.after === undefined ? now : readMoment(options.after, '--after', input.timezone);
    const rule = resolveRule(input, { now: Math.min(now, afterAt) });
    const slots = preview(rule, { after: afterAt, count });
    printSlots(context, { rule, words: explain(rule, { now }), slots, afterAt, count });
  });
}

/** `duly cron explain`. */
export async function cronExplain(
  context: CommandContext,
  options: CronOptions,
  words: string[],
): Promise<undefined> {
  withQuotes(words, (cron) => {
    const rule = resolveRule({ cron, timezone: options.timezone ?? 'UTC' }, { now: systemClock.now() });
    const sentence = explain(rule);
    if (context.json) {
      printJson(context.out, { cron: rule.spec.cron, timezone: rule.timezone, words: sentence });
    } else context.out.sentence(sentence);
  });
}

/** Without quotes a shell hands in the fields one by one, and puts the names of files in the place of each `*`. */
function withQuotes(words: readonly string[], use: (cron: string) => void): void {
  try {
    use(words.join(' '));
  } catch (error) {
    if (words.length === 1 || !isDulyError(error, 'invalid_cron')) throw error;
    const { code, message, details, cause } = error;
    const hint = `${error.hint === undefined ? '' : `${error.hint} `}Write the cron in quotes: '0 8 * * MON'.`;
    throw new DulyError(code, { message, details, cause, hint });
  }
}
