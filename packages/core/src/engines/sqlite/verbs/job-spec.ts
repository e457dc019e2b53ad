/** What the spec of a job means in a transaction, for all verbs that create jobs. */

import { dulyError } from '../../../base/errors.ts';
import type { Due, EnqueuedItem, JobSpec } from '../../../contract/engine.ts';
import type { JobStatus } from '../../../contract/job-status.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';

/** The instant a due time means in this transaction. */
export function dueAtOf(work: Work, due: Due): number {
  const at = 'at' in due ? due.at : work.now + due.inMs;
  if (Number.isSafeInteger(at)) return at;
  // One caller's slip must not fail the groups of others that travel with it.
  throw dulyError('group_refused', {
    message: `Expected a due time in whole milliseconds, got ${at}.`,
    hint: 'Round instants and durations before they are handed to the store.',
  });
}

// A call whose reply was lost is repeated within seconds. A process that was suspended may repeat it hours later.
const deletionMs = 24 * 60 * 60_000;

/** Records that a job was deleted, so that a repeat of the call that created it does not create it again. */
export function rememberDeletion(work: Work, { id, status, dueAt }: Omit<EnqueuedItem, 'deduped'>): void {
  work.run(
    statements.value.remember,
    'deleted',
    id,
    JSON.stringify({ status, dueAt }),
    work.now + deletionMs,
  );
}

/** A job that was deleted in the last 24 hours, as it was then. */
export function findDeleted(work: Work, id: string): Omit<EnqueuedItem, 'deduped'> | undefined {
  const row = work.tuple<[string]>(statements.value.remembered, 'deleted', id);
  if (row === undefined) return undefined;
  const { status, dueAt } = JSON.parse(row[0]) as Pick<EnqueuedItem, 'status' | 'dueAt'>;
  return { id, status, dueAt };
}

/** What a job that exists already tells a call that would create it. */
export interface KnownRow {
  type: string;
  status: JobStatus;
  due_at: number;
}

/** The same id again: the same promise, unless it says something else. */
export function existing(work: Work, spec: JobSpec): EnqueuedItem {
  return sameJob(spec, work.get<KnownRow>(statements.job.state, spec.id) as KnownRow);
}

/** The job that has the id of the spec; refuses the group if that is a job of another type. */
export function sameJob(spec: JobSpec, row: KnownRow): EnqueuedItem {
  if (row.type !== spec.type) {
    throw dulyError('group_refused', {
      message: `Job "${spec.id}" exists already with type "${row.type}", not "${spec.type}".`,
      hint: 'Ids are created by the client, one per job. Create a new id for a new job.',
      details: { id: spec.id },
    });
  }
  return { id: spec.id, status: row.status, dueAt: row.due_at, deduped: false };
}
