// One watcher of a job: what it has not taken yet.

import type { Duly, JobLogLine } from '@duly/core';
import { type JobState, readLines, type WatchedJob } from './watched-job.ts';

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

// Lines that wait for one watcher. Beyond it they stay in the store, where it reads them when it comes to it.
const linesMax = 500;
/** A watch that is open. */
export class OpenWatch implements JobWatch {
  readonly #duly: Duly;
  readonly #entry: WatchedJob;
  readonly #onClose: () => void;
  /** The last line that was given or taken; null: the log is not followed. */
  #lineN: number | null;
  #lines: JobLogLine[] = [];
  /** Lines after `#lineN` are in the store and not here. */
  #isBehind = true;
  #isNews = false;
  #wake: (() => void) | null = null;
  isClosed = false;

  constructor(
    duly: Duly,
    entry: WatchedJob,
    { logsAfter, onClose }: { logsAfter: number | null; onClose(): void },
  ) {
    this.#duly = duly;
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
    const read = await readLines(this.#duly, this.#entry.id, this.lineN);
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
    this.#onClose();
    this.#wake?.();
  }
}
