/**
 * The engine contract: the one seam between Duly and a store.
 *
 * An engine stores and moves; it does not decide. No cron arithmetic, no backoff, no logging. Every verb
 *
 * - takes one object and is atomic: all of it happened, or nothing did;
 * - takes many groups at once: one caller's group is all or nothing, groups fail alone;
 * - is safe to repeat after an unknown outcome (each verb says how);
 * - takes an optional `now`. Production leaves it out and the store's own clock decides; tests and
 *   simulations set it. Every reply carries the instant that ruled.
 *
 * Expected outcomes are values in the reply; exceptions (a `DulyError` with a code) mean a broken store or a broken caller.
 * How SQLite, PostgreSQL and Redis each do every verb: docs/internals/engine-contract.md.
 */
import type { PlainError } from './errors.ts';
import type { JobStatus } from './job.ts';

// ------------------------------------------------------------------------------------------------ shared

/** What every verb takes. */
export interface Stamp {
  /** The instant that rules this call; left out, the store's own clock. */
  now?: number;
}

/** What every verb answers. */
export interface Reply {
  /** The store's instant while the verb ran, epoch milliseconds. */
  now: number;
}

/** The answer to one group: its items in the order asked, or the error that refused the whole group. */
export type GroupReply<Item> = { ok: true; items: Item[] } | { ok: false; error: PlainError };

/** When something falls due: at an instant, or so long after the store's `now`. */
export type Due = { at: number } | { inMs: number };

/** JSON text. The engine keeps it as it came and never looks inside, filters on input paths excepted. */
export type JsonText = string;

/** Who asked: a key id, an app, a node or a person at a terminal. Kept in the audit row. */
export type Actor = string;

/** Why a job is BLOCKED. Limits, flows and batches become further kinds, not further verbs. */
export type GateKind = 'overlap' | 'serial' | 'parent' | 'dedupe';

/**
 * A shut gate. `overlap`, `parent` and `dedupe` name a job and open when it is terminal; `serial` names a place (by the
 * store's own name for tenant and key) and opens for one job at a time, in due order.
 */
export interface Gate {
  kind: GateKind;
  ref: string;
}

/** Where a job came from. */
export type Origin = 'event' | 'schedule' | 'trigger' | 'backfill' | 'replay' | 'child';

// -------------------------------------------------------------------------------------------------- jobs

/** How often and how long, resolved when the job was made, so that any node can settle it without its task's code. */
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

/** What `dedupe` means: SEMANTICS §4. */
export interface Dedupe {
  key: string;
  /** How long from creation the key is held; null: until the job is terminal. */
  forMs: number | null;
  mode: 'drop' | 'replace' | 'extend';
  /** For `extend`: how long after creation the due time may be moved at most; null: no bound. */
  maxWaitMs: number | null;
}

/** A schedule's mark on a job it made. */
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

/** One promise, as the client hands it in. */
export interface JobSpec {
  /** Made by the client, time-ordered. The same id twice is the same promise. */
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  /**
   * Added to the due instant to give the rank by which PENDING jobs are taken: −priority × a step, plus a
   * penalty for catch-up runs. Static, so ageing is free.
   */
  rankOffsetMs: number;
  due: Due;
  input: JsonText;
  metadata: JsonText | null;
  policy: JobPolicy;
  /** How late after its due instant it may still start for the first time. */
  startDeadlineMs: number | null;
  dedupe: Dedupe | null;
  /** Jobs of one serial key (per tenant) run one at a time, in due order. */
  serial: string | null;
  /** Gates the caller knows of. One that names a terminal or unknown job is open from the start. */
  gates: Gate[];
  /** The job in whose handler it was made; with a key it is unique by (parent, key). */
  parent: { id: string; key: string | null } | null;
  origin: Origin;
  slot: JobSlot | null;
  copyOf: string | null;
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

/** Everything the store knows of a job. */
export interface JobRecord {
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  status: JobStatus;
  /** Why it has this status, where the status alone does not say: a settle reason, who cancelled, which policy. */
  reason: string | null;
  input: JsonText;
  metadata: JsonText | null;
  policy: JobPolicy;
  result: JsonText | null;
  error: JobError | null;
  progress: Progress;
  createdAt: number;
  dueAt: number;
  /** The first start. */
  startedAt: number | null;
  /** How long after its due instant it first started; null before. */
  latenessMs: number | null;
  updatedAt: number;
  finishedAt: number | null;
  /** The instant after which it can no longer start for the first time. */
  expireAt: number | null;
  /** Number of the last attempt, 0 before the first. */
  attempt: number;
  /** Attempts spent by failures, timeouts and success; losses and releases spend none. */
  spent: number;
  /** Grows by the policy's attempts with every replay. */
  maxAttempts: number;
  losses: number;
  /** Losses after a written beginning; the third ends the job. */
  begunLosses: number;
  /** Earlier attempts and the last one, oldest first; bounded, `attempt` tells how many there were. */
  attempts: AttemptRecord[];
  fence: number;
  node: string | null;
  leaseUntilAt: number | null;
  gates: Gate[];
  dedupeKey: string | null;
  serial: string | null;
  parent: { id: string; key: string | null } | null;
  origin: Origin;
  slot: JobSlot | null;
  copyOf: string | null;
  cancelRequestedAt: number | null;
  /** Who asked to cancel. */
  cancelledBy: string | null;
  /** Whether it is listed as a dead letter. */
  dead: boolean;
}

/** Asks to make jobs. */
export interface EnqueueInput extends Stamp {
  groups: { jobs: JobSpec[] }[];
  /** The caller does not know whether an earlier, equal call took effect: history is checked for the ids too. */
  repeat?: boolean;
  /** A process with free places may take what is ready in the same transaction. */
  claim?: ClaimRequest;
}

/** What became of one job spec. */
export interface EnqueuedItem {
  /** The job that keeps the promise: its own id, or the holder's when `deduped`. */
  id: string;
  status: JobStatus;
  dueAt: number;
  /** No new job was made: the key's holder stands (drop), was changed (replace, extend), or the child was there already. */
  deduped: boolean;
}

/** The answer to `enqueue`. */
export interface EnqueueReply extends Reply {
  groups: GroupReply<EnqueuedItem>[];
  claimed: ClaimedJob[];
}

/** Asks for work. */
export interface ClaimRequest {
  /** Made by the client for this claim; the same token answers with the same leases. */
  token: string;
  node: string;
  /** The tasks this worker handles: jobs of a version up to its own, at most `limit` of each. */
  tasks: { type: string; version: number; limit: number }[];
  /** Only these queues; null: all. */
  queues: string[] | null;
  /** At most so many, by rank, of equal rank the one made first. 0 takes nothing and only asks for `more`, `nextDueAt` and `soloSinceAt`. */
  limit: number;
  leaseMs: number;
  /** Nothing runs here, so a job that must run alone in its process may be taken. */
  idle: boolean;
}

/** A job under lease, with all that is needed to run it. */
export interface ClaimedJob {
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  input: JsonText;
  metadata: JsonText | null;
  policy: JobPolicy;
  fence: number;
  /** Number of this attempt. */
  attempt: number;
  spent: number;
  maxAttempts: number;
  losses: number;
  begunLosses: number;
  /** Whether this attempt's beginning is written; false at every claim, true for a reaped job that had begun. */
  begun: boolean;
  createdAt: number;
  dueAt: number;
  claimedAt: number;
  origin: Origin;
  slot: JobSlot | null;
  parent: { id: string; key: string | null } | null;
  cancelRequestedAt: number | null;
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
export type Beat = { state: 'kept' } | { state: 'cancel'; requestedAt: number } | { state: 'lost' };

/** The answer to `heartbeat`, per lease. */
export interface HeartbeatReply extends Reply {
  leases: Beat[];
}

/** Takes lost leases over, expires start deadlines, promotes what is due. */
export interface ReapInput extends Stamp {
  node: string;
  /** How long the reaper has to settle what it was given. */
  leaseMs: number;
  limit: number;
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
   * `refused`: its status does not allow it. `missing`: no such job.
   */
  result: 'changed' | 'asked' | 'unchanged' | 'refused' | 'missing';
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

/** Brings FAILED, CANCELLED or EXPIRED jobs back: same job, attempts numbered on, fence grows. */
export interface ReplayInput extends Stamp {
  groups: { actor: Actor; note: string | null; ids: string[] }[];
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
  /** Values at paths of the input, `user.id` = 1; compared as JSON. */
  input?: { path: string; value: JsonText }[];
  /** Only dead letters (or only others). */
  dead?: boolean;
}

/** An action on all jobs that match, a page at a time. */
export interface ChangeInput extends Stamp {
  actor: Actor;
  filter: JobFilter;
  action: 'cancel' | 'terminate' | 'replay' | 'discard' | 'delete';
  note: string | null;
  /** Where the last page ended; null: from the start. */
  cursor: string | null;
  limit: number;
  /** Count only. */
  dryRun: boolean;
}

/** The answer to `change`. */
export interface ChangeReply extends Reply {
  /** Matched jobs of this page that the action applies to. */
  changed: number;
  /** Matched jobs of this page whose status does not allow it. */
  refused: number;
  /** Ids of the jobs that changed. */
  ids: string[];
  /** null: that was the last page. */
  nextCursor: string | null;
}

// --------------------------------------------------------------------------------------------- schedules

/** A schedule as stored. `spec` and `state` are the planner's and opaque here. */
export interface ScheduleRecord {
  id: string;
  /** The app that declared it; null: dynamic. */
  app: string | null;
  tenant: string | null;
  name: string;
  /** Grows when a deleted schedule is made again under the same name. */
  generation: number;
  /** Grows with every write; compare-and-set. */
  version: number;
  /** Rule, policies, task, input, release, note: the user's side. */
  spec: JsonText;
  /** Cursor, counters, held slots, skipped instants: the planner's side. */
  state: JsonText;
  /** When it must be decided next; null: never (ended, paused, disabled, or it waits for a job). */
  dueAt: number | null;
  /** A job whose end makes it due at once (fixed delay, buffered overlap); null: none. */
  waitsFor: string | null;
  createdAt: number;
  updatedAt: number;
}

/** A change to one schedule. `expectVersion` null: must not exist. */
export type ScheduleChange =
  | {
      op: 'put';
      id: string;
      app: string | null;
      tenant: string | null;
      name: string;
      expectVersion: number | null;
      spec: JsonText;
      state: JsonText;
      dueAt: number | null;
      waitsFor: string | null;
      /** What happened, for the audit row: `create`, `edit`, `pause`, `resume`, `skip-next`, `disable`. */
      action: string;
      /** Ledger rows decided by this very change (a resume that decides the held slots). */
      slots: SlotRow[];
      jobs: JobSpec[];
      /** Other runs that an overlap policy ends, before the jobs are made. Left out: none. */
      cancel?: FireGroup['cancel'];
      /** As in `fire`; one that no longer waits refuses the group (`records_conflict`). */
      tell?: FireGroup['tell'];
      /** For the audit row. Left out: none. */
      note?: string | null;
    }
  | {
      op: 'delete';
      id: string;
      expectVersion: number;
      /** Cancels its unstarted jobs; running ones finish; the ledger stays. */
      action: string;
      /** Ledger rows of what had come and was not decided. Left out: none. */
      slots?: SlotRow[];
      /** For the audit row. Left out: none. */
      note?: string | null;
    };

/** Makes, edits and deletes schedules. */
export interface ApplySchedulesInput extends Stamp {
  groups: { actor: Actor; changes: ScheduleChange[] }[];
}

/** What became of one change; `conflict`: the version was not the expected one, and the whole group was refused. */
export interface AppliedSchedule {
  id: string;
  version: number;
  generation: number;
}

/** The answer to `applySchedules`. */
export interface ApplySchedulesReply extends Reply {
  groups: GroupReply<AppliedSchedule>[];
}

/** Asks for due schedules, under a short lease. */
export interface ClaimSchedulesInput extends Stamp {
  node: string;
  token: string;
  limit: number;
  leaseMs: number;
  /** These only, due or not (trigger, edit, resume); null: due ones. */
  ids: string[] | null;
}

/** An unfinished job of a schedule, for the overlap rule. */
export interface ActiveRun {
  id: string;
  status: JobStatus;
  slotAt: number | null;
  origin: Origin;
  dueAt: number;
  cancelRequestedAt: number | null;
}

/** A schedule under lease. */
export interface ClaimedSchedule extends ScheduleRecord {
  fence: number;
  /** Unfinished jobs, oldest first, at most 10; `activeCount` counts all. */
  active: ActiveRun[];
  activeCount: number;
  /** The end of the job it waited for, once terminal. */
  waited: { id: string; status: JobStatus; finishedAt: number } | null;
}

/** The answer to `claimSchedules`. */
export interface ClaimSchedulesReply extends Reply {
  schedules: ClaimedSchedule[];
  /** The next instant at which a schedule falls due, or the lease of one that another claim has ends; null: none. */
  nextDueAt: number | null;
  more: boolean;
}

/** A ledger row: a maximal run of consecutive slots with one decision and one reason. */
export interface SlotRow {
  fromAt: number;
  toAt: number;
  /** How many slots from `fromAt` to `toAt` have this decision; null: they were not counted. */
  count: number | null;
  decision: string;
  reason: string | null;
  node: string;
  jobId: string | null;
}

/** One schedule's decisions. */
export interface FireGroup {
  scheduleId: string;
  /** Both must still hold, else `conflict` and nothing of the group is written. */
  version: number;
  fence: number;
  state: JsonText;
  dueAt: number | null;
  waitsFor: string | null;
  slots: SlotRow[];
  jobs: JobSpec[];
  /** Other runs that an overlap policy ends. */
  cancel: { id: string; mode: 'ask' | 'terminate' }[];
  /**
   * New slot details of runs that wait (SCHEDULED, PENDING, BLOCKED). If one of them no longer does, the decision was made for a run that
   * will not hear of it: nothing of the group is written (`stale`). Left out: none.
   */
  tell?: { id: string; details: JsonText }[];
}

/** Writes slots, inserts jobs and moves the cursor, all or nothing per schedule. */
export interface FireInput extends Stamp {
  node: string;
  groups: FireGroup[];
  /** Takes work in the same transaction, as with `enqueue`: a slot's job starts after one commit. */
  claim?: ClaimRequest;
}

/**
 * The answer to `fire`, per group. A repeat of a fire that took effect answers `conflict`: read the ledger. `stale`: a run of `tell` has
 * started or is over; nothing was written, and the schedule is free to be claimed and planned anew at once.
 */
export interface FireReply extends Reply {
  groups: ('fired' | 'conflict' | 'stale')[];
  /** What `claim` was given; [] without one. */
  claimed: ClaimedJob[];
}

/** Reads schedules. */
export interface SchedulesInput extends Stamp {
  filter: { ids?: string[]; app?: string | null; tenant?: string | null; name?: string };
  cursor: string | null;
  limit: number;
}

/** The answer to `schedules`. */
export interface SchedulesReply extends Reply {
  schedules: ScheduleRecord[];
  nextCursor: string | null;
}

/** Reads the ledger of one schedule, newest first. */
export interface SlotsInput extends Stamp {
  scheduleId: string;
  fromAt: number;
  beforeAt: number;
  limit: number;
}

/** Old ledger rows of one schedule and one span (a month), folded into one. */
export interface FoldedSlots {
  generation: number;
  /** The beginning of the span, as `prune` was given it. */
  startAt: number;
  /** The first and the last slot. A run of slots that reaches over the end of its span is in the one in which it began. */
  fromAt: number;
  toAt: number;
  /** How many slots had which decision; `exact` is false where slots were not counted when they were decided. */
  counts: { decision: string; count: number; exact: boolean }[];
}

/** The answer to `slots`. */
export interface SlotsReply extends Reply {
  /** `decidedAt` and `node` are those of a row's first slot; `lastDecidedAt`: when its last one was decided, left out where it is the same. */
  slots: (SlotRow & { generation: number; decidedAt: number; lastDecidedAt?: number })[];
  /** What is folded of the range, newest first, at most `limit`. */
  folded: FoldedSlots[];
}

// ------------------------------------------------------------------------------------------ coordination

/** Who holds a lock. */
export interface LockHolder {
  host: string;
  pid: number;
  node: string;
}

/** Asks for a lock. */
export interface AcquireInput extends Stamp {
  name: string;
  /** Made by the client; the same token answers with the same lock. */
  token: string;
  holder: LockHolder;
  ttlMs: number;
}

/** The answer to `acquire`. */
export type AcquireReply = Reply &
  (
    | { acquired: true; fence: number; untilAt: number }
    | { acquired: false; holder: LockHolder; fence: number; untilAt: number }
  );

/** Renews or releases locks by their fences. */
export interface LocksInput extends Stamp {
  locks: { name: string; fence: number }[];
}

/** The answer to `renew` and `release`, per lock. A release of a lock that is not ours any more is `lost`. */
export interface LocksReply extends Reply {
  locks: ('kept' | 'lost')[];
}

/** Reads held locks whose names begin with `prefix` ('': all), in the order of their names. One whose time is over is not held. */
export interface HeldLocksInput extends Stamp {
  prefix: string;
  /** Only names behind this one; null: from the first. */
  after: string | null;
  limit: number;
}

/** The answer to `heldLocks`. Fewer than `limit`: there are no more. */
export interface HeldLocksReply extends Reply {
  locks: { name: string; fence: number; holder: LockHolder; untilAt: number }[];
}

// ------------------------------------------------------------------------------------------------ values

/** Puts, extends or deletes an expiring value, and its clean-up job with it. */
export interface PutExpiringInput extends Stamp {
  groups: {
    actor: Actor;
    changes: (
      | { op: 'put'; name: string; key: string; value: JsonText; due: Due; cleanup: JobSpec | null }
      | { op: 'extend'; name: string; key: string; due: Due }
      | { op: 'delete'; name: string; key: string }
    )[];
  }[];
}

/** What became of one change to an expiring value; `missing`: it was not there, or gone already. */
export interface PutExpiringItem {
  result: 'changed' | 'missing';
  expiresAt: number | null;
}

/** The answer to `putExpiring`. */
export interface PutExpiringReply extends Reply {
  groups: GroupReply<PutExpiringItem>[];
}

/** Reads expiring values. */
export interface GetExpiringInput extends Stamp {
  keys: { name: string; key: string }[];
}

/** The answer to `getExpiring`, per key; null: not there, or its instant has come. */
export interface GetExpiringReply extends Reply {
  values: ({ value: JsonText; expiresAt: number } | null)[];
}

/** Reads or writes the journal of `once`. */
export interface RememberInput extends Stamp {
  /** `job:<id>` for a step of one job, `once` for the store-wide journal. */
  scope: string;
  key: string;
  /** null: read only. Otherwise written unless a value is there already. */
  put: {
    value: JsonText;
    forMs: number | null;
    guard: { lock: string; fence: number } | { job: string; fence: number };
  } | null;
}

/** The answer to `remember`. */
export interface RememberReply extends Reply {
  /** The value that stands; null: none. */
  value: JsonText | null;
  /** `written`: by this call. `present`: it was there. `absent`: nothing there. `lost`: the guard no longer holds. */
  result: 'written' | 'present' | 'absent' | 'lost';
}

// ----------------------------------------------------------------------------------------------- reading

/** Reads jobs by id, wherever they are. */
export interface GetInput extends Stamp {
  ids: string[];
}

/** The answer to `get`, per id; null: not there. */
export interface GetReply extends Reply {
  jobs: (JobRecord | null)[];
  /** The newest instant at which a job was made that has been pruned since: an id made later was never here; null: none was pruned. */
  prunedMadeAt: number | null;
}

/** Finds the holder of a dedupe key. */
export interface HolderInput extends Stamp {
  type: string;
  tenant: string | null;
  key: string;
}

/** Reads jobs by filter, newest made first. */
export interface ListInput extends Stamp {
  filter: JobFilter;
  cursor: string | null;
  limit: number;
}

/** The answer to `list`. */
export interface ListReply extends Reply {
  /** May be fewer than asked for, even none, while there are more. */
  jobs: JobRecord[];
  /** null, and nothing else, says that this was the last page. */
  nextCursor: string | null;
}

/** Reads log lines of one job, oldest first. */
export interface LogsInput extends Stamp {
  id: string;
  /** Lines after this number. */
  after: number;
  limit: number;
}

/** The answer to `logs`. */
export interface LogsReply extends Reply {
  /** `n` numbers all lines of the job, over its attempts. */
  lines: (Omit<LogLine, 'line'> & { n: number; attempt: number })[];
}

/** Counts jobs; each count stops at `cap` and then says so. */
export interface CountsInput extends Stamp {
  cap: number;
}

/** A count that was stopped at its cap says `capped`. */
export interface Count {
  count: number;
  capped: boolean;
}

/** The answer to `counts`. */
export interface CountsReply extends Reply {
  status: Record<JobStatus, Count>;
  /** Ready and running jobs by queue and type: what a worker could take, and since when the oldest waits. */
  lanes: { queue: string; type: string; version: number; ready: Count; oldestDueAt: number | null }[];
  /** Jobs under lease by node and type: who is busy with what, at this instant. */
  running: { node: string; type: string; count: number }[];
}

/** Looks at the jobs that wait for their time, SCHEDULED or RETRYING, and fall due within this time: after now, and before `withinMs` are over. */
export interface UpcomingInput extends Stamp {
  withinMs: number;
  /** They are counted in steps of this length, the first of which begins now. */
  stepMs: number;
  /** So many are counted of each type; which, when there are more, is the store's choice. */
  cap: number;
  /** So many of the earliest are told by themselves. */
  limit: number;
  /** null: only those of no tenant. Left out: of all. */
  tenant?: string | null;
}

/** The answer to `upcoming`. */
export interface UpcomingReply extends Reply {
  /** The steps in which some fall due, the earliest first. */
  steps: { fromAt: number; count: number }[];
  /** Whether there are more than were counted. */
  capped: boolean;
  /** The earliest due first, of one instant by id. */
  jobs: JobRecord[];
}

/** Sums up finished jobs, by type and by schedule. */
export interface StatsInput extends Stamp {
  sinceAt: number;
  /** Of these types; null: of all of which a job ended. */
  types: string[] | null;
  /** Of the runs of these schedules, each by itself; left out: of none. */
  scheduleIds?: string[];
}

/** How some jobs ended. A percentile is the nearest rank: a value that was observed; null: there was none. */
export interface Outcomes {
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
  /** The last attempt of completed runs. */
  durationMsP50: number | null;
  durationMsP95: number | null;
  /** From due to start. */
  waitMsP50: number | null;
  waitMsP95: number | null;
  /** When the last of them completed; null: none did. */
  lastCompletedAt: number | null;
}

/** The answer to `stats`. */
export interface StatsReply extends Reply {
  /** Of the newest 100,000 that ended. */
  /** The one of which a job ended last is first; of those that ended in the same instant, by name. */
  types: (Outcomes & { type: string })[];
  /** Of the newest 200 of each, in the order asked. */
  schedules: (Outcomes & { scheduleId: string })[];
}

/** Sums up finished jobs in equal steps of time. */
export interface TrendInput extends Stamp {
  /** Where the first step begins. */
  fromAt: number;
  stepMs: number;
  stepCount: number;
  /** Only of this type; null: of all. */
  type: string | null;
  /** Only runs of this schedule; null: all jobs. */
  scheduleId: string | null;
  /** Of a step in which more jobs ended about so many are looked at, spread over it: what a step costs does not grow with what ended in it. */
  sampleCount: number;
}

/** What ended from `fromAt` until the next step begins. */
export interface TrendStep extends Omit<Outcomes, 'lastCompletedAt'> {
  fromAt: number;
  /**
   * Only a part was looked at. Percentiles are those of that part; how many ended is still counted, and how many did not complete too, except
   * where a type or a schedule is asked for: then what an index does not tell is estimated.
   */
  sampled: boolean;
  waitMsP99: number | null;
  /** From due to start, of the runs that schedules made at their slots. */
  latenessMsP50: number | null;
  latenessMsP95: number | null;
  latenessMsP99: number | null;
}

/** The answer to `trend`, oldest step first. */
export interface TrendReply extends Reply {
  steps: TrendStep[];
}

/** One change of one job. */
export interface Change {
  /** Grows; the place to go on from. */
  position: number;
  at: number;
  id: string;
  type: string;
  status: JobStatus;
  /** What happened: a job event, `progress`, `log` (lines were added), or an action. */
  event: string;
  percent: number | null;
}

/** Reads the feed of changes after a position, in order, without gaps. */
export interface ChangesInput extends Stamp {
  /** null: from now on. */
  after: number | null;
  limit: number;
}

/** The answer to `changes`. */
export interface ChangesReply extends Reply {
  changes: Change[];
  position: number;
  /** The position is older than what is kept: read the jobs themselves again. */
  gap: boolean;
}

/** One act on a promise already made. */
export interface AuditRow {
  position: number;
  at: number;
  actor: Actor;
  action: string;
  /** `job:<id>`, `schedule:<id>`, `record:<kind>/<key>`, `value:<name>/<key>`. */
  subject: string;
  before: JsonText | null;
  after: JsonText | null;
  note: string | null;
}

/** Reads the audit, newest first. */
export interface AuditInput extends Stamp {
  subject: string | null;
  /** Rows before this position; null: from the newest. */
  before: number | null;
  limit: number;
}

/** The answer to `audit`. */
export interface AuditReply extends Reply {
  rows: AuditRow[];
}

// ------------------------------------------------------------------------------------------------ living

/** What a node says of itself. */
export interface NodeInfo {
  id: string;
  app: string;
  /** The release of its program; null: none was given. */
  release: string | null;
  /** Ids of the schedules that its code declares, so that a process that declares less takes none of them away; null: too many to say. */
  declares: string[] | null;
  host: string;
  pid: number;
  roles: string[];
  /** The tasks it handles, and how many of each it runs at the same time where they have a limit of their own. */
  tasks: { type: string; version: number; concurrency?: number | null }[];
  queues: string[] | null;
  concurrency: number;
  running: number;
  /** Why it takes no work although it runs, or null. */
  notReady: string | null;
  startedAt: number;
}

/** Beats, leaves, asks to drain, and lists. */
export interface NodesInput extends Stamp {
  beat: NodeInfo | null;
  leave: string | null;
  drain: { id: string; actor: Actor } | null;
  /** Nodes silent for longer than this are forgotten. */
  forgetAfterMs: number;
}

/** The answer to `nodes`. */
export interface NodesReply extends Reply {
  nodes: (NodeInfo & { beatAt: number; drainRequestedAt: number | null })[];
}

/** A small setting. */
export interface SettingRecord {
  kind: string;
  key: string;
  value: JsonText;
  version: number;
  updatedAt: number;
}

/** Reads and writes small settings with compare-and-set. A group is all or nothing. Of kind `cursor` they say where a program stands, and leave no audit row. */
export interface RecordsInput extends Stamp {
  groups: {
    actor: Actor;
    ops: (
      | { op: 'get'; kind: string; key: string }
      | { op: 'list'; kind: string; after: string | null; limit: number }
      /** expectVersion: undefined any, null must not exist, a number exactly that. */
      | { op: 'put'; kind: string; key: string; value: JsonText; expectVersion?: number | null }
      | { op: 'delete'; kind: string; key: string; expectVersion?: number }
    )[];
  }[];
}

/** The answer to `records`: per operation the records it read or wrote. A conflict refuses the group (`records_conflict`). */
export interface RecordsReply extends Reply {
  groups: GroupReply<SettingRecord[]>[];
}

/**
 * A pause, kept as a record of kind `pause` with key `all`, `queue:<name>` or `task:<type>`. The one record
 * that engines read themselves: a claim in the same transaction must see it.
 */
export interface PauseValue {
  untilAt: number | null;
  by: Actor;
  note: string | null;
  at: number;
}

/** Forgets what is past its time, a bounded amount per call. */
export interface PruneInput extends Stamp {
  limit: number;
  /** Ledger rows whose last slot was decided longer ago than this are folded. */
  ledgerMs: number;
  /**
   * Beginnings of the spans (months) that old ledger rows fold into, ascending: a row goes to the last one that is not after its first slot.
   * One before all of them, or of a schedule that is no more, is forgotten. Left out: none.
   */
  foldStarts?: number[];
  auditMs: number;
  changesMs: number;
}

/** The answer to `prune`. */
export interface PruneReply extends Reply {
  jobs: number;
  keys: number;
  values: number;
  rows: number;
  more: boolean;
}

/** Brings the schema up to this code. */
export interface MigrateInput extends Stamp {
  /** Only say what would be done. */
  dryRun: boolean;
}

/** The answer to `migrate`. */
export interface MigrateReply extends Reply {
  from: number;
  to: number;
  /** Names of the steps that ran, or would. */
  steps: string[];
}

/** A part of what a store holds, as it is moved to another. */
export type MovePart =
  | 'records'
  | 'generations'
  | 'schedules'
  | 'slots'
  | 'folds'
  | 'jobs'
  | 'gates'
  | 'places'
  | 'dedupes'
  | 'children'
  | 'finished'
  | 'dead'
  | 'logs'
  | 'expirings'
  | 'journal'
  | 'locks'
  | 'audit';

/** How many rows each part has. */
export type MoveCounts = Record<MovePart, number>;

/** A row of a part. Its columns are the same in every store (engines/move-parts.ts); leases and locks are given by the time that is left of them. */
export type MoveRow = Record<string, string | number | null>;

/** That a store was moved away, or is being moved here. */
export interface MoveMark {
  /** `source`: what was here is elsewhere. `target`: what comes here is not all here yet. `arrived`: it is, and the store is in use. */
  role: 'source' | 'target' | 'arrived';
  /** Names the move: the same on both sides. */
  move: string;
  /** Where the other side is, without secrets. */
  place: string;
  at: number;
}

/** Looks at what a store can tell of a move, or takes a step of one. Each step can be repeated. */
export interface MovingInput extends Stamp {
  /**
   * `look`: changes nothing. `leave`: fences the store: from the commit on every other verb is refused with `store_moved`. `arrive`: fences an
   * empty store until `settle`, with `store_arriving`; one that holds something is refused (`store_not_empty`). `clear`: of a store that arrives: what came
   * so far is dropped. `settle`: opens it, with counters that go on where those of the source ended. `reopen`: ends the fence; of a store that arrives what came
   * is dropped.
   */
  step: 'look' | 'leave' | 'arrive' | 'clear' | 'settle' | 'reopen';
  /** For all but `look`. */
  move: string;
  /** The other side's place, for `leave` and `arrive`. */
  place: string;
  /** For `settle`. */
  counters: MoveCounters | null;
}

/** Counters that must not go back. */
export interface MoveCounters {
  fence: number;
  /** The last position of the feed of changes. */
  changes: number;
  /** When the newest job was made that is no longer kept; null: none was forgotten. */
  prunedMadeAt: number | null;
}

/** The answer to `moving`. */
export interface MovingReply extends Reply {
  mark: MoveMark | null;
  counts: MoveCounts;
  counters: MoveCounters;
  /** How many nodes were heard of in the last 15 s; 0 of a fenced store. */
  nodes: number;
}

/** Reads a page of a part of a fenced store, or of one in use for a look at it. */
export interface ExportRowsInput extends Stamp {
  part: MovePart;
  /** As the last page named it; null: from the beginning. */
  after: (string | number)[] | null;
  limit: number;
}

/** The answer to `exportRows`. */
export interface ExportRowsReply extends Reply {
  rows: MoveRow[];
  /** The next page; null: that was all. */
  next: (string | number)[] | null;
}

/** Writes rows of a part into a store that arrives; elsewhere it is refused. A row that is there already stays as it is. */
export interface ImportRowsInput extends Stamp {
  move: string;
  part: MovePart;
  rows: MoveRow[];
}

/**
 * A hint that something may be there to do. Polling is the truth. `echo` answers the engine's own `ring`; `deaf` says that hints
 * no longer arrive, so that until the next echo everyone looks by themselves.
 */
export type Hint = 'jobs' | 'cancel' | 'schedules' | 'locks' | 'echo' | 'deaf';

/** What an engine can say about itself; about speed and place, never about correctness. */
export interface EngineInfo {
  kind: 'sqlite' | 'postgres' | 'redis';
  /** Names the store itself, by whatever address it is reached; left out where the place does. */
  id?: number;
  /** Where it is, without secrets. */
  place: string;
  /** Version of the store's software. */
  version: string;
  /** `push`: hints arrive from other processes. `poll`: only from this one. */
  wake: 'push' | 'poll';
  /** Whether the store is kept when the process ends. */
  durable: boolean;
  /** Whether the store works on several calls of one process at once. Left out: one after the other. */
  isParallel?: boolean;
  /** Things a person should know (an affected SQLite version, a clock that disagrees). */
  warnings: string[];
}

/** Records one outcome inside a transaction of the user's own. */
export interface SettleWithinInput extends Stamp {
  settlement: Settlement;
}

/**
 * The store inside a transaction of the user's own: what is done through it is there when they commit, and never was when they roll
 * back. Nothing that others want too is held until then, dedupe keys and the settled job excepted.
 */
export interface Within extends Pick<Engine, 'enqueue' | 'applySchedules' | 'schedules' | 'get' | 'list'> {
  /** Settles one attempt. If its lease is no longer the caller's, the transaction fails too, and `lease_lost` is thrown. */
  settle(input: SettleWithinInput): Promise<Reply>;
  /**
   * As of the engine. Present only where nobody else can write while the transaction is open (SQLite); elsewhere a record that many write
   * must not be held until somebody commits.
   */
  records?: Engine['records'];
}

/** What is to be told once a user's transaction is over. */
export interface Followed {
  /** The store's own name for the transaction; null: it is over already. */
  transaction: string | null;
  hints: Hint[];
}

/** The contract. See the top of this file for what holds for every verb. */
export interface Engine {
  /** Facts about the store, read when it was opened. */
  info(): EngineInfo;

  /** Makes jobs. A repeat with the same ids makes nothing twice and answers with what stands. */
  enqueue(input: EnqueueInput): Promise<EnqueueReply>;
  /** Settles what is finished and claims what is next, in one step. A refused settlement never fails the claim. */
  exchange(input: ExchangeInput): Promise<ExchangeReply>;
  /** Renews leases; tells which are lost and which are asked to cancel; writes beginnings. */
  heartbeat(input: HeartbeatInput): Promise<HeartbeatReply>;
  /** Takes lost leases over with a new fence; expires start deadlines; promotes what is due. */
  reap(input: ReapInput): Promise<ReapReply>;
  /** Cancels by id or key, with an audit row. */
  cancel(input: CancelInput): Promise<ChangedReply>;
  /** Moves waiting jobs to another instant, with an audit row. */
  reschedule(input: RescheduleInput): Promise<ChangedReply>;
  /** Brings ended jobs back, with an audit row. */
  replay(input: ReplayInput): Promise<ChangedReply>;
  /** Records progress and log lines of attempts whose lease holds. In the feed they are `progress` and `log`, in this order. */
  report(input: ReportInput): Promise<ReportReply>;
  /** Does one action to a page of the jobs that match, with an audit row each. */
  change(input: ChangeInput): Promise<ChangeReply>;

  /** Makes, edits, deletes schedules by compare-and-set. */
  applySchedules(input: ApplySchedulesInput): Promise<ApplySchedulesReply>;
  /** Leases due schedules to one node for a short time. */
  claimSchedules(input: ClaimSchedulesInput): Promise<ClaimSchedulesReply>;
  /** Writes decisions, jobs and cursor of claimed schedules. */
  fire(input: FireInput): Promise<FireReply>;
  /** Reads schedules, ordered by name. */
  schedules(input: SchedulesInput): Promise<SchedulesReply>;
  /** Reads the ledger. */
  slots(input: SlotsInput): Promise<SlotsReply>;

  /** Takes a lock if it is free or over. */
  acquire(input: AcquireInput): Promise<AcquireReply>;
  /** Extends locks that are still ours. */
  renew(input: LocksInput & { ttlMs: number }): Promise<LocksReply>;
  /** Gives locks back. */
  release(input: LocksInput): Promise<LocksReply>;
  /** Reads who holds which locks. */
  heldLocks(input: HeldLocksInput): Promise<HeldLocksReply>;

  /** Puts, extends, deletes expiring values. */
  putExpiring(input: PutExpiringInput): Promise<PutExpiringReply>;
  /** Reads expiring values. */
  getExpiring(input: GetExpiringInput): Promise<GetExpiringReply>;
  /** Reads or writes the journal of `once`. */
  remember(input: RememberInput): Promise<RememberReply>;

  /** Reads jobs by id. */
  get(input: GetInput): Promise<GetReply>;
  /** Reads the holder of a dedupe key. */
  holder(input: HolderInput): Promise<GetReply>;
  /** Reads jobs by filter. */
  list(input: ListInput): Promise<ListReply>;
  /** Reads log lines. */
  logs(input: LogsInput): Promise<LogsReply>;
  /** Counts. */
  counts(input: CountsInput): Promise<CountsReply>;
  /** Looks at what falls due next. */
  upcoming(input: UpcomingInput): Promise<UpcomingReply>;
  /** Sums up. */
  stats(input: StatsInput): Promise<StatsReply>;
  /** Sums up in steps of time. */
  trend(input: TrendInput): Promise<TrendReply>;
  /** Reads the feed. */
  changes(input: ChangesInput): Promise<ChangesReply>;
  /** Reads the audit. */
  audit(input: AuditInput): Promise<AuditReply>;

  /** Brings the schema up to this code. */
  migrate(input: MigrateInput): Promise<MigrateReply>;
  /** Beats, lists, asks to drain. */
  nodes(input: NodesInput): Promise<NodesReply>;
  /** Small settings. */
  records(input: RecordsInput): Promise<RecordsReply>;
  /** Forgets what is past its time. */
  prune(input: PruneInput): Promise<PruneReply>;
  /** Takes a step of a move to another store, or looks at it. */
  moving(input: MovingInput): Promise<MovingReply>;
  /** Reads what is moved. */
  exportRows(input: ExportRowsInput): Promise<ExportRowsReply>;
  /** Writes what is moved. */
  importRows(input: ImportRowsInput): Promise<Reply>;
  /** Listens for hints; `echo` answers the engine's own `ring`. */
  wakeups(listener: (hint: Hint) => void): () => void;
  /** Sends an echo hint through the whole path, so that a node can prove that hints arrive. */
  ring(): Promise<void>;
  /**
   * The store inside a transaction of the user's own, which `tx` stands for. Throws `tx_unknown`, `tx_other_store` or `tx_not_open`. Absent
   * where the store has no such thing.
   */
  within?(tx: unknown): Promise<Within>;
  /** Learns what becomes of a user's transaction, and then sends its hints. Answers at once. Present where `within` is. */
  follow?(followed: Followed): void;
  /** Closes the store; every later call fails with `store_closed`. */
  close(): Promise<void>;
}

/** The verbs that take an input and answer: everything but info, wakeups, ring, within, follow and close. */
export type EngineVerb = Exclude<keyof Engine, 'info' | 'wakeups' | 'ring' | 'within' | 'follow' | 'close'>;

/** The names of all verbs, for the door, the thread and the tests. */
export const engineVerbs = [
  'enqueue',
  'exchange',
  'heartbeat',
  'reap',
  'cancel',
  'reschedule',
  'replay',
  'report',
  'change',
  'applySchedules',
  'claimSchedules',
  'fire',
  'schedules',
  'slots',
  'acquire',
  'renew',
  'release',
  'heldLocks',
  'putExpiring',
  'getExpiring',
  'remember',
  'get',
  'holder',
  'list',
  'logs',
  'counts',
  'upcoming',
  'stats',
  'trend',
  'changes',
  'audit',
  'migrate',
  'nodes',
  'records',
  'prune',
  'moving',
  'exportRows',
  'importRows',
] as const satisfies readonly EngineVerb[];
