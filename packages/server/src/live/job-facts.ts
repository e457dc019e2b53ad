import { type Duly, type FeedChange, isDulyError } from '@duly/core';
import type { JobFacts } from './event-filter.ts';

/** Finds what the feed does not tell of jobs. */
export interface FactCache {
  /** The facts of the jobs of these changes, by id; null: the job is not there any more. */
  of(changes: readonly FeedChange[]): Promise<Map<string, JobFacts | null>>;
}

// About 200 bytes each.
const cachedMax = 20_000;
// Of the events of a job only these say that something was done to it that may have changed its queue.
const renewing: ReadonlySet<string> = new Set(['created', 'replaced', 'changed', 'kept']);

/** Facts that were asked for. */
interface Asked {
  read: Promise<JobFacts | null>;
  /** What came of it; undefined: nothing yet. */
  found: JobFacts | null | undefined;
  /** Of the change because of which they were read. All watchers meet the same change, and it is read once. */
  position: number;
}

/** Makes one. A job is read once for all watchers, together with the others of its page; jobs of many watchers are one question. */
export function createFactCache(duly: Duly): FactCache {
  const cached = new Map<string, Asked>();

  function askedOf({ id, event, position }: FeedChange): Asked {
    const known = cached.get(id);
    if (known !== undefined && !(renewing.has(event) && known.position < position)) return known;
    const asked: Asked = { read: readFacts(duly, id), found: undefined, position };
    cached.delete(id);
    if (cached.size >= cachedMax) cached.delete(cached.keys().next().value as string);
    cached.set(id, asked);
    asked.read.then(
      (facts) => {
        asked.found = facts;
      },
      // What could not be read is asked for again the next time.
      () => cached.get(id) === asked && cached.delete(id),
    );
    return asked;
  }

  return {
    async of(changes) {
      const byId = new Map<string, Asked>();
      for (const change of changes) byId.set(change.id, askedOf(change));
      // Waited for only where something is not known yet: every watcher comes by here with every page.
      const unknown = [...byId.values()].filter(({ found }) => found === undefined);
      if (unknown.length > 0) await Promise.all(unknown.map(({ read }) => read));
      const facts = new Map<string, JobFacts | null>();
      for (const [id, { found }] of byId) facts.set(id, found ?? null);
      return facts;
    },
  };
}

async function readFacts(duly: Duly, id: string): Promise<JobFacts | null> {
  try {
    const { tenant, queue, schedule } = await duly.job(id).get();
    return { tenant, queue, schedule };
  } catch (error) {
    if (isDulyError(error, 'job_not_found') || isDulyError(error, 'job_pruned')) return null;
    throw error;
  }
}
