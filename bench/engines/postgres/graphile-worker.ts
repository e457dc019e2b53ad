// graphile-worker as a contestant, as it comes and at its best.
import pg from 'pg';
import type { Contestant, ContestantPlace } from '../../contestant.ts';
import { loadPeer } from '../../peer-module.ts';
import { createPeerContestant } from './peer.ts';

/** The slice of its API that is used. */
interface GraphileWorker {
  run(options: object): Promise<{ stop(): Promise<void> }>;
  runMigrations(options: object): Promise<void>;
  Logger: new (factory: () => () => void) => object;
}

/** Makes it with these settings. */
export async function createGraphileWorker(
  place: ContestantPlace,
  settings: { concurrentJobs?: number; preset?: object },
): Promise<Contestant> {
  const { run, runMigrations, Logger } = await loadPeer<GraphileWorker>('graphile-worker');
  const pool = new pg.Pool({ connectionString: place.url, max: 10 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const logger = new Logger(() => () => {});
  await runMigrations({ pgPool: pool, logger });
  let runner: { stop(): Promise<void> } | null = null;
  const add = "SELECT graphile_worker.add_job('bench', $1::json, run_at := $2::timestamptz)";
  const many = `SELECT 1 FROM graphile_worker.add_jobs(ARRAY(
    SELECT json_populate_record(NULL::graphile_worker.job_spec, json_build_object('identifier', 'bench', 'payload', json_build_object('n', n)))
    FROM unnest($1::int[]) n)) LIMIT 1`;
  return createPeerContestant(place, {
    add: (n, dueAt) =>
      pool.query(add, [JSON.stringify({ n }), dueAt === undefined ? null : new Date(dueAt).toISOString()]),
    addMany: (numbers) => pool.query(many, [numbers]),
    addInTransaction: (client, n) => client.query(add, [JSON.stringify({ n }), null]),
    async start(onRun) {
      runner = await run({
        pgPool: pool,
        logger,
        noHandleSignals: true,
        ...(settings.concurrentJobs === undefined ? {} : { concurrency: settings.concurrentJobs }),
        ...(settings.preset === undefined ? {} : { preset: settings.preset }),
        taskList: { bench: async (payload: unknown) => onRun((payload as { n: number }).n) },
      });
    },
    async stop() {
      await runner?.stop();
      runner = null;
    },
    async leftCount() {
      const { rows } = await pool.query('SELECT count(*)::int AS n FROM graphile_worker._private_jobs');
      return (rows[0] as { n: number }).n;
    },
    close: () => pool.end(),
  });
}
