// Jobs, causes, instants and counts in the words of an answer to "why" about a job.

import { formatDuration } from '../base/duration.ts';
import type { AttemptRecord, Count, JobError, JobRecord } from '../contract/engine.ts';

/** The newest attempt of a job; undefined: it has none. */
export function lastAttempt(job: JobRecord): AttemptRecord | undefined {
  return job.attempts.at(-1);
}

/** Why an attempt failed. */
export function cause(job: JobRecord, last: AttemptRecord | undefined): string {
  const error = last?.error ?? job.error;
  switch (last?.reason ?? job.reason) {
    case 'timeout':
      return `it ran longer than its timeout of ${job.policy.timeoutMs === null ? 'none' : formatDuration(job.policy.timeoutMs)}`;
    case 'retry-asked':
      return `its handler asked to be run again${errorText(error)}`;
    default:
      return error === null ? 'the error was not stored' : `${error.name}: ${firstLine(error.message)}`;
  }
}

/** An error in parentheses; nothing where there is none. */
export function errorText(error: JobError | null): string {
  return error === null ? '' : ` (${error.name}: ${firstLine(error.message)})`;
}

function firstLine(message: string): string {
  const [line = ''] = message.split('\n', 1);
  // A sentence is for one line of a terminal; the whole message is in `error`. No half of a surrogate pair is left of it.
  const cut = line.length > 200 ? `${line.slice(0, 200).replace(/[\uD800-\uDBFF]$/, '')}…` : line;
  return cut.replace(/[.!]+$/, '');
}

/** A job by its id and type. */
export function named(job: JobRecord): string {
  return `Job "${job.id}" (type "${job.type}")`;
}

/** An instant in UTC. */
export function at(instant: number): string {
  return new Date(instant).toISOString();
}

/** How far an instant is from now. */
export function distance(instant: number, now: number): string {
  const ms = instant - now;
  return ms >= 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`;
}

/** A count of things. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A count that may be capped. */
export function countText({ count, capped }: Count): string {
  return capped ? `${count} or more` : `${count}`;
}
