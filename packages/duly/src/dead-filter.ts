import type { JobsFilter } from '@duly/core';
import { readSince } from './job-list.ts';
import { readList } from './usage.ts';

/** Which dead letters the options mean. */
export function deadFilter(options: {
  type?: string[];
  error?: string;
  since?: string;
}): Omit<JobsFilter, 'dead'> {
  const task = readList(options.type, '--type');
  return {
    ...(task === undefined ? {} : { task }),
    ...(options.error === undefined ? {} : { error: options.error }),
    ...readSince(options.since),
  };
}
