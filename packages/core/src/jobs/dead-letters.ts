import type { JobsFilter } from './job-filter.ts';
import type { ActionOptions, ActionResult, JobQuery } from './job-query.ts';

/** The dead letters: FAILED jobs that wait for a person. */
export class DeadLetters {
  readonly #query: (filter: JobsFilter) => JobQuery;

  /** Created by Duly as `duly.dead`. */
  constructor(query: (filter: JobsFilter) => JobQuery) {
    this.#query = query;
  }

  /** The dead letters that match. */
  list(filter?: Omit<JobsFilter, 'dead'>): JobQuery {
    return this.#query({ ...filter, dead: true });
  }

  /** Brings them back: by ids, or all that match. */
  retry(which: readonly string[] | Omit<JobsFilter, 'dead'>, options?: ActionOptions): Promise<ActionResult> {
    return this.list(idsOrFilter(which)).retry(options);
  }

  /** Takes them off the list: by ids, or all that match. */
  discard(
    which: readonly string[] | Omit<JobsFilter, 'dead'>,
    options?: ActionOptions,
  ): Promise<ActionResult> {
    return this.list(idsOrFilter(which)).discard(options);
  }
}

function idsOrFilter(which: readonly string[] | JobsFilter): JobsFilter {
  return Array.isArray(which) ? { ids: which } : (which as JobsFilter);
}
