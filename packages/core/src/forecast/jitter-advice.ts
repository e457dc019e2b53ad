import { jitterOffsetMs } from '../schedules/planner/jitter.ts';
import { ForecastRuns } from './forecast-runs.ts';
import type { Load } from './load.ts';
import type { ScheduleToPlay } from './play-forward.ts';
import { secondMs, secondOf, startsBySecond, type TimeSpan } from './seconds.ts';

/** A schedule that should be spread, and by how much. */
export interface JitterAdvice {
  /** Its number. */
  schedule: number;
  jitterMs: number;
}

/** A second in which this many begin is a herd. */
const herdCountMin = 5;
/** A tenth of its period keeps a schedule recognisable, and nobody wants more than a quarter of an hour. */
const partOfPeriod = 10;
const jitterMsMax = 15 * 60_000;
/** Below this, jitter spreads nothing that the second-by-second load could show. */
const jitterMsMin = 5_000;

/** The schedules without jitter that begin together with many others, with a jitter for each that a person would accept. */
export function adviseJitter(
  schedules: readonly ScheduleToPlay[],
  runs: ForecastRuns,
  span: TimeSpan,
): JitterAdvice[] {
  const { fromAt } = span;
  const counts = startsBySecond(runs, span);
  const inHerd = new Set<number>();
  for (let run = 0; run < runs.count; run++) {
    if ((counts[secondOf(runs, run, fromAt)] ?? 0) >= herdCountMin) inHerd.add(runs.schedule(run));
  }
  const advice: JitterAdvice[] = [];
  for (const number of inHerd) {
    const { rule, spec } = schedules[number] as ScheduleToPlay;
    if (rule.kind !== 'calendar' || spec.policies.jitterMs > 0) continue;
    const slotAt = rule.open.next(fromAt);
    const nextAt = slotAt === null ? null : rule.open.next(slotAt);
    const periodMs = slotAt === null || nextAt === null ? jitterMsMax * partOfPeriod : nextAt - slotAt;
    const jitterMs = Math.min(jitterMsMax, Math.floor(periodMs / partOfPeriod / secondMs) * secondMs);
    if (jitterMs >= jitterMsMin) advice.push({ schedule: number, jitterMs });
  }
  return advice;
}

/** The same runs, moved as that jitter would move them: by the hash that a node would use. */
export function withAdvice(
  schedules: readonly ScheduleToPlay[],
  runs: ForecastRuns,
  advice: readonly JitterAdvice[],
): ForecastRuns {
  const jitterMsOf = new Map(advice.map(({ schedule, jitterMs }) => [schedule, jitterMs]));
  const moved = new ForecastRuns();
  for (let run = 0; run < runs.count; run++) {
    const number = runs.schedule(run);
    const jitterMs = jitterMsOf.get(number) ?? 0;
    const { id } = schedules[number] as ScheduleToPlay;
    const offsetMs =
      jitterMs === 0
        ? 0
        : jitterOffsetMs({ id, policies: { jitterMs, jitterMode: 'perSchedule' } }, runs.dueAt(run));
    moved.add(runs.dueAt(run) + offsetMs, runs.durationMs(run), number);
  }
  return moved;
}

/** Whether the advice is worth a person's time: it takes a fifth of the peak or more away. */
export function isWorthIt(before: Load, after: Load): boolean {
  return after.peakCount <= before.peakCount * 0.8;
}
