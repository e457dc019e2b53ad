/**
 * The history of a run: what was asked, what the store answered, what the handlers did and what was done to them. The simulation and
 * the chaos runs on real processes both write it, and the checker reads nothing else.
 *
 * It is written around the product, never by it: `recorder.ts` sits at the engine contract, the harness at the public calls, the handlers
 * and the faults. One event is one line of JSON. Events of one process are in its order; between processes only the store's instants and
 * the fences order anything, and the checker uses only those.
 */
import type {
  AuditRow,
  Change,
  Engine,
  JobRecord,
  ScheduleRecord,
  SettleReason,
  SlotRow,
  SlotsReply,
} from '../packages/core/src/contract/engine.ts';
import type { JobStatus } from '../packages/core/src/contract/job-status.ts';
import type { StoredRetry } from '../packages/core/src/lifecycle/retry.ts';

/** What every event says. */
interface Stamped {
  /**
   * The store's instant, epoch milliseconds: exact for what the store answered; for what a process did by itself, the last instant it
   * heard plus what its monotonic clock counted since.
   */
  at: number;
  /** The node, or the client, that it happened to. */
  node: string;
}

/** A job as the store accepted it. */
export interface CreatedJob {
  id: string;
  type: string;
  dueAt: number;
  /** How long an attempt may take; null: without end. */
  timeoutMs: number | null;
  /** How it is tried again, in its stored form. */
  retry: StoredRetry;
  /** Jobs that must be over before it starts, as its maker knew them. */
  gates: string[];
  /** How long after its due instant it may start for the first time; null: any time. */
  startDeadlineMs: number | null;
  /** As JSON. */
  input: string;
  queue: string;
  version: number;
  priority: number;
  /** Added to its due instant it gives the rank by which it is taken. */
  rankOffsetMs: number;
  maxAttempts: number;
  delivery: 'at-least-once' | 'at-most-once';
  serial: string | null;
  tenant: string | null;
  /** Of a job that a handler made under a key of its own. */
  child: { of: string; key: string } | null;
  /** The key it was made under, how long that is held (null: until it is over) and what a second call does. */
  dedupe: { key: string; forMs: number | null; mode: 'drop' | 'replace' | 'extend' } | null;
  /** Of a job that a schedule made: which slot, and its `fire_id`. */
  slot: {
    scheduleId: string;
    generation: number;
    slotAt: number | null;
    fireId: string;
    allow: boolean;
    /** What its handler is to be told, as JSON. */
    details: string | null;
  } | null;
  origin: string;
}

/** What a job takes over from a call that replaces it, besides its input and its due instant. */
export type ReplacedFields = Pick<
  CreatedJob,
  | 'version'
  | 'queue'
  | 'priority'
  | 'rankOffsetMs'
  | 'startDeadlineMs'
  | 'maxAttempts'
  | 'timeoutMs'
  | 'retry'
  | 'delivery'
>;

/** Somebody made a public call: `task.now`, `schedules.pause` … */
export interface Asked extends Stamped {
  kind: 'asked';
  /** Numbers the calls of a run. */
  call: number;
  what: string;
  /** The schedule, or the job where it is known before the answer. */
  subject: string | null;
  /** Of a job: its input as JSON, and when it is to run; both null: at once. */
  wants?: {
    input: string;
    inMs: number | null;
    dueAt: number | null;
    /** What else was given with the call. */
    options?: Partial<
      Pick<CreatedJob, 'serial' | 'queue' | 'tenant' | 'priority' | 'maxAttempts' | 'timeoutMs'>
    >;
  };
}

/** A public call was answered. One without an answer ended with its process. */
export interface Answered extends Stamped {
  kind: 'answered';
  call: number;
  what: string;
  /** `acknowledged`: it returned; `refused`: surely nothing was done; `unknown`: it may have been done. */
  outcome: 'acknowledged' | 'refused' | 'unknown';
  /** The job or schedule that was acknowledged. */
  subject: string | null;
  /** Of a job that was promised: when it falls due. */
  dueAt?: number;
  code?: string;
}

/** The store accepted new jobs. */
export interface Created extends Stamped {
  kind: 'created';
  /** In a transaction of the user's own: when the call was made. `at` is then the commit. */
  calledAt?: number;
  jobs: CreatedJob[];
}

/** The store gave a job to a worker. */
export interface Claimed extends Stamped {
  kind: 'claimed';
  id: string;
  type: string;
  version: number;
  queue: string;
  attempt: number;
  fence: number;
  dueAt: number;
  /** When the lease ends unless it is renewed. */
  untilAt: number;
  /** How many were given by the same call. */
  together: number;
}

/** The store took an ended lease over for a reaper. */
export interface Reaped extends Stamped {
  kind: 'reaped';
  id: string;
  attempt: number;
  fence: number;
  untilAt: number;
  begun: boolean;
}

/** A heartbeat was answered. */
export interface Renewed extends Stamped {
  kind: 'renewed';
  id: string;
  fence: number;
  begun: boolean;
  state: 'kept' | 'cancel' | 'lost';
  untilAt: number;
}

/** A handler was entered. */
export interface Began extends Stamped {
  kind: 'began';
  id: string;
  type: string;
  attempt: number;
  fence: number;
  /** The slot it was told, where it has one. */
  slotAt?: number | null;
}

/** A handler returned or threw. */
export interface Ended extends Stamped {
  kind: 'ended';
  id: string;
  attempt: number;
  fence: number;
  /** `returned`, `completed-apart` (returned, and it completed its job in a transaction of its own), `snoozed`, `retry-asked`, or the name of what was thrown. */
  how: string;
  /** Of one that returned: its value as JSON. Left out where it is not noted. */
  value?: string | null;
  /** Why its signal was aborted by then; null: it was not. Left out where it is not noted. */
  aborted?: string | null;
  /** Of one that snoozed or asked for a retry: how long from now. */
  againMs?: number;
}

/** The signal of a running handler was aborted. */
export interface Aborted extends Stamped {
  kind: 'aborted';
  id: string;
  fence: number;
  /** `cancelled`, `timeout`, `lost` or `shutdown`. */
  reason: string;
}

/** A settlement was answered. */
export interface Settled extends Stamped {
  kind: 'settled';
  id: string;
  fence: number;
  to: JobStatus;
  reason: SettleReason;
  spends: boolean;
  /** For RETRYING and SCHEDULED: when it is due again. */
  dueAt: number | null;
  result: 'done' | 'lost';
  /** The result that goes with it, as JSON. */
  value: string | null;
  /** The message of the error that goes with it. */
  error: string | null;
  /** The numbers of the log lines that go with it. */
  lines: number[];
  /** In a transaction of the handler's own. */
  userTransaction?: boolean;
  /** The sender did not know whether an earlier, equal one had arrived. */
  repeat: boolean;
}

/** A job was changed by target: cancelled, moved, brought back; `fold`: a call with its dedupe key was folded into it. */
export interface Changed extends Stamped {
  kind: 'changed';
  verb: 'cancel' | 'terminate' | 'reschedule' | 'retry' | 'delete' | 'discard' | 'fold';
  id: string;
  result: string;
  status: JobStatus | null;
  /** In a transaction of the user's own: when the call was made. `at` is then the commit. */
  calledAt?: number;
  /** Who asked; left out where nothing keeps it. */
  actor?: string;
  /** Of a reschedule: when it was to be due, and when it is by the answer. */
  moved?: { wantedAt: number; dueAt: number | null };
  /** Of a fold: the key under which the call was folded; null: it was a child that was there already. */
  key?: { type: string; tenant: string | null; key: string } | null;
  /** Of a cancel that named a dedupe key instead of a job; `id` is the holder of the key. */
  byKey?: { type: string; tenant: string | null; key: string };
  /** Of a fold: what came with the call, whether the holder takes it over, and when it is due now. */
  folded?: {
    /** The job that the call would have made. */
    call: string;
    input: string;
    wantedAt: number;
    /** How long after its making it may be put off; left out: for ever. */
    maxWaitMs?: number;
    replaces: boolean;
    fields: ReplacedFields;
    dueAt: number;
    /** The sender did not know whether an earlier, equal one had arrived. */
    repeat?: boolean;
  };
}

/** A running attempt's progress or log lines were answered. */
export interface Reported extends Stamped {
  kind: 'reported';
  id: string;
  fence: number;
  result: 'kept' | 'lost';
  /** How far the attempt says it is; null: it said nothing about that. */
  percent?: number | null;
  /** The numbers of its log lines. */
  lines: number[];
}

/** Claiming was paused, or let go on. */
export interface ClaimsPaused extends Stamped {
  kind: 'claimsPaused';
  /** `all`, `queue:<name>` or `type:<type>`. */
  target: string;
  state: 'paused' | 'resumed';
  /** When the pause ends by itself; null: never. */
  untilAt: number | null;
}

/** An expiring value was put, moved, removed or read. */
export interface Valued extends Stamped {
  kind: 'valued';
  name: string;
  key: string;
  op: 'put' | 'extend' | 'delete' | 'get';
  /** `missing`: there was none. */
  result: 'changed' | 'missing' | 'read';
  value: string | null;
  expiresAt: number | null;
  /** With `put`: the job that cleans up. */
  cleanupId: string | null;
}

/** The journal of `once` was read or written. */
export interface Remembered extends Stamped {
  kind: 'remembered';
  scope: string;
  key: string;
  result: 'written' | 'present' | 'absent' | 'lost';
  value: string | null;
  /** Of a write: the lease or lock under which it was to be done. */
  guard?: { job: string; fence: number } | { lock: string; fence: number };
}

/** What `once` guards was entered, or its caller was given the result. */
export interface OnceCalled extends Stamped {
  kind: 'once';
  /** Left out: store-wide; `job:<id>`: a step of a job. */
  scope?: string;
  key: string;
  state: 'ran' | 'given';
  /** The result, as JSON. In these programs it is the fence of the lock or lease under which it was computed. */
  value: string;
}

/** A transaction of the user's own, on their connection to the store. */
export interface Transacted extends Stamped {
  kind: 'transacted';
  /** Numbers the transactions of a run; the row that the program itself writes in it has the same number. */
  tx: number;
  /** `committing`: from here on it may be committed; one without an end ended with its process. */
  state: 'begun' | 'created' | 'committing' | 'committed' | 'rolledBack';
  /** With `made`: the jobs that were made in it. */
  ids: string[];
}

/** A process holds, or held, a transaction of its own open on the store's file, beside Duly's. */
export interface OwnTransaction extends Stamped {
  kind: 'ownTransaction';
  /** By the name that the run gave the process. */
  process: string;
  /** Numbers those of a process. */
  n: number;
  /** `open`: it is about to begin; `held`: nobody else can write; one without an end ended with its process. */
  state: 'open' | 'held' | 'over';
}

/** The store leased a schedule to a node that decides it. */
export interface ScheduleClaimed extends Stamped {
  kind: 'scheduleClaimed';
  scheduleId: string;
  fence: number;
  version: number;
  generation: number;
}

/** Somebody read one schedule, to change it; `version` null: it was not there. */
export interface ScheduleRead extends Stamped {
  kind: 'scheduleRead';
  scheduleId: string;
  version: number | null;
}

/** Decisions of a node were answered. */
export interface Fired extends Stamped {
  kind: 'fired';
  scheduleId: string;
  fence: number;
  version: number;
  result: 'fired' | 'conflict' | 'stale';
  slots: SlotRow[];
  jobs: CreatedJob[];
  /** When it is to be looked at next; null: not by time. */
  dueAt: number | null;
  /** Other runs that an overlap policy ended. */
  cancel: { id: string; mode: 'ask' | 'terminate' }[];
  /** Runs that wait and are told something else from now on. */
  slotDetails: { id: string; details: string }[];
}

/** A schedule was made, edited, paused, resumed, triggered, deleted … by compare-and-set. */
export interface Applied extends Stamped {
  kind: 'applied';
  scheduleId: string;
  /** The audit's word: `create`, `edit`, `pause`, `resume`, `skip-next`, `trigger`, `backfill`, `delete`, `disable` … */
  action: string;
  result: 'applied' | 'conflict' | 'refused';
  /** The version that was expected; null: none was to exist. */
  expectVersion: number | null;
  /** The generation that was expected; left out: any. */
  expectGeneration?: number;
  version: number | null;
  generation: number | null;
  /** The spec that it has from now on; null for a delete. */
  spec: string | null;
  /** With `pause`: when it ends by itself. */
  pauseUntilAt: number | null;
  dueAt: number | null;
  slots: SlotRow[];
  jobs: CreatedJob[];
  cancel: { id: string; mode: 'ask' | 'terminate' }[];
  slotDetails: { id: string; details: string }[];
}

/** A lock was asked for, renewed or given back. */
export interface Locked extends Stamped {
  kind: 'locked';
  name: string;
  verb: 'acquire' | 'renew' | 'release';
  result: 'acquired' | 'refused' | 'kept' | 'lost';
  /** Of an acquire: the same token is the same holder; left out: it is not noted. */
  token?: string;
  fence: number;
  untilAt: number | null;
}

/** A node came, went, stood still or went on. */
export interface NodeChanged extends Stamped {
  kind: 'node';
  state: 'up' | 'crashed' | 'paused' | 'resumed' | 'stopping' | 'stopped';
  /** With `up`: what it may run at the same time, in all and of a type. */
  concurrency?: number;
  concurrencyOf?: Record<string, number>;
  roles?: string[];
  /** With `up`: which queues it takes from; left out: all, or it is not noted. */
  queues?: string[];
  /** With `up`: which version of a task it has, where it is not 1; left out: it is not noted. */
  versionOf?: Record<string, number>;
  /** With `up`: the release of the program; left out if it has none or it is not recorded. */
  release?: string;
  /** With `crashed`: between which calls. */
  where?: string;
}

/** A process was asked how it is, as whoever restarts or pages asks it; `at` is when it had answered. */
export interface HealthReport extends Stamped {
  kind: 'health';
  /** `health`: what `duly.health()` and `duly doctor` say; `readyz`: what the server's readiness says. */
  of: 'health' | 'readyz';
  askedAt: number;
  /** Whether it said that the store cannot be used or that promises are not kept. */
  isBad: boolean;
  /** What it said was wrong. */
  reasons: string[];
}

/** Something was wrong with the world; `node` is `*` when it was wrong for all. */
export interface Fault extends Stamped {
  kind: 'fault';
  /** `store-refuses`, `store-clock-jump`, `node-clock-jump`, `reply-lost`, `call-slow`, `disk-full` … */
  fault: string;
  /** When it was over; left out: it was a moment. */
  untilAt?: number;
  detail?: string;
}

/** One event. */
export type HistoryEvent =
  | Asked
  | Answered
  | Created
  | Claimed
  | Reaped
  | Renewed
  | Began
  | Ended
  | Aborted
  | Settled
  | Changed
  | Reported
  | ClaimsPaused
  | Valued
  | Remembered
  | OnceCalled
  | Transacted
  | OwnTransaction
  | ScheduleClaimed
  | ScheduleRead
  | Fired
  | Applied
  | Locked
  | NodeChanged
  | HealthReport
  | Fault;

/** A ledger row as read. */
export type LedgerRow = SlotsReply['slots'][number];

/** What the program itself wrote in its transactions. */
export interface OwnRows {
  /** The transactions whose row is there. */
  marks: number[];
  /** What handlers did together with the completion of their job, under which fence. */
  effects: { job: string; fence: number }[];
}

/** What the store holds when everything has come to rest, read through the contract. */
export interface FinalState {
  /** The store's instant when it was read. */
  at: number;
  jobs: JobRecord[];
  schedules: ScheduleRecord[];
  /** By schedule id, oldest first; schedules that were deleted too. */
  ledger: Record<string, LedgerRow[]>;
  audit: AuditRow[];
  /** The feed of changes, whole; left out where it is not read. */
  feed?: Change[];
  /** How many log lines there are of a job, for those of which any were sent; left out where they are not read. */
  lineCounts?: Record<string, number>;
  /** Where there are transactions of the user's own. */
  own?: OwnRows;
}

/** Everything a checker is given. */
export interface Evidence {
  events: HistoryEvent[];
  final: FinalState;
  /**
   * Whether every call that took effect is in the events. True in a simulation; a process that was killed takes what it had not written
   * yet with it.
   */
  isComplete: boolean;
  /** Calls whose instants are closer than this may have taken effect in either order. Left out: only those of one millisecond. */
  unorderedMs?: number;
  /** Why the run had to be ended by force; left out: it came to rest by itself. */
  restless?: string;
  /**
   * Whether the run ended with all faults over and time enough for every node to catch up, so that what was to happen by the end must have
   * happened.
   */
  isSettled: boolean;
}

/** Takes events. */
export type WriteEvent = (event: HistoryEvent) => void;

/** The events as lines of JSON. */
export function serialiseHistory(events: readonly HistoryEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

/** Reads lines of JSON; a last line that was cut off by a kill is left out. */
export function parseHistory(text: string): HistoryEvent[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  const events = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as HistoryEvent);
  try {
    if (last !== '') events.push(JSON.parse(last) as HistoryEvent);
  } catch {
    // The process was killed in the middle of the line.
  }
  return events;
}

/** The histories of several processes as one, by the store's instants; each keeps its own order. */
export function mergeHistories(histories: readonly HistoryEvent[][]): HistoryEvent[] {
  return histories
    .flat()
    .map((event, order) => ({ event, order }))
    .sort((one, other) => one.event.at - other.event.at || one.order - other.order)
    .map(({ event }) => event);
}

const pageSize = 500;

/** Reads the final state through the contract; `now` rules on virtual time. */
export async function readFinalState(
  engine: Pick<Engine, 'list' | 'schedules' | 'slots' | 'audit'> & Partial<Pick<Engine, 'changes'>>,
  scheduleIds: Iterable<string>,
  now?: number,
): Promise<FinalState> {
  const stamp = now === undefined ? {} : { now };
  const jobs: JobRecord[] = [];
  let at = 0;
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const page: Awaited<ReturnType<Engine['list']>> = await engine.list({
      ...stamp,
      filter: {},
      cursor,
      limit: pageSize,
    });
    jobs.push(...page.jobs);
    cursor = page.nextCursor;
    at = page.now;
  }
  const schedules: ScheduleRecord[] = [];
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const page: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
      ...stamp,
      filter: {},
      cursor,
      limit: pageSize,
    });
    schedules.push(...page.schedules);
    cursor = page.nextCursor;
  }
  const ledger: Record<string, LedgerRow[]> = {};
  for (const scheduleId of new Set([...scheduleIds, ...schedules.map(({ id }) => id)])) {
    const rows: LedgerRow[] = [];
    for (let beforeAt = Number.MAX_SAFE_INTEGER; ; ) {
      const page = (await engine.slots({ ...stamp, scheduleId, fromAt: 0, beforeAt, limit: pageSize })).slots;
      rows.push(...page);
      if (page.length < pageSize) break;
      beforeAt = Math.min(...page.map(({ fromAt }) => fromAt));
    }
    ledger[scheduleId] = rows.reverse();
  }
  const audit: AuditRow[] = [];
  for (let before: number | null = null; ; ) {
    const { rows } = await engine.audit({ ...stamp, subject: null, before, limit: pageSize });
    audit.push(...rows);
    if (rows.length < pageSize) break;
    before = (rows.at(-1) as AuditRow).position;
  }
  const feed: Change[] = [];
  for (let after = 0; engine.changes !== undefined; ) {
    const page = await engine.changes({ ...stamp, after, limit: pageSize });
    feed.push(...page.changes);
    if (page.position === after) break;
    after = page.position;
  }
  const reported = engine.changes === undefined ? {} : { feed };
  return { at, jobs, schedules, ledger, audit: audit.reverse(), ...reported };
}

/** Counts the log lines of the jobs that sent any, as the store has them. */
export async function readLineCounts(
  engine: Pick<Engine, 'logs'>,
  events: readonly HistoryEvent[],
): Promise<Record<string, number>> {
  const ids = new Set<string>();
  for (const event of events) {
    const isLogging = (event.kind === 'settled' || event.kind === 'reported') && event.lines.length > 0;
    if (isLogging) ids.add(event.id);
  }
  const counts: Record<string, number> = {};
  for (const id of ids) {
    let count = 0;
    for (let after = 0; ; ) {
      const { lines } = await engine.logs({ id, after, limit: pageSize });
      count += lines.length;
      if (lines.length < pageSize) break;
      after = (lines.at(-1) as (typeof lines)[number]).n;
    }
    counts[id] = count;
  }
  return counts;
}

/** The jobs and schedules an event is about, to pick the events of one. */
export function subjectsOf(event: HistoryEvent): string[] {
  switch (event.kind) {
    case 'asked':
    case 'answered':
      return event.subject === null ? [] : [event.subject];
    case 'created':
      return event.jobs.flatMap((job) => (job.slot === null ? [job.id] : [job.id, job.slot.scheduleId]));
    case 'fired':
    case 'applied':
      return [event.scheduleId, ...event.jobs.map(({ id }) => id)];
    case 'scheduleClaimed':
    case 'scheduleRead':
      return [event.scheduleId];
    case 'locked':
      return [`lock:${event.name}`];
    case 'claimsPaused':
      return [`pause:${event.target}`];
    case 'valued':
      return [`value:${event.name}/${event.key}`, ...(event.cleanupId === null ? [] : [event.cleanupId])];
    case 'remembered':
      return [`${event.scope}/${event.key}`];
    case 'once':
      return [`${event.scope ?? 'once'}/${event.key}`];
    case 'transacted':
      return [`tx:${event.tx}`, ...event.ids];
    case 'node':
    case 'health':
    case 'ownTransaction':
    case 'fault':
      return [];
    default:
      return [event.id];
  }
}
