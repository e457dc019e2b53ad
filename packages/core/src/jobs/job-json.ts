import type { Attempt, Job, JobWait } from './job-view.ts';

type Instant = string;
type JobError = NonNullable<Job['error']>;

/** An error as JSON shows it; `stack` only to those who may see it. */
export interface JobErrorJson {
  name: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: JobErrorJson;
}

/** What a job waits for, as its record alone tells it. */
export type JobWaitJson =
  | { kind: 'time' | 'retry'; until_at: Instant }
  | { kind: 'worker' }
  | Extract<JobWait, { kind: 'gate' }>;

/** A job as the HTTP API and the command's `-o json` show it: snake case, instants as ISO 8601 in UTC. */
export interface JobJson {
  id: string;
  type: string;
  version: number;
  status: Job['status'];
  reason: string | null;
  /** 0 to 100. */
  progress: number;
  created_at: Instant;
  /** The first start. */
  started_at: Instant | null;
  updated_at: Instant;
  completed_at: Instant | null;
  due_at: Instant;
  expire_at: Instant | null;
  next_attempt_at: Instant | null;
  waiting_for: JobWaitJson | null;
  input: unknown;
  /** The caller's own fields, and what the handler shows of its steps. */
  metadata: Record<string, unknown> & {
    current_step: unknown;
    steps_completed: unknown;
    steps_total: unknown;
  };
  attempts: number;
  max_attempts: number;
  losses: number;
  queue: string;
  priority: number;
  tenant: string | null;
  key: string | null;
  serial: string | null;
  result: unknown;
  error: JobErrorJson | null;
  origin: Job['origin'];
  parent_id: string | null;
  parent_key: string | null;
  copy_of: string | null;
  schedule: string | null;
  slot: Instant | null;
  fire_id: string | null;
  lateness_ms: number | null;
  node: string | null;
  lease_until_at: Instant | null;
  cancel_requested_at: Instant | null;
  cancelled_by: string | null;
  dead: boolean;
}

/** One attempt as JSON. */
export interface AttemptJson {
  n: number;
  node: string;
  fence: number;
  started_at: Instant;
  ended_at: Instant | null;
  reason: Attempt['reason'];
  error: JobErrorJson | null;
}

/** What to show. */
export interface JobJsonOptions {
  /** Whether stacks of errors are shown: they tell of paths and code. Default false. */
  stack?: boolean;
}

/** Turns a job into the JSON that programs are shown. */
export function toJobJson(job: Job, { stack = false }: JobJsonOptions = {}): JobJson {
  return {
    id: job.id,
    type: job.type,
    version: job.version,
    status: job.status,
    reason: job.reason,
    progress: job.progress.percent,
    created_at: job.createdAt.toISOString(),
    started_at: text(job.startedAt),
    updated_at: job.updatedAt.toISOString(),
    completed_at: text(job.finishedAt),
    due_at: job.dueAt.toISOString(),
    expire_at: text(job.expireAt),
    next_attempt_at: text(job.nextAttemptAt),
    waiting_for: waitJson(job.waitingFor),
    input: job.input,
    metadata: metadataJson(job),
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    losses: job.losses,
    queue: job.queue,
    priority: job.priority,
    tenant: job.tenant,
    key: job.key,
    serial: job.serial,
    result: job.result,
    error: errorJson(job.error, stack),
    origin: job.origin,
    parent_id: job.parentId,
    parent_key: job.parentKey,
    copy_of: job.copyOf,
    schedule: job.schedule,
    slot: text(job.slot),
    fire_id: job.fireId,
    lateness_ms: job.latenessMs,
    node: job.node,
    lease_until_at: text(job.leaseUntilAt),
    cancel_requested_at: text(job.cancelRequestedAt),
    cancelled_by: job.cancelledBy,
    dead: job.dead,
  };
}

/** Turns an attempt into JSON. */
export function toAttemptJson(attempt: Attempt, { stack = false }: JobJsonOptions = {}): AttemptJson {
  return {
    n: attempt.n,
    node: attempt.node,
    fence: attempt.fence,
    started_at: attempt.startedAt.toISOString(),
    ended_at: text(attempt.endedAt),
    reason: attempt.reason,
    error: errorJson(attempt.error, stack),
  };
}

/** What the handler shows stands over a field of the same name that the caller gave; what it does not show leaves it. */
function metadataJson({ metadata, progress }: Job): JobJson['metadata'] {
  return {
    ...metadata,
    current_step: progress.message ?? metadata.current_step ?? null,
    steps_completed: progress.step ?? metadata.steps_completed ?? null,
    steps_total: progress.of ?? metadata.steps_total ?? null,
  };
}

function waitJson(wait: JobWait | null): JobWaitJson | null {
  if (wait === null || wait.kind === 'worker' || wait.kind === 'gate') return wait;
  return { kind: wait.kind, until_at: wait.until.toISOString() };
}

function errorJson(error: JobError | null, stack: boolean): JobErrorJson | null {
  if (error === null) return null;
  return {
    name: error.name,
    message: error.message,
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(stack && error.stack !== undefined ? { stack: error.stack } : {}),
    ...(error.cause === undefined ? {} : { cause: errorJson(error.cause, stack) as JobErrorJson }),
  };
}

function text(instant: Date | null): Instant | null {
  return instant === null ? null : instant.toISOString();
}
