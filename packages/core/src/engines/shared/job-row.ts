/** How a job stands in a table of any SQL store, and how the contract has it. */
import type {
  AttemptRecord,
  JobError,
  JobPolicy,
  JobRecord,
  Origin,
  SettleReason,
} from '../../contract/engine.ts';
import type { JobStatus } from '../../contract/job-status.ts';

/** The columns that every SQL store has for a job, ended or not. */
export interface JobColumns {
  seq: number;
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  status: JobStatus;
  reason: string | null;
  due_at: number;
  expire_at: number | null;
  created_at: number;
  updated_at: number;
  started_at: number | null;
  lateness_ms: number | null;
  finished_at?: number | null;
  fence: number;
  node: string | null;
  claimed_at: number | null;
  begun_at: number | null;
  attempt: number;
  spent: number;
  max_attempts: number;
  losses: number;
  begun_losses: number;
  percent: number;
  message: string | null;
  step: number | null;
  step_of: number | null;
  cancel_requested_at: number | null;
  cancelled_by: string | null;
  origin: Origin;
  dedupe_key: string | null;
  serial: string | null;
  parent_id: string | null;
  parent_key: string | null;
  copy_of: string | null;
  slot: string | null;
  policy: string;
  metadata: string | null;
  error: string | null;
  result?: string | null;
  attempts: string;
  input: string;
}

/** What each store keeps in its own way. */
export type OwnParts = Pick<JobRecord, 'leaseUntilAt' | 'gates' | 'slot' | 'dead'>;

/** A row as the contract has it, at this instant of the store. */
export function jobRecordOf(row: JobColumns, now: number, own: OwnParts): JobRecord {
  const error = row.error === null ? null : (JSON.parse(row.error) as JobError);
  return {
    id: row.id,
    type: row.type,
    version: row.version,
    queue: row.queue,
    tenant: row.tenant,
    priority: row.priority,
    status: statusAt(row, now),
    reason: row.reason,
    input: row.input,
    metadata: row.metadata,
    policy: JSON.parse(row.policy) as JobPolicy,
    result: row.result ?? null,
    error,
    progress: { percent: row.percent, message: row.message, step: row.step, of: row.step_of },
    createdAt: row.created_at,
    dueAt: row.due_at,
    startedAt: row.started_at,
    latenessMs: row.lateness_ms,
    updatedAt: row.updated_at,
    finishedAt: row.finished_at ?? null,
    expireAt: row.expire_at,
    attempt: row.attempt,
    spent: row.spent,
    maxAttempts: row.max_attempts,
    losses: row.losses,
    begunLosses: row.begun_losses,
    attempts: attemptsOf(row, error),
    fence: row.fence,
    node: row.node,
    leaseUntilAt: own.leaseUntilAt,
    gates: own.gates,
    dedupeKey: row.dedupe_key,
    serial: row.serial,
    parent: row.parent_id === null ? null : { id: row.parent_id, key: row.parent_key },
    origin: row.origin,
    slot: own.slot,
    copyOf: row.copy_of,
    cancelRequestedAt: row.cancel_requested_at,
    cancelledBy: row.cancelled_by,
    dead: own.dead,
  };
}

/** The status at this instant: a job whose time has come is PENDING for a reader, also before a node has looked. */
function statusAt({ status, due_at }: Pick<JobColumns, 'status' | 'due_at'>, now: number): JobStatus {
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
