/**
 * The statements of the bare loop. They write the rows that Duly writes, into the tables that Duly makes: what a row looks like is read
 * from jobs that Duly itself made and ran, so that the loop stays honest when the tables change.
 */

import { DatabaseSync } from 'node:sqlite';
import { Duly } from '@duly/core';

/** A row as SQLite gives it. */
export type Row = Record<string, string | number | null>;

/** One job at three moments, and a schedule before and after a slot. */
export interface Samples {
  pending: Row;
  running: Row;
  finished: Row;
  /** A job of a schedule, PENDING, with the ledger's row and the schedule's own, fired. */
  slotJob: Row;
  slot: Row;
  schedule: Row;
}

/** Has Duly make and run jobs in a file of their own, and reads a row of each kind. */
export async function sampleRows(file: string): Promise<Samples> {
  const duly = new Duly({ store: `sqlite:${file}`, logger: false });
  let running: Row = {};
  const task = duly.task({
    name: 'bench',
    run: ({ job }) => {
      running = read(`SELECT * FROM jobs WHERE id = '${job.id}'`);
    },
  });
  const db = () => new DatabaseSync(file);
  function read(sql: string): Row {
    const one = db();
    try {
      return { ...(one.prepare(sql).get() as Row) };
    } finally {
      one.close();
    }
  }
  const { id } = await task.now({ n: 12345 });
  const pending = read(`SELECT * FROM jobs WHERE id = '${id}'`);
  const settled = new Promise<void>((resolve) => {
    duly.on('job.settled', (notice) => {
      if (notice.id === id) resolve();
    });
  });
  await duly.start();
  await settled;
  const finished = read(`SELECT * FROM finished WHERE id = '${id}'`);
  await duly.pause({ all: true });
  const fired = new Promise<string>((resolve) => {
    duly.on('schedule.fired', ({ jobs }) => resolve(jobs[0] as string));
  });
  await task.every('* * * * * *', { n: 12345 }, { name: 'bench-12345' });
  const slotId = await fired;
  const slotJob = read(`SELECT * FROM jobs WHERE id = '${slotId}'`);
  const slot = read(`SELECT * FROM slots WHERE job_id = '${slotId}'`);
  const schedule = read('SELECT * FROM schedules');
  await duly.stop();
  return { pending, running, finished, slotJob, slot, schedule };
}

const literal = (value: string | number | null | undefined): string =>
  value === null || value === undefined
    ? 'NULL'
    : typeof value === 'number'
      ? String(value)
      : `'${value.replaceAll("'", "''")}'`;

/** An INSERT of a row like this one; the columns named in `bound` are parameters or expressions, the rest as in the sample. */
export function insertLike(table: string, sample: Row, bound: Record<string, string>): string {
  const columns = Object.keys(sample).filter((column) => column !== 'seq');
  const values = columns.map((column) => bound[column] ?? literal(sample[column]));
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`;
}

/** Takes the first `:limit` ready jobs of the lane and answers what a handler needs of them. */
export function claimStatement({ pending }: Samples): string {
  return `UPDATE jobs SET status = 'RUNNING', rank = NULL, fence = :fence + seq, lease_until = :lease, token = :token, node = :node,
    claimed_at = :now, updated_at = :now, attempt = attempt + 1, started_at = :now, lateness_ms = max(0, :now - due_at)
  WHERE seq IN (SELECT seq FROM jobs WHERE rank IS NOT NULL AND solo = 0 AND type = ${literal(pending.type)}
    AND version = ${pending.version} AND queue = ${literal(pending.queue)} ORDER BY rank, seq LIMIT :limit + 0)
  RETURNING seq, id, type, input, metadata, policy, fence, attempt, created_at, due_at`;
}

/** Moves the jobs of a JSON list of `seq` to history, as COMPLETED. */
export function finishStatement({ running, finished }: Samples): string {
  const retentionMs = Number(finished.prune_at) - Number(finished.finished_at);
  const now = new Set(['updated_at', 'finished_at']);
  const columns = Object.keys(finished);
  const values = columns.map((column) => {
    if (now.has(column)) return ':now';
    if (column === 'prune_at') return `:now + ${retentionMs}`;
    // What the end changed is the same for every no-op; the rest travels along.
    return column in running && running[column] === finished[column] ? column : literal(finished[column]);
  });
  return `INSERT INTO finished (${columns.join(', ')}) SELECT ${values.join(', ')} FROM jobs
  WHERE seq IN (SELECT value FROM json_each(:seqs))`;
}

/** Takes them out of the table of live jobs. */
export const removeStatement = 'DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))';
/** One row of the feed for all changes of a transaction. */
export const feedStatement = 'INSERT INTO changes (at, entries) VALUES (?, ?)';
/** Takes so many fences. */
export const fenceStatement = "UPDATE meta SET value = value + ? WHERE key = 'fence' RETURNING value";
