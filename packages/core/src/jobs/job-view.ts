import type {
  AttemptRecord,
  EnqueuedItem,
  GateKind,
  JobError,
  JobRecord,
  JobSpec,
  Origin,
  Progress,
} from '../contract/engine.ts';
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
  // {{job.shown -dedupeKey -input -result | /** %doc */\n%field: %type;}}
  /** ID of the job, created by the client; it orders jobs by creation. */
  id: string;
  /** Name of its task. */
  type: string;
  /** Version of its task; a worker runs jobs up to its own version. */
  version: number;
  /** Its status. */
  status: JobStatus;
  /** Why it has this status, where the status alone does not say. */
  reason: string | null;
  /** Attempts that it may spend; every retry by hand adds those of the policy. */
  maxAttempts: number;
  /** How often its node was lost; a loss spends no attempt. */
  losses: number;
  /** Its queue. */
  queue: string;
  /** Its tenant. */
  tenant: string | null;
  /** Higher runs earlier. */
  priority: number;
  /** Jobs with the same serial key (per tenant) run one at a time, in due order. */
  serial: string | null;
  /** When it was created. */
  createdAt: Date;
  /** When it was, or is, to start (again). */
  dueAt: Date;
  /** The first start. */
  startedAt: Date | null;
  /** How long after its due instant it first started; null before. */
  latenessMs: number | null;
  /** The last change. */
  updatedAt: Date;
  /** When it finished, with whatever outcome. */
  finishedAt: Date | null;
  /** The instant after which it can no longer start for the first time. */
  expireAt: Date | null;
  /** The node that runs it, or ran it last. */
  node: string | null;
  /** When it was asked to cancel. */
  cancelRequestedAt: Date | null;
  /** Who asked to cancel. */
  cancelledBy: string | null;
  /** What created it. */
  origin: Origin;
  /** ID of the job that this job repeats. */
  copyOf: string | null;
  // {{/job}}
  progress: Progress;
  input: Input;
  /** The caller's own fields. */
  metadata: Record<string, unknown>;
  /** What the handler returned; null before that. */
  result: Result | null;
  /** Error of the last failed attempt. */
  error: JobError | null;
  /** Attempts spent, and the one that runs. */
  attempts: number;
  /** When the next attempt is due; null while it runs, is blocked or is over. */
  nextAttemptAt: Date | null;
  waitingFor: JobWait | null;
  /** Its dedupe key. */
  key: string | null;
  /** The job in whose handler it was created. */
  parentId: string | null;
  /** Its key among that job's children. */
  parentKey: string | null;
  /** The schedule that created it; null: none. */
  schedule: string | null;
  slot: Date | null;
  fireId: string | null;
  leaseUntilAt: Date | null;
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
    // {{job.shown -dedupeKey -input -result -node | %field: %shown(record.%field),}}
    id: record.id,
    type: record.type,
    version: record.version,
    status: record.status,
    reason: record.reason,
    maxAttempts: record.maxAttempts,
    losses: record.losses,
    queue: record.queue,
    tenant: record.tenant,
    priority: record.priority,
    serial: record.serial,
    createdAt: new Date(record.createdAt),
    dueAt: new Date(record.dueAt),
    startedAt: date(record.startedAt),
    latenessMs: record.latenessMs,
    updatedAt: new Date(record.updatedAt),
    finishedAt: date(record.finishedAt),
    expireAt: date(record.expireAt),
    cancelRequestedAt: date(record.cancelRequestedAt),
    cancelledBy: record.cancelledBy,
    origin: record.origin,
    copyOf: record.copyOf,
    // {{/job}}
    progress: { ...record.progress },
    input: JSON.parse(record.input) as Input,
    metadata: record.metadata === null ? {} : (JSON.parse(record.metadata) as Record<string, unknown>),
    result: record.result === null ? null : (JSON.parse(record.result) as Result),
    error: record.error,
    attempts: record.status === 'RUNNING' ? record.spent + 1 : record.spent,
    nextAttemptAt: waits ? new Date(record.dueAt) : null,
    waitingFor: waitOf(record),
    key: record.dedupeKey,
    parentId: record.parent?.id ?? null,
    parentKey: record.parent?.key ?? null,
    schedule: record.slot?.scheduleName ?? null,
    slot: date(record.slot?.slotAt ?? null),
    fireId: record.slot?.fireId ?? null,
    node: record.node ?? last?.node ?? null,
    leaseUntilAt: date(record.leaseUntilAt),
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

/**
 * A job as it is stored when it is created, put together from the call and its reply instead of read again; null where the
 * reply does not say everything: another job holds its key, or it waits behind a gate.
 */
export function createdRecord(spec: JobSpec, item: EnqueuedItem, now: number): JobRecord | null {
  if (item.deduped || item.id !== spec.id) return null;
  if (item.status !== 'PENDING' && item.status !== 'SCHEDULED') return null;
  return {
    // {{job.caller -rankOffsetMs | %field: spec.%field,}}
    id: spec.id,
    type: spec.type,
    version: spec.version,
    queue: spec.queue,
    tenant: spec.tenant,
    priority: spec.priority,
    input: spec.input,
    metadata: spec.metadata,
    policy: spec.policy,
    origin: spec.origin,
    serial: spec.serial,
    copyOf: spec.copyOf,
    // {{/job}}
    // {{job.record +nullable -caller -expireAt -dedupeKey | %field: null,}}
    cancelRequestedAt: null,
    reason: null,
    startedAt: null,
    latenessMs: null,
    finishedAt: null,
    node: null,
    cancelledBy: null,
    error: null,
    result: null,
    // {{/job}}
    status: item.status,
    progress: { percent: 0, message: null, step: null, of: null },
    createdAt: now,
    dueAt: item.dueAt,
    updatedAt: now,
    expireAt: spec.startDeadlineMs === null ? null : item.dueAt + spec.startDeadlineMs,
    attempt: 0,
    spent: 0,
    maxAttempts: spec.policy.maxAttempts,
    losses: 0,
    begunLosses: 0,
    attempts: [],
    fence: 0,
    leaseUntilAt: null,
    gates: [],
    dedupeKey: spec.dedupe?.key ?? null,
    parent: spec.parent,
    slot: spec.slot,
    dead: false,
  };
}
