import type { ForecastRuns } from './forecast-runs.ts';
import { secondCountOf, secondMs, startsBySecond, type TimeSpan } from './seconds.ts';

/** A stretch of time of the load curve. */
export interface LoadStep {
  fromAt: number;
  /** Runs that begin in it. */
  startCount: number;
  /** The most runs at one instant, by the second. */
  peakCount: number;
  /** Runs at a time, on average. */
  meanCount: number;
}

/** What the runs of a forecast come to if none has to wait. */
export interface Load {
  steps: LoadStep[];
  stepMs: number;
  peakCount: number;
  /** When it is reached first; null: no runs. */
  peakAt: number | null;
  /** Time of work in all. */
  workMs: number;
}

/** A curve of more points than this shows no more. */
const stepCountMax = 288;
const stepChoicesMs = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400].map((seconds) => seconds * secondMs);

/**
 * Lays the runs over one another, second by second: a run occupies every second that it touches, so that what is short and begins in the
 * same second counts together.
 */
export function readLoad(runs: ForecastRuns, span: TimeSpan): Load {
  const { fromAt } = span;
  const secondCount = secondCountOf(span);
  const change = new Int32Array(secondCount + 1);
  const starts = startsBySecond(runs, span);
  let workMs = 0;
  for (let run = 0; run < runs.count; run++) {
    const startMs = runs.dueAt(run) - fromAt;
    const durationMs = runs.durationMs(run);
    const first = Math.floor(startMs / secondMs);
    if (first >= secondCount) continue;
    const end = Math.max(first + 1, Math.ceil((startMs + durationMs) / secondMs));
    change[first] = (change[first] as number) + 1;
    const last = Math.min(end, secondCount);
    change[last] = (change[last] as number) - 1;
    workMs += durationMs;
  }
  const stepMs =
    stepChoicesMs.find((ms) => (secondCount * secondMs) / ms <= stepCountMax) ??
    (stepChoicesMs.at(-1) as number);
  const load: Load = { steps: [], stepMs, peakCount: 0, peakAt: null, workMs };
  let count = 0;
  for (let second = 0; second < secondCount; ) {
    const end = Math.min(secondCount, second + stepMs / secondMs);
    const step: LoadStep = {
      fromAt: fromAt + second * secondMs,
      startCount: 0,
      peakCount: 0,
      meanCount: 0,
    };
    const length = end - second;
    for (; second < end; second++) {
      count += change[second] as number;
      step.startCount += starts[second] as number;
      step.meanCount += count / length;
      if (count > step.peakCount) step.peakCount = count;
      if (count > load.peakCount) {
        load.peakCount = count;
        load.peakAt = fromAt + second * secondMs;
      }
    }
    load.steps.push(step);
  }
  return load;
}
