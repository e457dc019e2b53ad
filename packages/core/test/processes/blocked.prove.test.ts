// Real processes whose main thread is blocked while they hold jobs that they have claimed and not started.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { createCluster } from './cluster.ts';

const folder = mkdtempSync(join(tmpdir(), 'duly-blocked-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const postgres = await testPostgresUrl();
let count = 0;

/** A process that has claimed five jobs at once, and whose first one blocks it until `goOn`. */
async function blockOne(t: TestContext, { leaseMs, url }: { leaseMs: number; url: string | undefined }) {
  const cluster = createCluster(t, { leaseMs, ...(url === undefined ? {} : { url }) });
  const { client } = cluster;
  const flag = join(folder, `${++count}.flag`);
  const block = client.task({ name: 'block', run: () => {} });
  const work = client.task({ name: 'work', run: () => {} });
  // Made before anything runs, so that they are claimed together. The first in line starts first.
  const blocking = await block.now(flag, { priority: 5 });
  const waiting = await work.nowMany([1, 2, 3, 4]);
  const blocked = await cluster.spawn();
  await cluster.news('entered', ({ id }) => id === blocking.id);
  const pidsOf = (id: string) =>
    cluster.reported.flatMap((news) => (news.kind === 'entered' && news.id === id ? [news.pid] : []));
  for (const job of waiting) {
    assert.deepEqual([(await job.get()).status, pidsOf(job.id)], ['RUNNING', []], 'claimed, and not started');
  }
  return { cluster, blocking, blocked, waiting, pidsOf, work, goOn: () => writeFileSync(flag, '') };
}

for (const [engine, createUrl] of [
  ['sqlite', () => undefined],
  ['postgres', () => inSchema(postgres, freshSchema())],
] as const) {
  test(`${engine}: jobs that a blocked process has not started run on an idle node, and once`, async (t) => {
    const { cluster, blocking, blocked, waiting, pidsOf, work, goOn } = await blockOne(t, {
      leaseMs: 60_000,
      url: createUrl(),
    });
    const idle = await cluster.spawn();
    for (const job of waiting) {
      const { status, attempts } = await job.wait();
      assert.deepEqual([status, attempts, pidsOf(job.id)], ['COMPLETED', 1, [idle.pid]]);
    }
    assert.equal((await blocking.get()).status, 'RUNNING', 'the process is still blocked, within its lease');
    goOn();
    assert.equal((await blocking.wait()).status, 'COMPLETED');
    // Whatever the process still had to start it has started before this one.
    idle.kill('SIGKILL');
    await once(idle, 'exit');
    const last = await work.now(5);
    assert.equal((await last.wait()).status, 'COMPLETED');
    assert.deepEqual(pidsOf(last.id), [blocked.pid]);
    for (const { id } of waiting) assert.deepEqual(pidsOf(id), [idle.pid], 'never twice');
    const losses = cluster.reported.filter(({ kind }) => kind === 'lost');
    assert.deepEqual(losses, [], 'a release is no loss');
  });

  test(`${engine}: a job that was cancelled before a blocked process could start it is not started`, async (t) => {
    const { blocking, waiting, pidsOf, work, goOn } = await blockOne(t, {
      leaseMs: 60_000,
      url: createUrl(),
    });
    for (const job of waiting) await job.cancel();
    for (const job of waiting) assert.equal((await job.wait()).status, 'CANCELLED');
    assert.equal((await blocking.get()).status, 'RUNNING', 'the process is still blocked');
    goOn();
    await (await work.now(5)).wait();
    for (const { id } of waiting) assert.deepEqual(pidsOf(id), []);
  });

  test(`${engine}: after SIGCONT no handler is entered whose lease ended meanwhile`, async (t) => {
    const { cluster, blocked, waiting, pidsOf, work, goOn } = await blockOne(t, {
      leaseMs: 1_500,
      url: createUrl(),
    });
    cluster.freeze(blocked);
    goOn();
    const other = await cluster.spawn();
    for (const job of waiting) assert.equal((await job.wait()).status, 'COMPLETED');
    blocked.kill('SIGCONT');
    other.kill('SIGKILL');
    await once(other, 'exit');
    const last = await work.now(5);
    await last.wait();
    assert.deepEqual(pidsOf(last.id), [blocked.pid]);
    for (const { id } of waiting) assert.deepEqual(pidsOf(id), [other.pid]);
  });
}
