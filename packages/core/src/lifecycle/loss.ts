/** What a lost lease means for its job. Pure: facts in, settlement out. */
import type { ClaimedJob, Settlement, Solo } from '../contract/engine.ts';
import { begunLossesMax, mustRunAlone } from '../contract/job-status.ts';

/** Decides what becomes of a job whose lease ended without an outcome. `job` is as `reap` gave it, under the reaper's fence. */
export function lossSettlement(job: ClaimedJob): Settlement {
  const base = {
    id: job.id,
    fence: job.fence,
    spends: false,
    started: true,
    loss: job.begun ? 'begun' : 'unproven',
    due: null,
    result: null,
    error: null,
    report: null,
  } as const;

  if (job.cancelRequestedAt !== null) return { ...base, to: 'CANCELLED', reason: 'cancelled' };

  if (job.policy.delivery === 'at-most-once') {
    // The beginning is written before the handler is entered, so without one the handler surely never ran.
    if (!job.begun) {
      return { ...base, to: 'PENDING', reason: 'released', started: false, loss: 'none' };
    }
    return { ...base, to: 'FAILED', reason: 'lost', error: lostError(job, 'it must not start twice') };
  }

  if (job.begun && job.begunLosses + 1 >= begunLossesMax) {
    const why = `it was the loss number ${job.begunLosses + 1} after a written beginning, so it may be the job that ends its process`;
    return { ...base, to: 'FAILED', reason: 'lost', error: lostError(job, why) };
  }
  return { ...base, to: 'RETRYING', reason: 'lost', solo: soloAfterLoss(job), due: { inMs: 0 } };
}

/** A lost job may have ended its process, so it is claimed alone. Before a loss that would end it, nothing else runs that could be the cause. */
function soloAfterLoss({ begun, begunLosses }: ClaimedJob): Solo {
  return mustRunAlone({ begunLosses: begunLosses + (begun ? 1 : 0) }) ? 2 : 1;
}

function lostError(job: ClaimedJob, why: string): Settlement['error'] {
  return {
    name: 'DulyError',
    code: 'lost',
    message: `The lease of job "${job.id}" (attempt ${job.attempt}) ended without an outcome; ${why}.`,
  };
}
