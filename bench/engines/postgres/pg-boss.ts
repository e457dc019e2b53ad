// pg-boss as a contestant: batches of 2,000 without a pause while they are full, its shortest poll, and its notifications.
import pg from 'pg';
import type { Contestant, ContestantPlace } from '../../contestant.ts';
import { loadPeer } from '../../peer-module.ts';
import { createPeerContestant } from './peer.ts';

/** The slice of its API that is used. */
interface Boss {
  on(event: 'error', listener: () => void): void;
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string, options?: object): Promise<void>;
  send(name: string, data: object, options?: object): Promise<unknown>;
  insert(name: string, jobs: object[]): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: { data: { n: number } }[]) => Promise<void>,
  ): Promise<string>;
  offWork(name: string, options?: object): Promise<void>;
}

const best = {
  batchSize: 2_000,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
};

/** See `ContestantModule`. */
export async function createContestant(place: ContestantPlace): Promise<Contestant> {
  const { PgBoss } = await loadPeer<{ PgBoss: new (options: object) => Boss }>('pg-boss');
  const boss = new PgBoss({ connectionString: place.url, max: 10, useListenNotify: true });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('bench', { notify: true });
  const pool = new pg.Pool({ connectionString: place.url, max: 1 });
  return createPeerContestant(place, {
    add: (n, dueAt) => boss.send('bench', { n }, dueAt === undefined ? {} : { startAfter: new Date(dueAt) }),
    addMany: (numbers) =>
      boss.insert(
        'bench',
        numbers.map((n) => ({ data: { n } })),
      ),
    addInTransaction: (client, n) =>
      boss.send(
        'bench',
        { n },
        { db: { executeSql: (text: string, values: unknown[]) => client.query(text, values) } },
      ),
    async start(onRun) {
      await boss.work('bench', best, async (jobs) => {
        for (const { data } of jobs) onRun(data.n);
      });
    },
    stop: () => boss.offWork('bench', { wait: true }),
    async leftCount() {
      const { rows } = await pool.query(
        "SELECT count(*)::int AS n FROM pgboss.job WHERE name = 'bench' AND state < 'completed'",
      );
      return (rows[0] as { n: number }).n;
    },
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  });
}
