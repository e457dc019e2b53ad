/** A history of very many jobs, written into a store by SQL: making them one by one would take an hour. */
import { DatabaseSync } from 'node:sqlite';
import { Duly } from '@duly/core';
import { quietLogger } from '@duly/core/internal';
import pg from 'pg';

/** How long a history, and until when. */
export interface HistoryOptions {
  count: number;
  /** The newest job ends here. */
  untilAt: number;
  /** Over how much time before that they ended, evenly. */
  spanMs: number;
}

/** Jobs end in these ways, and belong to these tasks, by turns: what a page has to add up is not all alike. */
const types = ['send_mail', 'video_transcode', 'analytics_report', 'render_pdf', 'sync_crm'];

/**
 * Copies one real finished job `count` times, each with its own id, task, instants and outcome. All columns that are not named here are those of
 * the real one, so the rows stay true when the tables change.
 */
export async function fillHistory(store: string, options: HistoryOptions): Promise<void> {
  const duly = new Duly({ store, app: 'history', logger: quietLogger });
  const task = duly.task({ name: 'history_sample', run: () => ({ sent: true }) });
  await duly.start();
  const job = await task.now({ user: 42, subject: 'Welcome', body: 'x'.repeat(120) });
  await job.result();
  await duly.stop();
  if (store.startsWith('sqlite:')) fillSqlite(store.slice('sqlite:'.length), job.id, options);
  else await fillPostgres(store, job.id, options);
}

/** Columns of a copy as expressions of its number `n`, from 0; `text`, `turn` and `least` say how the store's SQL writes these. */
function expressions(
  { count, untilAt, spanMs }: HistoryOptions,
  sql: { id: string; turn: (list: readonly string[]) => string },
): Record<string, string> {
  // Busier at some times than at others.
  const part = `(1.0 * n / ${count})`;
  const finishedAt = `CAST(${untilAt - spanMs} + ${spanMs} * (${part} + 0.03 * sin(18.85 * ${part})) AS bigint)`;
  const tookMs = '(20 + (n % 97) * (1 + n % 13))';
  const waitedMs = '((n * 7919) % 251)';
  return {
    id: sql.id,
    seq: 'n + 10',
    type: sql.turn(types),
    // Every hundredth ended otherwise.
    status: `CASE WHEN n % 100 = 7 THEN 'CANCELLED' WHEN n % 400 = 9 THEN 'EXPIRED' WHEN n % 50 = 3 AND n / 300 % 3 = 1 THEN 'FAILED' ELSE 'COMPLETED' END`,
    created_at: `${finishedAt} - ${tookMs} - ${waitedMs}`,
    due_at: `${finishedAt} - ${tookMs} - ${waitedMs}`,
    started_at: `${finishedAt} - ${tookMs}`,
    claimed_at: `${finishedAt} - ${tookMs}`,
    lateness_ms: waitedMs,
    finished_at: finishedAt,
    updated_at: finishedAt,
    prune_at: `${finishedAt} + 604800000`,
  };
}

function copyInto(columns: readonly string[], values: Record<string, string>): string {
  return columns.map((column) => values[column] ?? column).join(', ');
}

function fillSqlite(path: string, sample: string, options: HistoryOptions): void {
  const db = new DatabaseSync(path);
  const columns = (
    db.prepare("SELECT name FROM pragma_table_info('finished')").all() as { name: string }[]
  ).map(({ name }) => name);
  const turn = (list: readonly string[]): string =>
    `CASE n % ${list.length} ${list.map((value, at) => `WHEN ${at} THEN '${value}'`).join(' ')} END`;
  const values = expressions(options, { id: "printf('job_00%024d', n)", turn });
  db.exec('PRAGMA synchronous = OFF');
  db.prepare(
    `WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?)
     INSERT INTO finished (${columns.join(', ')})
     SELECT ${copyInto(columns, values)} FROM number CROSS JOIN (SELECT * FROM finished WHERE id = ?)`,
  ).run(options.count, sample);
  db.exec('ANALYZE');
  db.close();
}

async function fillPostgres(url: string, sample: string, options: HistoryOptions): Promise<void> {
  const schema = new URL(url).searchParams.get('schema') ?? 'duly';
  const bare = new URL(url);
  bare.search = '';
  const client = new pg.Client({ connectionString: bare.toString() });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'finished' ORDER BY ordinal_position`,
    [schema],
  );
  const columns = rows.map(({ name }) => name);
  const turn = (list: readonly string[]): string =>
    `(ARRAY[${list.map((value) => `'${value}'`).join(', ')}])[n % ${list.length} + 1]`;
  const values = expressions(options, { id: "'job_00' || lpad(n::text, 24, '0')", turn });
  await client.query(
    `INSERT INTO ${schema}.finished (${columns.join(', ')})
     SELECT ${copyInto(columns, values)}
     FROM generate_series(0::bigint, ${options.count - 1}) AS n CROSS JOIN (SELECT * FROM ${schema}.finished WHERE id = $1) f`,
    [sample],
  );
  await client.query(`ANALYZE ${schema}.finished`);
  await client.end();
}
