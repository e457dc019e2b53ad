import type { JobStatus, JobsFilter } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readLimit, readList, readPairs } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printJobs, readSince } from '../jobs/job-list.ts';

interface JobsLsOptions extends CommonOptions {
  status?: string[];
  type?: string[];
  queue?: string[];
  tenant?: string;
  key?: string;
  input?: string[];
  error?: string;
  since?: string;
  limit?: string;
  cursor?: string;
}

/** `duly jobs ls`. */
export async function jobsLs(
  context: CommandContext,
  options: JobsLsOptions,
  words: string[],
): Promise<undefined> {
  const limit = readLimit(options.limit);
  const filter = readFilter(options, words);
  await withClient(context, options, async ({ duly }) => {
    const page = await duly.jobs(filter).page({ limit, cursor: options.cursor ?? null });
    const isAll = Object.keys(filter).length === 0;
    await printJobs(context, duly, page, isAll ? 'There are no jobs.' : 'No job matches.');
  });
}

function readFilter(options: JobsLsOptions, words: string[]): JobsFilter {
  const status = readList(options.status, '--status') as JobStatus[] | undefined;
  const type = readList(options.type, '--type');
  const queue = readList(options.queue, '--queue');
  const input = readPairs(options.input ?? [], '--input') as NonNullable<JobsFilter['input']>;
  return {
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
    ...(queue === undefined ? {} : { queue }),
    ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.error === undefined ? {} : { error: options.error }),
    ...(words.length === 0 ? {} : { text: words }),
    ...(options.input === undefined ? {} : { input }),
    ...readSince(options.since),
  };
}
