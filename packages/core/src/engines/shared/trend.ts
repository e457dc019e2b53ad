import type { Outcomes, TrendInput, TrendStep } from '../../contract/engine.ts';

/** Each step is counted, and where it must be sampled, in so many equal parts. */
const partCount = 4;

/** Counting a part stops here: some milliseconds. */
export const partCountMax = 250_000;

/** A stretch of time of one step. */
export interface TrendPart {
  /** Which step, from 0. */
  step: number;
  fromAt: number;
  /** Exclusive. */
  beforeAt: number;
}

/** A part, and how many of its first jobs are looked at. */
export interface TrendLook extends TrendPart {
  limit: number;
}

/** What was seen of a step by looking. */
export interface TrendSight extends Omit<TrendStep, 'fromAt' | 'sampled'> {
  /** How many were looked at, of whatever type. */
  lookedCount: number;
}

/** The outcomes that are counted for themselves. */
export type OddCounts = Pick<Outcomes, 'failed' | 'cancelled' | 'expired'>;

/** The parts of all steps, in order. */
export function trendParts({ fromAt, stepMs, stepCount }: TrendInput): TrendPart[] {
  const parts: TrendPart[] = [];
  for (let step = 0; step < stepCount; step++) {
    const startAt = fromAt + step * stepMs;
    for (let n = 0; n < partCount; n++) {
      parts.push({
        step,
        fromAt: startAt + Math.floor((n * stepMs) / partCount),
        beforeAt: startAt + Math.floor(((n + 1) * stepMs) / partCount),
      });
    }
  }
  return parts;
}

/** What to look at, by how many ended in each part: all of a small step; of a large one as much of each part as is its share. */
export function trendLooks(
  parts: readonly TrendPart[],
  counts: readonly number[],
  { fromAt, stepMs, stepCount, sampleCount }: TrendInput,
): { looks: TrendLook[]; endedCounts: number[] } {
  const endedCounts = Array.from({ length: stepCount }, () => 0);
  for (const [n, { step }] of parts.entries())
    endedCounts[step] = (endedCounts[step] ?? 0) + (counts[n] as number);
  const looks: TrendLook[] = [];
  for (const [n, part] of parts.entries()) {
    const ended = endedCounts[part.step] as number;
    if (ended > sampleCount) {
      const limit = Math.round(((counts[n] as number) / ended) * sampleCount);
      if (limit > 0) looks.push({ ...part, limit });
    } else if (ended > 0 && n % partCount === 0) {
      const startAt = fromAt + part.step * stepMs;
      looks.push({ step: part.step, fromAt: startAt, beforeAt: startAt + stepMs, limit: sampleCount });
    }
  }
  return { looks, endedCounts };
}

/** A step as the contract tells it. `odd` is null where nothing but the sample tells what did not complete. */
export function trendStep(
  n: number,
  { fromAt, stepMs, type }: TrendInput,
  endedCount: number,
  sight: TrendSight | undefined,
  odd: OddCounts | null,
): TrendStep {
  const at = { fromAt: fromAt + n * stepMs };
  if (sight === undefined) return { ...at, ...nothing, sampled: false };
  const { lookedCount, ...seen } = sight;
  if (endedCount <= lookedCount) return { ...at, ...seen, sampled: false };
  const scale = (count: number): number => Math.round((count * endedCount) / lookedCount);
  const { failed, cancelled, expired } = odd ?? {
    failed: scale(seen.failed),
    cancelled: scale(seen.cancelled),
    expired: scale(seen.expired),
  };
  const completed =
    type === null ? Math.max(0, endedCount - failed - cancelled - expired) : scale(seen.completed);
  return { ...at, ...seen, completed, failed, cancelled, expired, sampled: true };
}

const nothing = {
  ...{ completed: 0, failed: 0, cancelled: 0, expired: 0 },
  ...{ durationMsP50: null, durationMsP95: null },
  ...{ waitMsP50: null, waitMsP95: null, waitMsP99: null },
  ...{ latenessMsP50: null, latenessMsP95: null, latenessMsP99: null },
};
