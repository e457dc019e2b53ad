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
      return [`next ${relative(job.dueAt, now)}`, errorText(job)].filter(Boolean).join(': ');
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
