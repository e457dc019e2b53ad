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
function findDeleted(work: Work, id: string): Omit<EnqueuedItem, 'deduped'> | undefined {
  const row = work.tuple<[string]>(statements.value.remembered, 'deleted', id);
  if (row === undefined) return undefined;
  const { status, dueAt } = JSON.parse(row[0]) as Pick<EnqueuedItem, 'status' | 'dueAt'>;
  return { id, status, dueAt };
}

// A call whose reply was lost is repeated within seconds. A process that was suspended has this long.
const foldStoredMs = 600_000;

/** Records that the call of a spec changed another job instead of creating one. */
export function rememberFold(work: Work, spec: JobSpec, id: string): void {
  work.run(statements.value.remember, 'fold', spec.id, id, work.now + foldStoredMs);
}

/** What a repeat of a call is answered with: the job that the first call created or changed. */
export function findAnswered(work: Work, spec: JobSpec): EnqueuedItem | undefined {
  return findCreated(work, spec) ?? findChild(work, spec) ?? findFold(work, spec);
}

/** The job that has the id of a spec, also if it was deleted in the last 24 hours. Refuses a job of another type. */
export function findCreated(work: Work, spec: JobSpec): EnqueuedItem | undefined {
  const row = findRow(work, spec.id);
  if (row !== undefined) return sameJob(spec, row);
  const deleted = findDeleted(work, spec.id);
  return deleted && { ...deleted, deduped: false };
}

/** The child that the parent of a spec has under its key already. */
export function findChild(work: Work, { id, parent }: JobSpec): EnqueuedItem | undefined {
  if (parent === null || parent.key === null) return undefined;
  const child = work.get<{ job_id: string }>(statements.job.child, parent.id, parent.key)?.job_id;
  if (child === undefined) return undefined;
  const known = findKnown(work, child);
  if (known !== undefined) return { ...known, deduped: child !== id };
  // The child is past its retention.
  return { id: child, status: 'COMPLETED', dueAt: work.now, deduped: true };
}

/** The job that the call changed instead of creating one. It may have started or ended since. */
function findFold(work: Work, { id, dedupe }: JobSpec): EnqueuedItem | undefined {
  if (dedupe === null) return undefined;
  const tookOver = work.tuple<[string]>(statements.value.remembered, 'fold', id)?.[0];
  if (tookOver === undefined) return undefined;
  const known = findKnown(work, tookOver);
  return { ...(known ?? { id: tookOver, status: 'COMPLETED', dueAt: work.now }), deduped: true };
}

/** A job that exists, or was deleted in the last 24 hours. */
function findKnown(work: Work, id: string): Omit<EnqueuedItem, 'deduped'> | undefined {
  return findBrief(work, id) ?? findDeleted(work, id);
}

/** A job that exists, live or in history. */
export function findBrief(work: Work, id: string): Omit<EnqueuedItem, 'deduped'> | undefined {
  const row = findRow(work, id);
  return row && { id, status: row.status, dueAt: row.due_at };
}

function findRow(work: Work, id: string): KnownRow | undefined {
  return work.get<KnownRow>(statements.job.state, id) ?? work.get<KnownRow>(statements.job.finishedBrief, id);
}

/** What a job that exists already tells a call that would create it. */
interface KnownRow {
  type: string;
  status: JobStatus;
  due_at: number;
}

/** The same id again: the same promise, unless it says something else. */
export function existing(work: Work, spec: JobSpec): EnqueuedItem {
  return sameJob(spec, work.get<KnownRow>(statements.job.state, spec.id) as KnownRow);
}

/** The job that has the id of the spec; refuses the group if that is a job of another type. */
function sameJob(spec: JobSpec, row: KnownRow): EnqueuedItem {
  if (row.type !== spec.type) {
    throw dulyError('group_refused', {
      message: `Job "${spec.id}" exists already with type "${row.type}", not "${spec.type}".`,
      hint: 'Ids are created by the client, one per job. Create a new id for a new job.',
      details: { id: spec.id },
    });
  }
  return { id: spec.id, status: row.status, dueAt: row.due_at, deduped: false };
}
