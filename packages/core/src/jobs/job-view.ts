import type { AttemptRecord, GateKind, JobError, JobRecord, Origin, Progress } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';

/** One execution of a job, as shown to users. */
export interface Attempt {
  n: number;
  node: string;
  fence: number;
  startedAt: Date;
  /** null while it runs. */
  endedAt: Date | null;
  /** How it ended; null while it runs. */
  reason: AttemptRecord['reason'];
  error: JobError | null;
}

/** What a job waits for, as its record alone tells it. `duly.why` looks further: pauses, nodes, who holds the gate. */
export type JobWait =
  | { kind: 'time'; until: Date }
  | { kind: 'retry'; until: Date }
  | { kind: 'worker' }
  | { kind: 'gate'; gates: { kind: GateKind; ref: string }[] };

/** A job as users see it: plain data, instants as `Date`. */
export interface Job<Input = unknown, Result = unknown> {
  id: string;
  type: string;
  version: number;
  status: JobStatus;
  /** Why it has this status, where the status alone does not say. */
  reason: string | null;
  progress: Progress;
  input: Input;
  metadata: Record<string, unknown>;
  /** What the handler returned; null before that. */
  result: Result | null;
  error: JobError | null;
  /** Attempts spent, and the one that runs. */
  attempts: number;
  maxAttempts: number;
  /** How often its node was lost; a loss spends no attempt. */
  losses: number;
  createdAt: Date;
  /** When it was, or is, to start (again). */
  dueAt: Date;
  startedAt: Date | null;
  updatedAt: Date;
  finishedAt: Date | null;
  /** The instant after which it can no longer start for the first time. */
  expireAt: Date | null;
  /** When the next attempt is due; null while it runs, is blocked or is over. */
  nextAttemptAt: Date | null;
  waitingFor: JobWait | null;
  queue: string;
  priority: number;
  tenant: string | null;
  /** Its dedupe key. */
  key: string | null;
  serial: string | null;
  origin: Origin;
  /** The job in whose handler it was made. */
  parentId: string | null;
  /** Its key among that job's children. */
  parentKey: string | null;
  copyOf: string | null;
  /** The schedule that made it; null: none. */
  schedule: string | null;
  slot: Date | null;
  fireId: string | null;
  /** How much later than due it first started; null before. */
  latenessMs: number | null;
  /** The node that runs it, or ran it last. */
  node: string | null;
  leaseUntilAt: Date | null;
  cancelRequestedAt: Date | null;
  cancelledBy: string | null;
  /** Whether it is listed as a dead letter. */
  dead: boolean;
  /** The last attempts, oldest first. */
  attemptList: Attempt[];
}

/** Turns the store's record of a job into what users see. */
export function toJob<Input = unknown, Result = unknown>(record: JobRecord): Job<Input, Result> {
  const last = record.attempts.at(-1);
  const waits = record.status === 'SCHEDULED' || record.status === 'PENDING' || record.status === 'RETRYING';
  return {
    id: record.id,
    type: record.type,
    version: record.version,
    status: record.status,
    reason: record.reason,
    progress: { ...record.progress },
    input: JSON.parse(record.input) as Input,
    metadata: record.metadata === null ? {} : (JSON.parse(record.metadata) as Record<string, unknown>),
    result: record.result === null ? null : (JSON.parse(record.result) as Result),
    error: record.error,
    attempts: record.status === 'RUNNING' ? record.spent + 1 : record.spent,
    maxAttempts: record.maxAttempts,
    losses: record.losses,
    createdAt: new Date(record.createdAt),
    dueAt: new Date(record.dueAt),
    startedAt: date(record.startedAt),
    updatedAt: new Date(record.updatedAt),
    finishedAt: date(record.finishedAt),
    expireAt: date(record.expireAt),
    nextAttemptAt: waits ? new Date(record.dueAt) : null,
    waitingFor: waitOf(record),
    queue: record.queue,
    priority: record.priority,
    tenant: record.tenant,
    key: record.dedupeKey,
    serial: record.serial,
    origin: record.origin,
    parentId: record.parent?.id ?? null,
    parentKey: record.parent?.key ?? null,
    copyOf: record.copyOf,
    schedule: record.slot?.scheduleName ?? null,
    slot: date(record.slot?.slotAt ?? null),
    fireId: record.slot?.fireId ?? null,
    latenessMs: record.latenessMs,
    node: record.node ?? last?.node ?? null,
    leaseUntilAt: date(record.leaseUntilAt),
    cancelRequestedAt: date(record.cancelRequestedAt),
    cancelledBy: record.cancelledBy,
    dead: record.dead,
    attemptList: record.attempts.map((attempt) => ({
      n: attempt.n,
      node: attempt.node,
      fence: attempt.fence,
      startedAt: new Date(attempt.startedAt),
      endedAt: date(attempt.endedAt),
      reason: attempt.reason,
      error: attempt.error,
    })),
  };
}

function waitOf(record: JobRecord): JobWait | null {
  switch (record.status) {
    case 'SCHEDULED':
      return { kind: 'time', until: new Date(record.dueAt) };
    case 'RETRYING':
      return { kind: 'retry', until: new Date(record.dueAt) };
    case 'PENDING':
      return { kind: 'worker' };
    case 'BLOCKED':
      return { kind: 'gate', gates: gatesOf(record) };
    default:
      return null;
  }
}

function gatesOf({ gates, serial }: JobRecord): { kind: GateKind; ref: string }[] {
  // How a store names a serial line is its own affair.
  return gates.map(({ kind, ref }) => ({ kind, ref: kind === 'serial' && serial !== null ? serial : ref }));
}

function date(instant: number | null): Date | null {
  return instant === null ? null : new Date(instant);
}
