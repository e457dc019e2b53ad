import type { JobSlot, TransferPart, TransferRow } from '../../../contract/engine.ts';
import { liveColumns, overColumns, plainParts, scheduleColumns } from '../../shared/transfer-parts.ts';
import { toSlot } from '../rows.ts';
import type { Value } from '../work.ts';

/** A row by the names of its columns. */
export type Columns = Record<string, Value>;

/**
 * The tables of a part in this engine. `#` in front of a table's name stands for the schema and its prefix,
 * `@now` for the instant.
 */
export interface PartTables {
  from: string;
  /** The columns that are read, by their names in the contract. */
  select: readonly string[];
  key: readonly string[];
  /** Turns a row that was read into a row of the contract. */
  read?(row: Columns): TransferRow;
  /** The rows to insert for a row of the contract, for each table that the part is stored in. */
  insert(row: TransferRow, now: number): [table: string, row: Columns][];
}

/** A slot of the contract, in the columns of this engine. */
function slotColumns({ slot, policy }: TransferRow): Columns {
  const { retentionMs, deadRetentionMs } = JSON.parse(policy as string) as {
    retentionMs: number;
    deadRetentionMs: number;
  };
  const kept = { retention_ms: retentionMs, dead_retention_ms: deadRetentionMs };
  if (slot === null) return { ...kept, slot: null, slot_at: null, slot_allow: false, slot_details: null };
  const { details, ...rest } = JSON.parse(slot as string) as JobSlot;
  const isAllowed = rest.allow === true;
  return {
    ...kept,
    slot: JSON.stringify(rest),
    slot_at: rest.slotAt,
    slot_allow: isAllowed,
    slot_details: details,
  };
}

function readSlot({ slot_details: details, ...row }: Columns): TransferRow {
  const slot = toSlot(row.slot as string | null, details as string | null);
  return { ...row, slot: slot === null ? null : JSON.stringify(slot) } as TransferRow;
}

const over = (table: 'finished' | 'dead'): PartTables => ({
  from: `#${table}`,
  select: [...overColumns, 'slot_details'],
  key: ['id'],
  read: readSlot,
  insert: (row) => [[table, { ...row, ...slotColumns(row) }]],
});

// Columns that the lease has too. While a job runs, those of the lease are current.
const ofLease = ['begun_at', 'percent', 'message', 'step', 'step_of'];

// Columns of a schedule, beside its id, that are in the table `specs`.
const specColumns = ['app', 'tenant', 'name', 'spec', 'created_at'];

/** The tables of each part. */
export const partTables: Record<TransferPart, PartTables> = {
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
    from: '#jobs j LEFT JOIN #leases l ON l.id = j.id',
    select: [
      ...liveColumns.map((column) => {
        if (column === 'fence') return 'coalesce(l.fence, j.fence) AS fence';
        if (ofLease.includes(column))
          return `CASE WHEN l.id IS NULL THEN j.${column} ELSE l.${column} END AS ${column}`;
        return `j.${column}`;
      }),
      'j.slot_details',
      'l.until_at - @now AS lease_left_ms',
    ],
    key: ['j.seq'],
    read: readSlot,
    insert({ lease_left_ms: leftMs, ...row }, now) {
      const job: [string, Columns] = ['jobs', { ...row, ...slotColumns(row) }];
      if (leftMs === null) return [job];
      const { id, seq, fence, node, begun_at, percent, message, step, step_of } = row as Columns;
      const lease = { id, seq, fence, node, begun_at, percent, message, step, step_of } as Columns;
      const plain = row.dedupe_key === null && row.serial === null;
      return [
        job,
        [
          'leases',
          {
            ...lease,
            token: null,
            plain,
            until_at: now + Number(leftMs),
            cancel_at: row.cancel_requested_at as Value,
          },
        ],
      ];
    },
  },
  finished: over('finished'),
  dead: over('dead'),
  gates: {
    from: '#gates',
    select: ['kind', 'ref', 'order_at', 'seq', 'job'],
    key: ['ref', 'kind', 'order_at', 'seq'],
    insert: (row) => [['gates', row]],
  },
  places: {
    from: '#places p JOIN #jobs j ON j.id = p.job',
    select: ['p.kind', 'p.ref', 'j.seq', 'p.job'],
    key: ['p.kind', 'p.ref'],
    insert: ({ kind, ref, job }) => [['places', { kind, ref, job } as Columns]],
  },
  schedules: {
    from: '#schedules s JOIN #specs p ON p.id = s.id',
    select: scheduleColumns.map((column) => `${specColumns.includes(column) ? 'p' : 's'}.${column}`),
    key: ['s.seq'],
    insert(row) {
      const isOfSpec = (name: string) => name === 'id' || specColumns.includes(name);
      const pick = (wants: (name: string) => boolean): Columns =>
        Object.fromEntries(Object.entries(row).filter(([name]) => wants(name)));
      return [
        ['schedules', pick((name) => !specColumns.includes(name))],
        ['specs', pick(isOfSpec)],
      ];
    },
  },
  locks: {
    from: '#locks',
    select: [...['name', 'fence', 'token', 'holder'], 'until_at - @now AS left_ms'],
    key: ['name'],
    insert: ({ left_ms: leftMs, ...row }, now) => [
      ['locks', { ...row, until_at: now + Number(leftMs) } as Columns],
    ],
  },
};
