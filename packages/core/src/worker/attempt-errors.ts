import { formatDuration } from '../duration.ts';
import type { ClaimedJob, JobError } from '../engine.ts';
import { dulyError } from '../errors.ts';
import { toJobError } from './job-error.ts';
import type { AbortReason } from './outcome.ts';

/** The error that an attempt no longer counts. */
export function leaseLost(job: Pick<ClaimedJob, 'id' | 'attempt'>): Error {
  return dulyError('lease_lost', {
    message: `Attempt ${job.attempt} of job "${job.id}" no longer holds its job; nothing it does is recorded.`,
    hint: 'End the handler. The job is, or will be, taken by another worker, unless it is settled already.',
    details: { id: job.id, attempt: job.attempt },
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
      : 'threw when it was told to stop';
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
