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
import type {
  AcquireInput,
  AcquireReply,
  HeldLocksInput,
  HeldLocksReply,
  LocksInput,
  LocksReply,
} from './coordination.ts';
import type {
  CancelInput,
  ChangedReply,
  ChangeInput,
  ChangeReply,
  EnqueueInput,
  EnqueueReply,
  ExchangeInput,
  ExchangeReply,
  HeartbeatInput,
  HeartbeatReply,
  ReapInput,
  ReapReply,
  ReportInput,
  ReportReply,
  RescheduleInput,
  RetryInput,
  Settlement,
} from './jobs.ts';
import type {
  MigrateInput,
  MigrateReply,
  NodesInput,
  NodesReply,
  PruneInput,
  PruneReply,
  RecordsInput,
  RecordsReply,
} from './operations.ts';
import type {
  AuditInput,
  AuditReply,
  ChangesInput,
  ChangesReply,
  CountsInput,
  CountsReply,
  GetInput,
  GetReply,
  HolderInput,
  ListInput,
  ListReply,
  LogsInput,
  LogsReply,
  StatsInput,
  StatsReply,
  TrendInput,
  TrendReply,
  UpcomingInput,
  UpcomingReply,
} from './reading.ts';
import type {
  ApplySchedulesInput,
  ApplySchedulesReply,
  ClaimSchedulesInput,
  ClaimSchedulesReply,
  FireInput,
  FireReply,
  SchedulesInput,
  SchedulesReply,
  SlotsInput,
  SlotsReply,
} from './schedules.ts';
import type { Reply, Stamp } from './shared.ts';
import type {
  ExportRowsInput,
  ExportRowsReply,
  ImportRowsInput,
  TransferInput,
  TransferReply,
} from './transfer.ts';
import type {
  GetExpiringInput,
  GetExpiringReply,
  PutExpiringInput,
  PutExpiringReply,
  RememberInput,
  RememberReply,
} from './values.ts';

export type * from './coordination.ts';
export type * from './job-fields.ts';
export type * from './jobs.ts';
export type * from './operations.ts';
export type * from './reading.ts';
export type * from './schedules.ts';
export type * from './shared.ts';
export type * from './transfer.ts';
export type * from './values.ts';

/**
 * Says that there may be work. Polling is the truth. `probe` is the engine's own, sent with `probe()`; `disconnected` says that
 * notifications no longer arrive, so that callers poll until the next `probe`.
 */
export type Notification = 'jobs' | 'cancel' | 'schedules' | 'locks' | 'probe' | 'disconnected';

/** What an engine can say about itself; about speed and place, never about correctness. */
export interface EngineInfo {
  kind: 'sqlite' | 'postgres' | 'redis';
  /** Names the store itself, by whatever address it is reached; left out where the place does. */
  id?: number;
  /** Where it is, without secrets. */
  place: string;
  /** Version of the store's software. */
  version: string;
  /** `push`: notifications arrive from other processes. `poll`: only from this one. */
  wake: 'push' | 'poll';
  /** Whether the store is kept when the process ends. */
  durable: boolean;
  /** Whether the store works on several calls of one process at once. Left out: one after the other. */
  isParallel?: boolean;
  /** Things a person should know (an affected SQLite version, a clock that disagrees). */
  warnings: string[];
}

/** Records one outcome inside a transaction of the user's own. */
export interface SettleInTransactionInput extends Stamp {
  settlement: Settlement;
}

/**
 * The store inside a transaction of the user's own: what is done through it is there when they commit, and never was when they roll
 * back. Nothing that others want too is held until then, dedupe keys and the settled job excepted.
 */
export interface UserTransaction
  extends Pick<Engine, 'enqueue' | 'applySchedules' | 'schedules' | 'get' | 'list'> {
  /** Settles one attempt. If its lease is no longer the caller's, the transaction fails too, and `lease_lost` is thrown. */
  settle(input: SettleInTransactionInput): Promise<Reply>;
  /**
   * As of the engine. Present only where nobody else can write while the transaction is open (SQLite); elsewhere a record that many write
   * must not be held until somebody commits.
   */
  records?: Engine['records'];
}

/** What is to be told once a user's transaction is over. */
export interface WatchedTransaction {
  /** The store's own name for the transaction; null: it is over already. */
  transaction: string | null;
  notifications: Notification[];
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
  retry(input: RetryInput): Promise<ChangedReply>;
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
  /** Sends a heartbeat, lists, asks to drain. */
  nodes(input: NodesInput): Promise<NodesReply>;
  /** Small settings. */
  records(input: RecordsInput): Promise<RecordsReply>;
  /** Forgets what is past its time. */
  prune(input: PruneInput): Promise<PruneReply>;
  /** Takes a step of a transfer to another store, or reads its state. */
  transfer(input: TransferInput): Promise<TransferReply>;
  /** Reads rows to transfer. */
  exportRows(input: ExportRowsInput): Promise<ExportRowsReply>;
  /** Writes transferred rows. */
  importRows(input: ImportRowsInput): Promise<Reply>;
  /** Subscribes to notifications; `probe` arrives for the engine's own `probe()` only. */
  subscribe(listener: (notification: Notification) => void): () => void;
  /** Sends a `probe` notification through the whole path, so that a node can prove that notifications arrive. */
  probe(): Promise<void>;
  /**
   * The store inside a transaction of the user's own, which `tx` stands for. Throws `tx_unknown`, `tx_other_store` or `tx_not_open`. Absent
   * where the store has no such thing.
   */
  userTransaction?(tx: unknown): Promise<UserTransaction>;
  /** Learns what becomes of a user's transaction, and then sends its notifications. Answers at once. Present where `userTransaction` is. */
  watchTransaction?(watched: WatchedTransaction): void;
  /** Closes the store; every later call fails with `store_closed`. */
  close(): Promise<void>;
}

/** The verbs that take an input and answer: everything but info, subscribe, probe, within, follow and close. */
export type EngineVerb = Exclude<
  keyof Engine,
  'info' | 'subscribe' | 'probe' | 'userTransaction' | 'watchTransaction' | 'close'
>;

/** The names of all verbs, for the instrumented engine, the thread and the tests. */
export const engineVerbs = [
  'enqueue',
  'exchange',
  'heartbeat',
  'reap',
  'cancel',
  'reschedule',
  'retry',
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
  'transfer',
  'exportRows',
  'importRows',
] as const satisfies readonly EngineVerb[];
