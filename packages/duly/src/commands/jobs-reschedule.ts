import { withClient } from '../client.ts';
import { printChange } from '../job-changes.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { usageError } from '../usage.ts';

/** `duly jobs reschedule`. */
export async function jobsReschedule(
  shell: Shell,
  options: CommonOptions & { in?: string; at?: string },
  id: string,
): Promise<undefined> {
  const { in: delay, at } = options;
  if ((delay === undefined) === (at === undefined)) throw usageError('Say when: --in or --at.');
  await withClient(shell, options, async ({ duly }) => {
    const due = delay === undefined ? { at: at as string } : { in: delay };
    printChange(shell, 'moved', await duly.reschedule({ id }, due));
  });
}
