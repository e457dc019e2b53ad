import { dulyError, isDulyError } from '../../../base/errors.ts';
import type {
  ExportRowsInput,
  ExportRowsReply,
  ImportRowsInput,
  Reply,
  TransferCounters,
  TransferCounts,
  TransferInput,
  TransferMark,
  TransferReply,
  TransferRow,
} from '../../../contract/engine.ts';
import { transferParts } from '../../../contract/transfer.ts';
import {
  fencedPrefix,
  isMarkOf,
  liveNodeMs,
  notEmpty,
  refuseFenced,
  requireArriving,
} from '../../shared/transfer-parts.ts';
import { statements } from '../generated.ts';
import { keepable, type Value, type Work } from '../work.ts';
import { type Columns, partTables } from './transfer-tables.ts';

// Tables that are not renamed: the fence itself and the schema's version.
const unfenced = ['transfers', 'meta'];
// The tables are locked one after the other, and each lock waits for the calls that use the table.
const fenceMs = 60_000;

type Rows = <Row extends object>(sql: string, values?: readonly Value[]) => Promise<Row[]>;

const named = (sql: string, prefix: string): string => sql.replaceAll('#', `duly.${prefix}`);

/** See the contract. */
export async function transfer(work: Work, input: TransferInput): Promise<TransferReply> {
  const { step, move, place } = input;
  if (step === 'look') return stateOf(work, input);
  // Only a claim of this store can pass on the places that a user's transaction left behind.
  if (step === 'leave') await giveLeftPlacesOn(work, input);
  await work.transaction(async (rows, allow) => {
    await allow(fenceMs);
    await rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', ['duly.move']);
    const now = await nowOf(rows, input);
    const [mark = null] = await rows<TransferMark>('SELECT role, move, place, at FROM duly.transfers');
    if (step === 'leave' && !isMarkOf(mark, 'source', input)) {
      refuseFenced(mark, place);
      await rename(rows, '', fencedPrefix);
      const [left] = await rows<{ n: number }>(named('SELECT count(*) AS n FROM #left_places', fencedPrefix));
      if (left?.n !== 0) throw leftPlacesRemain();
      await setMark(rows, { role: 'source', move, place, at: now });
    } else if (step === 'arrive' && !isMarkOf(mark, 'target', input)) {
      refuseFenced(mark, place);
      const filled = Object.entries(await countsOf(rows, '')).find(([, count]) => count > 0);
      if (filled !== undefined || (await liveNodes(rows, now)) > 0) throw notEmpty(filled);
      await rename(rows, '', fencedPrefix);
      await setMark(rows, { role: 'target', move, place, at: now });
    } else if (step === 'clear') {
      requireArriving(mark, input);
      await clear(rows);
    } else if (step === 'settle' && !isMarkOf(mark, 'arrived', input)) {
      const { at, place: from } = requireArriving(mark, input);
      await settle(rows, input.counters as TransferCounters);
      await setMark(rows, { role: 'arrived', move, place: from, at });
    } else if (step === 'reopen' && mark !== null && mark.move === move && mark.role !== 'arrived') {
      if (mark.role === 'target') await clear(rows);
      await rename(rows, fencedPrefix, '');
      await rows('DELETE FROM duly.transfers');
    }
  });
  return stateOf(work, input);
}

async function giveLeftPlacesOn(work: Work, { now }: TransferInput): Promise<void> {
  const claim = { token: 'move', node: 'move', tasks: [], queues: [], limit: 0, leaseMs: 1, idle: false };
  const { exchange } = await import('./exchange.ts');
  await exchange(work, { settle: [], claim, ...(now === undefined ? {} : { now }) }).catch(
    (error: unknown) => {
      // The store was fenced before: no place is left to pass on.
      if (!isDulyError(error, 'store_moved')) throw error;
    },
  );
}

function leftPlacesRemain() {
  return dulyError('store_busy', {
    message: 'A serial key was released by a transaction at the moment of the move. Nothing was changed.',
    hint: 'Begin the move again.',
  });
}

async function stateOf(work: Work, input: TransferInput): Promise<TransferReply> {
  return work.transaction(async (rows) => {
    const now = await nowOf(rows, input);
    const [mark = null] = await rows<TransferMark>('SELECT role, move, place, at FROM duly.transfers');
    const prefix = prefixOf(mark);
    const [fence] = await rows<{ n: number }>(
      'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS n FROM duly.fence',
    );
    const [feed] = await rows<{ n: number }>(
      named(
        `SELECT first_position + n - 1 + (SELECT coalesce(sum(c.n), 0)::bigint FROM #changes c WHERE NOT pg_visible_in_snapshot(c.xid, p.seen)) AS n
         FROM #feed_pages p ORDER BY page DESC LIMIT 1`,
        prefix,
      ),
    );
    const [pruned] = await rows<{ value: number }>(statements.meta.pruned);
    return {
      now,
      mark,
      counts: await countsOf(rows, prefix),
      counters: { fence: fence?.n ?? 0, changes: feed?.n ?? 0, prunedCreatedAt: pruned?.value ?? null },
      nodes: prefix === '' ? await liveNodes(rows, now) : 0,
    };
  });
}

/** See the contract. */
export async function exportRows(work: Work, input: ExportRowsInput): Promise<ExportRowsReply> {
  const { part, after, limit } = input;
  const { from, select, key, read = (row) => row as TransferRow } = partTables[part];
  const prefix = prefixOf(await work.mark());
  const columns = [...select, ...key.map((column, i) => `${column} AS key_${i}`)].join(', ');
  const values: Value[] = [limit, ...(after ?? [])];
  const where =
    after === null ? '' : ` WHERE (${key.join(', ')}) > (${key.map((_, i) => `$${i + 2}`).join(', ')})`;
  const sql = `SELECT ${columns} FROM ${from}${where} ORDER BY ${key.join(', ')} LIMIT $1`;
  const [clock] = await work.rowsOnce<{ now: number }>(statements.clock.now, []);
  const now = input.now ?? (clock as { now: number }).now;
  const found = await work.rowsOnce<Columns>(named(sql, prefix).replaceAll('@now', String(now)), values);
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    now,
    rows: found.map((row) =>
      read(Object.fromEntries(Object.entries(row).filter(([name]) => !/^key_\d$/.test(name)))),
    ),
    next: last === undefined ? null : key.map((_, i) => last[`key_${i}`] as string | number),
  };
}

/** See the contract. */
export async function importRows(work: Work, input: ImportRowsInput): Promise<Reply> {
  const { insert } = partTables[input.part];
  return work.transaction(async (rows) => {
    const now = await nowOf(rows, input);
    const [mark = null] = await rows<TransferMark>('SELECT role, move, place, at FROM duly.transfers');
    requireArriving(mark, input);
    const byTable = new Map<string, Columns[]>();
    for (const one of input.rows) {
      for (const [table, row] of insert(one, now)) {
        const kept = Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            typeof value === 'string' ? keepable(value) : value,
          ]),
        );
        const list = byTable.get(table) ?? [];
        list.push(kept);
        byTable.set(table, list);
      }
    }
    for (const [table, list] of byTable) {
      const names = Object.keys(list[0] as Columns)
        .map((name) => `"${name}"`)
        .join(', ');
      // History has no key over all of its days; it is cleared before a move is repeated.
      const conflict = table === 'finished' ? '' : ' ON CONFLICT DO NOTHING';
      await rows(
        named(
          `INSERT INTO #${table} (${names}) OVERRIDING SYSTEM VALUE SELECT ${names} FROM json_populate_recordset(NULL::#${table}, $1::json)${conflict}`,
          fencedPrefix,
        ),
        [JSON.stringify(list)],
      );
    }
    return { now };
  });
}

async function settle(rows: Rows, { fence, changes, prunedCreatedAt }: TransferCounters): Promise<void> {
  await rename(rows, fencedPrefix, '');
  await rows("SELECT setval('duly.fence', greatest($1::bigint, (SELECT last_value FROM duly.fence)))", [
    Math.max(1, fence),
  ]);
  for (const [table, column] of [
    ['jobs', 'seq'],
    ['schedules', 'seq'],
    ['audit', 'position'],
  ]) {
    const last =
      table === 'jobs'
        ? `greatest((SELECT max(seq) FROM duly.jobs), (SELECT max(seq) FROM duly.finished), (SELECT max(seq) FROM duly.dead))`
        : `(SELECT max(${column}) FROM duly.${table})`;
    await rows(
      `SELECT setval(pg_get_serial_sequence('duly.${table}', '${column}'), coalesce(${last}, 0) + 1, false)`,
    );
  }
  await rows(
    'UPDATE duly.feed_pages SET first_position = greatest(first_position, $1::bigint + 1) WHERE n = 0',
    [changes],
  );
  if (prunedCreatedAt !== null) await rows(statements.meta.notePruned, [prunedCreatedAt]);
  for (const table of ['jobs', 'schedules', 'slots', 'finished', 'dead']) await rows(`ANALYZE duly.${table}`);
}

function prefixOf(mark: TransferMark | null): string {
  return mark === null || mark.role === 'arrived' ? '' : fencedPrefix;
}

async function setMark(rows: Rows, { role, move, place, at }: TransferMark): Promise<void> {
  await rows('DELETE FROM duly.transfers');
  await rows('INSERT INTO duly.transfers (role, move, place, at) VALUES ($1, $2, $3, $4)', [
    role,
    move,
    place,
    at,
  ]);
}

async function nowOf(rows: Rows, { now }: { now?: number }): Promise<number> {
  if (now !== undefined) return now;
  const [clock] = await rows<{ now: number }>(statements.clock.now);
  return (clock as { now: number }).now;
}

async function countsOf(rows: Rows, prefix: string): Promise<TransferCounts> {
  const columns = transferParts.map((part) => `(SELECT count(*) FROM ${partTables[part].from}) AS ${part}`);
  const [row] = await rows<TransferCounts>(named(`SELECT ${columns.join(', ')}`, prefix));
  return row as TransferCounts;
}

async function liveNodes(rows: Rows, now: number): Promise<number> {
  const [row] = await rows<{ n: number }>('SELECT count(*) AS n FROM duly.nodes WHERE heartbeat_at >= $1', [
    now - liveNodeMs,
  ]);
  return (row as { n: number }).n;
}

/**
 * The tables and views to rename that start with the prefix. Partitions of the history are no tables here.
 */
async function tablesOf(rows: Rows, kinds: string, prefix: string): Promise<string[]> {
  const found = await rows<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'duly.meta'::regclass)
     AND c.relkind::text = ANY ($1::text[]) AND NOT c.relispartition ORDER BY c.relname`,
    [kinds],
  );
  return found.map(({ name }) => name).filter((name) => name.startsWith(prefix) && !unfenced.includes(name));
}

/**
 * Renames all tables that start with `from`. Each rename locks its table: it waits for the calls that use the
 * table, and later calls wait for the commit and then find no table.
 */
async function rename(rows: Rows, from: string, to: string): Promise<void> {
  for (const table of await tablesOf(rows, '{r,p,v}', from)) {
    await rows(`ALTER TABLE duly."${table}" RENAME TO "${to}${table.slice(from.length)}"`);
  }
}

/** Deletes what arrived so far. The last page of the feed stays, because it holds the position. */
async function clear(rows: Rows): Promise<void> {
  const fenced = await tablesOf(rows, '{r,p}', fencedPrefix);
  const tables = fenced.filter((table) => table !== `${fencedPrefix}feed_pages`);
  await rows(`TRUNCATE ${tables.map((table) => `duly."${table}"`).join(', ')}`);
}
