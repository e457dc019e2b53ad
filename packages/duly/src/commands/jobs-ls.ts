import type { JobStatus, JobsFilter } from '@duly/core';
import { withClient } from '../client.ts';
import { printJobs, readSince } from '../job-list.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { readCount, readList, readPairs } from '../usage.ts';

interface JobsLsOptions extends CommonOptions {
  status?: string;
  type?: string;
  queue?: string;
  tenant?: string;
  key?: string;
  input: string[];
  error?: string;
  since?: string;
  limit: string;
  cursor?: string;
}

/** `duly jobs ls`. */
export async function jobsLs(shell: Shell, options: JobsLsOptions): Promise<undefined> {
  const limit = readCount(options.limit, '--limit') as number;
  const filter = readFilter(options);
  await withClient(shell, options, async ({ duly }) => {
    const page = await duly.jobs(filter).page({ limit, cursor: options.cursor ?? null });
    const isAll = Object.keys(filter).length === 0;
    printJobs(shell, page, isAll ? 'There are no jobs.' : 'No job matches.');
  });
}

function readFilter(options: JobsLsOptions): JobsFilter {
  const status = readList(options.status) as JobStatus[] | undefined;
  const task = readList(options.type);
  const queue = readList(options.queue);
  const input = readPairs(options.input, '--input') as NonNullable<JobsFilter['input']>;
  return {
    ...(status === undefined ? {} : { status }),
    ...(task === undefined ? {} : { task }),
    ...(queue === undefined ? {} : { queue }),
    ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.error === undefined ? {} : { error: options.error }),
    ...(options.input.length === 0 ? {} : { input }),
    ...readSince(options.since),
  };
}
