import { systemClock, toScheduleJson } from '@duly/core';
import { exitCodes } from '../exit-codes.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';
import { ruleOf, withSchedules } from '../schedule-client.ts';
import { dayText } from '../schedule-times.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { nextText } from './schedules-pause.ts';

/** `duly schedules skip-next`. */
export async function schedulesSkipNext(
  shell: Shell,
  options: CommonOptions & { note?: string },
  name: string,
): Promise<number | undefined> {
  return withSchedules(shell, options, async ({ duly }) => {
    const note = options.note === undefined ? {} : { note: options.note };
    const { slot, schedule } = await duly.schedules.skipNext(name, note);
    if (shell.json) printJson(shell.out, { ...toScheduleJson(schedule), skipped_slot: slot });
    else if (slot === null) shell.err.line(`Schedule "${oneLine(schedule.name)}" has no next slot to skip.`);
    else {
      const when = `${dayText(slot, ruleOf(schedule))} (${relative(slot, systemClock.now())})`;
      shell.out.line(`Schedule "${oneLine(schedule.name)}" skips ${when}.${nextText(schedule)}`);
    }
    return slot === null ? exitCodes.refused : undefined;
  });
}
