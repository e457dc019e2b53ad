// Real processes on each engine: one is killed, and another goes on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { createCluster } from './cluster.ts';

const postgres = await testPostgresUrl();

for (const [engine, createUrl] of [
  ['sqlite', () => ({})],
  ['postgres', () => ({ url: inSchema(postgres, freshSchema()) })],
] as const) {
  test(`${engine}: kill -9 in the middle of a job: another process finishes it, under a greater fence, and no attempt is spent`, async (t) => {
    const cluster = createCluster(t, { leaseMs: 900, ...createUrl() });
    // The children have the code of the task.
    const work = cluster.client.task({ name: 'work', run: () => {} });
    await cluster.spawn();
    const job = await work.now('go');
    const first = await cluster.news('entered', ({ id }) => id === job.id);
    await cluster.spawn();
    const victim = cluster.process(first.pid);
    victim.kill('SIGKILL');
    await once(victim, 'exit');
    const second = await cluster.news('entered', ({ id, attempt }) => id === job.id && attempt === 2);
    assert.ok(second.fence > first.fence);
    cluster.process(second.pid).send('go');
    const done = await job.wait();
    assert.equal(done.status, 'COMPLETED');
    assert.equal(done.attempts, 1);
    const reasons = (await job.get()).attemptList.map(({ reason }) => reason);
    assert.deepEqual(reasons, ['lost', 'returned']);
  });
}
