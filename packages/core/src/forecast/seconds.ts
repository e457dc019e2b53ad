import type { ForecastRuns } from './forecast-runs.ts';

/** The grain of a forecast. */
export const secondMs = 1_000;

/** How many seconds a forecast has. */
export function secondCountOf(fromAt: number, toAt: number): number {
  return Math.max(1, Math.ceil((toAt - fromAt) / secondMs));
}

/** The second of the forecast in which a run falls due. */
export function secondOf(runs: ForecastRuns, run: number, fromAt: number): number {
  return Math.floor((runs.dueAt(run) - fromAt) / secondMs);
}

/** How many runs fall due in each second. */
export function startsBySecond(runs: ForecastRuns, fromAt: number, toAt: number): Int32Array {
  const counts = new Int32Array(secondCountOf(fromAt, toAt));
  for (let run = 0; run < runs.count; run++) {
    const second = secondOf(runs, run, fromAt);
    // A run that waits for another may begin after the end.
    if (second < counts.length) counts[second] = (counts[second] as number) + 1;
  }
  return counts;
}
