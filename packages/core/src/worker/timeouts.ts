import type { Clock, Timer } from '../base/clock.ts';

/** What has a timeout. */
export interface Timed {
  /** When it is over, by the monotonic clock; Infinity: never, or no longer. */
  timeoutElapsed: number;
  /** Told once that it is over. */
  timeOut(): void;
}

/** The timeouts of all attempts of a worker. */
export interface Timeouts {
  /** One of them has a timeout from now on. */
  set(timed: Timed): void;
  /** One of them has ended. */
  ended(): void;
}

/**
 * Makes one timer for all: a busy worker starts tens of thousands of attempts a second, and nearly all of them end long before their time.
 * The timer is set for the earliest of those that were there when it was set, so it may find nothing; then it is set for the next.
 */
export function createTimeouts({
  clock,
  all,
}: {
  clock: Clock;
  /** Those that run, as of whenever it is asked. */
  all(): Iterable<Timed>;
}): Timeouts {
  let timer: Timer | null = null;
  let timerElapsed = Number.POSITIVE_INFINITY;

  function clear(): void {
    timer?.cancel();
    timer = null;
    timerElapsed = Number.POSITIVE_INFINITY;
  }

  function setTimer(elapsed: number): void {
    clear();
    timerElapsed = elapsed;
    timer = clock.after(elapsed - clock.elapsed(), look);
  }

  function look(): void {
    clear();
    const now = clock.elapsed();
    let next = Number.POSITIVE_INFINITY;
    for (const one of [...all()]) {
      if (one.timeoutElapsed <= now) {
        one.timeoutElapsed = Number.POSITIVE_INFINITY;
        one.timeOut();
      } else if (one.timeoutElapsed < next) next = one.timeoutElapsed;
    }
    // Whoever was told may have set one.
    if (next < timerElapsed) setTimer(next);
  }

  return {
    set({ timeoutElapsed }) {
      if (timeoutElapsed < timerElapsed) setTimer(timeoutElapsed);
    },
    ended() {
      // A timer keeps the process alive.
      for (const _ of all()) return;
      clear();
    },
  };
}
