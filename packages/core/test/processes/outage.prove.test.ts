// The store is away for longer than the lease, and real processes go on working meanwhile.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { startPostgres } from '../../../../test/servers/postgres.ts';
import { type Cluster, createCluster } from './cluster.ts';

// Twice as long as necessary, for a machine that runs other tests meanwhile.
const leaseMs = 6_000;
// Five times as long as an outage test takes, so that one that hangs does not hold up the run.
const timeout = 120_000;

/** Takes the store away and answers how to bring it back. */
type TakeAway = () => Promise<() => Promise<void>>;

/** Every handler ends while the store is away: half of them within their lease, half of them after it. */
async function playOutage(cluster: Cluster, failureCount: number, takeAway: TakeAway): Promise<void> {
  const { client, reported } = cluster;
  const work = client.task({ name: 'work', run: () => {} });
  const careful = client.task({ name: 'careful', delivery: 'at-most-once', run: () => {} });
  const processes = [await cluster.spawn(8), await cluster.spawn(8)];
  const words = ['go', 'go', 'late', 'late'];
  const jobs = [...(await work.nowMany(words)), ...(await careful.nowMany(words))];
  for (const { id } of jobs) await cluster.news('entered', (news) => news.id === id);
  const leave = async (word: string): Promise<void> => {
    for (const one of processes) one.send(word);
    const waiting = jobs.filter((_, i) => words[i % words.length] === word);
    for (const { id } of waiting) await cluster.news('left', (news) => news.id === id);
  };

  const bringBack = await takeAway();
  await leave('go');
  // A call on a locked file fails after 5 s; of a server that is gone, the ninth failure comes at least 6.3 s after the first.
  await Promise.all(
    processes.map(({ pid }) =>
      cluster.news(
        'failed',
        (news) => news.pid === pid && news.doing === 'reaping' && news.count >= failureCount,
      ),
    ),
  );
  await leave('late');
  await bringBack();
  for (const job of jobs) {
    const end = job.wait().then(({ status }) => status);
    // A second run would wait without end, because its word was said before.
    const again = cluster.news('entered', (news) => news.id === job.id && news.attempt > 1);
    assert.equal(await Promise.race([end, again.then(() => 'RUN AGAIN')]), 'COMPLETED', `job ${job.id}`);
    const entries = reported.filter((news) => news.kind === 'entered' && news.id === job.id);
    assert.equal(entries.length, 1);
  }
}

test('what ends while a SQLite file is locked for longer than the lease is recorded, and runs once', {
  timeout,
}, async (t) => {
  const cluster = createCluster(t, { leaseMs });
  await playOutage(cluster, 2, async () => {
    const db = new DatabaseSync(cluster.file, { timeout: 5_000 });
    db.exec('BEGIN IMMEDIATE');
    return async () => {
      db.exec('ROLLBACK');
      db.close();
    };
  });
});

test('what ends while a PostgreSQL server is stopped for longer than the lease is recorded, and runs once', {
  timeout,
}, async (t) => {
  const server = await startPostgres();
  t.after(() => server.stop());
  await playOutage(createCluster(t, { leaseMs, url: server.url }), 9, async () => {
    await server.halt('fast');
    return () => server.restart();
  });
});
