/**
 * Defects that are put into the functions of a store on PostgreSQL, to see that a run on real processes finds them. Each is a change of text in
 * whatever function holds it, so that it follows them from version to version; one that changes nothing is an error.
 */
import pg from 'pg';
import { functionSet } from '../../../../packages/core/src/engines/postgres/generated.ts';
import { parseStoreAddress } from '../../../../packages/core/src/store/store-url.ts';

/** A defect. */
export interface Mutation {
  name: string;
  /** What is written where, and what instead. */
  changes: readonly (readonly [before: string, after: string])[];
  /** Which faults bring it to light; the others are left out, to be quick. */
  faults: RegExp;
  /** One of these must be violated. */
  caughtBy: readonly string[];
}

const stops = /^SIGSTOP/;

/** The defects that are tried. */
export const mutations: readonly Mutation[] = [
  {
    name: 'the fence of an outcome is not compared',
    changes: [
      ['v_job.fence <> v_fence OR ', ''],
      ['AND l.fence = r.fence AND l.plain', 'AND l.plain'],
    ],
    faults: stops,
    caughtBy: ['one-outcome', 'results-are-the-holders'],
  },
  {
    name: 'leases are reaped 2.9 s early',
    changes: [
      [
        'FROM duly.leases WHERE until_at <= least(v_now, p_ended_by) ',
        'FROM duly.leases WHERE until_at <= v_now + 2900 ',
      ],
    ],
    faults: /at random|blocked/,
    caughtBy: ['one-lease', 'no-false-reclaim', 'losses-have-causes'],
  },
  {
    name: 'a heartbeat is answered and renews nothing',
    changes: [
      [
        'UPDATE duly.leases l SET until_at = v_now + p_lease_ms,',
        'UPDATE duly.leases l SET until_at = l.until_at,',
      ],
    ],
    faults: /blocked/,
    caughtBy: ['one-lease', 'no-false-reclaim', 'losses-have-causes'],
  },
  {
    name: 'a decision is taken without compare-and-set',
    changes: [
      [
        "IF NOT EXISTS (SELECT 1 FROM duly.schedule_leases WHERE fence = v_fence AND v_id = ANY (ids)) THEN RETURN 'conflict'; END IF;",
        '',
      ],
      [
        'WHERE id = v_id AND version = v_version RETURNING generation',
        'WHERE id = v_id RETURNING generation',
      ],
      ['WHERE s.id = ANY (ARRAY[f.id]) AND s.version = f.version', 'WHERE s.id = ANY (ARRAY[f.id])'],
      ['(v_held IS DISTINCT FROM v_moved AND EXISTS (', '(false AND EXISTS ('],
    ],
    faults: /^SIGSTOP between plan and fire/,
    // The key of the ledger refuses the second decision: nothing is broken, and the node is told of a defect.
    caughtBy: ['nothing-is-a-defect'],
  },
  {
    name: 'the cursor moves and the jobs are not created',
    changes: [
      ['LOOP PERFORM duly.create_job(p_now, v_one, false); END LOOP;', 'LOOP EXIT; END LOOP;'],
      // Sends the decisions one by one.
      ['IF coalesce(cardinality(v_moved), 0) < cardinality(p_ids) OR (', 'IF true OR ('],
    ],
    faults: /at random/,
    caughtBy: ['ledger-agrees'],
  },
  {
    name: 'a dedupe key is not held',
    changes: [['SET job_id = v_id, until_at = v_until,', "SET job_id = '', until_at = v_until,"]],
    faults: /at random/,
    caughtBy: ['one-holder'],
  },
  {
    name: 'jobs are given two seconds early',
    changes: [
      ['AND j.type = t.type AND j.due_at <= p_now', 'AND j.type = t.type AND j.due_at <= p_now + 2000'],
      [
        "rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND due_at <= p_now",
        "rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND due_at <= p_now + 2000",
      ],
    ],
    faults: /at random/,
    caughtBy: ['never-early'],
  },
];

/** Puts a defect into the functions of a store. */
export async function mutate(store: string, { name, changes }: Mutation): Promise<void> {
  const address = parseStoreAddress(store);
  if (address.kind !== 'postgres') throw new Error('Only a store on PostgreSQL has functions.');
  const { schema } = address;
  const [connectionString] = store.split('?');
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ text: string }>(
      `SELECT pg_get_functiondef(p.oid) AS text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = $1 AND p.prokind = 'f'`,
      [schema],
    );
    for (const [before, after] of changes) {
      const inSchema = (text: string): string =>
        text
          .replace(/\bduly\.(\w+)\(/g, `duly.$1_f${functionSet.number}(`)
          .replaceAll('duly.', `"${schema}".`);
      const found = inSchema(before);
      const holders = rows.filter(({ text }) => text.includes(found));
      if (holders.length === 0)
        throw new Error(`The defect "${name}" changes nothing: no function holds ${before}.`);
      for (const row of holders) {
        row.text = row.text.replace(found, () => inSchema(after));
        await client.query(row.text);
      }
    }
  } finally {
    await client.end();
  }
}
