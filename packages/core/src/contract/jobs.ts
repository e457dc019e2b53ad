/** The contract for jobs: creating, claiming, settling, renewing, acting on them. */
import type { CallerFields, ClaimFields, RecordFields } from './job-fields.ts';
import type { JobAction, JobStatus } from './job-status.ts';
import type { Actor, Due, Gate, GroupReply, JsonText, Origin, Reply, Stamp } from './shared.ts';

/** How often and how long, resolved when the job was created, so that any node can settle it without its task's code. */
export interface JobPolicy {
  maxAttempts: number;
  /** The retry policy in its stored form (see retry.ts). Opaque to the engine. */
  retry: unknown;
  /** Longest run of one attempt; null only where `timeout: 'none'` was written. */
  timeoutMs: number | null;
  /** How long an aborted handler may still settle by itself. */
  graceMs: number;
  delivery: 'at-least-once' | 'at-most-once';
  /** How long the finished job is kept. */
  retentionMs: number;
  /** How long the dead letter is kept, should it become one. */
  deadRetentionMs: number;
}

/** What `dedupe` means: docs/reference/semantics.md#dedupe. */
export interface Dedupe {
  key: string;
  /** How long from creation the key is held; null: until the job is terminal. */
  forMs: number | null;
  mode: 'drop' | 'replace' | 'extend';
  /** For `extend`: how long after creation the due time may be moved at most; null: no bound. */
  maxWaitMs: number | null;
}

/** A schedule's mark on a job it created. */
export interface JobSlot {
  scheduleId: string;
  scheduleName: string;
  generation: number;
  /** The nominal instant of the slot; null for a trigger. */
  slotAt: number | null;
  /** Text form of (schedule, generation, slot): the job's `fire_id`. */
  fireId: string;
  /** Told to the handler: covers, previous and next slot, zone. Opaque to the engine. */
  details: JsonText | null;
  /** Runs beside the others: it is no `ActiveRun` and does not count for overlap. Left out: false. */
  allow?: boolean;
}

/** A job to create: the fields that the caller sets (job-fields.ts), and those that the engine turns into others. */
export interface JobSpec extends CallerFields {
  due: Due;
  /** How late after its due instant it may still start for the first time. */
  startDeadlineMs: number | null;
  dedupe: Dedupe | null;
  /** Gates the caller knows of. One that names a terminal or unknown job is open from the start. */
  gates: Gate[];
  /** The job in whose handler it was created; with a key it is unique by (parent, key). */
  parent: { id: string; key: string | null } | null;
  slot: JobSlot | null;
}

/** An error as kept with a job. */
export interface JobError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  cause?: JobError;
}

/** What is shown of a running attempt. */
export interface Progress {
  /** 0 to 100; never goes back within one attempt. */
  percent: number;
  message: string | null;
  step: number | null;
  of: number | null;
}

/** One execution that is over, or the one that runs now. */
export interface AttemptRecord {
  n: number;
  node: string;
  fence: number;
  startedAt: number;
  /** When the handler's beginning was written, where it was (losses, at-most-once, long runs). */
  begunAt: number | null;
  /** null while it runs. */
  endedAt: number | null;
  /** How it ended: a settle reason; null while it runs. */
  reason: SettleReason | null;
  error: JobError | null;
}

/** Everything the store knows of a job: its stored fields (job-fields.ts) and what is computed of them. */
export interface JobRecord extends RecordFields {
  progress: Progress;
  /** Earlier attempts and the last one, oldest first; bounded, `attempt` tells how many there were. */
  attempts: AttemptRecord[];
  leaseUntilAt: number | null;
  gates: Gate[];
  parent: { id: string; key: string | null } | null;
  slot: JobSlot | null;
  /** Whether it is listed as a dead letter. */
  dead: boolean;
}

/** Asks to create jobs. */
export interface EnqueueInput extends Stamp {
  groups: { jobs: JobSpec[] }[];
  /** The caller does not know whether an earlier, equal call took effect: history is checked for the ids too. */
  repeat?: boolean;
  /** A process with free capacity may take what is ready in the same transaction. */
  claim?: ClaimRequest;
}

/** What became of one job spec. */
export interface EnqueuedItem {
  /** The job that keeps the promise: its own id, or the holder's when `deduped`. */
  id: string;
  status: JobStatus;
  dueAt: number;
  /** No new job was created: the key's holder stands (drop), was changed (replace, extend), or the child was there already. */
  deduped: boolean;
}

/** The answer to `enqueue`. */
export interface EnqueueReply extends Reply {
  groups: GroupReply<EnqueuedItem>[];
  claimed: ClaimedJob[];
}

/** Asks for work. */
export interface ClaimRequest {
  /** Created by the client for this claim; the same token answers with the same leases. */
  token: string;
  node: string;
  /** The tasks this worker handles: jobs of a version up to its own, at most `limit` of each. */
  tasks: { type: string; version: number; limit: number }[];
  /** Only these queues; null: all. */
  queues: string[] | null;
  /** At most so many, by rank, of equal rank the one created first. 0 takes nothing and only asks for `more`, `nextDueAt` and `soloSinceAt`. */
  limit: number;
  leaseMs: number;
  /** Nothing runs here, so a job that must run alone in its process may be taken. */
  idle: boolean;
}

/** A job under lease, with all that is needed to run it: the fields of a claim (job-fields.ts) and what is computed of them. */
export interface ClaimedJob
  extends Omit<ClaimFields, 'begunAt' | 'claimedAt' | 'slot' | 'parentId' | 'parentKey'> {
  claimedAt: number;
  /** Whether this attempt's beginning is written; false at every claim, true for a reaped job that had begun. */
  begun: boolean;
  slot: JobSlot | null;
  parent: { id: string; key: string | null } | null;
}

/** Why an attempt ended. */
export type SettleReason =
  | 'returned'
  | 'threw'
  | 'timeout'
  | 'retry-asked'
  | 'snoozed'
  | 'lost'
  | 'released'
  | 'cancelled'
  | 'input-refused'
  | 'result-refused';

/** How a job is claimed: 0 with others, 1 as the only job of its claim, 2 only by a process in which nothing else runs. */
export type Solo = 0 | 1 | 2;

/** What became of one attempt, decided by the node that ran (or reaped) it. */
export interface Settlement {
  id: string;
  fence: number;
  /** A job that was asked to cancel does not come back: instead of RETRYING, SCHEDULED and PENDING it becomes CANCELLED. */
  to: 'COMPLETED' | 'FAILED' | 'RETRYING' | 'SCHEDULED' | 'PENDING' | 'CANCELLED';
  reason: SettleReason;
  /** Whether one of the job's attempts is used up. */
  spends: boolean;
  /** Whether the handler was entered. A release of a job that was not gives its attempt number back. */
  started: boolean;
  /** `begun`: the lease was lost after a written beginning; `unproven`: lost before. */
  loss: 'none' | 'unproven' | 'begun';
  /** How the job is claimed if it comes back; left out: as before. */
  solo?: Solo;
  /** For RETRYING and SCHEDULED. */
  due: Due | null;
  result: JsonText | null;
  error: JobError | null;
  /** The last progress and log lines, so that they always arrive. */
  report: ReportBody | null;
}

/** Hands in what is finished, takes what is next; either half may be empty. */
export interface ExchangeInput extends Stamp {
  settle: Settlement[];
  claim: ClaimRequest | null;
  /** An earlier, equal call may have taken effect: settled attempts answer `done` again, the token answers its leases. */
  repeat?: boolean;
}

/** The answer to `exchange`. */
export interface ExchangeReply extends Reply {
  /** Per settlement: recorded, or the lease was no longer ours and nothing was written. */
  settled: ('done' | 'lost')[];
  claimed: ClaimedJob[];
  /** The next instant at which a waiting job falls due or a pause ends, for precise sleep; null: none. */
  nextDueAt: number | null;
  /** More is ready for these tasks than was given. */
  more: boolean;
  /** A job that must run alone waits since this instant; null: none. */
  soloSinceAt: number | null;
}

/** Renews leases and writes beginnings. */
export interface HeartbeatInput extends Stamp {
  node: string;
  leaseMs: number;
  leases: { id: string; fence: number; begun: boolean }[];
}

/** What a lease is told. */
export type HeartbeatState = { state: 'kept' } | { state: 'cancel'; requestedAt: number } | { state: 'lost' };

/** The answer to `heartbeat`, per lease. */
export interface HeartbeatReply extends Reply {
  leases: HeartbeatState[];
}

/** Takes lost leases over, expires start deadlines, promotes what is due. */
export interface ReapInput extends Stamp {
  node: string;
  /** How long the reaper has to settle what it was given. */
  leaseMs: number;
  limit: number;
  /** Takes over only leases that had ended at this instant of the store; left out: all that have ended. */
  endedBy?: number;
}

/** The answer to `reap`. */
export interface ReapReply extends Reply {
  /** Jobs whose lease ended, under a new fence of the reaper; it settles them by policy. Asking again after its lease gives them again. */
  jobs: ClaimedJob[];
  expired: number;
  promoted: number;
  /** More is waiting: come back at once. */
  more: boolean;
  /** The next instant at which a lease or start deadline ends; null: none. */
  nextAt: number | null;
}

/** Names a job by its id or by its dedupe key. */
export type JobTarget = { id: string } | { type: string; tenant: string | null; key: string };

/** Cancels jobs. */
export interface CancelInput extends Stamp {
  groups: {
    actor: Actor;
    note: string | null;
    targets: JobTarget[];
    /** `ask`: a running job is asked and may still finish. `terminate`: it is CANCELLED at once and its fence is dead. */
    mode: 'ask' | 'terminate';
  }[];
}

/** What became of one target. */
export interface ChangedItem {
  /** null when a key named no job. */
  id: string | null;
  /**
   * `changed`: done. `asked`: running, will be told. `unchanged`: it was so already (safe repeat).
   * `refused`: its status does not allow it, or it is not as expected. `missing`: no such job.
   */
  result: 'changed' | 'asked' | 'unchanged' | 'refused' | 'missing';
  /** null: it is missing, or was deleted. */
  status: JobStatus | null;
  /** How the job stands afterwards, for the caller's handle. */
  dueAt: number | null;
}

/** The answer to the verbs that act on jobs by target. */
export interface ChangedReply extends Reply {
  groups: GroupReply<ChangedItem>[];
}

/** Moves waiting jobs to another instant. */
export interface RescheduleInput extends Stamp {
  groups: { actor: Actor; targets: JobTarget[]; due: Due }[];
}

/** An ended job to bring back. */
export interface RetryTarget {
  id: string;
  /** Fence of the ended job when it was read. A job with another fence was retried since: `unchanged`. */
  expectFence?: number;
}

/** Brings FAILED, CANCELLED or EXPIRED jobs back: same job, attempts numbered on, fence grows. */
export interface RetryInput extends Stamp {
  groups: { actor: Actor; note: string | null; targets: RetryTarget[] }[];
}

/** One log line of a handler. */
export interface LogLine {
  /** Number within its attempt, from 1, given by the worker: a line that arrives twice is kept once. */
  line: number;
  at: number;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

/** What a running attempt shows. */
export interface ReportBody {
  progress: Progress | null;
  logs: LogLine[];
}

/** Reports progress and log lines of running attempts. */
export interface ReportInput extends Stamp {
  reports: ({ id: string; fence: number } & ReportBody)[];
  /** Log lines kept per job; the oldest give way. */
  logLimit: number;
}

/** The answer to `report`, per report. */
export interface ReportReply extends Reply {
  reports: ('kept' | 'lost')[];
}

/** Which jobs. Every field given must match; lists match any of theirs. */
export interface JobFilter {
  ids?: string[];
  status?: JobStatus[];
  type?: string[];
  queue?: string[];
  tenant?: string | null;
  scheduleId?: string;
  dedupeKey?: string;
  serial?: string;
  parentId?: string;
  createdFrom?: number;
  createdBefore?: number;
  /** Runs of slots from this one on, and before this one. With `scheduleId` and the origin `backfill` it is found by an index. */
  slotFrom?: number;
  slotBefore?: number;
  origin?: Origin;
  /** A part of the error's name or message, any case. */
  error?: string;
  /** Each string is a part of the type, the tenant or the error (its name or message), or is the status; any case. */
  text?: string[];
  /** Only jobs created at or before this instant and, if finished, finished at or before it. */
  asOf?: number;
  /** Values at paths of the input, `user.id` = 1; compared as JSON. */
  input?: { path: string; value: JsonText }[];
  /** Only dead letters (or only others). */
  dead?: boolean;
}

/** A job to act on, as it was listed. Without expectations it is changed as it stands. */
export interface ActTarget {
  id: string;
  /** Another fence is refused: the job was claimed, taken over, terminated or retried since. */
  expectFence?: number;
  /** Another status, as a reader sees it, is refused: the job was settled, fell due or was opened since. */
  expectStatus?: JobStatus;
  /**
   * Another instant is refused: the job was updated since, for example by a dedupe `replace`. Ignored while it
   * is RUNNING, because progress counts as an update.
   */
  expectUpdatedAt?: number;
}

/** Does one action to each job of a group, with an audit row each. */
export interface ActInput extends Stamp {
  groups: { actor: Actor; note: string | null; action: JobAction; targets: ActTarget[] }[];
}
