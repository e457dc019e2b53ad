// `@duly/core/internal/browser`: names that need no Node, for the dashboard, the server and the command. Not covered by semantic versioning.

export { nearest } from '../base/nearest.ts';
export { isTerminal, type JobStatus, jobStatuses, terminalStatuses } from './job-status.ts';
export { allows, type Scope, scopes } from './key-scopes.ts';
export { catchUpModes, jitterModes, overlapModes } from './policy-modes.ts';
