import type { Clock, Timer } from '../base/clock.ts';
import type { ClaimedJob } from '../contract/engine.ts';

/** A claimed job, and when it arrived by the monotonic clock. */
export interface WaitingJob {
  readonly job: ClaimedJob;
  readonly takenElapsed: number;
}

/** Claimed jobs that wait for capacity, in the order of their arrival. */
export interface WaitingJobs {
  count(): number;
  /** Adds jobs that arrive now. `startReady` starts them. */
  add(jobs: readonly ClaimedJob[]): void;
  /** Starts the jobs that have capacity. Those that still have none after 250 ms are released. */
  startReady(): void;
  /** Removes and returns all. */
  takeAll(): WaitingJob[];
  /** The job of this lease; null: it does not wait here. */
  find(fence: number): ClaimedJob | null;
  remove(fence: number): void;
}

/** What a list of waiting jobs is made of. */
export interface WaitingJobsOptions {
  clock: Pick<Clock, 'elapsed' | 'after'>;
  /** Whether a job may start now; `skip`: not this one, but perhaps the next; `stop`: none. */
  check(job: ClaimedJob): 'start' | 'skip' | 'stop';
  start(one: WaitingJob): void;
  /** Releases jobs that waited too long: another worker may have capacity. */
  release(jobs: WaitingJob[]): void;
}

const waitMsMax = 250;

/** Creates a list of waiting jobs. */
export function createWaitingJobs({ clock, check, start, release }: WaitingJobsOptions): WaitingJobs {
  let waiting: WaitingJob[] = [];
  let timer: Timer | null = null;

  function startReady(): void {
    let count = 0;
    const skipped: WaitingJob[] = [];
    for (; count < waiting.length; count++) {
      const one = waiting[count] as WaitingJob;
      const answer = check(one.job);
      if (answer === 'stop') break;
      if (answer === 'start') start(one);
      else skipped.push(one);
    }
    if (count === waiting.length) waiting = skipped;
    else if (count > 0) waiting.splice(0, count, ...skipped);
    if (waiting.length > 0) timer ??= clock.after(waitMsMax, releaseLongWaiting);
  }

  function releaseLongWaiting(): void {
    timer = null;
    const before = clock.elapsed() - waitMsMax;
    const tooLong = waiting.filter(({ takenElapsed }) => takenElapsed <= before);
    waiting = waiting.filter(({ takenElapsed }) => takenElapsed > before);
    release(tooLong);
    startReady();
  }

  const indexOf = (fence: number): number => waiting.findIndex(({ job }) => job.fence === fence);

  return {
    count: () => waiting.length,
    add(jobs) {
      const takenElapsed = clock.elapsed();
      for (const job of jobs) waiting.push({ job, takenElapsed });
    },
    startReady,
    takeAll() {
      timer?.cancel();
      timer = null;
      return waiting.splice(0);
    },
    find: (fence) => waiting[indexOf(fence)]?.job ?? null,
    remove(fence) {
      const index = indexOf(fence);
      if (index !== -1) waiting.splice(index, 1);
    },
  };
}
