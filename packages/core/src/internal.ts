// For Duly's own packages. Not covered by semantic versioning: any release may change or remove a name.

export { quietLogger } from './base/logger.ts';
export { nearest } from './base/nearest.ts';
export { seededRandom } from './base/random.ts';
export { snakeName, toSnakeCase } from './base/snake-case.ts';
export type * from './contract/engine.ts';
export { jobFields } from './contract/job-fields.ts';
export { type JobAction, type JobEvent, type JobTransition, jobActions } from './contract/job-status.ts';
export { transferParts } from './contract/transfer.ts';
export { engineVerbNames, engineVerbs } from './contract/verbs.ts';
export type { SettingCheck, SettingState, StoreExamination } from './engines/shared/setting-check.ts';
export { builtInPrefix, commandTaskName, httpTaskName, shadowTaskName } from './jobs/built-in-tasks.ts';
export {
  type AttemptJson,
  type JobErrorJson,
  type JobJson,
  type JobJsonOptions,
  toAttemptJson,
  toJobJson,
} from './jobs/job-json.ts';
export { pauseOf } from './operations/queues.ts';
export { copyParts } from './operations/transfer.ts';
export {
  type DefinitionJson,
  fromDefinitionJson,
  toDeclaredTaskJson,
  toDefinitionJson,
} from './schedules/definition-json.ts';
export {
  type ComingSlotJson,
  type LedgerSlotJson,
  localText,
  type ScheduleJson,
  toComingSlotJson,
  toLedgerJson,
  toScheduleJson,
} from './schedules/schedule-json.ts';
export { callbackField, callbacksRecord } from './store/callbacks.ts';
export { examineStore } from './store/examine.ts';
export { openEngine, readSchemaStatus, type SchemaStatus } from './store/open-engine.ts';
export type { Store } from './store/store.ts';
export {
  type PostgresAddress,
  parseStoreAddress,
  type SqliteAddress,
  type StoreAddress,
  withoutPassword,
} from './store/store-url.ts';
export { openStore } from './store/thread/open-store.ts';
export { type TaskForm, taskFormKind } from './tasks/input-forms.ts';
