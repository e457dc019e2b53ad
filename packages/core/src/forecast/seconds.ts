import type { ForecastRuns } from './forecast-runs.ts';

/** The grain of a forecast. */
export const secondMs = 1_000;

/** From one instant up to another. */
export interface TimeSpan {
  fromAt: number;
  toAt: number;
}

/** How many seconds a forecast has. */
export function secondCountOf({ fromAt, toAt }: TimeSpan): number {
  return Math.max(1, Math.ceil((toAt - fromAt) / secondMs));
}

/** The second of the forecast in which a run falls due. */
export function secondOf(runs: ForecastRuns, run: number, fromAt: number): number {
  return Math.floor((runs.dueAt(run) - fromAt) / secondMs);
}

/** How many runs fall due in each second. */
export function startsBySecond(runs: ForecastRuns, span: TimeSpan): Int32Array {
  const counts = new Int32Array(secondCountOf(span));
  for (let run = 0; run < runs.count; run++) {
    const second = secondOf(runs, run, span.fromAt);
    // A run that waits for another may begin after the end.
    if (second < counts.length) counts[second] = (counts[second] as number) + 1;
  }
  return counts;
}
