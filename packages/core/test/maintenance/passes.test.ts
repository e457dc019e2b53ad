import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { NodeInfo } from '../../src/contract/engine.ts';
import { nodeHeartbeatMs } from '../../src/contract/timings.ts';
import { createNodeHeartbeat } from '../../src/maintenance/node-heartbeat.ts';
import { createPrunePass } from '../../src/maintenance/prune.ts';
import { createReapPass } from '../../src/maintenance/reap.ts';
import { openTestStore, task } from '../worker/setup.ts';

async function setup(t: TestContext) {
  const store = await openTestStore();
  t.after(() => store.close());
  return store;
}

const work = task('work', () => null);

test('a lost lease is judged and recorded, and the pass wakes when the next one ends', async (t) => {
  const store = await setup(t);
  const reaped: string[] = [];
  const pass = createReapPass({
    engine: store.engine,
    node: 'reaper',
    onReaped: ({ settlement }) => reaped.push(`${settlement.reason} ${settlement.to}`),
  });
  assert.equal(await pass(), 10_000, 'nobody holds a lease');

  const id = await store.enqueue(work);
  const claim = {
    token: 'dies',
    node: 'dead',
    tasks: [{ type: 'work', version: 1, limit: 1 }],
    queues: null,
    limit: 1,
    leaseMs: 30_000,
    idle: true,
  };
  await store.engine.exchange({ settle: [], claim });
  await store.clock.advance(28_000);
  assert.equal(await pass(), 2_000);
  assert.deepEqual(reaped, []);
  await store.clock.advance(2_000);
  await pass();
  assert.equal(reaped[0], 'lost RETRYING');
  assert.partialDeepStrictEqual(await store.job(id), { status: 'RETRYING', losses: 1, spent: 0, attempt: 1 });
});

test('more lost leases than one pass takes are taken at once by the next', async (t) => {
  const store = await setup(t);
  await store.enqueueMany(work, 1_200);
  await store.engine.exchange({
    settle: [],
    claim: {
      token: 'dies',
      node: 'dead',
      tasks: [{ type: 'work', version: 1, limit: 2_000 }],
      queues: null,
      limit: 2_000,
      leaseMs: 30_000,
      idle: true,
    },
  });
  await store.clock.advance(30_000);
  const pass = createReapPass({ engine: store.engine, node: 'reaper' });
  assert.deepEqual([await pass(), await pass()], [0, 0]);
  assert.ok((await pass()) > 0);
  assert.equal((await store.engine.counts({ cap: 2_000 })).status.RETRYING.count, 1_200);
});

test('finished jobs are forgotten after their retention', async (t) => {
  const store = await setup(t);
  const id = await store.enqueue(work);
  store.start([work], { maxSleepMs: () => 86_400_000 });
  await store.clock.settle();
  const pass = createPrunePass({ engine: store.engine, clock: store.clock });
  assert.equal(await pass(), 300_000, 'nothing is past its time');
  assert.equal((await store.job(id)).status, 'COMPLETED');
  await store.clock.advance(7 * 86_400_000 + 1_000);
  assert.equal(await pass(), 60_000, 'where something was forgotten there is soon more');
  const { jobs } = await store.engine.get({ ids: [id] });
  assert.equal(jobs[0], null);
});

test('what is kept for seconds is looked for every few seconds, and never more often than every second', async (t) => {
  const store = await setup(t);
  store.start([work], { maxSleepMs: () => 86_400_000 });
  let jobsMs = 8_000;
  const pass = createPrunePass({
    engine: store.engine,
    clock: store.clock,
    changesMs: 20_000,
    tasksMs: () => [jobsMs],
  });
  const passAfter = async (ms: number) => {
    await store.enqueue(work);
    await store.clock.settle();
    await store.clock.advance(ms);
    return pass();
  };
  assert.equal(await pass(), 8_000, 'nothing is past its time');
  assert.equal(await passAfter(21_000), 2_000);
  jobsMs = 60_000;
  assert.equal(await passAfter(21_000), 5_000, 'the feed is kept for less than the jobs now');
  jobsMs = 0;
  assert.equal(await passAfter(21_000), 1_000);
  assert.equal(await pass(), 5_000);
});

test('a node is listed while it heartbeats, hears that it is asked to drain, and leaves', async (t) => {
  const store = await setup(t);
  const info: NodeInfo = {
    id: 'node-1',
    app: 'test',
    release: null,
    declares: [],
    host: 'here',
    pid: 1,
    roles: ['worker'],
    tasks: [{ type: 'work', version: 1 }],
    queues: null,
    concurrency: 20,
    running: 0,
    notReady: null,
    startedAt: store.clock.now(),
  };
  const asked: number[] = [];
  const listed = async () => {
    const { nodes } = await store.engine.nodes({
      heartbeat: null,
      leave: null,
      drain: null,
      forgetAfterMs: 40_000,
    });
    return nodes.map(({ id }) => id);
  };
  const node = createNodeHeartbeat({
    engine: store.engine,
    info: () => info,
    onDrainAsked: (at) => asked.push(at),
  });
  assert.equal(await node.pass(), nodeHeartbeatMs);
  assert.deepEqual(await listed(), ['node-1']);
  assert.equal(asked.length, 0);
  const askedAt = store.clock.now();
  await store.engine.nodes({
    heartbeat: null,
    leave: null,
    drain: { id: 'node-1', actor: 'test' },
    forgetAfterMs: 40_000,
  });
  await store.clock.advance(10_000);
  await node.pass();
  await node.pass();
  assert.deepEqual(asked, [askedAt]);
  await node.leave();
  assert.deepEqual(await listed(), []);
});
