import type { Clock, Timer } from '../../base/clock.ts';

/** Options of {@link createWarmUp}. */
export interface WarmUpOptions {
  clock: Clock;
  /** Whether calls run now. */
  isBusy(): boolean;
}

/** Warms up connections once, when the process is quiet. */
export interface WarmUp {
  /** Runs `warmUp` when no call runs. Does nothing after the first time. */
  whenQuiet(warmUp: () => void): void;
  cancel(): void;
}

// Not while the process starts, and not in a process that ends at once.
const quietMs = 500;
// A process that is busy for longer has warmed up its connections by using them.
const checkCountMax = 20;

/** Creates a warm-up that is not started. */
export function createWarmUp({ clock, isBusy }: WarmUpOptions): WarmUp {
  let timer: Timer | null = null;

  function check(warmUp: () => void, checksLeft: number): void {
    timer = clock.after(
      quietMs,
      () => {
        if (checksLeft === 0) return;
        if (isBusy()) check(warmUp, checksLeft - 1);
        else warmUp();
      },
      { unref: true },
    );
  }

  return {
    whenQuiet(warmUp) {
      if (timer === null) check(warmUp, checkCountMax);
    },
    cancel: () => timer?.cancel(),
  };
}
