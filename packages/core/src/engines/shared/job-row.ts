/** How a job stands in a table of any SQL store, and how the contract has it. */

import type {
  AttemptRecord,
  JobError,
  JobFieldName,
  JobFieldValue,
  JobPolicy,
  JobRecord,
  SettleReason,
} from '../../contract/engine.ts';
import type { jobFields } from '../../contract/job-fields.ts';
import type { JobStatus } from '../../contract/job-status.ts';

/** The value of a field in its column. */
type ColumnValue<Name extends JobFieldName> = (typeof jobFields)[Name]['type'] extends 'json'
  ? string | (null extends JobFieldValue<Name> ? null : never)
  : JobFieldValue<Name>;

type Columns = { [Name in JobFieldName as (typeof jobFields)[Name]['column']]: ColumnValue<Name> };

/** The columns that every SQL store has for a job, ended or not, as they are read. */
export interface JobColumns extends Omit<Columns, 'rank_offset' | 'schedule_id' | 'finished_at' | 'result'> {
  seq: number;
  finished_at?: number | null;
  result?: string | null;
}

/** What each store keeps in its own way. */
export type OwnParts = Pick<JobRecord, 'leaseUntilAt' | 'gates' | 'slot' | 'dead'>;

/** A row as the contract has it, at this instant of the store. */
export function jobRecordOf(row: JobColumns, now: number, own: OwnParts): JobRecord {
  const error = row.error === null ? null : (JSON.parse(row.error) as JobError);
  return {
    // {{job.record | %field: row.%column, | status=status: statusAt(row, now), | error=error,
    //   | policy=policy: JSON.parse(row.policy) as JobPolicy, | result=result: row.result ?? null,
    //   | finishedAt=finishedAt: row.finished_at ?? null,}}
    id: row.id,
    type: row.type,
    version: row.version,
    queue: row.queue,
    tenant: row.tenant,
    priority: row.priority,
    input: row.input,
    metadata: row.metadata,
    policy: JSON.parse(row.policy) as JobPolicy,
    fence: row.fence,
    attempt: row.attempt,
    spent: row.spent,
    maxAttempts: row.max_attempts,
    losses: row.losses,
    begunLosses: row.begun_losses,
    createdAt: row.created_at,
    dueAt: row.due_at,
    origin: row.origin,
    cancelRequestedAt: row.cancel_requested_at,
    status: statusAt(row, now),
    reason: row.reason,
    serial: row.serial,
    copyOf: row.copy_of,
    dedupeKey: row.dedupe_key,
    startedAt: row.started_at,
    latenessMs: row.lateness_ms,
    updatedAt: row.updated_at,
    finishedAt: row.finished_at ?? null,
    expireAt: row.expire_at,
    node: row.node,
    cancelledBy: row.cancelled_by,
    error,
    result: row.result ?? null,
    // {{/job}}
    progress: { percent: row.percent, message: row.message, step: row.step, of: row.step_of },
    attempts: attemptsOf(row, error),
    leaseUntilAt: own.leaseUntilAt,
    gates: own.gates,
    parent: row.parent_id === null ? null : { id: row.parent_id, key: row.parent_key },
    slot: own.slot,
    dead: own.dead,
  };
}

/** The status at this instant: a job whose time has come is PENDING for a reader, also before a node has looked. */
export function statusAt({ status, due_at }: Pick<JobColumns, 'status' | 'due_at'>, now: number): JobStatus {
  return status === 'SCHEDULED' && due_at <= now ? 'PENDING' : status;
}

/** Earlier attempts, and the last one from the row's own columns: a job that runs once needs no list. */
export function attemptsOf(row: JobColumns, error: JobError | null): AttemptRecord[] {
  const attempts = JSON.parse(row.attempts) as AttemptRecord[];
  const last = attempts.at(-1);
  if (row.attempt > 0 && row.claimed_at !== null && (last === undefined || last.n < row.attempt)) {
    const ended = row.finished_at ?? null;
    attempts.push({
      n: row.attempt,
      node: row.node ?? '',
      fence: row.fence,
      startedAt: row.claimed_at,
      begunAt: row.begun_at,
      endedAt: ended,
      reason: ended === null ? null : (row.reason as SettleReason),
      error: ended === null ? null : error,
    });
  }
  return attempts;
}
