import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import type { ClaimedJob, Engine } from '../../src/contract/engine.ts';
import {
  createHeartbeats,
  type HeartbeatResult,
  type HeartbeatsOptions,
} from '../../src/store/heartbeats.ts';
import { openTestStore, task } from '../worker/setup.ts';

const leaseMs = 30_000;
const work = task('work', () => null, { timeoutMs: 60_000, graceMs: 10_000 });

async function setup(
  t: TestContext,
  options: Partial<HeartbeatsOptions> = {},
  wrap = (engine: Engine) => engine,
) {
  const store = await openTestStore();
  t.after(() => store.close());
  const { clock, random } = store;
  const news: HeartbeatResult[] = [];
  const heartbeats = createHeartbeats({
    engine: wrap(store.engine),
    clock,
    random,
    node: 'node-1',
    leaseMs,
    heartbeatMs: 5_000,
    onHeartbeat: (one) => news.push(one),
    ...options,
  });
  t.after(() => heartbeats.close());

  async function claim(count: number): Promise<ClaimedJob[]> {
    await store.enqueueMany(work, count);
    const { claimed } = await store.engine.exchange({
      settle: [],
      claim: {
        token: store.ids.newId('claim'),
        node: 'node-1',
        tasks: [{ type: work.name, version: 1, limit: count }],
        queues: null,
        limit: count,
        leaseMs: options.leaseMs ?? leaseMs,
        idle: true,
      },
    });
    assert.equal(claimed.length, count);
    heartbeats.hold(
      claimed.map(({ id, fence, policy: { timeoutMs, graceMs } }) => ({
        id,
        fence,
        timeoutMs,
        graceMs,
        begun: false,
      })),
    );
    return claimed;
  }
  const leaseEnd = async (job: ClaimedJob) => ((await store.job(job.id)).leaseUntilAt ?? 0) - clock.now();
  const heartbeatCount = () => store.instrumented.counts().heartbeat;
  return { store, clock, heartbeats, news, claim, leaseEnd, heartbeatCount };
}

test('one heartbeat renews all leases every heartbeat, and none is sent while nothing is held', async (t) => {
  const { clock, heartbeats, claim, leaseEnd, heartbeatCount } = await setup(t);
  await clock.advance(60_000);
  assert.equal(heartbeatCount(), 0);
  const jobs = await claim(100);
  await clock.advance(4_999);
  assert.equal(heartbeatCount(), 0);
  await clock.advance(1);
  assert.equal(heartbeatCount(), 1);
  assert.equal(await leaseEnd(jobs[99] as ClaimedJob), leaseMs);
  heartbeats.drop(jobs);
  await clock.advance(60_000);
  assert.equal(heartbeatCount(), 1);
  assert.equal(clock.pendingCount(), 0);
});

test('a lease that was taken over is told as lost, once, and the others are kept', async (t) => {
  const { store, clock, news, claim } = await setup(t);
  const [first, second] = (await claim(2)) as [ClaimedJob, ClaimedJob];
  await store.engine.cancel({
    groups: [{ actor: 'test', note: null, targets: [{ id: first.id }], mode: 'terminate' }],
  });
  await clock.advance(20_000);
  assert.deepEqual(news, [{ id: first.id, fence: first.fence, heartbeat: { state: 'lost' } }]);
  assert.equal((await store.job(second.id)).status, 'RUNNING');
});

test('a cancel is told once, at once when checked', async (t) => {
  const { store, clock, heartbeats, news, claim } = await setup(t);
  const [job] = (await claim(1)) as [ClaimedJob];
  await store.cancel(job.id);
  heartbeats.check();
  await clock.advance(1);
  assert.equal(news.length, 1);
  assert.partialDeepStrictEqual(news[0], { id: job.id, heartbeat: { state: 'cancel' } });
  await clock.advance(20_000);
  assert.equal(news.length, 1);
});

test('a lease is renewed no longer than timeout and grace, then told as lost', async (t) => {
  const { clock, news, claim, leaseEnd } = await setup(t);
  const [job] = (await claim(1)) as [ClaimedJob];
  await clock.advance(70_000);
  assert.equal(await leaseEnd(job), leaseMs);
  await clock.advance(10_000);
  assert.equal(await leaseEnd(job), leaseMs - 10_000);
  assert.equal(news.length, 0);
  await clock.advance(25_000);
  assert.equal(news[0]?.heartbeat.state, 'lost');
});

test('when the main loop has not turned for ten minutes nothing is renewed', async (t) => {
  let sinceTurnMs = 0;
  const { clock, news, claim, heartbeatCount } = await setup(t, { sinceTurnMs: () => sinceTurnMs });
  await claim(2);
  await clock.advance(10_000);
  assert.equal(heartbeatCount(), 2);
  sinceTurnMs = 600_001;
  await clock.advance(40_000);
  assert.equal(heartbeatCount(), 2);
  assert.equal(news.length, 2);
});

test('a lease that is given when a store comes back is renewed in time, however often it failed before', async (t) => {
  let isAway = true;
  const wrap = (engine: Engine): Engine => ({
    ...engine,
    heartbeat: (input) =>
      isAway
        ? Promise.reject(dulyError('store_busy', { message: 'The store is locked.' }))
        : engine.heartbeat(input),
  });
  const { clock, claim, leaseEnd, news } = await setup(t, { leaseMs: 900, heartbeatMs: 150 }, wrap);
  await claim(1);
  // The store is away for longer than the lease, and then back.
  while (news.length === 0) await clock.advance(10);
  assert.equal(news[0]?.heartbeat.state, 'lost');
  isAway = false;
  const [job] = (await claim(1)) as [ClaimedJob];
  for (let i = 0; i < 10; i++) {
    await clock.advance(300);
    assert.ok((await leaseEnd(job)) >= 600);
  }
});

test('failing heartbeats are tried again, and a lease is given up only when its time is surely over', async (t) => {
  let isAway = true;
  const { clock, news, claim, leaseEnd } = await setup(t, {}, (engine) => ({
    ...engine,
    async heartbeat(input) {
      if (isAway) throw dulyError('store_unavailable', { message: 'away' });
      return engine.heartbeat(input);
    },
  }));
  const [job] = (await claim(1)) as [ClaimedJob];
  await clock.advance(20_000);
  isAway = false;
  await clock.advance(5_000);
  assert.ok((await leaseEnd(job)) > 20_000, 'one of the tries renewed it');
  assert.equal(news.length, 0);

  isAway = true;
  await clock.advance(24_000);
  assert.equal(news.length, 0);
  await clock.advance(12_000);
  assert.deepEqual([news[0]?.heartbeat.state, news[0]?.isPresumed], ['lost', true]);

  // No other node took it over while the store was away: it is renewed, and nothing more is reported.
  isAway = false;
  await clock.advance(10_000);
  assert.ok((await leaseEnd(job)) > 20_000, 'a late heartbeat renewed it');
  assert.equal(news.length, 1);
});

test('beginnings created in one turn are written in one call, and answer how the lease stands', async (t) => {
  const { store, clock, heartbeats, claim, heartbeatCount } = await setup(t);
  const [renewed, cancelled, lost] = (await claim(3)) as [ClaimedJob, ClaimedJob, ClaimedJob];
  await store.cancel(cancelled.id);
  await store.engine.cancel({
    groups: [{ actor: 'test', note: null, targets: [{ id: lost.id }], mode: 'terminate' }],
  });
  const answers = await Promise.all([renewed, cancelled, lost].map((lease) => heartbeats.begin(lease)));
  assert.deepEqual(answers, ['kept', 'cancel', 'lost']);
  assert.equal(heartbeatCount(), 1);
  assert.equal((await store.job(renewed.id)).attempts.at(-1)?.begunAt, clock.now());
});

test('everything that goes in and out can be posted to another thread', async (t) => {
  const { clock, news, claim, store } = await setup(t);
  const [job] = (await claim(1)) as [ClaimedJob];
  await store.cancel(job.id);
  await clock.advance(5_000);
  assert.deepEqual(structuredClone(news), news);
});
