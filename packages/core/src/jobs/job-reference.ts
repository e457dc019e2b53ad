// Which job a call means, and the errors for a job that does not exist.

import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { jobIdAt } from '../base/ids.ts';
import { parseInstant } from '../base/instant.ts';
import { readName, refuseOption, shown } from '../base/option-reader.ts';
import type { Due, JobTarget } from '../contract/engine.ts';

/** Names a job: by its id, or by its type and dedupe key. */
export type JobReference = { id: string } | { type: string; key: string; tenant?: string };

/** When to move a job to: an instant, or so long from the store's now. */
export type NewDue = { at: Date | number | string } | { in: Duration };

/** Reads an id: any text, because only the store knows whether it exists. */
export function readJobId(id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw dulyError('invalid_option', {
      message: `Expected a job's id, got ${shown(id)}.`,
      hint: 'A job id is a text like "job_01k9…".',
    });
  }
  return id;
}

/** Reads when a job is to be due. */
export function readDue(due: NewDue): Due {
  const fields = typeof due === 'object' && due !== null ? Object.keys(due) : [];
  if (fields.length !== 1 || (fields[0] !== 'at' && fields[0] !== 'in')) {
    return refuseOption('due', due, 'to be { at: instant } or { in: duration }');
  }
  return 'at' in due ? { at: parseInstant(due.at, 'at') } : { inMs: parseDuration(due.in, 'in') };
}

/** Reads which job is meant. Throws `invalid_option`. */
export function readReference(reference: JobReference): JobTarget {
  const fields =
    typeof reference === 'object' && reference !== null ? Object.keys(reference).sort().join() : '';
  if (fields === 'id') return { id: readJobId((reference as { id: string }).id) };
  if (fields === 'key,type' || fields === 'key,tenant,type') {
    const { type, key, tenant } = reference as { type: string; key: string; tenant?: string | null };
    return {
      type: readName(type, 'type'),
      key: readName(key, 'key'),
      tenant: tenant === undefined || tenant === null ? null : readName(tenant, 'tenant'),
    };
  }
  return refuseOption('job', reference, 'to be { id } or { type, key, tenant? }');
}

function keyText(target: JobTarget): string {
  if ('id' in target) return target.id;
  return `key "${target.key}" of type "${target.type}"${target.tenant === null ? '' : ` and tenant "${target.tenant}"`}`;
}

/** Reads the note of an action. */
export function readNote(note: unknown): string | null {
  if (note === undefined || note === null) return null;
  if (typeof note !== 'string' || note.length > 1_000) {
    refuseOption('note', note, 'to be a text of at most 1000 characters');
  }
  return note;
}

/** The error for an id that is not there: past its retention, as its time tells, or never seen. */
export function missing(target: JobTarget, prunedCreatedAt: number | null) {
  const asked = keyText(target);
  const createdAt = jobIdAt(asked);
  // Made before a job that is gone by now, so it is gone as well, if it ever was: the id itself does not tell.
  if (createdAt !== null && prunedCreatedAt !== null && createdAt <= prunedCreatedAt) {
    return dulyError('job_pruned', {
      message: `Job "${asked}" was created at ${new Date(createdAt).toISOString()} and has been deleted after its retention.`,
      hint: 'Finished jobs are stored for their retention (7 days unless the task says otherwise).',
      details: { id: asked, createdAt },
    });
  }
  const isKey = 'key' in target;
  return dulyError('job_not_found', {
    message: isKey
      ? `No job holds the ${asked.slice(0, 1_000)}.`
      : `No job has the id "${asked.slice(0, 250)}".`,
    hint: isKey
      ? 'A key is held until its job is over, unless "for" was given. Check the key, the type, the tenant and the store.'
      : `Check the id and the store.${asked.startsWith('job_') ? '' : ' A job\'s id begins with "job_".'}`,
    details: { id: asked.slice(0, 250) },
  });
}
