import type { JobsFilter } from '@duly/core';
import { readList } from '../cli/usage.ts';
import { readSince } from './job-list.ts';

/** Which dead letters the options mean. */
export function deadFilter(options: {
  task?: string[];
  error?: string;
  since?: string;
}): Omit<JobsFilter, 'dead'> {
  const task = readList(options.task, '--task');
  return {
    ...(task === undefined ? {} : { task }),
    ...(options.error === undefined ? {} : { error: options.error }),
    ...readSince(options.since),
  };
}
