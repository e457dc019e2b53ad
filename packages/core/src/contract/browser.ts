// `@duly/core/internal/browser`: names that need no Node, for the dashboard. Not covered by semantic versioning.

export { nearest } from '../base/nearest.ts';
export { isTerminal, type JobStatus, jobStatuses } from './job-status.ts';
