import { toJobJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { watchJob } from '../jobs/watch.ts';
import { printJson } from '../output/json.ts';
import { withSchedules } from '../schedules/schedule-client.ts';
import { readInput } from './run.ts';

interface SchedulesTriggerOptions extends CommonOptions {
  allow?: boolean;
  input?: string;
  note?: string;
  watch?: boolean;
}

/** `duly schedules trigger`: the id of the run on stdout, for scripts; the rest on stderr. */
export async function schedulesTrigger(
  context: CommandContext,
  options: SchedulesTriggerOptions,
  name: string,
): Promise<number | undefined> {
  const input = readInput(context, options.input);
  return withSchedules(context, options, async (client) => {
    const { duly, command } = client;
    const { result, job, reason } = await duly.schedules.trigger(name, {
      ...(options.allow ? { allow: true } : {}),
      ...(input === undefined ? {} : { input }),
      ...(options.note === undefined ? {} : { note: options.note }),
    });
    const { out, err, json } = context;
    if (json && !(options.watch && job !== null)) {
      printJson(out, { result, reason, job: job === null ? null : toJobJson(await job.get()) });
    }
    if (job === null) {
      if (!json) {
        err.line(`No run: an earlier one is not finished (${reason}). With --allow it runs all the same.`);
      }
      return exitCodes.refused;
    }
    client.changed(`/jobs/${job.id}`);
    if (!json) {
      out.line(job.id);
      if (result === 'merged') err.line('No new run: it was merged into this one, which waits.');
      else if (!options.watch) err.line(`Watch it: ${command(`watch ${job.id}`)}`);
    }
    return options.watch ? watchJob(client, job.id, context) : undefined;
  });
}
