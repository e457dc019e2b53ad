import { dulyError } from '../../../base/errors.ts';
import type {
  AuditInput,
  AuditReply,
  AuditRow,
  Change,
  ChangesInput,
  ChangesReply,
  Count,
  CountsInput,
  CountsReply,
  GetInput,
  GetReply,
  HolderInput,
  JobFilter,
  JobRecord,
  ListInput,
  ListReply,
} from '../../../contract/engine.ts';
import { isTerminal, type JobStatus, jobStatuses } from '../../../contract/job-status.ts';
import { statusAt } from '../../shared/job-row.ts';
import {
  type FewKind,
  fewCountMax,
  fewOf,
  isFoundByIndex,
  leadOf,
  nearScanCount,
  scanCountMax,
} from '../../shared/job-scan.ts';
import { holderOf } from '../dedupe.ts';
import { statements } from '../generated.ts';
import { jobWhere, type Where } from '../job-where.ts';
import { type JobRow, toJobRecord } from '../rows.ts';
import type { ChangeEntry, Work } from '../work.ts';

/** See the contract. */
export function get(work: Work, input: GetInput): Omit<GetReply, 'now'> {
  return { jobs: input.ids.map((id) => readJob(work, id)), prunedCreatedAt: prunedCreatedAt(work) };
}

/** See the contract. */
export function holder(work: Work, input: HolderInput): Omit<GetReply, 'now'> {
  const id = holderOf(work, input);
  return { jobs: [id === null ? null : readJob(work, id)], prunedCreatedAt: prunedCreatedAt(work) };
}

function prunedCreatedAt(work: Work): number | null {
  return work.get<{ value: number }>(statements.meta.read, 'pruned_created_at')?.value ?? null;
}

function readJob(work: Work, id: string): JobRecord | null {
  const row = work.get<JobRow>(statements.job.live, id) ?? work.get<JobRow>(statements.job.finished, id);
  return row === undefined ? null : toJobRecord(work, row);
}

/** See the contract. */
export function list(work: Work, input: ListInput): Omit<ListReply, 'now'> {
  if (input.statesOnly === true) {
    const { rows, nextCursor } = pageOf<StateRow>(work, stateColumns, input);
    const states = rows.map(({ id, fence, updated_at, dead, ...row }) => ({
      ...{ id, fence, status: statusAt(row, work.now) },
      ...{ updatedAt: updated_at, dead: dead === 1 },
    }));
    return { jobs: [], states, nextCursor };
  }
  const page = pageOf<JobRow>(work, allColumns, input);
  return { jobs: page.rows.map((row) => toJobRecord(work, row)), nextCursor: page.nextCursor };
}

interface StateRow {
  id: string;
  status: JobStatus;
  due_at: number;
  fence: number;
  updated_at: number;
  dead: number;
}

/** What is read of each table. */
type Columns = Record<Source['table'], string>;

const allColumns: Columns = { jobs: '*', finished: '*' };
const stateColumns: Columns = {
  jobs: 'id, status, due_at, fence, updated_at, 0 AS dead',
  finished: 'id, status, due_at, fence, updated_at, dead',
};

interface Found<Row> {
  rows: Row[];
  nextCursor: string | null;
}

// Ids are time-ordered, so both tables are read backwards along their id index and merged.
function pageOf<Row extends { id: string }>(
  work: Work,
  columns: Columns,
  { filter, cursor, limit }: ListInput,
): Found<Row> {
  const sources = (['jobs', 'finished'] as const).flatMap((table) => {
    const where = jobWhere(filter, table, work.now);
    return where === null ? [] : [{ table, where, index: null }];
  });
  const before = cursor === null ? null : readCursor(cursor);
  const near = look<Row>(work, columns, { filter, sources, before, limit, scanCount: nearScanCount(limit) });
  if (near.nextCursor === null || near.rows.length === limit) return near;
  const led = sources.map((source) => ({ ...source, index: fewIndex(work, filter, source.table) }));
  return look(work, columns, { filter, sources: led, before, limit, scanCount: scanCountMax });
}

interface Source {
  table: 'jobs' | 'finished';
  where: Where;
  /** Holds all that match, and not many more; null: there is none. */
  index: string | null;
}

/** One look, at so many jobs of each table at most. */
function look<Row extends { id: string }>(
  work: Work,
  columns: Columns,
  { filter, sources, before, limit, scanCount }: Look,
): Found<Row> {
  const from = before === null ? '' : 'AND id < ?';
  const bounds = before === null ? [] : [before];
  const lead = leadOf(filter);
  // Where the page ends at the latest, so that one that finds little does not read the whole store: the other calls of this thread wait for it.
  const floor = isFoundByIndex(filter)
    ? null
    : sources.reduce<string | null>((highest, { table, index }) => {
        if (index !== null) return highest;
        const led = lead !== null && table === 'finished';
        const sql = `SELECT id FROM ${table} WHERE ${led ? `${lead.column} = ?` : 'true'} ${from} ORDER BY id DESC LIMIT 1 OFFSET ?`;
        const id = work.get<{ id: string }>(sql, ...(led ? [lead.value] : []), ...bounds, scanCount)?.id;
        return id !== undefined && (highest === null || id > highest) ? id : highest;
      }, null);
  const until = floor === null ? '' : 'AND id >= ?';
  const rows = sources.flatMap(({ table, where, index }) => {
    const source = index === null ? table : `${table} INDEXED BY ${index}`;
    const condition = index === null ? where.sql : `${fewConditions[index]} AND ${where.sql}`;
    // With a sign before it, the order is no reason to read along the ids.
    const order = index === null ? 'id' : '+id';
    const sql = `SELECT ${columns[table]} FROM ${source} WHERE ${condition} ${from} ${until} ORDER BY ${order} DESC LIMIT ?`;
    return work.all<Row>(sql, ...where.values, ...bounds, ...(floor === null ? [] : [floor]), limit + 1);
  });
  rows.sort((a, b) => (a.id < b.id ? 1 : -1));
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const after = rows.length > limit && last !== undefined ? last.id : floor;
  return { rows: page, nextCursor: after === null ? null : `after:${after}` };
}

interface Look {
  filter: JobFilter;
  sources: readonly Source[];
  before: string | null;
  limit: number;
  scanCount: number;
}

const fewIndexes: Record<FewKind, string> = {
  odd: 'finished_odd',
  running: 'jobs_leased',
  blocked: 'jobs_blocked',
};
/** What the index holds, written out so that SQLite knows that all that match are in it. */
const fewConditions: Record<string, string> = {
  finished_odd: "status <> 'COMPLETED'",
  jobs_leased: 'lease_until IS NOT NULL',
  jobs_blocked: "status = 'BLOCKED'",
};

/** The index that holds all that match and no more than one look takes; null: there is none. */
function fewIndex(work: Work, filter: JobFilter, table: 'jobs' | 'finished'): string | null {
  const isOver = table === 'finished';
  const status = filter.status?.filter((one) => isTerminal(one) === isOver);
  const kind = fewOf(status, isOver);
  if (kind === null || isFoundByIndex(filter)) return null;
  const index = fewIndexes[kind];
  const named = isOver ? 'AND status IN (SELECT value FROM json_each(?))' : '';
  const sql = `SELECT 1 FROM ${table} INDEXED BY ${index} WHERE ${fewConditions[index]} ${named} LIMIT 1 OFFSET ?`;
  const values = isOver ? [JSON.stringify(status)] : [];
  return work.get(sql, ...values, fewCountMax) === undefined ? index : null;
}

function readCursor(cursor: string): string {
  if (cursor.startsWith('after:')) return cursor.slice('after:'.length);
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor that this list gave, got "${cursor.slice(0, 60)}".`,
    hint: 'Leave the cursor out to begin from the newest.',
  });
}

/** See the contract. */
export function counts(work: Work, { cap }: CountsInput): Omit<CountsReply, 'now'> {
  const status = Object.fromEntries(jobStatuses.map((one) => [one, { count: 0, capped: false }])) as Record<
    JobStatus,
    Count
  >;
  const { ready, waiting, running: leased, blocked, odd, completed } = statements.counts;
  const scans: [sql: string, values: Record<string, string | number>][] = [
    [ready, { cap }],
    [waiting, { cap, now: work.now }],
    [leased, { cap }],
    [blocked, { cap }],
    ...['FAILED', 'CANCELLED', 'EXPIRED'].map((one): [string, Record<string, string | number>] => [
      odd,
      { cap, status: one },
    ]),
    [completed, { cap }],
  ];
  for (const [sql, values] of scans) {
    for (const row of work.all<{ status: JobStatus; count: number; scanned: number }>(sql, values)) {
      const entry = status[row.status];
      entry.count += row.count;
      entry.capped ||= row.scanned >= cap;
    }
  }
  const lanes = work
    .all<{ queue: string; type: string; version: number; ready: number; oldest: number; scanned: number }>(
      statements.counts.lanes,
      { cap },
    )
    .map(({ queue, type, version, ready, oldest, scanned }) => ({
      queue,
      type,
      version,
      ready: { count: ready, capped: scanned >= cap },
      oldestDueAt: oldest,
    }));
  const running = work
    .all<CountsReply['running'][number]>(statements.counts.byNode, { cap })
    .map((row) => ({ ...row }));
  return { status, lanes, running };
}

// A row of the feed holds many changes; a position counts rows and places within one: row × this + place.
// The last place of a row stands for "all of it".
const placesPerRow = 2 ** 20;
const lastPlace = placesPerRow - 1;

/** The last position of a row of the feed. */
export function positionOfRow(row: number): number {
  return row * placesPerRow + lastPlace;
}

/** The row of the feed after which all positions are greater than this one. */
export function rowOfPosition(position: number): number {
  const row = Math.floor(position / placesPerRow);
  return position % placesPerRow === lastPlace ? row : row + 1;
}

/** See the contract. */
export function changes(work: Work, { after, limit }: ChangesInput): Omit<ChangesReply, 'now'> {
  const lastRow = work.get<{ position: number }>(statements.changes.lastEver)?.position ?? 0;
  const end = lastRow * placesPerRow + lastPlace;
  if (after === null) return { changes: [], position: end, gap: false };
  const row = Math.floor(after / placesPerRow);
  const wanted = Math.max(1, after % placesPerRow === lastPlace ? row + 1 : row);
  const firstStored = work.get<{ position: number }>(statements.changes.first)?.position || lastRow + 1;
  if (wanted <= lastRow && firstStored > wanted) return { changes: [], position: end, gap: true };

  const found: Change[] = [];
  let position = after;
  for (const stored of work.all<FeedRow>(statements.changes.after, wanted, limit)) {
    for (const change of toChanges(stored)) {
      if (change.position <= after) continue;
      if (found.length === limit) return { changes: found, position, gap: false };
      found.push(change);
      position = change.position;
    }
    position = stored.position * placesPerRow + lastPlace;
  }
  return { changes: found, position, gap: false };
}

interface FeedRow {
  position: number;
  at: number;
  entries: string;
}

function toChanges({ position, at, entries }: FeedRow): Change[] {
  return (JSON.parse(entries) as ChangeEntry[]).map(([id, type, status, event, percent], place) => ({
    position: position * placesPerRow + place,
    at,
    id,
    type,
    status,
    event,
    percent,
  }));
}

/** See the contract. */
export function audit(work: Work, input: AuditInput): Omit<AuditReply, 'now'> {
  const before = input.before ?? Number.MAX_SAFE_INTEGER;
  const rows =
    input.subject === null
      ? work.all<AuditRow>(statements.audit.list, before, input.limit)
      : work.all<AuditRow>(statements.audit.listSubject, input.subject, before, input.limit);
  // Rows of the driver have no prototype; replies are plain objects.
  return { rows: rows.map((row) => ({ ...row })) };
}
