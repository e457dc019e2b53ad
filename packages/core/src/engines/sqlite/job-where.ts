import type { JobFilter } from '../../contract/engine.ts';
import { isTerminal, type JobStatus, jobStatuses } from '../../contract/job-status.ts';
import type { Value } from './work.ts';

/** The slot of a run, as the index of backfills has it. */
const slotAt = "json_extract(slot, '$.slotAt')";

/** The status of a live job as rows.ts reads it: due means PENDING, whether a node has looked or not. */
const liveStatus = "CASE WHEN status = 'SCHEDULED' AND due_at <= ? THEN 'PENDING' ELSE status END";

const errorHas = "instr(lower(error ->> '$.name' || ': ' || (error ->> '$.message')), lower(?)) > 0";

/** A condition in SQL with its values. */
export interface Where {
  sql: string;
  values: Value[];
}

/**
 * A filter as a condition on one of the two job tables; null: nothing in that table can match. SQL is put
 * together here because a filter has more shapes than files could hold. Values are always bound, never written into the text.
 */
export function jobWhere(filter: JobFilter, table: 'jobs' | 'finished', now: number): Where | null {
  const parts: string[] = [];
  const values: Value[] = [];
  const add = (sql: string, ...bound: Value[]) => {
    parts.push(sql);
    values.push(...bound);
  };
  const addIn = (column: string, list: string[] | undefined) => {
    if (list !== undefined) add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(list));
  };

  const status = filter.status?.filter((one) => isTerminal(one) === (table === 'finished'));
  if (status?.length === 0) return null;
  if (filter.dead !== undefined) {
    if (table === 'finished') add('dead = ?', filter.dead ? 1 : 0);
    else if (filter.dead) return null;
  }
  addIn('id', filter.ids);
  if (table === 'finished') addIn('status', status);
  else if (status !== undefined) {
    add(`${liveStatus} IN (SELECT value FROM json_each(?))`, now, JSON.stringify(status));
  }
  addIn('type', filter.type);
  addIn('queue', filter.queue);
  if (filter.tenant === null) add('tenant IS NULL');
  else if (filter.tenant !== undefined) add('tenant = ?', filter.tenant);
  if (filter.scheduleId !== undefined) add('schedule_id = ?', filter.scheduleId);
  if (filter.dedupeKey !== undefined) add('dedupe_key = ?', filter.dedupeKey);
  if (filter.serial !== undefined) add('serial = ?', filter.serial);
  if (filter.parentId !== undefined) add('parent_id = ?', filter.parentId);
  if (filter.slotFrom !== undefined) add(`${slotAt} >= ?`, filter.slotFrom);
  if (filter.slotBefore !== undefined) add(`${slotAt} < ?`, filter.slotBefore);
  // Written out, so that SQLite knows that the index of backfills holds all that match.
  if (filter.origin === 'backfill') add("origin = 'backfill'");
  else if (filter.origin !== undefined) add('origin = ?', filter.origin);
  if (filter.createdFrom !== undefined) add('created_at >= ?', filter.createdFrom);
  if (filter.createdBefore !== undefined) add('created_at < ?', filter.createdBefore);
  if (filter.asOf !== undefined) {
    add('created_at <= ?', filter.asOf);
    if (table === 'finished') add('finished_at <= ?', filter.asOf);
  }
  if (filter.error !== undefined) add(errorHas, filter.error);
  for (const text of filter.text ?? []) {
    const asked = text.toUpperCase() as JobStatus;
    // A status of the other table matches nothing here.
    const isStatus = jobStatuses.includes(asked) && isTerminal(asked) === (table === 'finished');
    const parts = ['instr(lower(type), lower(?)) > 0', 'instr(lower(tenant), lower(?)) > 0', errorHas];
    const bound: Value[] = [text, text, text];
    if (isStatus && table === 'finished') {
      parts.push('status = ?');
      bound.push(asked);
    } else if (isStatus) {
      parts.push(`${liveStatus} = ?`);
      bound.push(now, asked);
    }
    add(`(${parts.join(' OR ')})`, ...bound);
  }
  for (const { path, value } of filter.input ?? []) {
    add('json_valid(input) AND (input -> ?) = json(?)', jsonPath(path), value);
  }
  return { sql: parts.length === 0 ? 'TRUE' : parts.join(' AND '), values };
}

// SQLite reads 01 and 4294967297 as 1: only one spelling of a place may reach it, or paths could not be compared as strings.
const place = /^(?:0|[1-9]\d{0,8})$/;

/** `user.tags.0` as a JSON path: whole numbers are places in a list, everything else is a name, escaped as in JSON. */
function jsonPath(path: string): string {
  const steps = path.split('.').map((step) => (place.test(step) ? `[${step}]` : `.${JSON.stringify(step)}`));
  return `$${steps.join('')}`;
}
