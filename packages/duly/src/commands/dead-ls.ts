import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readLimit } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { deadFilter } from '../jobs/dead-filter.ts';
import { printJobs } from '../jobs/job-list.ts';

interface DeadLsOptions extends CommonOptions {
  type?: string[];
  error?: string;
  since?: string;
  limit?: string;
  cursor?: string;
}

/** `duly dead ls`. */
export async function deadLs(context: CommandContext, options: DeadLsOptions): Promise<undefined> {
  const limit = readLimit(options.limit);
  const filter = deadFilter(options);
  await withClient(context, options, async ({ duly }) => {
    const page = await duly.dead.list(filter).page({ limit, cursor: options.cursor ?? null });
    const isAll = Object.keys(filter).length === 0;
    await printJobs(context, duly, page, isAll ? 'There are no dead letters.' : 'No dead letter matches.');
  });
}
