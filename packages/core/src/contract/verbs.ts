/** The verbs of the engine contract: their signatures, and one table of what is known about each of them. */
import type {
  AcquireInput,
  AcquireReply,
  HeldLocksInput,
  HeldLocksReply,
  LocksInput,
  LocksReply,
} from './coordination.ts';
import type {
  ActInput,
  CancelInput,
  ChangedReply,
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
import type { Reply } from './shared.ts';
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

/** The functions of an engine that take an input and reply. engine.ts says what holds for all of them. */
export interface EngineVerbs {
  /** Creates jobs. A repeat with the same ids creates nothing twice and returns what is stored. */
  enqueue(input: EnqueueInput): Promise<EnqueueReply>;
  /** Settles finished attempts and claims jobs in one step. A refused settlement never fails the claim. */
  exchange(input: ExchangeInput): Promise<ExchangeReply>;
  /** Renews leases and records starts; returns which leases are lost and which jobs are asked to cancel. */
  heartbeat(input: HeartbeatInput): Promise<HeartbeatReply>;
  /** Takes lost leases over with a new fence; expires start deadlines; promotes what is due. */
  reap(input: ReapInput): Promise<ReapReply>;
  /** Cancels by id or key, with an audit row. */
  cancel(input: CancelInput): Promise<ChangedReply>;
  /** Moves waiting jobs to another instant, with an audit row. */
  reschedule(input: RescheduleInput): Promise<ChangedReply>;
  /** Brings ended jobs back, with an audit row. */
  retry(input: RetryInput): Promise<ChangedReply>;
  /** Records progress and log lines of attempts whose lease holds, as `progress` and `log` in the feed. */
  report(input: ReportInput): Promise<ReportReply>;
  /** Does one action to each of these jobs, with an audit row each. One that changed since the list is refused. */
  act(input: ActInput): Promise<ChangedReply>;

  /** Creates, edits, deletes schedules by compare-and-set. */
  applySchedules(input: ApplySchedulesInput): Promise<ApplySchedulesReply>;
  /** Leases due schedules to one node for a short time. */
  claimSchedules(input: ClaimSchedulesInput): Promise<ClaimSchedulesReply>;
  /** Writes decisions, jobs and cursor of claimed schedules. */
  fire(input: FireInput): Promise<FireReply>;
  /** Reads schedules, ordered by name. */
  schedules(input: SchedulesInput): Promise<SchedulesReply>;
  /** Reads the ledger. */
  slots(input: SlotsInput): Promise<SlotsReply>;

  /** Takes a lock if it is free or expired. */
  acquire(input: AcquireInput): Promise<AcquireReply>;
  /** Extends locks that are still ours. */
  renew(input: LocksInput & { ttlMs: number }): Promise<LocksReply>;
  /** Releases locks. */
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
  /** Reads and writes small settings. */
  records(input: RecordsInput): Promise<RecordsReply>;
  /** Deletes what is past its retention. */
  prune(input: PruneInput): Promise<PruneReply>;
  /** Takes a step of a transfer to another store, or reads its state. */
  transfer(input: TransferInput): Promise<TransferReply>;
  /** Reads rows to transfer. */
  exportRows(input: ExportRowsInput): Promise<ExportRowsReply>;
  /** Writes transferred rows. */
  importRows(input: ImportRowsInput): Promise<Reply>;
}

/** What is known about a verb. */
export interface VerbTraits {
  /** `read`: changes nothing in the store, for any input, and never waits for a writer. */
  access: 'read' | 'write';
  /**
   * Whether it can be called inside a transaction of the user's own. `optional`: only in stores with one
   * writer at a time (SQLite), because elsewhere a row that many nodes write would stay locked until the user
   * commits.
   */
  inUserTransaction: boolean | 'optional';
}

/** All verbs. The instrumented engine, the store's thread, the simulation and the test clock read this. */
export const engineVerbs = {
  enqueue: { access: 'write', inUserTransaction: true },
  exchange: { access: 'write', inUserTransaction: false },
  heartbeat: { access: 'write', inUserTransaction: false },
  reap: { access: 'write', inUserTransaction: false },
  cancel: { access: 'write', inUserTransaction: false },
  reschedule: { access: 'write', inUserTransaction: false },
  retry: { access: 'write', inUserTransaction: false },
  report: { access: 'write', inUserTransaction: false },
  act: { access: 'write', inUserTransaction: false },
  applySchedules: { access: 'write', inUserTransaction: true },
  claimSchedules: { access: 'write', inUserTransaction: false },
  fire: { access: 'write', inUserTransaction: false },
  schedules: { access: 'read', inUserTransaction: true },
  slots: { access: 'read', inUserTransaction: false },
  acquire: { access: 'write', inUserTransaction: false },
  renew: { access: 'write', inUserTransaction: false },
  release: { access: 'write', inUserTransaction: false },
  heldLocks: { access: 'read', inUserTransaction: false },
  putExpiring: { access: 'write', inUserTransaction: false },
  getExpiring: { access: 'read', inUserTransaction: false },
  remember: { access: 'write', inUserTransaction: false },
  get: { access: 'read', inUserTransaction: true },
  holder: { access: 'read', inUserTransaction: false },
  list: { access: 'read', inUserTransaction: true },
  logs: { access: 'read', inUserTransaction: false },
  counts: { access: 'read', inUserTransaction: false },
  upcoming: { access: 'read', inUserTransaction: false },
  stats: { access: 'read', inUserTransaction: false },
  trend: { access: 'read', inUserTransaction: false },
  changes: { access: 'read', inUserTransaction: false },
  audit: { access: 'read', inUserTransaction: false },
  migrate: { access: 'write', inUserTransaction: false },
  nodes: { access: 'write', inUserTransaction: false },
  records: { access: 'write', inUserTransaction: 'optional' },
  prune: { access: 'write', inUserTransaction: false },
  transfer: { access: 'write', inUserTransaction: false },
  exportRows: { access: 'read', inUserTransaction: false },
  importRows: { access: 'write', inUserTransaction: false },
} as const satisfies Record<keyof EngineVerbs, VerbTraits>;

/** The name of a verb. */
export type EngineVerb = keyof typeof engineVerbs;

/** The names of the verbs that can be called inside a transaction of the user's own. */
export type UserTransactionVerb<Offered extends VerbTraits['inUserTransaction'] = true> = {
  [Verb in EngineVerb]: (typeof engineVerbs)[Verb]['inUserTransaction'] extends Offered ? Verb : never;
}[EngineVerb];

/** The names of all verbs. */
export const engineVerbNames = Object.keys(engineVerbs) as EngineVerb[];

/** A verb, where it is treated like every other. */
export type VerbCall = (input: never) => Promise<Reply>;

/** Creates all verbs from one function, which is called once for each of them. */
export function mapVerbs(callOf: (verb: EngineVerb) => VerbCall): EngineVerbs {
  return Object.fromEntries(engineVerbNames.map((verb) => [verb, callOf(verb)])) as unknown as EngineVerbs;
}
