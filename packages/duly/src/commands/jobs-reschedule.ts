import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readDuration, readInstant, usageError } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printChange } from '../jobs/job-changes.ts';

/** `duly jobs reschedule`. */
export async function jobsReschedule(
  context: CommandContext,
  options: CommonOptions & { in?: string; at?: string },
  id: string,
): Promise<undefined> {
  const { in: delay, at } = options;
  if ((delay === undefined) === (at === undefined)) throw usageError('Say when: --in or --at.');
  const due =
    delay === undefined ? { at: readInstant(at as string, '--at') } : { in: readDuration(delay, '--in') };
  await withClient(context, options, async ({ duly, changed }) => {
    printChange(context, 'moved', await duly.reschedule({ id }, due));
    changed(`/jobs/${id}`);
  });
}
