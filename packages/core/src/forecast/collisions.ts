import type { ForecastRuns } from './forecast-runs.ts';
import { secondMs, secondOf, startsBySecond, type TimeSpan } from './seconds.ts';

/** Runs of several schedules that fall due in the same second. */
export interface Collision {
  at: number;
  runCount: number;
  /** Numbers of some of the schedules. */
  schedules: number[];
}

const collisionCountMax = 10;
const namedCountMax = 5;

/** The seconds in which most runs of different schedules fall due, the largest first. */
export function findCollisions(runs: ForecastRuns, span: TimeSpan): Collision[] {
  const { fromAt } = span;
  const counts = startsBySecond(runs, span);
  const largest: number[] = [];
  for (let second = 0; second < counts.length; second++) {
    const count = counts[second] as number;
    if (count < 2) continue;
    const place = largest.findIndex((one) => (counts[one] as number) < count);
    if (place === -1 && largest.length >= collisionCountMax) continue;
    largest.splice(place === -1 ? largest.length : place, 0, second);
    if (largest.length > collisionCountMax) largest.pop();
  }
  const members = new Map(largest.map((second) => [second, new Set<number>()]));
  for (let run = 0; run < runs.count; run++)
    members.get(secondOf(runs, run, fromAt))?.add(runs.schedule(run));
  return largest
    .map((second) => ({ second, schedules: [...(members.get(second) as Set<number>)] }))
    .filter(({ schedules }) => schedules.length > 1)
    .map(({ second, schedules }) => ({
      at: fromAt + second * secondMs,
      runCount: counts[second] as number,
      schedules: schedules.slice(0, namedCountMax),
    }));
}
