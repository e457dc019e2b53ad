import type { Clock } from '../../base/clock.ts';

/** How many catch-up runs a node makes in a second, across all schedules: an outage must not bury the work of the present. */
export const catchUpPerSecond = 1_000;

/** What is left of a node's pace. */
export interface Pace {
  /** How many catch-up runs may be made now. */
  left(): number;
  /** Notes that so many were made. */
  spend(count: number): void;
}

/** A full second's worth at the start, refilled as time passes. */
export function createPace(clock: Pick<Clock, 'elapsed'>, perSecond = catchUpPerSecond): Pace {
  let left = perSecond;
  let countedAt = clock.elapsed();

  function refill(): void {
    const elapsed = clock.elapsed();
    left = Math.min(perSecond, left + ((elapsed - countedAt) / 1_000) * perSecond);
    countedAt = elapsed;
  }

  return {
    left() {
      refill();
      return Math.floor(left);
    },
    spend(count) {
      left -= count;
    },
  };
}
