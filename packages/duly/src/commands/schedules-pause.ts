import { type Schedule, systemClock } from '@duly/core';
import { toScheduleJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readDuration, usageError } from '../cli/usage.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { absolute, relative } from '../output/times.ts';
import { ruleOf, withSchedules } from '../schedules/schedule-client.ts';
import { dayText } from '../schedules/schedule-times.ts';

interface NoteOptions extends CommonOptions {
  note?: string;
}

/** `duly schedules pause`. */
export async function schedulesPause(
  context: CommandContext,
  options: NoteOptions & { for?: string; until?: string },
  name: string,
): Promise<undefined> {
  if (options.for !== undefined && options.until !== undefined)
    throw usageError('Give --for or --until, not both.');
  const until =
    options.for === undefined
      ? options.until
      : systemClock.now() + readDuration(options.for, '--for', { minMs: 1 });
  await withSchedules(context, options, async ({ duly, changed }) => {
    const schedule = await duly.schedules.pause(name, {
      ...(until === undefined ? {} : { until }),
      ...(options.note === undefined ? {} : { note: options.note }),
    });
    changed(`/schedules/${schedule.id}`);
    if (context.json) {
      printJson(context.out, toScheduleJson(schedule));
      return;
    }
    const end = schedule.paused?.until ?? null;
    const how = end === null ? 'until it is resumed' : `until ${absolute(end, systemClock.now())}`;
    const state = schedule.disabled === null ? 'is paused' : 'is disabled; declared again, it is paused';
    context.out.line(`Schedule "${oneLine(schedule.name)}" ${state} ${how}. Jobs already created go on.`);
  });
}

/** `duly schedules resume`. */
export async function schedulesResume(
  context: CommandContext,
  options: NoteOptions,
  name: string,
): Promise<undefined> {
  await withSchedules(context, options, async ({ duly, changed }) => {
    const was = await duly.schedules.get(name);
    const note = options.note === undefined ? {} : { note: options.note };
    const schedule = await duly.schedules.resume({ id: was.id }, note);
    changed(`/schedules/${schedule.id}`);
    if (context.json) printJson(context.out, toScheduleJson(schedule));
    else {
      const said = was.paused === null ? 'was not paused' : 'goes on';
      context.out.line(`Schedule "${oneLine(schedule.name)}" ${said}.${nextText(schedule)}`);
    }
  });
}

/** ` Next: Mon 2027-01-04 08:00 +01:00 (in 3 d).`, or that there is none. */
export function nextText(schedule: Schedule): string {
  const { nextSlot } = schedule;
  if (nextSlot === null) return ' No next slot is known.';
  return ` Next: ${dayText(nextSlot, ruleOf(schedule))} (${relative(nextSlot, systemClock.now())}).`;
}
