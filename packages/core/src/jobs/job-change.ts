// What became of a job that was asked to change.

import { dulyError } from '../base/errors.ts';
import type { ChangedItem, GroupReply, JobTarget } from '../contract/engine.ts';
import type { JobStatus } from '../contract/job-status.ts';
import type { StoreSession } from '../store/session.ts';
import { groupItems } from '../store/session.ts';
import { readRecord } from './job-records.ts';
import { missing } from './job-reference.ts';

/** What became of a job that was asked to change. */
export interface JobChange {
  id: string;
  /** `asked`: it runs, and will be told. `unchanged`: it was so already. */
  result: 'changed' | 'asked' | 'unchanged';
  status: JobStatus;
  dueAt: Date | null;
}

/** What became of it, from the store's reply. Throws `job_not_found` or `job_not_changeable`. */
export async function readChange(
  session: StoreSession,
  group: GroupReply<ChangedItem>,
  target: JobTarget,
  action: string,
): Promise<JobChange> {
  const [item] = groupItems(group);
  if (item === undefined) throw dulyError('internal', { message: 'The store answered without an item.' });
  if (item.result === 'missing' || item.id === null) {
    // Asked once more by its id, for the store's instant: whether it is past its retention is not for our clock to say.
    if ('id' in target) await readRecord(session, target.id);
    throw missing(target, null);
  }
  if (item.result === 'refused') {
    throw dulyError('job_not_changeable', {
      message: `Job "${item.id}" is ${item.status}, which cannot be ${action}.`,
      hint: hints[action],
      details: { id: item.id, status: item.status, action },
    });
  }
  return {
    id: item.id,
    result: item.result,
    status: item.status as JobStatus,
    dueAt: item.dueAt === null ? null : new Date(item.dueAt),
  };
}

const hints: Record<string, string> = {
  cancelled: 'Only a job that is not over can be cancelled.',
  rescheduled: 'Only a job that waits can be moved: SCHEDULED, PENDING, BLOCKED or RETRYING.',
  retried: 'Only a FAILED, CANCELLED or EXPIRED job can be retried.',
};
