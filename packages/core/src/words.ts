// `@duly/core/words`: the part of the vocabulary that needs no Node, for pages in a browser.
export { isTerminal, type JobStatus, jobStatuses } from './job.ts';
export { nearest } from './nearest.ts';
