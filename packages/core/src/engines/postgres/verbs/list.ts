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
  ListInput,
  ListReply,
} from '../../../contract/engine.ts';
import { isTerminal, type JobStatus, jobStatuses } from '../../../contract/job-status.ts';
import { statusAt } from '../../shared/job-row.ts';
import { fewCountMax, fewOf, isFoundByIndex, leadOf, scanCountMax } from '../../shared/job-scan.ts';
import { statements } from '../generated.ts';
import { Bound, jobWhere } from '../job-where.ts';
import { type JobRow, toJobRecord } from '../rows.ts';
import { ofSet, type Work } from '../work.ts';

/** A row of a read that always answers one: the store's instant, and a job or nothing. */
type FoundRow = { now: number; pruned: number | null } & (JobRow | { id: null });

/** See the contract. */
export async function get(work: Work, input: GetInput): Promise<GetReply> {
  const rows = await work.rows<FoundRow>(statements.job.get, [input.now ?? null, JSON.stringify(input.ids)]);
  const [{ now, pruned }] = rows as [FoundRow];
  const found = new Map<string, JobRow>();
  // The newest life of an id comes first.
  for (const row of rows) if (row.id !== null && !found.has(row.id)) found.set(row.id, row);
  const jobs = input.ids.map((id) => {
    const row = found.get(id);
    return row === undefined ? null : toJobRecord(row, now);
  });
  return { now, jobs, prunedCreatedAt: pruned };
}

/** See the contract. */
export async function holder(work: Work, { now: stamp, type, tenant, key }: HolderInput): Promise<GetReply> {
  const [row] = (await work.rows<FoundRow>(statements.job.holder, [stamp ?? null, type, tenant, key])) as [
    FoundRow,
  ];
  const { now, pruned } = row;
  return { now, jobs: [row.id === null ? null : toJobRecord(row, now)], prunedCreatedAt: pruned };
}

/** See the contract. */
export async function list(work: Work, input: ListInput): Promise<ListReply> {
  if (input.statesOnly === true) {
    const { now, rows, nextCursor } = await pageOf<StateRow>(work, 'states', input);
    const states = rows.map(({ id, fence, updated_at, dead, ...row }) => ({
      ...{ id, fence, status: statusAt(row, now) },
      ...{ updatedAt: updated_at, dead },
    }));
    return { now, jobs: [], states, nextCursor };
  }
  const { now, rows, nextCursor } = await pageOf<JobRow>(work, 'all', input);
  return { now, jobs: rows.map((row) => toJobRecord(row, now)), nextCursor };
}

interface StateRow {
  id: string;
  status: JobStatus;
  due_at: number;
  fence: number;
  updated_at: number;
  dead: boolean;
}

const stateColumns = 'v.id, v.status, v.due_at, v.fence, v.updated_at, v.dead';

const tables = { live: ofSet('live'), dead: 'duly.dead', finished: 'duly.finished' } as const;

type Table = keyof typeof tables;

// Ids are time-ordered, so each table is read backwards along its id index and the pages are merged.
async function pageOf<Row extends { id: string }>(
  work: Work,
  columns: 'all' | 'states',
  { now: stamp, filter, cursor, limit }: ListInput,
): Promise<{ now: number; rows: Row[]; nextCursor: string | null }> {
  // Of these all that can match is read, wherever it is: there is little of it.
  const few = await fewTables(work, filter);
  const before = cursor === null ? null : readCursor(cursor);
  const bound = new Bound();
  const now = `${ofSet('now')}(${bound.add(stamp ?? null)}::bigint)`;
  // What finds the jobs is a statement of its own, and its values are an array: see `selected`.
  const inner = new Bound((place) => `($1)[${place}]`);
  const innerNow = `${ofSet('now')}(${inner.add(stamp ?? null)}::bigint)`;
  const parts: string[] = [];
  const ends: string[] = [];
  const isBounded = !isFoundByIndex(filter);
  const until = isBounded ? 'AND id >= $2' : '';
  const lead = leadOf(filter);
  for (const table of ['live', 'dead', 'finished'] as const) {
    const where = jobWhere(filter, table, innerNow, inner);
    if (where === null) continue;
    const below = (values: Bound): string => (before === null ? '' : `AND id < ${values.add(before)}::text`);
    // Only what is used may be bound: PostgreSQL refuses a value of which it cannot tell the type.
    if (isBounded && !few.has(table)) {
      const led =
        lead === null || table === 'live' ? 'true' : `${lead.column} = ${bound.add(lead.value)}::text`;
      ends.push(
        `(SELECT id FROM ${tables[table]} WHERE ${led} ${below(bound)} ORDER BY id DESC LIMIT 1 OFFSET ${scanCountMax})`,
      );
    }
    const from = `${below(inner)} ${until}`;
    const order = `ORDER BY id DESC LIMIT ${inner.add(limit + 1)}::bigint`;
    // OFFSET 0 keeps the planner from reading along the ids for the sake of the order.
    const matches = few.has(table)
      ? `(SELECT * FROM ${tables[table]} WHERE ${fewCondition(filter, table)} AND ${where} OFFSET 0) few WHERE true ${from}`
      : `${tables[table]} WHERE ${where} ${from}`;
    // Found by the narrow table, and only what is found is read as readers see it.
    parts.push(
      columns === 'states' && table !== 'live'
        ? `(SELECT id, status, due_at, fence, updated_at, ${table === 'dead'} AS dead FROM ${matches} ${order})`
        : `(SELECT ${columns === 'states' ? stateColumns : 'v.*'} FROM (SELECT id, seq FROM ${matches} ${order}) p
            JOIN ${ofSet(table === 'live' ? 'live' : 'over')} v ON v.id = p.id AND v.seq = p.seq)`,
    );
  }
  // Of nothing that could match nothing is asked, and a value that is not used would be refused.
  const found =
    parts.length === 0
      ? '(SELECT NULL::text AS id WHERE false)'
      : `${ofSet(columns === 'states' ? 'selected_states' : 'selected')}($select$${parts.join(' UNION ALL ')}$select$, ${bound.list(inner.values)}, floor.id)`;
  // Where the page ends at the latest, so that one that finds little does not read the whole store.
  const floor = ends.length > 0 ? `coalesce(greatest(${ends.join(', ')}), '')` : `''`;
  const rows = await work.rowsOnce<Row & { now: number; floor: string }>(
    `WITH floor AS MATERIALIZED (SELECT ${floor} AS id)
     SELECT ${now} AS now, floor.id AS floor, j.* FROM floor LEFT JOIN LATERAL ${found} j ON true`,
    bound.values,
  );
  const end = (rows[0] as { floor: string }).floor;
  const at = (rows[0] as { now: number }).now;
  const sorted = rows.filter(({ id }) => id !== null).sort((a, b) => (a.id < b.id ? 1 : -1));
  const page = sorted.slice(0, limit);
  const last = page.at(-1);
  const after = sorted.length > limit && last !== undefined ? last.id : end;
  return { now: at, rows: page, nextCursor: after === '' ? null : `after:${after}` };
}

/** What an index or a small table holds by itself, of which the filter names no others; null: it names others. */
function fewCondition({ status }: JobFilter, table: Table): string | null {
  const isOver = table !== 'live';
  const kind = fewOf(
    status?.filter((one) => isTerminal(one) === isOver),
    isOver,
  );
  if (kind === null || table === 'dead') return null;
  if (kind === 'running') return 'id = ANY (ARRAY(SELECT id FROM duly.leases))';
  return kind === 'blocked' ? "status = 'BLOCKED'" : "status <> 'COMPLETED'";
}

/** The tables of which an index holds all that can match, and no more than is read from here and there for one page. */
async function fewTables(work: Work, filter: JobFilter): Promise<Set<Table>> {
  const few = new Set<Table>();
  if (isFoundByIndex(filter)) return few;
  for (const table of ['live', 'finished'] as const) {
    const condition = fewCondition(filter, table);
    if (condition === null) continue;
    const [row] = await work.rowsOnce<{ count: number }>(
      `SELECT count(*)::int AS count FROM (SELECT 1 FROM ${table === 'live' ? 'duly.jobs' : tables[table]} WHERE ${condition} LIMIT ${fewCountMax + 1}) one`,
      [],
    );
    if ((row?.count ?? 0) <= fewCountMax) few.add(table);
  }
  return few;
}

function readCursor(cursor: string): string {
  if (cursor.startsWith('after:')) return cursor.slice('after:'.length);
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor that this list gave, got "${cursor.slice(0, 60)}".`,
    hint: 'Leave the cursor out to begin from the newest.',
  });
}

/** See the contract. */
export async function counts(work: Work, input: CountsInput): Promise<CountsReply> {
  const { cap } = input;
  const [{ now }] = (await work.rows<{ now: number }>(statements.job.now, [input.now ?? null])) as [
    { now: number },
  ];
  const status = Object.fromEntries(jobStatuses.map((one) => [one, { count: 0, capped: false }])) as Record<
    JobStatus,
    Count
  >;
  const scans = await work.rows<{ status: JobStatus; count: number; scanned: number }>(
    statements.counts.status,
    [now, cap],
  );
  for (const row of scans) {
    const entry = status[row.status];
    entry.count += row.count;
    entry.capped ||= row.scanned >= cap;
  }
  const lanes = await work.rows<{
    queue: string;
    type: string;
    version: number;
    ready: number;
    oldest: number;
    scanned: number;
  }>(statements.counts.lanes, [cap]);
  const running = await work.rows<CountsReply['running'][number]>(statements.counts.byNode, [cap]);
  return {
    now,
    status,
    lanes: lanes.map(({ queue, type, version, ready, oldest, scanned }) => ({
      queue,
      type,
      version,
      ready: { count: ready, capped: scanned >= cap },
      oldestDueAt: oldest,
    })),
    running: running.map(({ node, type, count }) => ({ node, type, count })),
  };
}

type FeedRow = [
  position: number,
  at: number,
  entries: [
    ids: string[],
    types: string | string[],
    statuses: JobStatus | JobStatus[],
    event: string,
    percents: number | null | number[],
  ],
];

/** See the contract. */
export async function changes(work: Work, { now: stamp, after, limit }: ChangesInput): Promise<ChangesReply> {
  const reply = await work.call<{ end: number; gap: boolean; rows: FeedRow[] }>(statements.call.changes, [
    stamp ?? null,
    after,
    limit,
  ]);
  const { now, end, gap } = reply;
  if (after === null || gap) return { now, changes: [], position: end, gap };
  const found: Change[] = [];
  for (const [first, at, entries] of reply.rows) {
    const [ids, types, statuses, event, percents] = entries;
    for (const [place, id] of ids.entries()) {
      const position = first + place;
      if (position <= after || found.length === limit) continue;
      found.push({
        ...{ position, at, id, event },
        type: oneOf(types, place),
        status: oneOf(statuses, place),
        percent: oneOf(percents, place),
      });
    }
  }
  return { now, changes: found, position: found.at(-1)?.position ?? after, gap: false };
}

/** What is the same for all changes of a row stands there once. */
function oneOf<Item>(column: Item | Item[], place: number): Item {
  return Array.isArray(column) ? (column[place] as Item) : column;
}

/** See the contract. */
export async function audit(work: Work, input: AuditInput): Promise<AuditReply> {
  const values = [input.now ?? null, input.before ?? Number.MAX_SAFE_INTEGER, input.limit];
  const rows =
    input.subject === null
      ? await work.rows<{ now: number } & AuditRow>(statements.audit.list, values)
      : await work.rows<{ now: number } & AuditRow>(statements.audit.listSubject, [...values, input.subject]);
  const { now } = rows[0] as { now: number };
  return {
    now,
    rows: rows
      .filter(({ position }) => position !== null)
      .map(({ position, at, actor, action, subject, before, after, note }) => ({
        ...{ position, at, actor, action, subject, note },
        before: compact(before),
        after: compact(after),
      })),
  };
}

/** JSON that PostgreSQL wrote has spaces of its own. */
function compact(text: string | null): string | null {
  return text === null ? null : JSON.stringify(JSON.parse(text));
}
