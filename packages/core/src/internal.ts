// For Duly's own packages. Not covered by semantic versioning: any release may change or remove a name.

export { quietLogger } from './base/logger.ts';
export { nearest } from './base/nearest.ts';
export { seededRandom } from './base/random.ts';
export { snakeName, toSnakeCase } from './base/snake-case.ts';
export type * from './contract/engine.ts';
export { engineVerbs } from './contract/engine.ts';
export type { JobEvent, JobTransition } from './contract/job-status.ts';
export { moveParts } from './contract/transfer.ts';
export {
  builtInPrefix,
  commandTaskName,
  httpTaskName,
  shadowTaskName,
} from './jobs/built-in-tasks.ts';
export { toAttemptJson, toJobJson } from './jobs/job-json.ts';
export { pauseOf } from './operations/queues.ts';
export { copyParts } from './operations/transfer.ts';
export { fromDefinitionJson, toDeclaredTaskJson, toDefinitionJson } from './schedules/definition-json.ts';
export { localText, toComingSlotJson, toLedgerJson, toScheduleJson } from './schedules/schedule-json.ts';
export { callbackField, callbacksRecord } from './store/callbacks.ts';
export { examineStore } from './store/examine.ts';
export { openEngine, readSchemaStatus } from './store/open-engine.ts';
export { parseStoreAddress, withoutPassword } from './store/store-url.ts';
export { openStore } from './store/thread/open-store.ts';
export { taskFormKind } from './tasks/input-forms.ts';
