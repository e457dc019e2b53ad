import { type Duration, parseDuration } from '../../base/duration.ts';
import { resultBytesMax, toJson } from '../../base/json.ts';
import { refuseOption } from '../../base/option-reader.ts';
import type { ClaimedJob, JobError, JobRecord } from '../../contract/engine.ts';
import type { Outcome } from '../../lifecycle/outcome.ts';
import { toJobError } from '../job-error.ts';

/** An error as a worker tells it. */
export interface RemoteError {
  message: string;
  name?: string;
  stack?: string;
  code?: string;
}

/** How an attempt ended, as its worker tells it. */
export type RemoteOutcome =
  | { kind: 'completed'; result?: unknown }
  /** It is tried again by the job's policy if attempts are left; `retryIn`: after this long instead. */
  | { kind: 'failed'; error: RemoteError; retryIn?: Duration }
  /** Comes back after this long and spends no attempt. */
  | { kind: 'snoozed'; in: Duration }
  /** It was asked to cancel, and stopped. */
  | { kind: 'cancelled' }
  /** Goes back for another worker and spends no attempt; `started`: its work had begun. */
  | { kind: 'released'; started?: boolean };

/** Turns it into the outcome that Duly decides by. */
export function readOutcome(given: RemoteOutcome, job: ClaimedJob): Outcome {
  switch (given?.kind) {
    case 'completed': {
      const { result = null } = given;
      return {
        kind: 'returned',
        result: result === null ? null : toJson(result, { what: 'result', maxBytes: resultBytesMax }),
      };
    }
    case 'failed': {
      const error = readError(given.error);
      // One that fails after it was asked to cancel is cancelled, and not tried again.
      if (job.cancelRequestedAt !== null) return { kind: 'cancelled', started: true, error };
      if (given.retryIn === undefined) return { kind: 'threw', error };
      return { kind: 'retry-asked', due: { inMs: parseDuration(given.retryIn, 'retryIn') }, error };
    }
    case 'snoozed':
      return { kind: 'snoozed', due: { inMs: parseDuration(given.in, 'in') } };
    case 'cancelled':
      return { kind: 'cancelled', started: true, error: null };
    case 'released':
      return { kind: 'released', started: given.started ?? true, stopped: true };
    default:
      return refuseOption(
        'outcome',
        given,
        'to have a kind: completed, failed, snoozed, cancelled or released',
      );
  }
}

function readError(given: RemoteError): JobError {
  const { message, name = 'Error', stack, code } = given ?? {};
  const error = new Error(String(message ?? ''));
  error.name = String(name);
  // Where in Duly it was put together says nothing about the worker.
  if (stack === undefined) delete error.stack;
  else error.stack = String(stack);
  return toJobError(code === undefined ? error : Object.assign(error, { code: String(code) }));
}

/** What is known of a leased job, as a claim would tell it. */
export function claimedOf(record: JobRecord, fence: number): ClaimedJob {
  const last = record.attempts.at(-1);
  return {
    // {{job.claim +record | %field: record.%field, | fence=fence,}}
    id: record.id,
    type: record.type,
    version: record.version,
    queue: record.queue,
    tenant: record.tenant,
    priority: record.priority,
    input: record.input,
    metadata: record.metadata,
    policy: record.policy,
    fence,
    attempt: record.attempt,
    spent: record.spent,
    maxAttempts: record.maxAttempts,
    losses: record.losses,
    begunLosses: record.begunLosses,
    createdAt: record.createdAt,
    dueAt: record.dueAt,
    origin: record.origin,
    cancelRequestedAt: record.cancelRequestedAt,
    // {{/job}}
    begun: (last?.begunAt ?? null) !== null,
    claimedAt: last?.startedAt ?? record.updatedAt,
    slot: record.slot,
    parent: record.parent,
  };
}
