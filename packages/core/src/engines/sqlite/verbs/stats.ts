import type { Outcomes, StatsInput, StatsReply, TrendInput, TrendReply } from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import {
  type OddCounts,
  partCountMax,
  type TrendLook,
  type TrendSight,
  trendLooks,
  trendParts,
  trendStep,
} from '../../shared/trend.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** A finished job, as far as statistics look at it. There may be very many, so they are read as lists. */
type Ended = [status: JobStatus, duration: number | null, wait: number | null, finishedAt: number];

/** So many runs of a schedule say what is usual. */
const scheduleRunsMax = 200;

/** See the contract. */
export function stats(work: Work, { sinceAt, types, scheduleIds = [] }: StatsInput): Omit<StatsReply, 'now'> {
  const byType = new Map<string, Ended[]>();
  const rows =
    types?.length === 0 ? [] : work.tuples<[...Ended, type: string]>(statements.stats.outcomes, sinceAt);
  for (const [status, duration, wait, finishedAt, type] of rows) {
    if (types !== null && !types.includes(type)) continue;
    const list = byType.get(type) ?? [];
    if (list.length === 0) byType.set(type, list);
    list.push([status, duration, wait, finishedAt]);
  }
  return {
    types: [...byType].sort(byNewest).map(([type, list]) => ({ type, ...outcomesOf(list) })),
    schedules: scheduleIds.map((scheduleId) => ({
      scheduleId,
      ...outcomesOf(
        work.tuples<Ended>(statements.stats.outcomesOfSchedule, scheduleId, sinceAt, scheduleRunsMax),
      ),
    })),
  };
}

/** The type of which a job ended last is first; of those that ended in the same instant, by name. */
function byNewest([a, listA]: [string, Ended[]], [b, listB]: [string, Ended[]]): number {
  const endedAt = (list: Ended[]) => (list[0] as Ended)[3];
  return endedAt(listB) - endedAt(listA) || (a < b ? -1 : 1);
}

/** Of rows that are ordered by their end, the newest first. */
function outcomesOf(rows: readonly Ended[]): Outcomes {
  const ended = { COMPLETED: 0, FAILED: 0, CANCELLED: 0, EXPIRED: 0 } as Record<JobStatus, number>;
  const durations: (number | null)[] = [];
  let lastCompletedAt: number | null = null;
  for (const [status, duration, , finishedAt] of rows) {
    ended[status] += 1;
    if (status !== 'COMPLETED') continue;
    durations.push(duration);
    lastCompletedAt ??= finishedAt;
  }
  const took = sorted(durations);
  const waits = sorted(rows.map(([, , wait]) => wait));
  return {
    completed: ended.COMPLETED,
    failed: ended.FAILED,
    cancelled: ended.CANCELLED,
    expired: ended.EXPIRED,
    durationMsP50: percentile(took, 0.5),
    durationMsP95: percentile(took, 0.95),
    waitMsP50: percentile(waits, 0.5),
    waitMsP95: percentile(waits, 0.95),
    lastCompletedAt,
  };
}

/** See the contract. */
export function trend(work: Work, input: TrendInput): Omit<TrendReply, 'now'> {
  const { scheduleId, fromAt, stepMs, stepCount } = input;
  const parts = trendParts(input);
  const counts = parts.map((part) => {
    const range = { fromAt: part.fromAt, beforeAt: part.beforeAt, max: partCountMax };
    const row =
      scheduleId === null
        ? work.get<{ count: number }>(statements.stats.ended, range)
        : work.get<{ count: number }>(statements.stats.endedOfSchedule, { ...range, scheduleId });
    return row?.count ?? 0;
  });
  const { looks, endedCounts } = trendLooks(parts, counts, input);
  const looksOf = Map.groupBy(looks, ({ step }) => step);
  return {
    steps: Array.from({ length: stepCount }, (_, n) => {
      const endedCount = endedCounts[n] as number;
      const sight = sightOf(work, input, looksOf.get(n) ?? []);
      const isWhole = sight === undefined || endedCount <= sight.lookedCount;
      const odd = isWhole || scheduleId !== null ? null : oddCounts(work, fromAt + n * stepMs, input);
      return trendStep(n, input, endedCount, sight, odd);
    }),
  };
}

type Sampled = [
  type: string,
  status: JobStatus,
  origin: string,
  duration: number | null,
  wait: number | null,
];

function sightOf(
  work: Work,
  { type: wanted, scheduleId }: TrendInput,
  looks: readonly TrendLook[],
): TrendSight | undefined {
  if (looks.length === 0) return undefined;
  const rows = looks.flatMap(({ fromAt, beforeAt, limit }) =>
    scheduleId === null
      ? work.tuples<Sampled>(statements.stats.sample, fromAt, beforeAt, limit)
      : work.tuples<Sampled>(statements.stats.sampleOfSchedule, scheduleId, fromAt, beforeAt, limit),
  );
  const ended = { COMPLETED: 0, FAILED: 0, CANCELLED: 0, EXPIRED: 0 } as Record<JobStatus, number>;
  const durations: (number | null)[] = [];
  const waits: (number | null)[] = [];
  const latenesses: (number | null)[] = [];
  for (const [type, status, origin, duration, wait] of rows) {
    if (wanted !== null && type !== wanted) continue;
    ended[status] += 1;
    if (status === 'COMPLETED') durations.push(duration);
    waits.push(wait);
    if (origin === 'schedule') latenesses.push(wait);
  }
  const [duration, wait, lateness] = [sorted(durations), sorted(waits), sorted(latenesses)];
  return {
    lookedCount: rows.length,
    ...{
      completed: ended.COMPLETED,
      failed: ended.FAILED,
      cancelled: ended.CANCELLED,
      expired: ended.EXPIRED,
    },
    durationMsP50: percentile(duration, 0.5),
    durationMsP95: percentile(duration, 0.95),
    waitMsP50: percentile(wait, 0.5),
    waitMsP95: percentile(wait, 0.95),
    waitMsP99: percentile(wait, 0.99),
    latenessMsP50: percentile(lateness, 0.5),
    latenessMsP95: percentile(lateness, 0.95),
    latenessMsP99: percentile(lateness, 0.99),
  };
}

function oddCounts(work: Work, fromAt: number, { stepMs, type }: TrendInput): OddCounts {
  const rows = work.all<{ status: JobStatus; count: number }>(statements.stats.odd, {
    ...{ fromAt, beforeAt: fromAt + stepMs, type },
  });
  const of = (status: JobStatus) => rows.find((row) => row.status === status)?.count ?? 0;
  return { failed: of('FAILED'), cancelled: of('CANCELLED'), expired: of('EXPIRED') };
}

/** As an array of numbers, which sorts ten times as fast as a list does by a function. */
function sorted(values: readonly (number | null)[]): Float64Array {
  return Float64Array.from(values.filter((value) => value !== null)).sort();
}

/** Nearest rank: an observed value, never one between two. */
function percentile(values: Float64Array, share: number): number | null {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null;
}
