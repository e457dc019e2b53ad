import type { Job, JobStatus } from '@duly/core';
import { stepText } from './progress-bar.ts';
import { oneLine, type Style } from './terminal.ts';
import { relative } from './times.ts';

/** The colour of each status. */
export const statusStyles: Record<JobStatus, Style> = {
  SCHEDULED: 'blue',
  PENDING: 'cyan',
  BLOCKED: 'magenta',
  RUNNING: 'yellow',
  RETRYING: 'yellow',
  COMPLETED: 'green',
  FAILED: 'red',
  CANCELLED: 'dim',
  EXPIRED: 'red',
};

/** What a list says about a job beside its status: the step, the error, when it goes on. */
export function detailOf(job: Job, now: number): string {
  switch (job.status) {
    case 'RUNNING':
      return [job.cancelRequestedAt === null ? '' : 'asked to cancel', stepText(job.progress)]
        .filter(Boolean)
        .join(', ');
    case 'SCHEDULED':
      return `due ${relative(job.dueAt, now)}`;
    case 'RETRYING':
      return [job.dueAt.getTime() <= now ? 'due now' : `next ${relative(job.dueAt, now)}`, errorText(job)]
        .filter(Boolean)
        .join(': ');
    case 'BLOCKED':
      return job.waitingFor?.kind === 'gate'
        ? `behind ${job.waitingFor.gates.map((gate) => gate.kind).join(', ')}`
        : '';
    case 'CANCELLED':
      return job.cancelledBy === null ? '' : `by ${oneLine(job.cancelledBy)}`;
    case 'FAILED':
      return errorText(job);
    default:
      return '';
  }
}

/** `TypeError: x is not a function`; empty without an error. */
export function errorText({ error }: Pick<Job, 'error'>): string {
  return error === null ? '' : oneLine(`${error.name}: ${error.message}`);
}

/** The attempts a list shows. One that was cancelled is not spent, but it was started, and `why` names it. */
export function attemptCount(job: Job): number {
  return job.status === 'CANCELLED' ? Math.max(job.attempts, startedCount(job)) : job.attempts;
}

/** `2 of 3`; where some were not spent (cancelled, lost, given back) also how many were started: `3 started, 2 of 3 spent, 1 lost`. */
export function attemptsText(job: Job): string {
  const lost = job.losses === 0 ? '' : `, ${job.losses} lost`;
  const started = startedCount(job);
  if (started <= job.attempts) return `${job.attempts} of ${job.maxAttempts}${lost}`;
  return `${started} started, ${job.attempts} of ${job.maxAttempts} spent${lost}`;
}

function startedCount(job: Job): number {
  return job.attemptList.at(-1)?.n ?? 0;
}
