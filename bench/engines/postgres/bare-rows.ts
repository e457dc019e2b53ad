/**
 * The statements of the bare loop. They write the rows that Duly writes, into the tables that Duly makes: what a row looks like is read
 * from jobs that Duly itself made and ran, so that the loop stays honest when the tables change.
 */

import { Duly } from '@duly/core';
import pg from 'pg';

/** A row with every value as a text. */
export type Row = Record<string, string | null>;

/** One job at three moments, and a schedule with the slot and the job of a decision. */
export interface Samples {
  pending: Row;
  running: Row;
  finished: Row;
  slotJob: Row;
  slot: Row;
  schedule: Row;
}

const schema = 'bench_samples';

/** Has Duly make and run jobs in a schema of their own, which goes afterwards, and reads a row of each kind. */
export async function sampleRows(url: string): Promise<Samples> {
  const samples = await sampleOnce(url);
  const missing = Object.entries(samples).filter(([, row]) => Object.keys(row).length === 0);
  if (missing.length === 0) return samples;
  throw new Error(
    `There is no sample of ${missing.map(([name]) => name).join(', ')}: the bare loop cannot be made.`,
  );
}

async function sampleOnce(url: string): Promise<Samples> {
  const duly = new Duly({ store: `${url}?schema=${schema}`, logger: false });
  const client = new pg.Client({
    connectionString: url,
    types: { getTypeParser: () => (text: string) => text },
  });
  await client.connect();
  const read = async (sql: string): Promise<Row> => ({ ...((await client.query(sql)).rows[0] as Row) });
  let running: Row = {};
  const task = duly.task({
    name: 'bench',
    run: async ({ job }) => {
      running = await read(`SELECT * FROM ${schema}.jobs WHERE id = '${job.id}'`);
    },
  });
  const { id } = await task.now({ n: 12345 });
  const pending = await read(`SELECT * FROM ${schema}.jobs WHERE id = '${id}'`);
  const settled = new Promise<void>((resolve) => {
    duly.on('job.settled', (notice) => {
      if (notice.id === id) resolve();
    });
  });
  await duly.start();
  await settled;
  const finished = await read(`SELECT * FROM ${schema}.finished WHERE id = '${id}'`);
  await duly.pause({ all: true });
  const fired = new Promise<string>((resolve) => {
    duly.on('schedule.fired', ({ jobs }) => resolve(jobs[0] as string));
  });
  await task.every('* * * * * *', { n: 12345 }, { name: 'bench-12345' });
  const slotId = await fired;
  const slotJob = await read(`SELECT * FROM ${schema}.jobs WHERE id = '${slotId}'`);
  const slot = await read(`SELECT * FROM ${schema}.slots WHERE job_id = '${slotId}'`);
  const schedule = await read(`SELECT * FROM ${schema}.schedules`);
  await duly.stop();
  await client.query(`DROP SCHEMA ${schema} CASCADE`);
  await client.end();
  return { pending, running, finished, slotJob, slot, schedule };
}

/** A value as SQL writes it. */
export const literal = (value: string | null | undefined): string =>
  value === null || value === undefined ? 'NULL' : `'${value.replaceAll("'", "''")}'`;

/** INSERT … SELECT of rows like this one; the columns named in `bound` are expressions of `from`, the rest as in the sample. */
export function insertLike(
  table: string,
  sample: Row,
  { bound, from }: { bound: Record<string, string>; from: string },
): string {
  const columns = Object.keys(sample).filter((column) => column !== 'seq');
  const values = columns.map((column) => bound[column] ?? literal(sample[column]));
  return `INSERT INTO duly.${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ${from}`;
}

/** A row of the feed about the rows of a common table expression. */
const feedOf = (of: string, { status, event }: { status: string; event: string }): string =>
  `INSERT INTO duly.changes (at, n, entries) SELECT $1::bigint, count(*),
    json_build_array(json_agg(id), 'bench'::text, '${status}'::text, '${event}'::text, 0)::text FROM ${of} HAVING count(*) > 0`;

const addLeases = (token: string, of: string): string =>
  `INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
    SELECT id, seq, fence, node, ${token}, true, $1::bigint + 30000 FROM ${of}`;

/** Makes ready jobs: $1 now, $2 ids, $3 inputs. */
export function createStatement({ pending }: Samples): string {
  const bound = {
    id: 's.id',
    rank: '$1::bigint',
    due_at: '$1::bigint',
    created_at: '$1::bigint',
    updated_at: '$1::bigint',
    input: 's.input',
  };
  const insert = insertLike('jobs', pending, {
    bound,
    from: 'unnest($2::text[], $3::text[]) AS s (id, input)',
  });
  return `WITH made AS (${insert} RETURNING id) ${feedOf('made', { status: 'PENDING', event: 'created' })}`;
}

/** Makes jobs that are due later: $1 now, $2 ids, $3 inputs, $4 due instants. */
export function createLaterStatement({ pending }: Samples): string {
  const bound = {
    id: 's.id',
    status: "'SCHEDULED'",
    rank: 'NULL::bigint',
    due_at: 's.due',
    created_at: '$1::bigint',
    updated_at: '$1::bigint',
    input: 's.input',
  };
  const insert = insertLike('jobs', pending, {
    bound,
    from: 'unnest($2::text[], $3::text[], $4::bigint[]) AS s (id, input, due)',
  });
  return `WITH made AS (${insert} RETURNING id) ${feedOf('made', { status: 'SCHEDULED', event: 'created' })}`;
}

/** Makes one job that runs already: $1 now, $2 id, $3 input, $4 token. */
export function createRunningStatement({ running }: Samples): string {
  const instants = ['due_at', 'created_at', 'updated_at', 'claimed_at', 'started_at'];
  const bound = {
    ...Object.fromEntries(instants.map((column) => [column, '$1::bigint'])),
    id: '$2::text',
    input: '$3::text',
    fence: "nextval('duly.fence')",
  };
  const insert = insertLike('jobs', running, { bound, from: '(VALUES (1)) AS one (n)' });
  return `WITH made AS (${insert} RETURNING id, seq, fence, node), leased AS (${addLeases('$4::text', 'made')})
    ${feedOf('made', { status: 'RUNNING', event: 'claimed' })}`;
}

/** Takes the first $2 ready jobs of the lane and answers what a handler needs of them: $1 now. */
export function claimStatement({ pending, running }: Samples): string {
  return `WITH taken AS (
    UPDATE duly.jobs SET status = 'RUNNING', rank = NULL, fence = nextval('duly.fence'), node = ${literal(running.node)}, claimed_at = $1::bigint,
      updated_at = $1::bigint, attempt = attempt + 1, started_at = $1::bigint, lateness_ms = greatest(0, $1::bigint - due_at)
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM duly.jobs WHERE rank IS NOT NULL AND solo = 0 AND type = ${literal(pending.type)}
      AND version = ${pending.version} AND queue = ${literal(pending.queue)} ORDER BY rank, seq LIMIT $2::bigint FOR UPDATE SKIP LOCKED))
    RETURNING id, seq, node, input, fence, attempt, created_at, due_at, slot, slot_details),
  leased AS (${addLeases('$3::text', 'taken')}),
  told AS (${feedOf('taken', { status: 'RUNNING', event: 'claimed' })})
  SELECT id, input, fence, attempt, created_at, due_at, slot, slot_details FROM taken`;
}

/** Moves the jobs $2 to history, as COMPLETED: $1 now. */
export function moveStatement({ running, finished }: Samples): string {
  const retentionMs = Number(finished.prune_at) - Number(finished.finished_at);
  const now = new Set(['updated_at', 'finished_at']);
  const columns = Object.keys(finished);
  const values = columns.map((column) => {
    if (now.has(column)) return '$1::bigint';
    if (column === 'prune_at') return `$1::bigint + ${retentionMs}`;
    // What the end changed is the same for every no-op; the rest travels along.
    return column in running && running[column] === finished[column] ? column : literal(finished[column]);
  });
  return `WITH gone AS (DELETE FROM duly.jobs WHERE id = ANY ($2::text[]) RETURNING *),
  unleased AS (DELETE FROM duly.leases WHERE id = ANY ($2::text[])),
  over AS (INSERT INTO duly.finished (${columns.join(', ')}) SELECT ${values.join(', ')} FROM gone)
  ${feedOf('gone', { status: 'COMPLETED', event: 'returned' })}`;
}

/** Makes what is due ready: $1 now. */
export const promoteStatement = ({ pending }: Samples): string =>
  `WITH due AS (UPDATE duly.jobs SET status = 'PENDING', rank = due_at, updated_at = $1::bigint
    WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ${literal(pending.type)} AND due_at <= $1::bigint RETURNING id)
  ${feedOf('due', { status: 'PENDING', event: 'due' })}`;

/** When the next one is due. */
export const nextDueStatement = ({ pending }: Samples): string =>
  `SELECT due_at AS at FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ${literal(pending.type)}
  ORDER BY due_at LIMIT 1`;

/** Schedules to decide: $1 ids. */
export const createSchedulesStatement = ({ schedule }: Samples): string =>
  insertLike('schedules', schedule, {
    bound: { id: 's.id' },
    from: 'unnest($1::text[]) AS s (id)',
  });

/** Decisions: $1 now, $2 schedules, $3 jobs, $4 inputs, $5 the next due instant. */
export function decideStatement({ schedule, slot, slotJob }: Samples): string {
  const from = 'unnest($2::text[], $3::text[], $4::text[]) AS s (schedule, job, input)';
  const jobs = insertLike('jobs', slotJob, {
    bound: {
      id: 's.job',
      schedule_id: 's.schedule',
      rank: '$1::bigint',
      due_at: '$1::bigint',
      created_at: '$1::bigint',
      updated_at: '$1::bigint',
      input: 's.input',
    },
    from,
  });
  const slots = insertLike('slots', slot, {
    bound: {
      schedule_id: 's.schedule',
      job_id: 's.job',
      from_at: '$1::bigint',
      to_at: '$1::bigint',
      decided_at: '$1::bigint',
      last_decided_at: '$1::bigint',
    },
    from,
  });
  return `WITH made AS (${jobs} RETURNING id), slotted AS (${slots}),
    moved AS (UPDATE duly.schedules c SET state = ${literal(schedule.state)}, due_at = $5::bigint, version = c.version + 1, updated_at = $1::bigint
      FROM ${from} WHERE c.id = s.schedule)
    ${feedOf('made', { status: 'PENDING', event: 'created' })}`;
}
