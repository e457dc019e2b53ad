import { systemClock } from '../../packages/core/src/base/clock.ts';

/** The store's time as a process knows it: the last instant it heard, and what its monotonic clock counted since. */
export interface StoreTime {
  now(): number;
  /** The store answered with this instant. */
  received(now: number): void;
}

/**
 * Makes a store's time; before the first answer the machine's own is taken. An answer is on its way for a while, so of all that were
 * heard the one that puts the store's clock furthest ahead tells best. (In a chaos run nobody steps it.)
 */
export function createStoreTime(): StoreTime {
  let offsetMs: number | null = null;
  return {
    now: () => Math.round((offsetMs ?? systemClock.now() - systemClock.elapsed()) + systemClock.elapsed()),
    received(now) {
      const seenMs = now - systemClock.elapsed();
      offsetMs = offsetMs === null ? seenMs : Math.max(offsetMs, seenMs);
    },
  };
}
