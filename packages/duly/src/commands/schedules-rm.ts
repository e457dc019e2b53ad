import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { printError } from '../output/errors.ts';
import { oneLine } from '../output/terminal.ts';
import { advised, withSchedules } from '../schedules/schedule-client.ts';

/** `duly schedules rm`: one that fails does not keep the others from being done; the exit code is that of the first failure. */
export async function schedulesRm(
  context: CommandContext,
  options: CommonOptions & { note?: string },
  names: string[],
): Promise<number> {
  return withSchedules(context, options, async (client) => {
    const { duly } = client;
    let exitCode = 0;
    for (const name of names) {
      try {
        const { id, name: known, app } = await duly.schedules.get(name);
        await duly.schedules.delete({ id }, options.note === undefined ? {} : { note: options.note });
        client.changed('/schedules');
        if (context.json) context.out.line(JSON.stringify({ id, name: known, app, deleted: true }));
        else
          context.out.line(
            `Schedule "${oneLine(known)}" is deleted. What runs may finish; its ledger remains.`,
          );
        if (app !== null) {
          context.warn(`The code of "${app}" declares it; whatever starts with that code creates it again.`);
        }
      } catch (error) {
        const code = printError(context.err, advised(error, client), context.json);
        if (exitCode === 0) exitCode = code;
      }
    }
    return exitCode;
  });
}
