// The result of a job, or its error as an Error that can be thrown.

import { dulyError, fromPlainError, toPlainError } from '../base/errors.ts';
import type { JobRecord } from '../contract/engine.ts';
import type { Job } from './job-view.ts';

/** The result of a job that is over. Throws `job_failed` with the error that ended it. */
export function resultOf(job: Job): unknown {
  if (job.status === 'COMPLETED') return job.result;
  const cause = job.error === null ? undefined : fromJobError(job.error);
  throw dulyError('job_failed', {
    message: `Job "${job.id}" (type "${job.type}") has no result: it is ${job.status}${job.error === null ? '' : ` with "${briefOf(job.error)}"`}.`,
    hint: 'Ask why() for the whole story.',
    details: { id: job.id, status: job.status, reason: job.reason },
    cause,
  });
}

/** The error that ended a job, with its causes. */
function fromJobError(error: NonNullable<JobRecord['error']>): Error {
  const cause = error.cause === undefined ? undefined : fromJobError(error.cause);
  const plain = toPlainError(new Error(error.message));
  return fromPlainError({
    ...plain,
    name: error.name,
    code: error.code ?? null,
    stack: error.stack ?? null,
    cause: cause === undefined ? null : toPlainError(cause),
  });
}

/** The first line of an error, for the message of another. */
function briefOf({ name, message }: NonNullable<JobRecord['error']>): string {
  return `${name}: ${message.split('\n', 1)[0]?.slice(0, 200)}`;
}
