import type { Clock } from '../../base/clock.ts';

/** How many catch-up runs a node creates per second, for all schedules: an outage must not bury current work. */
export const catchUpPerSecond = 1_000;

/** How many catch-up runs a node may still create. */
export interface CatchUpBudget {
  /** How many catch-up runs may be created now. */
  left(): number;
  /** Notes that `count` were created. */
  spend(count: number): void;
}

/** Creates a budget: one second's worth at the start, refilled as time passes. */
export function createCatchUpBudget(
  clock: Pick<Clock, 'elapsed'>,
  perSecond = catchUpPerSecond,
): CatchUpBudget {
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
