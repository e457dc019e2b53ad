import type { JobFilter } from '../../contract/engine.ts';
import { isTerminal, type JobStatus, jobStatuses } from '../../contract/job-status.ts';
import { ofSet, type Value } from './work.ts';

/** Values of a statement that is put together, each by its place. */
export class Bound {
  readonly values: Value[] = [];
  readonly #placeOf: (number: number) => string;

  /** `placeOf`: how the text says where the n-th value is, from 1. */
  constructor(placeOf = (number: number): string => `$${number}`) {
    this.#placeOf = placeOf;
  }

  /** Binds a value and answers its place in the text. */
  add(value: Value): string {
    this.values.push(value);
    return this.#placeOf(this.values.length);
  }

  /** Binds a list of values as an array of texts. */
  list(values: readonly Value[]): string {
    return `ARRAY(SELECT jsonb_array_elements_text(${this.add(JSON.stringify(values))}::jsonb))`;
  }
}

/**
 * A filter as a condition on one of the three places a job can be; null: nothing there can match. SQL is put together here because a
 * filter has more shapes than files could hold. Values are always bound, never written into the text. `now` is the place of the instant.
 */
export function jobWhere(
  filter: JobFilter,
  table: 'live' | 'dead' | 'finished',
  now: string,
  bound: Bound,
): string | null {
  const parts: string[] = [];
  const addIn = (column: string, list: string[] | undefined) => {
    if (list !== undefined) parts.push(`${column} = ANY (${bound.list(list)})`);
  };
  const addText = (column: string, value: string | undefined) => {
    if (value !== undefined) parts.push(`${column} = ${bound.add(value)}::text`);
  };
  const addBound = (column: string, sign: string, value: number | undefined) => {
    if (value !== undefined) parts.push(`${column} ${sign} ${bound.add(value)}::bigint`);
  };

  const status = filter.status?.filter((one) => isTerminal(one) === (table !== 'live'));
  if (status?.length === 0) return null;
  if (filter.dead !== undefined && filter.dead !== (table === 'dead')) return null;
  // As rows.ts reads it: due means PENDING, whether a node has looked or not.
  const statusColumn =
    table === 'live'
      ? `CASE WHEN status = 'SCHEDULED' AND due_at <= ${now} THEN 'PENDING' ELSE status END`
      : 'status';
  addIn('id', filter.ids);
  addIn(statusColumn, status);
  addIn('type', filter.type);
  addIn('queue', filter.queue);
  if (filter.tenant === null) parts.push('tenant IS NULL');
  else addText('tenant', filter.tenant);
  addText('schedule_id', filter.scheduleId);
  addText('dedupe_key', filter.dedupeKey);
  addText('serial', filter.serial);
  addText('parent_id', filter.parentId);
  addBound('slot_at', '>=', filter.slotFrom);
  addBound('slot_at', '<', filter.slotBefore);
  // Written out, so that the planner knows that the index of backfills holds all that match.
  if (filter.origin === 'backfill') parts.push("origin = 'backfill'");
  else addText('origin', filter.origin);
  addBound('created_at', '>=', filter.createdFrom);
  addBound('created_at', '<', filter.createdBefore);
  addBound('created_at', '<=', filter.asOf);
  if (table !== 'live') addBound('finished_at', '<=', filter.asOf);
  if (filter.error !== undefined) parts.push(errorHas(bound.add(filter.error)));
  for (const text of filter.text ?? []) {
    const place = bound.add(text);
    const either = [
      `strpos(lower(type COLLATE "C"), lower(${place}::text COLLATE "C")) > 0`,
      `strpos(lower(tenant COLLATE "C"), lower(${place}::text COLLATE "C")) > 0`,
      errorHas(place),
    ];
    const asked = text.toUpperCase() as JobStatus;
    // A status of another table matches nothing here.
    if (jobStatuses.includes(asked) && isTerminal(asked) === (table !== 'live')) {
      either.push(`${statusColumn} = ${bound.add(asked)}::text`);
    }
    parts.push(`(${either.join(' OR ')})`);
  }
  for (const { path, value } of filter.input ?? []) {
    parts.push(`${ofSet('has_value')}(input, ${bound.list(path.split('.'))}, ${bound.add(value)}::text)`);
  }
  return parts.length === 0 ? 'TRUE' : parts.join(' AND ');
}

/** Most jobs have no error, and reading one costs a call of plpgsql. */
function errorHas(place: string): string {
  return `(error IS NOT NULL AND strpos(${ofSet('error_text')}(error), lower(${place}::text COLLATE "C")) > 0)`;
}
