import type { JobsFilter } from '@duly/core';
import { readList } from '../cli/usage.ts';
import { readSince } from './job-list.ts';

/** Which dead letters the options mean. */
export function deadFilter(options: {
  type?: string[];
  error?: string;
  since?: string;
}): Omit<JobsFilter, 'dead'> {
  const type = readList(options.type, '--type');
  return {
    ...(type === undefined ? {} : { type }),
    ...(options.error === undefined ? {} : { error: options.error }),
    ...readSince(options.since),
  };
}
