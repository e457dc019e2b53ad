import type { CommonOptions, Shell } from '../cli/shell.ts';
import { withClient } from '../client/client.ts';
import { changeJobs } from '../jobs/job-changes.ts';

/** `duly jobs retry`: the same job again, with as many attempts more as it had. */
export function jobsRetry(
  shell: Shell,
  options: CommonOptions & { note?: string },
  ids: string[],
): Promise<number> {
  return withClient(shell, options, ({ duly, changed }) => {
    changed(ids.length === 1 ? `/jobs/${ids[0]}` : '/jobs');
    return changeJobs(shell, ids, 'brought back', (id) => duly.replay(id, options.note));
  });
}
