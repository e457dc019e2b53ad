import type {
  ExportRowsInput,
  ExportRowsReply,
  ImportRowsInput,
  TransferCounters,
  TransferCounts,
  TransferInput,
  TransferMark,
  TransferPart,
  TransferReply,
  TransferRow,
} from '../../../contract/engine.ts';
import { transferParts } from '../../../contract/transfer.ts';
import {
  fencedPrefix,
  isMarkOf,
  liveColumns,
  liveNodeMs,
  notEmpty,
  overColumns,
  plainParts,
  refuseFenced,
  requireArriving,
  scheduleColumns,
} from '../../shared/transfer-parts.ts';
import { statements } from '../generated.ts';
import type { Work } from '../work.ts';
import { positionOfRow, rowOfPosition } from './list.ts';

// These keep their names: the fence itself, the schema's version, and the clock by which every call is dated.
const unfenced = ['transfers', 'meta', 'clocks', 'clock_steps'];

/** How a part lies in this store. `#` in front of a table's name stands for its prefix. */
interface PartTables {
  from: string;
  /** What is read, by the names that all stores know. */
  select: readonly string[];
  key: readonly string[];
  /** Where its rows go; several where they are kept in several tables. */
  insert(row: TransferRow, steady: number): [table: string, row: TransferRow][];
}

function over(dead: 0 | 1): PartTables {
  return {
    from: `#finished WHERE dead = ${dead}`,
    select: overColumns,
    key: ['seq'],
    insert: (row) => [['finished', { ...row, dead }]],
  };
}

const partTables: Record<TransferPart, PartTables> = {
  ...(Object.fromEntries(
    Object.entries(plainParts).map(([part, { key, columns }]) => [
      part,
      {
        from: `#${part}`,
        select: columns,
        key: columns.slice(0, key),
        insert: (row: TransferRow) => [[part, row]],
      },
    ]),
  ) as unknown as Record<keyof typeof plainParts, PartTables>),
  jobs: {
    from: '#jobs',
    select: [...liveColumns, 'lease_until - :steady AS lease_left_ms'],
    key: ['seq'],
    insert: ({ lease_left_ms: leftMs, ...row }, steady) => [
      ['jobs', { ...row, lease_until: leftMs === null ? null : steady + Number(leftMs) }],
    ],
  },
  finished: over(0),
  dead: over(1),
  gates: {
    from: '#gates JOIN #jobs ON #jobs.seq = #gates.job',
    select: ['kind', 'ref', 'order_at', 'job AS seq', '#jobs.id AS job'],
    key: ['ref', 'kind', 'order_at', 'job'],
    insert: ({ kind, ref, order_at, seq }) => [['gates', { kind, ref, order_at, job: seq } as TransferRow]],
  },
  places: {
    from: '#places JOIN #jobs ON #jobs.seq = #places.job',
    select: ['kind', 'ref', 'job AS seq', '#jobs.id AS job'],
    key: ['kind', 'ref'],
    insert: ({ kind, ref, seq }) => [['places', { kind, ref, job: seq } as TransferRow]],
  },
  schedules: {
    from: '#schedules JOIN #specs USING (seq)',
    select: scheduleColumns,
    key: ['seq'],
    insert: ({ spec, ...row }) => [
      ['schedules', row],
      ['specs', { seq: row.seq, spec } as TransferRow],
    ],
  },
  locks: {
    from: '#locks',
    select: ['name', 'fence', 'until - :steady AS left_ms', 'token', 'holder'],
    key: ['name'],
    insert: ({ left_ms: leftMs, ...row }, steady) => [['locks', { ...row, until: steady + Number(leftMs) }]],
  },
};

/** See the contract. */
export function isTransferRead({ step }: TransferInput): boolean {
  return step === 'look';
}

/** See the contract. */
export function transfer(work: Work, input: TransferInput): Omit<TransferReply, 'now'> {
  const { step, move, place } = input;
  const mark = work.mark();
  if (step === 'leave' && !isMarkOf(mark, 'source', input)) {
    refuseFenced(mark, place);
    rename(work, '', fencedPrefix);
    setMark(work, { role: 'source', move, place, at: work.now });
    // Nodes that sleep hear of it now.
    work.notifications.add('jobs').add('schedules').add('cancel').add('locks');
  } else if (step === 'arrive' && !isMarkOf(mark, 'target', input)) {
    refuseFenced(mark, place);
    const filled = Object.entries(countsOf(work, '')).find(([, count]) => count > 0);
    if (filled !== undefined || liveNodes(work) > 0) throw notEmpty(filled);
    rename(work, '', fencedPrefix);
    setMark(work, { role: 'target', move, place, at: work.now });
  } else if (step === 'clear') {
    requireArriving(mark, input);
    clear(work);
  } else if (step === 'settle' && !isMarkOf(mark, 'arrived', input)) {
    const { at, place: from } = requireArriving(mark, input);
    const { fence, changes, prunedCreatedAt } = input.counters as TransferCounters;
    rename(work, fencedPrefix, '');
    work.run("UPDATE meta SET value = max(value, ?) WHERE key = 'fence'", fence);
    work.run("DELETE FROM sqlite_sequence WHERE name = 'changes'");
    work.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ?)", rowOfPosition(changes));
    if (prunedCreatedAt !== null) work.run(statements.meta.write, 'pruned_created_at', prunedCreatedAt);
    setMark(work, { role: 'arrived', move, place: from, at });
    work.notifications.add('jobs').add('schedules');
  } else if (step === 'reopen' && mark !== null && mark.move === move && mark.role !== 'arrived') {
    if (mark.role === 'target') clear(work);
    rename(work, fencedPrefix, '');
    work.run('DELETE FROM transfers');
    work.notifications.add('jobs').add('schedules');
  }
  return stateOf(work);
}

function stateOf(work: Work): Omit<TransferReply, 'now'> {
  const mark = work.mark();
  const prefix = prefixOf(mark);
  const table = `${prefix}changes`;
  const lastRow =
    work.get<{ seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = ?', table)?.seq ?? 0;
  const fence = work.get<{ value: number }>("SELECT value FROM meta WHERE key = 'fence'")?.value ?? 0;
  const { value: prunedCreatedAt = null } =
    work.get<{ value: number }>(statements.meta.read, 'pruned_created_at') ?? {};
  return {
    mark,
    counts: countsOf(work, prefix),
    counters: { fence, changes: positionOfRow(lastRow), prunedCreatedAt },
    nodes: prefix === '' ? liveNodes(work) : 0,
  };
}

/** See the contract. */
export function exportRows(
  work: Work,
  { part, after, limit }: ExportRowsInput,
): Omit<ExportRowsReply, 'now'> {
  const { from, select, key } = partTables[part];
  const prefix = prefixOf(work.mark());
  const values: Record<string, string | number | null> = { limit };
  const columns = [...select, ...key.map((column, i) => `${column} AS key_${i}`)].join(', ');
  if (columns.includes(':steady')) values.steady = work.steady;
  let where = '';
  if (after !== null) {
    for (const [i, value] of after.entries()) values[`after_${i}`] = value;
    const names = key.map((_, i) => `:after_${i}`).join(', ');
    where = `${from.includes('WHERE') ? ' AND' : ' WHERE'} (${key.join(', ')}) > (${names})`;
  }
  const sql = `SELECT ${columns} FROM ${from}${where} ORDER BY ${key.join(', ')} LIMIT :limit + 0`;
  const found = work.all<TransferRow>(sql.replaceAll('#', prefix), values);
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    rows: found.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !/^key_\d$/.test(name))),
    ),
    next: last === undefined ? null : key.map((_, i) => last[`key_${i}`] as string | number),
  };
}

/** See the contract. */
export function importRows(work: Work, input: ImportRowsInput): object {
  requireArriving(work.mark(), input);
  const { insert } = partTables[input.part];
  for (const one of input.rows) {
    for (const [table, row] of insert(one, work.steady)) {
      const names = Object.keys(row);
      work.run(
        `INSERT OR IGNORE INTO ${fencedPrefix}${table} (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
        row,
      );
    }
  }
  return {};
}

function prefixOf(mark: TransferMark | null): string {
  return mark === null || mark.role === 'arrived' ? '' : fencedPrefix;
}

function setMark(work: Work, { role, move, place, at }: TransferMark): void {
  work.run('DELETE FROM transfers');
  work.run('INSERT INTO transfers (role, move, place, at) VALUES (?, ?, ?, ?)', role, move, place, at);
}

function countsOf(work: Work, prefix: string): TransferCounts {
  return Object.fromEntries(
    transferParts.map((part) => {
      const { from } = partTables[part];
      const row = work.get<{ n: number }>(`SELECT count(*) AS n FROM ${from.replaceAll('#', prefix)}`);
      return [part, (row as { n: number }).n];
    }),
  ) as TransferCounts;
}

function liveNodes(work: Work): number {
  const since = work.steady - liveNodeMs;
  return (
    work.get<{ n: number }>('SELECT count(*) AS n FROM nodes WHERE heartbeat_steady >= ?', since) as {
      n: number;
    }
  ).n;
}

function tablesOf(work: Work): string[] {
  return work
    .all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .map(({ name }) => name)
    .filter((name) => !unfenced.includes(name));
}

function rename(work: Work, from: string, to: string): void {
  for (const table of tablesOf(work))
    work.exec(`ALTER TABLE "${table}" RENAME TO "${to}${table.slice(from.length)}"`);
}

function clear(work: Work): void {
  for (const table of tablesOf(work)) work.exec(`DELETE FROM "${table}"`);
}
