import type { JobStatus } from '../contract/job-status.ts';
import type { Origin } from '../contract/shared.ts';
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
  // {{job.none id type version status reason | /** %doc */\n%json: %jsonType;}}
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
  // {{/job}}
  /** 0 to 100. */
  progress: number;
  /** Attempts that count, the one that runs included. */
  attempts: number;
  // {{job.shown -id -type -version -status -reason | /** %doc */\n%json: %jsonType;}}
  /** Attempts that it may spend; every retry by hand adds those of the policy. */
  max_attempts: number;
  /** How often its node was lost; a loss spends no attempt. */
  losses: number;
  /** Its queue. */
  queue: string;
  /** Its tenant. */
  tenant: string | null;
  /** Higher runs earlier. */
  priority: number;
  /** Its dedupe key. */
  key: string | null;
  /** Jobs with the same serial key (per tenant) run one at a time, in due order. */
  serial: string | null;
  /** When it was created. */
  created_at: Instant;
  /** When it was, or is, to start (again). */
  due_at: Instant;
  /** The first start. */
  started_at: Instant | null;
  /** How long after its due instant it first started; null before. */
  lateness_ms: number | null;
  /** The last change. */
  updated_at: Instant;
  /** When it finished, with whatever outcome. */
  completed_at: Instant | null;
  /** The instant after which it can no longer start for the first time. */
  expire_at: Instant | null;
  /** The node that runs it, or ran it last. */
  node: string | null;
  /** When it was asked to cancel. */
  cancel_requested_at: Instant | null;
  /** Who asked to cancel. */
  cancelled_by: string | null;
  /** Any JSON. */
  input: unknown;
  /** What the handler returned; null before that. */
  result: unknown;
  /** What created it. */
  origin: Origin;
  /** ID of the job that this job repeats. */
  copy_of: string | null;
  // {{/job}}
  next_attempt_at: Instant | null;
  waiting_for: JobWaitJson | null;
  /** The caller's own fields, and what the handler shows of its steps. */
  metadata: Record<string, unknown> & {
    current_step: unknown;
    steps_completed: unknown;
    steps_total: unknown;
  };
  error: JobErrorJson | null;
  parent_id: string | null;
  parent_key: string | null;
  schedule: string | null;
  slot: Instant | null;
  fire_id: string | null;
  lease_until_at: Instant | null;
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
    // {{job.none id type version status reason | %json: %iso(job.%field),}}
    id: job.id,
    type: job.type,
    version: job.version,
    status: job.status,
    reason: job.reason,
    // {{/job}}
    progress: job.progress.percent,
    attempts: job.attempts,
    // {{job.shown -id -type -version -status -reason | %json: %iso(job.%field), | dedupeKey=key: job.key,}}
    max_attempts: job.maxAttempts,
    losses: job.losses,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    key: job.key,
    serial: job.serial,
    created_at: job.createdAt.toISOString(),
    due_at: job.dueAt.toISOString(),
    started_at: text(job.startedAt),
    lateness_ms: job.latenessMs,
    updated_at: job.updatedAt.toISOString(),
    completed_at: text(job.finishedAt),
    expire_at: text(job.expireAt),
    node: job.node,
    cancel_requested_at: text(job.cancelRequestedAt),
    cancelled_by: job.cancelledBy,
    input: job.input,
    result: job.result,
    origin: job.origin,
    copy_of: job.copyOf,
    // {{/job}}
    next_attempt_at: text(job.nextAttemptAt),
    waiting_for: waitJson(job.waitingFor),
    metadata: metadataJson(job),
    error: errorJson(job.error, stack),
    parent_id: job.parentId,
    parent_key: job.parentKey,
    schedule: job.schedule,
    slot: text(job.slot),
    fire_id: job.fireId,
    lease_until_at: text(job.leaseUntilAt),
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
