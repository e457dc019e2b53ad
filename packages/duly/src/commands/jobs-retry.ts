import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { withClient } from '../client/client.ts';
import { changeJobs } from '../jobs/job-changes.ts';

/** `duly jobs retry`: the same job again, with as many attempts more as it had. */
export function jobsRetry(
  context: CommandContext,
  options: CommonOptions & { note?: string },
  ids: string[],
): Promise<number> {
  return withClient(context, options, ({ duly, changed }) => {
    changed(ids.length === 1 ? `/jobs/${ids[0]}` : '/jobs');
    return changeJobs(context, ids, 'brought back', (id) => duly.retry(id, options.note));
  });
}
