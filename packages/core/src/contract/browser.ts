// `@duly/core/words`: the part of the vocabulary that needs no Node, for pages in a browser.

export { nearest } from '../base/nearest.ts';
export { isTerminal, type JobStatus, jobStatuses } from './job-status.ts';
