export {
  builtInPrefix,
  builtInTask,
  commandTaskName,
  httpTaskName,
  internalQueue,
  shadowTaskName,
} from './built-in.ts';
export { callbackField, callbacksRecord } from './callbacks.ts';
export type { ChangesOptions, ChangesPage, FeedChange } from './changes.ts';
export { type Clock, systemClock, type Timer } from './clock.ts';
export type { ExpiredValue, Expiring, Expiry } from './coordination/expiring.ts';
export type { CleanupTask, ExpiringOptions } from './coordination/expiring-sets.ts';
export type { LockKind } from './coordination/held-lock.ts';
export type { LeaderEvents, LeaderOptions, Leadership } from './coordination/leader.ts';
export type { LockContext, LockOptions, LockResult } from './coordination/lock.ts';
export type { LockListOptions, LockPage, LockView } from './coordination/lock-list.ts';
export type { AcquiredLock, AcquireOptions, Locks } from './coordination/locks.ts';
export type { OnceOptions } from './coordination/once.ts';
export {
  type DefinitionJson,
  fromDefinitionJson,
  toDeclaredTaskJson,
  toDefinitionJson,
} from './definition-json.ts';
export type { EngineCall } from './door.ts';
export { Duly, type HealthCallOptions } from './duly.ts';
export type { DulyEvents, JobNotice, ScheduleNotice } from './duly-events.ts';
export { type Duration, durationMsMax, formatDuration, parseDuration } from './duration.ts';
export type {
  Count,
  Engine,
  EngineInfo,
  GateKind,
  JobError,
  LockHolder,
  Origin,
  Progress,
  SettleReason,
} from './engine.ts';
export {
  type PostgresAddress,
  parseStoreAddress,
  type SqliteAddress,
  type StoreAddress,
  withoutPassword,
} from './engines/address.ts';
export { examineStore } from './engines/examine.ts';
export { openEngine, openStore, readSchemaStatus, type SchemaStatus, type Store } from './engines/open.ts';
export type { PgPool, PgPoolClient, PgQuery, PgResult, PoolStore } from './engines/pool.ts';
export type { SettingCheck, SettingState, StoreExamination } from './engines/setting-check.ts';
export { DulyError, type ErrorCode, errorCodes, isDulyError } from './errors.ts';
export { type Capacity, type CapacityOptions, capacity } from './forecast/capacity.ts';
export type { Forecast, ForecastLoad, ForecastOptions, ForecastStep } from './forecast/forecast.ts';
export type { Health, HealthCheck, HealthState } from './health.ts';
export { formatInstant, parseInstant } from './instant.ts';
export {
  isTerminal,
  type JobStatus,
  jobStatuses,
  jobTransitions,
  type TerminalStatus,
  terminalStatuses,
} from './job.ts';
export type { JobHandle } from './job-handle.ts';
export {
  type AttemptJson,
  type JobErrorJson,
  type JobJson,
  type JobJsonOptions,
  toAttemptJson,
  toJobJson,
} from './job-json.ts';
export type { DedupeOptions, JobOptions } from './job-options.ts';
export type {
  ActionOptions,
  ActionPage,
  ActionPageOptions,
  ActionResult,
  CountOptions,
  DeadLetters,
  JobPage,
  JobQuery,
  JobsFilter,
  PageOptions,
} from './job-query.ts';
export type { Attempt, Job, JobWait } from './job-view.ts';
export type {
  CancelOptions,
  JobChange,
  JobLogLine,
  JobReference,
  LogsOptions,
  NewDue,
  WaitOptions,
} from './jobs.ts';
export { type Logger, quietLogger } from './logger.ts';
export { abandonMove, type Moved, type MoveOptions, moveStore } from './move.ts';
export { nearest } from './nearest.ts';
export { type OpenTelemetryApi, openTelemetry } from './opentelemetry.ts';
export {
  type DulyOptions,
  defaultStore,
  type LimitOptions,
  type RetentionOptions,
  type Role,
  roles,
  type StartOptions,
  type StopOptions,
} from './options.ts';
export type { Pause, PauseOptions, PauseTarget } from './pauses.ts';
export { pauseOf, type QueueLane, type QueueList, type QueueView } from './queue-list.ts';
export type { Random } from './random.ts';
export type { PutRecordOptions, Records, StoredRecord } from './records.ts';
export type { RemoteError, RemoteOutcome } from './remote/remote-outcome.ts';
export type {
  RemoteBeat,
  RemoteClaim,
  RemoteClaimed,
  RemoteJob,
  RemoteLease,
  RemoteReport,
  RemoteSettled,
  RemoteSettlement,
  RemoteWorker,
  RemoteWorkers,
} from './remote/remote-workers.ts';
export type { Backoff, BackoffFunction, RetryPolicy } from './retry.ts';
export type { Decision } from './schedule/decision.ts';
export type {
  EveryDefinition,
  EveryOptions,
  ScheduleDefinition,
  ScheduleJobOptions,
} from './schedule/definition.ts';
export type { ExcludeInput } from './schedule/exclude.ts';
export { type ExplainOptions, explain } from './schedule/explain.ts';
export { readMoment } from './schedule/moment.ts';
export type { ScheduleChanges } from './schedule/override.ts';
export type { CatchUpMode, JitterMode, OverlapMode, SchedulePolicies } from './schedule/policies.ts';
export { type PreviewOptions, type PreviousOptions, preview, previous } from './schedule/preview.ts';
export {
  type ClockChange,
  type ResolveRuleOptions,
  type Rule,
  type RuleInput,
  type RuleKind,
  type RuleSlots,
  type RuleSpec,
  resolveRule,
  type SlotReading,
} from './schedule/rule.ts';
export {
  type ComingSlotJson,
  type LedgerSlotJson,
  localText,
  type ScheduleJson,
  toComingSlotJson,
  toLedgerJson,
  toScheduleJson,
} from './schedule-json.ts';
export type {
  ApplyOptions,
  BackfillOptions,
  BackfillResult,
  DeclaredSet,
  DeclaredTask,
  ScheduleDiff,
  SchedulePage,
  SchedulePauseOptions,
  ScheduleReference,
  SchedulesFilter,
  SlotsOptions,
  TriggerOptions,
  TriggerResult,
} from './schedule-options.ts';
export type {
  FoldedMonth,
  LastRun,
  LedgerSlot,
  PoliciesView,
  RuleView,
  Schedule,
  ScheduleDeletion,
  ScheduleDrift,
  ScheduleStatus,
  SlotRun,
  SlotStatus,
} from './schedule-view.ts';
export type { SlotWhy } from './schedule-why.ts';
export type { Schedules } from './schedules.ts';
export type { StandardSchema } from './schema.ts';
export { snakeName, toSnakeCase } from './snake-case.ts';
export type {
  Outcomes,
  ScheduleStats,
  ScheduleStatsOptions,
  StatsOptions,
  TrendOptions,
  TrendStep,
  TypeStats,
} from './stats.ts';
export type { AuditEntry, AuditOptions, Counts, NodeView } from './store-views.ts';
export type {
  EveryArguments,
  InputArguments,
  ManyOptions,
  SlotContext,
  Task,
  TaskContext,
  TaskHandler,
  TaskInput,
  TaskOptions,
} from './task.ts';
export { type TaskForm, taskFormKind } from './task-forms.ts';
export type { TracedAttempt, TracedEnqueue, Tracing } from './tracing.ts';
export type { Upcoming, UpcomingOptions } from './upcoming.ts';
export type { WaitingFor, Why, WorkerProblem } from './why.ts';
