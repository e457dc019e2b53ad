import type { Clock } from '../base/clock.ts';
import type { Attempt } from './attempt.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** The shutdown of a worker. It runs at most once. */
export interface Drain {
  /** Starts it, or returns the one that is in progress. Running attempts may finish within the limit. */
  start(limitMs: number): Promise<void>;
  /** Whether it has started. */
  hasStarted(): boolean;
  /** Ends the waiting for attempts: those that still run are aborted and released now. */
  abort(): void;
  /** Ends the waiting for outcomes: the store was moved, so none can be sent any more. */
  onStoreGone(): void;
  /** Checks whether its present phase has ended. To be called after each change of what it waits for. */
  check(): void;
}

/** What a drain is made of. */
export interface DrainOptions {
  clock: Clock;
  attempts: {
    areAllDecided: RunningAttempts['areAllDecided'];
    undecided(): Pick<Attempt, 'abort' | 'release'>[];
  };
  /** Releases jobs that have not started, and calls `onStopped` when none can arrive any more. */
  stopIntake(onStopped: () => void): void;
  /** Whether no outcome waits to be sent or to be answered. */
  isAllSent(): boolean;
  /** Reports that outcomes could not be sent in time. */
  onUnsent(): void;
  /** Stops the parts that talk to the store. */
  stop(): Promise<void>;
}

// From the shutdown signal to the release: time to write a line, not to finish.
const shutdownMomentMs = 1_000;
// A store that is away at the end is not waited for longer; the leases end on their own.
const sendMsMax = 10_000;

/** Creates the drain of one worker. */
export function createDrain(options: DrainOptions): Drain {
  const { clock, attempts } = options;
  const watchers = new Set<() => void>();
  let draining: Promise<void> | null = null;
  let isAborted = false;
  let isStoreGone = false;

  /** Waits until a condition holds, but not longer than this; resolves with whether it does. */
  function until(holds: () => boolean, limitMs: number): Promise<boolean> {
    if (holds()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (result: boolean): void => {
        watchers.delete(watcher);
        timer.cancel();
        resolve(result);
      };
      const watcher = (): void => {
        if (holds()) end(true);
      };
      const timer = clock.after(limitMs, () => end(false));
      watchers.add(watcher);
    });
  }

  function check(): void {
    for (const watcher of [...watchers]) watcher();
  }

  async function endAttempts(limitMs: number): Promise<void> {
    await until(() => attempts.areAllDecided() || isAborted, limitMs);
    if (attempts.areAllDecided()) return;
    for (const attempt of attempts.undecided()) attempt.abort('shutdown');
    if (await until(attempts.areAllDecided, shutdownMomentMs)) return;
    for (const attempt of attempts.undecided()) attempt.release();
  }

  async function drain(limitMs: number): Promise<void> {
    // After this `hasStarted` is true, and nothing is claimed any more.
    await null;
    let isIntakeStopped = false;
    options.stopIntake(() => {
      isIntakeStopped = true;
      check();
    });
    await endAttempts(limitMs);
    const isAllSent = (): boolean => isIntakeStopped && options.isAllSent();
    if (!(await until(() => isAllSent() || isStoreGone, sendMsMax)) && !isStoreGone) options.onUnsent();
    await options.stop();
  }

  return {
    start(limitMs) {
      draining ??= drain(limitMs);
      return draining;
    },
    hasStarted: () => draining !== null,
    abort() {
      isAborted = true;
      check();
    },
    onStoreGone() {
      isStoreGone = true;
      check();
    },
    check,
  };
}
