import { type Schedule, systemClock } from '@duly/core';
import { toScheduleJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import { ruleOf, withSchedules } from '../schedules/schedule-client.ts';
import { dayText } from '../schedules/schedule-times.ts';
import { nextText } from './schedules-pause.ts';

/** What comes after the skipped slot; nothing does while the schedule is paused. */
function afterText(schedule: Schedule): string {
  const { paused, disabled, nextSlot } = schedule;
  if (nextSlot !== null) return nextText(schedule);
  if (disabled !== null) return ' It is disabled.';
  return paused === null ? nextText(schedule) : ' It is paused; the slot is skipped also when it goes on.';
}

/** `duly schedules skip-next`. */
export async function schedulesSkipNext(
  context: CommandContext,
  options: CommonOptions & { note?: string },
  name: string,
): Promise<number | undefined> {
  return withSchedules(context, options, async ({ duly, changed }) => {
    const note = options.note === undefined ? {} : { note: options.note };
    const { slot, schedule } = await duly.schedules.skipNext(name, note);
    if (slot !== null) changed(`/schedules/${schedule.id}`);
    if (context.json) printJson(context.out, { ...toScheduleJson(schedule), skipped_slot: slot });
    else if (slot === null)
      context.err.line(`Schedule "${oneLine(schedule.name)}" has no next slot to skip.`);
    else {
      const when = `${dayText(slot, ruleOf(schedule))} (${relative(slot, systemClock.now())})`;
      context.out.line(`Schedule "${oneLine(schedule.name)}" skips ${when}.${afterText(schedule)}`);
    }
    return slot === null ? exitCodes.refused : undefined;
  });
}
