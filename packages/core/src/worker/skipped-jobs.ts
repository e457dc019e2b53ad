import type { Clock } from '../base/clock.ts';

/** Counts jobs whose handlers were not entered. */
export interface SkippedJobs {
  /** `late`: the lease had ended. `released`: the store's thread released the job. */
  count(why: keyof SkippedCounts): void;
}

/** How many jobs were skipped in one turn of the event loop. */
export interface SkippedCounts {
  late: number;
  released: number;
}

/** Creates the count. `onSkipped` is called once for all jobs of a turn: there may be thousands. */
export function createSkippedJobs(
  clock: Pick<Clock, 'after'>,
  onSkipped: (counts: SkippedCounts) => void,
): SkippedJobs {
  let counts: SkippedCounts = { late: 0, released: 0 };

  function report(): void {
    const reported = counts;
    counts = { late: 0, released: 0 };
    onSkipped(reported);
  }

  return {
    count(why) {
      if (counts.late + counts.released === 0) clock.after(0, report);
      counts[why]++;
    },
  };
}
