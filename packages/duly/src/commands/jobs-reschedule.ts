import type { CommonOptions, Shell } from '../cli/shell.ts';
import { readDuration, readInstant, usageError } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printChange } from '../jobs/job-changes.ts';

/** `duly jobs reschedule`. */
export async function jobsReschedule(
  shell: Shell,
  options: CommonOptions & { in?: string; at?: string },
  id: string,
): Promise<undefined> {
  const { in: delay, at } = options;
  if ((delay === undefined) === (at === undefined)) throw usageError('Say when: --in or --at.');
  const due =
    delay === undefined ? { at: readInstant(at as string, '--at') } : { in: readDuration(delay, '--in') };
  await withClient(shell, options, async ({ duly, changed }) => {
    printChange(shell, 'moved', await duly.reschedule({ id }, due));
    changed(`/jobs/${id}`);
  });
}
