import type { Clock, Duly, TrendStep } from '@duly/core';

/** What a trend is asked of. */
export interface TrendQuestion {
  /** A multiple of the step. */
  fromAt: number;
  stepMs: number;
  stepCount: number;
  type: string | null;
  scheduleId: string | null;
}

/** Reads trends, and reads again only what can have changed. */
export interface CachedTrend {
  /** The steps, oldest first. */
  read(question: TrendQuestion): Promise<TrendStep[]>;
}

/** A step that is over changes only when an old job is retried or deleted: that is shown after this time. */
const cacheMs = 5 * 60_000;
/** A transaction of the user's own may end a job a while after the instant it bears. */
const settlingMs = 30_000;
/** So many steps are cached in all; then all are dropped. */
const cachedCountMax = 20_000;
/** So many steps are asked for at once, so that other calls come between on a store that does one thing at a time. */
const stepsPerCall = 15;

interface Cached {
  step: TrendStep;
  untilAt: number;
}

/** Makes it. */
export function createCachedTrend({ duly, clock }: { duly: Duly; clock: Clock }): CachedTrend {
  const cached = new Map<string, Cached>();
  /** The same question asked by two is asked of the store once. */
  const asked = new Map<string, Promise<TrendStep[]>>();

  async function readAll({ fromAt, stepMs, stepCount, type, scheduleId }: TrendQuestion) {
    const now = clock.now();
    const keyOf = (at: number) => JSON.stringify([type, scheduleId, stepMs, at]);
    const steps = new Map<number, TrendStep>();
    const missing: number[] = [];
    for (let n = 0; n < stepCount; n++) {
      const at = fromAt + n * stepMs;
      const found = cached.get(keyOf(at));
      if (found !== undefined && found.untilAt > now) steps.set(at, found.step);
      else missing.push(at);
    }
    while (missing.length > 0) {
      const [first] = missing as [number];
      let count = 1;
      while (count < stepsPerCall && missing[count] === first + count * stepMs) count += 1;
      missing.splice(0, count);
      const read = await duly.trend({
        ...{ since: first, step: stepMs, count },
        ...(type === null ? {} : { type }),
        ...(scheduleId === null ? {} : { scheduleId }),
      });
      if (cached.size > cachedCountMax) cached.clear();
      for (const step of read) {
        const at = step.from.getTime();
        steps.set(at, step);
        if (at + stepMs + settlingMs < now) cached.set(keyOf(at), { step, untilAt: now + cacheMs });
      }
    }
    return [...steps].sort(([a], [b]) => a - b).map(([, step]) => step);
  }

  return {
    read(question) {
      const key = JSON.stringify(question);
      const running = asked.get(key);
      if (running !== undefined) return running;
      const answer = readAll(question).finally(() => asked.delete(key));
      asked.set(key, answer);
      return answer;
    },
  };
}
