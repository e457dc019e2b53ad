export { type Clock, systemClock, type Timer } from './base/clock.ts';
export { type Duration, durationMsMax, formatDuration, parseDuration } from './base/duration.ts';
export { DulyError, type ErrorCode, errorCodes, isDulyError } from './base/errors.ts';
export { formatInstant, parseInstant } from './base/instant.ts';
export type { Logger } from './base/logger.ts';
export type { Random } from './base/random.ts';
export type { StandardSchema } from './base/schema.ts';
export type {
  Count,
  EngineInfo,
  GateKind,
  JobError,
  LockHolder,
  Origin,
  Progress,
  SettleReason,
} from './contract/engine.ts';
export {
  isTerminal,
  type JobStatus,
  jobStatuses,
  jobTransitions,
  type TerminalStatus,
  terminalStatuses,
} from './contract/job-status.ts';
export type { CatchUpMode, JitterMode, OverlapMode } from './contract/policy-modes.ts';
export type { ExpiredValue, Expiring, Expiry } from './coordination/expiring.ts';
export type { CleanupTask, ExpiringOptions } from './coordination/expiring-sets.ts';
export type { LockKind } from './coordination/held-lock.ts';
export type { LeaderEvents, LeaderOptions, Leadership } from './coordination/leader.ts';
export type { LockContext, LockOptions, LockResult } from './coordination/lock.ts';
export type { LockListOptions, LockPage, LockView } from './coordination/lock-list.ts';
export type { AcquiredLock, AcquireOptions, Locks } from './coordination/locks.ts';
export type { OnceOptions } from './coordination/once.ts';
export { Duly } from './duly.ts';
export type { PgPool, PgPoolClient, PgQuery, PgResult, PoolStore } from './engines/shared/pool.ts';
export type { DulyEvents, JobNotice, ScheduleNotice } from './events.ts';
export { type Capacity, type CapacityOptions, capacity } from './forecast/capacity.ts';
export type { Forecast, ForecastLoad, ForecastOptions, ForecastStep } from './forecast/forecast.ts';
export { builtInTask, internalQueue } from './jobs/built-in-tasks.ts';
export type { DeadLetters } from './jobs/dead-letters.ts';
export type { JobChange } from './jobs/job-change.ts';
export type { JobsFilter } from './jobs/job-filter.ts';
export type { JobHandle } from './jobs/job-handle.ts';
export type { JobLogLine, LogsOptions } from './jobs/job-log.ts';
export type { DedupeOptions, JobOptions } from './jobs/job-options.ts';
export type {
  ActionOptions,
  ActionPage,
  ActionPageOptions,
  ActionResult,
  CountOptions,
  JobPage,
  JobQuery,
  PageOptions,
} from './jobs/job-query.ts';
export type { JobReference, NewDue } from './jobs/job-reference.ts';
export type { Attempt, Job, JobWait } from './jobs/job-view.ts';
export type { WaitingFor, Why, WorkerProblem } from './jobs/job-why.ts';
export type { CancelOptions, WaitOptions } from './jobs/jobs.ts';
export type { Pause, PauseOptions, PauseTarget } from './jobs/pauses.ts';
export type { DeclaredTask, SlotContext, TaskContext, TaskHandler } from './jobs/task-definition.ts';
export type { TracedAttempt, TracedEnqueue, Tracing } from './jobs/tracing.ts';
export { type OpenTelemetryApi, openTelemetry } from './jobs/tracing.ts';
export type { Backoff, BackoffFunction, RetryPolicy } from './lifecycle/retry.ts';
export type { AuditEntry, AuditOptions } from './operations/audit.ts';
export type { ChangesOptions, ChangesPage, FeedChange } from './operations/changes.ts';
export type { Health, HealthCallOptions, HealthCheck, HealthState } from './operations/health.ts';
export type { Counts, NodeView } from './operations/nodes.ts';
export type { QueueLane, QueueList, QueueView } from './operations/queues.ts';
export type { PutRecordOptions, Records, StoredRecord } from './operations/records.ts';
export type {
  Outcomes,
  ScheduleStats,
  ScheduleStatsOptions,
  StatsOptions,
  TrendOptions,
  TrendStep,
  TypeStats,
} from './operations/stats.ts';
export { abandonMove, type Moved, type MoveOptions, moveStore } from './operations/transfer.ts';
export type { Upcoming, UpcomingOptions } from './operations/upcoming.ts';
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
export type { ExcludeInput } from './schedules/calendar/exclude-input.ts';
export { readMoment } from './schedules/calendar/moment.ts';
export {
  type ResolveRuleOptions,
  type Rule,
  type RuleSlots,
  resolveRule,
} from './schedules/calendar/rule.ts';
export type { RuleInput, RuleKind, RuleSpec } from './schedules/calendar/rule-input.ts';
export type { ClockChange, SlotReading } from './schedules/calendar/rule-reading.ts';
export type {
  EveryDefinition,
  EveryOptions,
  ScheduleDefinition,
  ScheduleJobOptions,
} from './schedules/definition/definition.ts';
export { type ExplainOptions, explain } from './schedules/definition/explain.ts';
export type { ScheduleChanges } from './schedules/definition/override.ts';
export type { SchedulePolicies } from './schedules/definition/policies.ts';
export {
  type PreviewOptions,
  type PreviousOptions,
  preview,
  previous,
} from './schedules/definition/preview.ts';
export type { Decision } from './schedules/planner/decision.ts';
export type {
  ApplyOptions,
  BackfillOptions,
  BackfillResult,
  DeclaredSet,
  ScheduleDiff,
  SchedulePage,
  SchedulePauseOptions,
  ScheduleReference,
  SchedulesFilter,
  SlotsOptions,
  TriggerOptions,
  TriggerResult,
} from './schedules/schedule-options.ts';
export type {
  CompactedMonth,
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
} from './schedules/schedule-view.ts';
export type { SlotWhy } from './schedules/schedule-why.ts';
export type { Schedules } from './schedules/schedules.ts';
export type { EngineCall } from './store/instrumented-engine.ts';
export type {
  EveryArguments,
  InputArguments,
  ManyOptions,
  Task,
  TaskInput,
  TaskOptions,
} from './tasks/task.ts';
export type { RemoteError, RemoteOutcome } from './worker/remote/remote-outcome.ts';
export type {
  RemoteClaim,
  RemoteClaimed,
  RemoteHeartbeat,
  RemoteJob,
  RemoteLease,
  RemoteReport,
  RemoteSettled,
  RemoteSettlement,
  RemoteWorker,
} from './worker/remote/remote-protocol.ts';
export type { RemoteWorkers } from './worker/remote/remote-workers.ts';
