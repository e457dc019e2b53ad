import { type Duly, type FeedChange, isDulyError } from '@duly/core';
import type { JobFacts } from './event-filter.ts';

/** Finds what the feed does not tell of jobs. */
export interface FactBook {
  /** The facts of the jobs of these changes, by id; null: the job is not there any more. */
  of(changes: readonly FeedChange[]): Promise<Map<string, JobFacts | null>>;
}

// About 200 bytes each.
const keptMax = 20_000;
// Of the events of a job only these say that something was done to it that may have changed its queue.
const renewing: ReadonlySet<string> = new Set(['made', 'replaced', 'changed', 'kept']);

/** Makes one. A job is read once for all watchers, together with the others of its page; jobs of many watchers are one question. */
export function createFactBook(duly: Duly): FactBook {
  const kept = new Map<string, Promise<JobFacts | null>>();

  function factsOf({ id, event, position }: FeedChange): Promise<JobFacts | null> {
    const known = kept.get(id);
    if (known !== undefined && !(renewing.has(event) && !readAt(known, position))) return known;
    const read = duly
      .job(id)
      .get()
      .then(
        ({ tenant, queue, schedule }): JobFacts => ({ tenant, queue, schedule }),
        (error: unknown) => {
          if (isDulyError(error, 'job_not_found') || isDulyError(error, 'job_expired_from_history'))
            return null;
          throw error;
        },
      );
    places.set(read, position);
    kept.delete(id);
    if (kept.size >= keptMax) kept.delete(kept.keys().next().value as string);
    kept.set(id, read);
    // What could not be read is asked for again the next time.
    read.catch(() => kept.get(id) === read && kept.delete(id));
    return read;
  }

  const places = new WeakMap<Promise<JobFacts | null>, number>();
  /** Whether it was read because of this change or a later one: all watchers meet the same change. */
  const readAt = (read: Promise<JobFacts | null>, position: number): boolean =>
    (places.get(read) ?? 0) >= position;

  return {
    async of(changes) {
      const byId = new Map<string, Promise<JobFacts | null>>();
      for (const change of changes) byId.set(change.id, factsOf(change));
      const found = new Map<string, JobFacts | null>();
      for (const [id, facts] of byId) found.set(id, await facts);
      return found;
    },
  };
}
