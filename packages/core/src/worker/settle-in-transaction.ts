import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { ClaimedJob, Engine, JobRecord, Settlement } from '../contract/engine.ts';
import type { Outcome } from '../lifecycle/outcome.ts';
import type { BackoffFunction } from '../lifecycle/retry.ts';
import { settlementOf } from '../lifecycle/settle.ts';
import { isStoreTrouble } from '../store/batcher.ts';
import type { Completion } from './attempt.ts';
import { txRolledBack } from './attempt-errors.ts';
import { toJobError } from './job-error.ts';

/** What is known of an attempt whose handler completed its job in a transaction of the user's own. */
export interface SettleOptions {
  engine: Pick<Engine, 'exchange' | 'get'>;
  clock: Clock;
  random: Random;
  job: ClaimedJob;
  /** How its handler ended. */
  outcome: Outcome;
  completion: Completion;
  /** What was reported and has not arrived, should the completion not stand. */
  report: Settlement['report'];
  backoff: BackoffFunction | null;
  onError(error: unknown): void;
  /** Ends the waiting for a store that is away. */
  signal: AbortSignal;
}

/** What stands: a settlement, or null for an attempt that no longer counts. */
export type Settled = Settlement | null;

// While the user's transaction is open the store refuses soon; it is asked again at this interval.
const firstWaitMs = 20;
const longestWaitMs = 2_000;

/**
 * Finds out whether the completion stands. If the transaction was not committed, the job is not complete, whatever its handler
 * returned: it is settled as a failure, apart from all others, because its row may be locked for as long as that transaction is open.
 */
export async function settleInTransaction(options: SettleOptions): Promise<Settled> {
  const { engine, clock, random, job, outcome, completion, signal } = options;
  const isReturned = outcome.kind === 'returned' || outcome.kind === 'result-refused';
  const failure: Outcome = isReturned ? { kind: 'threw', error: toJobError(txRolledBack(job)) } : outcome;
  const { report, backoff } = options;
  const otherwise = settlementOf({ job, outcome: failure, report, random, backoff });
  for (let waitMs = firstWaitMs; !signal.aborted; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
    try {
      const { jobs } = await engine.get({ ids: [job.id] });
      const ended = endOf(jobs[0] ?? null, job.fence);
      if (ended === 'returned') return completion.settlement;
      if (ended === otherwise.reason) return otherwise;
      if (ended !== 'runs') return null;
      const { settled } = await engine.exchange({ settle: [otherwise], claim: null });
      if (settled[0] === 'done') return otherwise;
      // It was committed, or taken, between the two: look again, at once.
      waitMs = firstWaitMs;
      continue;
    } catch (error) {
      options.onError(error);
      if (!isStoreTrouble(error)) return null;
    }
    await clock.sleep(waitMs, signal);
  }
  return null;
}

/** How the attempt of this fence ended, as the store has it; `runs`: it has not; null: it no longer counts. */
function endOf(record: JobRecord | null, fence: number): string | null {
  // Past its retention already: only a job that is over is forgotten.
  if (record === null) return 'returned';
  const attempt = record.attempts.find((one) => one.fence === fence);
  if (attempt !== undefined && attempt.reason !== null) return attempt.reason;
  return record.status === 'RUNNING' && record.fence === fence ? 'runs' : null;
}
