import {
  type ChangesPage,
  type Clock,
  type Duly,
  DulyError,
  isDulyError,
  isTerminal,
  type Job,
  type JobLogLine,
} from '@duly/core';
import type { RedactOptions } from '../options.ts';
import { describeJob } from './job-tag.ts';

/** A job as it was last read. */
export interface JobState {
  /** See `describeJob`. */
  readonly tag: string;
  readonly isOver: boolean;
  /** The job of this tag, or a newer one: one that is large is not kept, but read again for all who ask. */
  job(): Promise<Job>;
}

/** Keeps an eye on one job for one watcher. */
export interface JobWatch {
  /** The job as it is now, as far as it is known here. Throws what became of it when it is not there any more. */
  state(): JobState;
  /** Log lines that have come and were not taken yet, oldest first. Takes them. */
  takeLines(): Promise<JobLogLine[]>;
  /** Resolves when the job or its log may have changed since the last time, or the watch was closed. */
  changed(): Promise<void>;
  /** Whether nothing more will be told: the server stops. */
  readonly isClosed: boolean;
  close(): void;
}

/** The state of every job that somebody watches, kept up to date by one reader of the feed. */
export interface JobStates {
  /** Begins to watch a job, with its log from after this line on (null: without it). Throws `job_not_found`. */
  watch(id: string, options?: { logsAfter?: number | null; onClose?(): void }): Promise<JobWatch>;
  /** Watches that are open. */
  count(): number;
  close(): void;
}

// Lines that wait for one watcher. Beyond it they stay in the store, where it reads them when it comes to it.
const linesMax = 500;
// Characters of JSON. A thousand watchers of a thousand jobs keep at most 32 MB of them.
const storedLengthMax = 32 * 1024;
const troubleWaitMs = 250;

/**
 * Makes them. Watchers of one job share one read of it, all jobs that changed are read together, and while nobody watches nothing
 * is read at all: the number of watchers does not matter to the store.
 */
export function createJobStates({
  duly,
  clock,
  redact,
}: {
  duly: Duly;
  clock: Clock;
  redact: Required<RedactOptions>;
}): JobStates {
  const entries = new Map<string, Entry>();
  let following: { begun: Promise<void>; aborter: AbortController } | null = null;
  let watchCount = 0;
  let isClosed = false;

  class Entry {
    readonly id: string;
    readonly watches = new Set<Watch>();
    state: JobState | null = null;
    gone: { error: unknown } | null = null;
    #reading: Promise<void> | null = null;
    #isStale = false;
    #again: Promise<Job> | null = null;

    constructor(id: string) {
      this.id = id;
    }

    /** Reads the job, and its new lines for those who follow its log. What is asked for meanwhile is read once more after it. */
    refresh(withLines: boolean): Promise<void> {
      if (this.#reading !== null) {
        this.#isStale = true;
        return this.#reading;
      }
      const read = async (): Promise<void> => {
        let lines = withLines;
        do {
          this.#isStale = false;
          const read = await readJob(this.id);
          const isOver = 'job' in read && isTerminal(read.job.status);
          // After the job: whoever is told of its end has been told all lines.
          if (lines || isOver) await this.#readLines();
          this.#set(read);
          lines = true;
        } while (this.#isStale && this.watches.size > 0);
      };
      this.#reading = read().finally(() => {
        this.#reading = null;
      });
      return this.#reading;
    }

    #set(read: { job: Job } | { error: unknown }): void {
      if ('error' in read) this.gone = read;
      else {
        this.gone = null;
        const { tag, length } = describeJob(read.job, redact);
        if (this.state?.tag !== tag) {
          const job = length <= storedLengthMax ? async () => read.job : () => this.#readAgain();
          this.state = { tag, isOver: isTerminal(read.job.status), job };
        }
      }
      for (const watch of this.watches) watch.notify();
    }

    #readAgain(): Promise<Job> {
      this.#again ??= duly
        .job(this.id)
        .get()
        .finally(() => {
          this.#again = null;
        });
      return this.#again;
    }

    async #readLines(): Promise<void> {
      const readers = [...this.watches].filter((watch) => watch.wantsLines);
      if (readers.length === 0) return;
      const after = Math.min(...readers.map((watch) => watch.lineN));
      const lines = await readLines(this.id, after);
      for (const watch of readers) watch.give(lines);
    }
  }

  class Watch implements JobWatch {
    readonly #entry: Entry;
    readonly #onClose: () => void;
    /** The last line that was given or taken; null: the log is not followed. */
    #lineN: number | null;
    #lines: JobLogLine[] = [];
    /** Lines after `#lineN` are in the store and not here. */
    #isBehind = true;
    #isNews = false;
    #wake: (() => void) | null = null;
    isClosed = false;

    constructor(entry: Entry, logsAfter: number | null, onClose: () => void) {
      this.#entry = entry;
      this.#lineN = logsAfter;
      this.#onClose = onClose;
    }

    /** Whether new lines are to be read for it. One that is behind reads for itself. */
    get wantsLines(): boolean {
      return this.#lineN !== null && !this.#isBehind;
    }

    get lineN(): number {
      return this.#lineN ?? 0;
    }

    notify(): void {
      this.#isNews = true;
      this.#wake?.();
    }

    give(lines: readonly JobLogLine[]): void {
      const fresh = lines.filter(({ n }) => n > this.lineN);
      if (fresh.length === 0) return;
      if (this.#lines.length + fresh.length > linesMax) this.#isBehind = true;
      else {
        this.#lines.push(...fresh);
        this.#lineN = (fresh.at(-1) as JobLogLine).n;
      }
      this.notify();
    }

    state(): JobState {
      const { gone, state } = this.#entry;
      if (gone !== null) throw gone.error;
      return state as JobState;
    }

    async takeLines(): Promise<JobLogLine[]> {
      const lines = this.#lines;
      this.#lines = [];
      if (lines.length > 0 || this.#lineN === null || !this.#isBehind) return lines;
      // Before the read: what comes from now on is given.
      this.#isBehind = false;
      const read = await readLines(this.#entry.id, this.lineN);
      const all = new Map([...read, ...this.#lines].map((line) => [line.n, line]));
      this.#lines = [];
      this.#lineN = Math.max(this.lineN, ...all.keys());
      return [...all.values()].sort((one, other) => one.n - other.n);
    }

    async changed(): Promise<void> {
      if (!this.#isNews && !this.isClosed) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
      this.#isNews = false;
    }

    close(): void {
      if (this.isClosed) return;
      this.isClosed = true;
      watchCount--;
      this.#onClose();
      this.#wake?.();
      this.#entry.watches.delete(this);
      if (this.#entry.watches.size === 0 && entries.get(this.#entry.id) === this.#entry)
        entries.delete(this.#entry.id);
      // Nobody is left: the feed need not be read on.
      if (entries.size === 0) {
        following?.aborter.abort();
        following = null;
      }
    }
  }

  async function readJob(id: string): Promise<{ job: Job } | { error: unknown }> {
    for (;;) {
      try {
        return { job: await duly.job(id).get() };
      } catch (error) {
        if (!isPassing(error) || !entries.has(id)) return { error };
        await clock.sleep(troubleWaitMs);
      }
    }
  }

  async function readLines(id: string, after: number): Promise<JobLogLine[]> {
    try {
      return await duly.job(id).logs({ after });
    } catch {
      // What became of the job is told by the job itself.
      return [];
    }
  }

  /** Resolves once the place is known from which the feed is read: before a job is first read, so that no change falls between the two. */
  function begin(): Promise<void> {
    if (following === null) {
      const aborter = new AbortController();
      const pages = duly.changes({ signal: aborter.signal });
      const begun = pages.next().then(() => {});
      following = { begun, aborter };
      follow(pages, begun).catch((error: unknown) => {
        if (following?.aborter === aborter) following = null;
        for (const entry of entries.values()) {
          entry.gone = { error };
          for (const watch of entry.watches) watch.notify();
        }
      });
    }
    return following.begun;
  }

  async function follow(pages: AsyncIterableIterator<ChangesPage>, begun: Promise<void>): Promise<void> {
    await begun;
    for await (const { changes, gap } of pages) {
      const withLines = new Map<Entry, boolean>();
      for (const { id, event } of changes) {
        const entry = entries.get(id);
        if (entry !== undefined) withLines.set(entry, withLines.get(entry) === true || event !== 'progress');
      }
      if (gap) for (const entry of entries.values()) withLines.set(entry, true);
      // All in one turn, so that they are read by one question.
      await Promise.all([...withLines].map(([entry, lines]) => entry.refresh(lines)));
    }
  }

  return {
    async watch(id, { logsAfter = null, onClose = () => {} } = {}) {
      if (isClosed) {
        throw new DulyError('stopped', { message: 'The server is stopping and sends no more news.' });
      }
      let entry = entries.get(id);
      if (entry === undefined) {
        entry = new Entry(id);
        entries.set(id, entry);
      }
      const watch = new Watch(entry, logsAfter, onClose);
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

/** Whether the same question may be answered later: the store is away or busy. */
function isPassing(error: unknown): boolean {
  return isDulyError(error, 'store_unavailable') || isDulyError(error, 'store_busy');
}
