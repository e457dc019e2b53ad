import type {
  AttemptRecord,
  Gate,
  JobError,
  JobPolicy,
  JobRecord,
  JobSlot,
  Origin,
  SettleReason,
} from '../../engine.ts';
import type { JobStatus } from '../../job.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** A row of `jobs` or `finished`; the columns that only one of them has are optional. */
export interface JobRow {
  seq: number;
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  status: JobStatus;
  reason: string | null;
  rank_offset: number;
  due_at: number;
  expire_at: number | null;
  created_at: number;
  updated_at: number;
  started_at: number | null;
  lateness_ms: number | null;
  finished_at?: number;
  dead?: number;
  prune_at?: number;
  fence: number;
  lease_until?: number | null;
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
  schedule_id: string | null;
  slot: string | null;
  policy: string;
  metadata: string | null;
  error: string | null;
  result?: string | null;
  attempts: string;
  input: string;
}

/** A row as the contract has it. */
export function toJobRecord(work: Work, row: JobRow): JobRecord {
  const error = row.error === null ? null : (JSON.parse(row.error) as JobError);
  return {
    id: row.id,
    type: row.type,
    version: row.version,
    queue: row.queue,
    tenant: row.tenant,
    priority: row.priority,
    status: statusAt(work, row),
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
    // Leases run in steady time; a reader knows only the store's.
    leaseUntilAt: row.lease_until == null ? null : row.lease_until - work.steady + work.now,
    gates:
      row.status === 'BLOCKED'
        ? work.all<Gate>(statements.job.gatesOf, row.seq).map((gate) => ({ ...gate }))
        : [],
    dedupeKey: row.dedupe_key,
    serial: row.serial,
    parent: row.parent_id === null ? null : { id: row.parent_id, key: row.parent_key },
    origin: row.origin,
    slot: row.slot === null ? null : (JSON.parse(row.slot) as JobSlot),
    copyOf: row.copy_of,
    cancelRequestedAt: row.cancel_requested_at,
    cancelledBy: row.cancelled_by,
    dead: row.dead === 1,
  };
}

/** The status as of now: a job whose time has come is PENDING for a reader, also before a node has looked. */
export function statusAt(work: Work, row: Pick<JobRow, 'status' | 'due_at'>): JobStatus {
  return row.status === 'SCHEDULED' && row.due_at <= work.now ? 'PENDING' : row.status;
}

/** Earlier attempts, and the last one from the row's own columns: a job that runs once needs no list. */
export function attemptsOf(row: JobRow, error: JobError | null): AttemptRecord[] {
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
