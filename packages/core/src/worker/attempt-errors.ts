import { formatDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import type { ClaimedJob, JobError } from '../contract/engine.ts';
import type { AbortReason } from '../lifecycle/outcome.ts';
import { toJobError } from './job-error.ts';

/** The error that an attempt no longer counts. */
export function leaseLost(job: Pick<ClaimedJob, 'id' | 'attempt'>): Error {
  return dulyError('lease_lost', {
    message: `Attempt ${job.attempt} of job "${job.id}" no longer holds its job; nothing it does is recorded.`,
    hint: 'End the handler. The job is, or will be, taken by another worker, unless it is settled already.',
    details: { id: job.id, attempt: job.attempt },
  });
}

/** The error of an attempt whose completion went away with the transaction it was made in. */
export function txRolledBack(job: Pick<ClaimedJob, 'id' | 'attempt'>): Error {
  return dulyError('tx_rolled_back', {
    message: `Attempt ${job.attempt} completed job "${job.id}" in a transaction that was not committed, so it did not complete it.`,
    hint: 'Let the handler throw what kept the transaction from being committed, or try the transaction again in the handler.',
    details: { id: job.id, attempt: job.attempt },
  });
}

/** The error of a second completion, of which the transaction fails. */
export function completedAlready(job: Pick<ClaimedJob, 'id' | 'attempt'>, cause: unknown): Error {
  return dulyError('completed_already', {
    message: `Attempt ${job.attempt} of job "${job.id}" was completed already, in this transaction or in one that was committed.`,
    hint: 'Call completeIn() once, just before you commit. After a rollback it may be called again, in the next transaction.',
    details: { id: job.id, attempt: job.attempt },
    cause,
  });
}

/** The reason of an attempt's signal: an error whose code says why. */
export function abortError(reason: AbortReason, job: Pick<ClaimedJob, 'id' | 'attempt'>): Error {
  const what = {
    cancelled: `Job "${job.id}" was cancelled.`,
    timeout: `Attempt ${job.attempt} of job "${job.id}" ran longer than its timeout.`,
    lost: `Attempt ${job.attempt} lost its lease of job "${job.id}".`,
    shutdown: `The worker that runs job "${job.id}" is shutting down.`,
  }[reason];
  return dulyError(reason, { message: what, details: { id: job.id, attempt: job.attempt } });
}

/** The error of an attempt that ran too long; `cause`: what its handler threw when it was told. */
export function timeoutError(job: ClaimedJob, cause: JobError | null): JobError {
  const { timeoutMs, graceMs } = job.policy;
  const how =
    cause === null
      ? `did not end within the grace of ${formatDuration(graceMs)}`
      : 'threw when it was asked to stop';
  const error = toJobError(
    dulyError('timeout', {
      message: `Attempt ${job.attempt} of job "${job.id}" ran longer than its timeout of ${formatDuration(timeoutMs ?? 0)} and ${how}.`,
    }),
  );
  // Where in Duly the time was noticed says nothing about the handler.
  delete error.stack;
  if (cause !== null) error.cause = cause;
  return error;
}
