import { type ChangesPage, DulyError } from '@duly/core';
import { type JobWatch, OpenWatch } from './open-watch.ts';
import { type JobReads, WatchedJob } from './watched-job.ts';

/** The state of every job that somebody watches, kept up to date by one reader of the feed. */
export interface JobStates {
  /** Begins to watch a job, with its log from after this line on (null: without it). Throws `job_not_found`. */
  watch(id: string, options?: { logsAfter?: number | null; onClose?(): void }): Promise<JobWatch>;
  /** Watches that are open. */
  count(): number;
  close(): void;
}

/**
 * Makes them. Watchers of one job share one read of it, all jobs that changed are read together, and while nobody watches nothing
 * is read at all: the number of watchers does not matter to the store.
 */
export function createJobStates(deps: Omit<JobReads, 'isWatched'>): JobStates {
  const { duly } = deps;
  const entries = new Map<string, WatchedJob>();
  let following: { begun: Promise<void>; aborter: AbortController } | null = null;
  let watchCount = 0;
  let isClosed = false;

  const reads = { ...deps, isWatched: (id: string) => entries.has(id) };

  function forget(entry: WatchedJob, watch: OpenWatch): void {
    entry.watches.delete(watch);
    if (entry.watches.size === 0 && entries.get(entry.id) === entry) entries.delete(entry.id);
    // Nobody is left: the feed need not be read on.
    if (entries.size === 0) {
      following?.aborter.abort();
      following = null;
    }
  }

  /** Resolves once the place is known from which the feed is read: before a job is first read, so that no change falls between the two. */
  function begin(): Promise<void> {
    if (following === null) {
      const aborter = new AbortController();
      const pages = duly.changes({ signal: aborter.signal });
      const begun = pages.next().then(() => {});
      following = { begun, aborter };
      follow(entries, pages, begun).catch((error: unknown) => {
        if (following?.aborter === aborter) following = null;
        for (const entry of entries.values()) {
          entry.gone = { error };
          for (const watch of entry.watches) watch.notify();
        }
      });
    }
    return following.begun;
  }

  return {
    async watch(id, { logsAfter = null, onClose = () => {} } = {}) {
      if (isClosed) {
        throw new DulyError('stopped', { message: 'The server is stopping and sends no more news.' });
      }
      let entry = entries.get(id);
      if (entry === undefined) {
        entry = new WatchedJob(reads, id);
        entries.set(id, entry);
      }
      const watched = entry;
      const watch = new OpenWatch(duly, watched, {
        logsAfter,
        onClose() {
          watchCount--;
          onClose();
          forget(watched, watch);
        },
      });
      entry.watches.add(watch);
      watchCount++;
      try {
        await begin();
        if (entry.state === null && entry.gone === null) await entry.refresh(false);
        watch.state();
        return watch;
      } catch (error) {
        watch.close();
        throw error;
      }
    },
    count: () => watchCount,
    close() {
      isClosed = true;
      for (const entry of [...entries.values()]) for (const watch of [...entry.watches]) watch.close();
    },
  };
}

/** Reads every watched job again that the feed tells of. */
async function follow(
  entries: ReadonlyMap<string, WatchedJob>,
  pages: AsyncIterableIterator<ChangesPage>,
  begun: Promise<void>,
): Promise<void> {
  await begun;
  for await (const { changes, gap } of pages) {
    const withLines = new Map<WatchedJob, boolean>();
    for (const { id, event } of changes) {
      const entry = entries.get(id);
      if (entry !== undefined) withLines.set(entry, withLines.get(entry) === true || event !== 'progress');
    }
    if (gap) for (const entry of entries.values()) withLines.set(entry, true);
    // All in one turn, so that they are read by one question.
    await Promise.all([...withLines].map(([entry, lines]) => entry.refresh(lines)));
  }
}
