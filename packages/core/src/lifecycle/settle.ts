/** What an outcome means for its job. Pure: facts in, settlement out. */

import { isDulyError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Due, ReportBody, Settlement } from '../contract/engine.ts';
import type { Outcome } from './outcome.ts';
import { type BackoffFunction, retryDelayMs, retryFromStored } from './retry.ts';

/** Everything a settlement is decided by. */
export interface SettleFacts {
  job: ClaimedJob;
  outcome: Outcome;
  /** Progress and log lines that have not been sent yet. */
  report: ReportBody | null;
  random: Random;
  /** The task's own backoff function, where it has one. */
  backoff: BackoffFunction | null;
}

/** Decides what becomes of a job whose attempt ended so. */
export function settlementOf(facts: SettleFacts): Settlement {
  const { job, outcome, report } = facts;
  if (outcome.kind !== 'returned') return settlementOfOther(facts, outcome);
  const { id, fence } = job;
  const { result } = outcome;
  return {
    id,
    fence,
    to: 'COMPLETED',
    reason: 'returned',
    spends: true,
    started: true,
    loss: 'none',
    due: null,
    result,
    error: null,
    report,
  };
}

function settlementOfOther(
  { job, report, random, backoff }: SettleFacts,
  outcome: Exclude<Outcome, { kind: 'returned' }>,
): Settlement {
  const base = {
    id: job.id,
    fence: job.fence,
    spends: true,
    started: true,
    loss: 'none',
    due: null,
    result: null,
    error: null,
    report,
  } as const;

  /** Another attempt, if one is left. */
  const again = (due: () => Due): { to: 'RETRYING' | 'FAILED'; due: Due | null } =>
    job.spent + 1 < job.maxAttempts ? { to: 'RETRYING', due: due() } : { to: 'FAILED', due: null };
  const afterBackoff = (thrown: unknown) => (): Due => {
    const retry = retryFromStored(job.policy.retry, backoff);
    return { inMs: Math.max(retryDelayMs(retry, job.spent + 1, random, thrown), notBeforeMs(thrown)) };
  };
  // Nobody knows what the handler did or still does, and a second start is what at-most-once forbids.
  const mustNotStartAgain = (stopped: boolean): boolean => !stopped && job.policy.delivery === 'at-most-once';

  switch (outcome.kind) {
    case 'threw':
      return {
        ...base,
        ...again(afterBackoff(outcome.thrown ?? outcome.error)),
        reason: 'threw',
        error: outcome.error,
      };
    case 'died':
      if (mustNotStartAgain(false)) return { ...base, to: 'FAILED', reason: 'threw', error: outcome.error };
      return { ...base, ...again(afterBackoff(outcome.error)), reason: 'threw', error: outcome.error };
    case 'timeout':
      if (mustNotStartAgain(outcome.stopped)) {
        return { ...base, to: 'FAILED', reason: 'timeout', error: outcome.error };
      }
      return { ...base, ...again(afterBackoff(outcome.error)), reason: 'timeout', error: outcome.error };
    case 'retry-asked':
      return { ...base, ...again(() => outcome.due), reason: 'retry-asked', error: outcome.error };
    case 'snoozed':
      return { ...base, to: 'SCHEDULED', reason: 'snoozed', spends: false, due: outcome.due };
    case 'cancelled':
      return {
        ...base,
        to: 'CANCELLED',
        reason: 'cancelled',
        spends: false,
        started: outcome.started,
        error: outcome.error,
      };
    case 'input-refused':
      return { ...base, to: 'FAILED', reason: 'input-refused', started: false, error: outcome.error };
    case 'result-refused':
      return { ...base, to: 'FAILED', reason: 'result-refused', error: outcome.error };
    case 'released':
      if (outcome.started && job.policy.delivery === 'at-most-once') {
        const error = {
          name: 'DulyError',
          code: 'lost',
          message: `Job "${job.id}" was still running when its worker had to stop, and it must not start twice.`,
        };
        return { ...base, to: 'FAILED', reason: 'released', error };
      }
      return { ...base, to: 'PENDING', reason: 'released', spends: false, started: outcome.started };
  }
}

/** Releases a job that was claimed and not started. Nothing is spent, and its attempt number is used again. */
export function unstartedRelease({ id, fence }: { id: string; fence: number }): Settlement {
  return {
    ...{ id, fence, to: 'PENDING', reason: 'released', spends: false, started: false, loss: 'none' },
    ...{ due: null, result: null, error: null, report: null },
  };
}

/** How long whoever refused a request asked to be left alone. It only ever adds to the backoff: one who says "0" must not be asked ten times in a second. */
function notBeforeMs(thrown: unknown): number {
  if (!isDulyError(thrown, 'unexpected_status')) return 0;
  const { retryAfterMs } = thrown.details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0;
}
