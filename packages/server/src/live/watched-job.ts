// One watched job, read once for all who watch it.

import { type Clock, type Duly, isDulyError, isTerminal, type Job, type JobLogLine } from '@duly/core';
import type { RedactOptions } from '../options.ts';
import { describeJob } from './job-tag.ts';
import type { OpenWatch } from './open-watch.ts';

/** A job as it was last read. */
export interface JobState {
  /** See `describeJob`. */
  readonly tag: string;
  readonly isOver: boolean;
  /** The job of this tag, or a newer one: one that is large is not kept, but read again for all who ask. */
  job(): Promise<Job>;
}

// Characters of JSON. A thousand watchers of a thousand jobs keep at most 32 MB of them.
const storedLengthMax = 32 * 1024;
const troubleWaitMs = 250;

/** What watched jobs are read with. */
export interface JobReads {
  duly: Duly;
  clock: Clock;
  redact: Required<RedactOptions>;
  /** Whether a watcher of this job is left. */
  isWatched(id: string): boolean;
}

/** One watched job: its state as it was last read, and its watchers. */
export class WatchedJob {
  readonly id: string;
  readonly #reads: JobReads;
  readonly watches = new Set<OpenWatch>();
  state: JobState | null = null;
  gone: { error: unknown } | null = null;
  #reading: Promise<void> | null = null;
  #isStale = false;
  #again: Promise<Job> | null = null;

  constructor(reads: JobReads, id: string) {
    this.#reads = reads;
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
        const read = await readJob(this.#reads, this.id);
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
      const { tag, length } = describeJob(read.job, this.#reads.redact);
      if (this.state?.tag !== tag) {
        const job = length <= storedLengthMax ? async () => read.job : () => this.#readAgain();
        this.state = { tag, isOver: isTerminal(read.job.status), job };
      }
    }
    for (const watch of this.watches) watch.notify();
  }

  #readAgain(): Promise<Job> {
    this.#again ??= this.#reads.duly
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
    const lines = await readLines(this.#reads.duly, this.id, after);
    for (const watch of readers) watch.give(lines);
  }
}

async function readJob(
  { duly, clock, isWatched }: JobReads,
  id: string,
): Promise<{ job: Job } | { error: unknown }> {
  for (;;) {
    try {
      return { job: await duly.job(id).get() };
    } catch (error) {
      if (!isPassing(error) || !isWatched(id)) return { error };
      await clock.sleep(troubleWaitMs);
    }
  }
}

/** Lines of a job's log after this one; none where they cannot be read. */
export async function readLines(duly: Duly, id: string, after: number): Promise<JobLogLine[]> {
  try {
    return await duly.job(id).logs({ after });
  } catch {
    // What became of the job is told by the job itself.
    return [];
  }
}

/** Whether the same question may be answered later: the store is away or busy. */
function isPassing(error: unknown): boolean {
  return isDulyError(error, 'store_unavailable') || isDulyError(error, 'store_busy');
}
