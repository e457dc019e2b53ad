import type { StatsInput, StatsReply, TrendInput, TrendReply } from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { partCountMax, type TrendSight, trendLooks, trendParts, trendStep } from '../../shared/trend.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** So many runs of a schedule say what is usual. */
const scheduleRunsMax = 200;

/** See the contract. */
export async function stats(
  work: Work,
  { now: stamp, sinceAt, types, scheduleIds = [] }: StatsInput,
): Promise<StatsReply> {
  const now = await nowOf(work, stamp);
  const byType =
    types?.length === 0
      ? []
      : await work.rows<StatsReply['types'][number]>(statements.stats.outcomes, [
          sinceAt,
          types === null ? null : JSON.stringify(types),
        ]);
  const bySchedule =
    scheduleIds.length === 0
      ? []
      : await work.rows<StatsReply['schedules'][number]>(statements.stats.outcomesOfSchedules, [
          sinceAt,
          JSON.stringify(scheduleIds),
          scheduleRunsMax,
        ]);
  return { now, types: byType.map((row) => ({ ...row })), schedules: bySchedule.map((row) => ({ ...row })) };
}

/** See the contract. */
export async function trend(work: Work, input: TrendInput): Promise<TrendReply> {
  const { fromAt, stepMs, stepCount, type, scheduleId } = input;
  const now = await nowOf(work, input.now);
  const parts = trendParts(input);
  const ended =
    scheduleId === null
      ? await work.rows<{ count: number }>(statements.stats.ended, [JSON.stringify(parts), partCountMax])
      : await work.rows<{ count: number }>(statements.stats.endedOfSchedule, [
          JSON.stringify(parts),
          partCountMax,
          scheduleId,
        ]);
  const { looks, endedCounts } = trendLooks(
    parts,
    ended.map(({ count }) => count),
    input,
  );
  const looksText = JSON.stringify(looks);
  const seen =
    looks.length === 0
      ? []
      : scheduleId === null
        ? await work.rows<TrendSight & { step: number }>(statements.stats.sample, [looksText, type])
        : await work.rows<TrendSight & { step: number }>(statements.stats.sampleOfSchedule, [
            looksText,
            type,
            scheduleId,
          ]);
  const sights = new Map(seen.map(({ step, ...sight }) => [step, sight]));
  const isSampled = endedCounts.some((count) => count > input.sampleCount);
  const odd =
    isSampled && scheduleId === null
      ? await work.rows<{ step: number; status: JobStatus; count: number }>(statements.stats.odd, [
          fromAt,
          stepMs,
          fromAt + stepCount * stepMs,
          type,
        ])
      : null;
  const oddOf = (step: number, status: JobStatus) =>
    odd?.find((row) => row.step === step && row.status === status)?.count ?? 0;
  return {
    now,
    steps: endedCounts.map((count, n) =>
      trendStep(
        n,
        input,
        count,
        sights.get(n),
        odd === null
          ? null
          : { failed: oddOf(n, 'FAILED'), cancelled: oddOf(n, 'CANCELLED'), expired: oddOf(n, 'EXPIRED') },
      ),
    ),
  };
}

async function nowOf(work: Work, stamp: number | undefined): Promise<number> {
  const [row] = await work.rows<{ now: number }>(statements.job.now, [stamp ?? null]);
  return (row as { now: number }).now;
}
