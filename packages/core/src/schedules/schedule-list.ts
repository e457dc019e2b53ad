// Lists schedules, by name or by when they are due.

import { dulyError } from '../base/errors.ts';
import {
  readName,
  readOptions,
  readWholeNumber,
  readWord,
  refuseOption,
  shown,
} from '../base/option-reader.ts';
import type { Engine, ScheduleRecord } from '../contract/engine.ts';
import { explainRule } from './definition/explain.ts';
import { readStoreFilter } from './finder.ts';
import { filterNames, type SchedulePage, type SchedulesFilter, statuses } from './schedule-options.ts';
import type { Schedule } from './schedule-view.ts';
import { readViews, type ScheduleSource } from './schedule-views.ts';
import { readSchedule } from './unreadable.ts';

/** What a list is read from. */
export interface ListSource extends ScheduleSource {
  engine(): Promise<Engine>;
  /** Told of a schedule that cannot be read. */
  onError(error: unknown, doing: string): void;
}

/** How many are read at once where the store cannot tell which are wanted. */
const pageSize = 1_000;

/** A page of the schedules that match, by name, or by when they are due. */
export async function listSchedules(
  source: ListSource,
  filter: SchedulesFilter | undefined,
): Promise<SchedulePage> {
  const {
    type,
    status,
    search,
    order = 'name',
    limit = 100,
    cursor,
    ...rest
  } = readOptions(filter, 'schedules.list()', filterNames);
  if (status !== undefined) readWord(status, 'status', statuses);
  if (readWord(order, 'order', ['name', 'due']) === 'due') {
    for (const [name, value] of Object.entries({ type, status, search, cursor }))
      if (value !== undefined) refuseOption(name, value, 'not to be given with the order "due"');
  }
  const sought = search === undefined ? null : readName(search, 'search').toLowerCase();
  const wanted = readWholeNumber(limit, 'limit', 1, 1_000);
  const engine = await source.engine();
  // Type, status and words are not the store's to know: whole pages are read until enough of them match.
  const isAll = type === undefined && status === undefined && sought === null;
  const found: Schedule[] = [];
  let nextCursor: string | null = cursor === undefined ? null : readCursor(cursor);
  do {
    const reply: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
      filter: readStoreFilter(rest),
      order,
      cursor: nextCursor,
      limit: isAll ? wanted : pageSize,
    });
    const records = readable(source, reply.schedules).filter((record) =>
      matches(source, record, { type, sought }),
    );
    // What a schedule did last is read for those only that may be shown.
    let at = 0;
    for (; at < records.length && found.length < wanted; at += wanted) {
      const views = await readViews(source, records.slice(at, at + wanted), reply.now);
      found.push(...views.filter((one) => status === undefined || one.status === status));
    }
    nextCursor = reply.nextCursor;
    if (found.length > wanted || at < records.length) {
      // Enough before the end of what was read: the rest begins behind the last that is shown.
      const { name, id } = found[wanted - 1] as Schedule;
      nextCursor = JSON.stringify([name, id]);
    }
  } while (nextCursor !== null && found.length < wanted);
  return { schedules: found.slice(0, wanted), nextCursor };
}

/** Those that this version of Duly understands at all. One that it does not is told, and does not hide the others. */
function readable({ parsed, onError }: ListSource, records: readonly ScheduleRecord[]): ScheduleRecord[] {
  return records.filter((record) => {
    try {
      readSchedule(parsed, record);
      return true;
    } catch (error) {
      onError(error, `reading schedule "${record.name}"`);
      return false;
    }
  });
}

function matches(
  { parsed }: ListSource,
  record: ScheduleRecord,
  { type, sought }: { type: string | undefined; sought: string | null },
): boolean {
  if (type === undefined && sought === null) return true;
  const { spec, rule, unreadable } = readSchedule(parsed, record);
  if (type !== undefined && spec.job.type !== type) return false;
  if (sought === null) return true;
  const has = (text: string): boolean => text.toLowerCase().includes(sought);
  if (has(record.name) || has(spec.job.type) || has(record.tenant ?? '')) return true;
  return unreadable === null && has(explainRule(rule));
}

/** A cursor is what the store gave: the name and the id of the last schedule of a page. */
function readCursor(cursor: unknown): string {
  try {
    const parts = JSON.parse(String(cursor)) as unknown;
    if (Array.isArray(parts) && parts.length === 2) {
      for (const part of parts) readName(part, 'cursor');
      return String(cursor);
    }
  } catch {
    // Neither JSON nor names: refused below.
  }
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor that the list of schedules gave, got ${shown(cursor)}.`,
    hint: 'Leave the cursor out to begin from the first.',
  });
}
