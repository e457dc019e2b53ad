// What is checked directly before a handler is called: by the clock, and by all that this process was told of the lease.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import type { Engine } from '../../src/contract/engine.ts';
import { createLeaseBoard, createSharedLeases } from '../../src/store/shared-leases.ts';
import { runIsolated } from '../../src/worker/isolate.ts';
import { createRemoteWorkers } from '../../src/worker/remote/remote-workers.ts';
import { claimedJob } from './claimed-job.ts';
import { polite } from './isolated-tasks.ts';
import { openTestStore, task } from './setup.ts';

const leaseMs = 30_000;

async function setup(t: TestContext) {
  const store = await openTestStore();
  t.after(() => store.close());
  const fences: number[] = [];
  const work = task('work', ({ fence }) => {
    fences.push(fence);
  });
  return { store, work, fences };
}

/** An engine whose next answer that brings jobs arrives after this process stood still for that long. */
function standStillAfterClaim(
  { engine, clock }: Awaited<ReturnType<typeof openTestStore>>,
  ms: number,
): Engine {
  let isDone = false;
  return {
    ...engine,
    async exchange(input) {
      const reply = await engine.exchange(input);
      if (isDone || reply.claimed.length === 0) return reply;
      isDone = true;
      clock.jump(ms);
      return reply;
    },
  };
}

test('a handler is not entered when its lease ended while the answer was on its way', async (t) => {
  const { store, work, fences } = await setup(t);
  const id = await store.enqueue(work);
  const { worker } = store.start([work], { engine: standStillAfterClaim(store, leaseMs) });
  const skipped = worker.events.next('skipped');
  await store.clock.settle();
  await store.clock.advance(1_000);
  assert.deepEqual(await skipped, { late: 1, released: 0 });
  const { status, attempt, spent, losses, fence } = await store.job(id);
  assert.deepEqual([status, attempt, spent, losses], ['COMPLETED', 1, 1, 0]);
  assert.deepEqual(fences, [fence], 'entered once, under the second lease');
});

test('a handler is entered when its lease has just not ended', async (t) => {
  const { store, work, fences } = await setup(t);
  const id = await store.enqueue(work);
  store.start([work], { engine: standStillAfterClaim(store, leaseMs - 1) });
  await store.clock.settle();
  assert.equal(fences.length, 1);
  assert.equal((await store.job(id)).attempt, 1);
});

test('a job that was taken with an enqueue is not entered after its lease', async (t) => {
  const { store, work, fences } = await setup(t);
  const { worker } = store.start([work]);
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  const job = store.spec(work, null);
  const reply = await store.engine.enqueue({ groups: [{ jobs: [job] }], claim: request });
  store.clock.jump(leaseMs);
  worker.receive(request, reply.claimed);
  await store.clock.settle();
  const [claimed] = reply.claimed;
  assert.ok(claimed !== undefined && !fences.includes(claimed.fence), 'entered under a lease that had ended');
  await store.clock.advance(1_000);
  assert.equal((await store.job(job.id)).status, 'COMPLETED');
});

test('a job whose beginning is written is not entered after its lease, and is not lost', async (t) => {
  const { store } = await setup(t);
  let entries = 0;
  const careful = task('careful', () => void entries++, { delivery: 'at-most-once' });
  const id = await store.enqueue(careful);
  let isDone = false;
  const engine: Engine = {
    ...store.engine,
    async heartbeat(input) {
      const reply = await store.engine.heartbeat(input);
      if (!isDone) store.clock.jump(leaseMs);
      isDone = true;
      return reply;
    },
  };
  const { worker } = store.start([careful], { engine });
  const skipped = worker.events.next('skipped');
  await store.clock.settle();
  await store.clock.advance(1_000);
  assert.deepEqual(await skipped, { late: 1, released: 0 });
  assert.deepEqual([(await store.job(id)).status, entries], ['COMPLETED', 1]);
});

/** A schema that checks when the test says so. */
function slowSchema() {
  const asked = Promise.withResolvers<void>();
  const checked = Promise.withResolvers<void>();
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      async validate(value: unknown) {
        asked.resolve();
        await checked.promise;
        return { value };
      },
    },
  };
  return { schema, asked: asked.promise, finish: () => checked.resolve() };
}

test('a cancel that arrives while the input is checked keeps the handler from being entered', async (t) => {
  const { store } = await setup(t);
  const { schema, asked, finish } = slowSchema();
  let isEntered = false;
  const enter = (): void => {
    isEntered = true;
  };
  const work = task('checked', enter, { input: schema });
  const id = await store.enqueue(work);
  store.start([work]);
  await store.clock.advance(0);
  await asked;
  await store.cancel(id);
  await store.clock.advance(5_000);
  finish();
  await store.clock.advance(0);
  const { status, startedAt } = await store.job(id);
  assert.deepEqual([status, startedAt, isEntered], ['CANCELLED', null, false]);
});

test('a drain that releases a job while its input is checked keeps the handler from being entered', async (t) => {
  const { store } = await setup(t);
  const { schema, asked, finish } = slowSchema();
  let isEntered = false;
  const enter = (): void => {
    isEntered = true;
  };
  const work = task('checked', enter, { input: schema });
  const id = await store.enqueue(work);
  // The slot of the lease is free again once its release is recorded, and then nothing is known of it.
  const { worker, heartbeats } = store.start([work]);
  await store.clock.advance(0);
  await asked;
  const drained = worker.drain({ limitMs: 0 });
  await store.clock.advance(2_000);
  await drained;
  heartbeats.enter = () => 'held';
  finish();
  await store.clock.advance(0);
  assert.deepEqual([(await store.job(id)).status, isEntered], ['PENDING', false]);
});

test('a lease that ends while the input is checked keeps the handler from being entered', async (t) => {
  const { store } = await setup(t);
  const { schema, asked, finish } = slowSchema();
  const fences: number[] = [];
  const work = task('checked', ({ fence }) => void fences.push(fence), { input: schema });
  const id = await store.enqueue(work);
  store.start([work]);
  await store.clock.advance(0);
  await asked;
  const { fence: first } = await store.job(id);
  store.clock.jump(leaseMs);
  finish();
  await store.clock.settle();
  assert.ok(!fences.includes(first), 'entered under a lease that had ended');
  await store.clock.advance(1_000);
  assert.equal((await store.job(id)).status, 'COMPLETED');
});

test('an isolated handler is not entered when the lease ended while its thread was started', async () => {
  const job = claimedJob({ type: polite.name, fence: 7 });
  const shared = createSharedLeases(leaseMs);
  createLeaseBoard(shared).add(job, systemClock.elapsed() - leaseMs);
  const { outcome, exited } = runIsolated({
    job,
    file: polite.isolateFile as string,
    shared,
    port: {
      signal: new AbortController().signal,
      refusal: () => null,
      progress() {},
      log() {},
      recall: async () => null,
      completeIn: async () => {},
      record: async (_step, result) => result,
    },
  });
  assert.deepEqual(await outcome, { kind: 'not-entered', why: 'ended' });
  await exited;
});

test('a job whose lease ended in the server is not handed to a remote worker', async (t) => {
  const { store, work } = await setup(t);
  const id = await store.enqueue(work);
  const engine = standStillAfterClaim(store, leaseMs);
  const remote = createRemoteWorkers({
    engine: async () => engine,
    clock: store.clock,
    random: store.random,
    ids: store.ids,
    leaseMs,
    heartbeatMs: 5_000,
    maxSleepMs: () => 1_000,
    closed: new AbortController().signal,
  });
  const worker = { id: 'w', tasks: [{ type: work.name }] };
  assert.deepEqual((await remote.claim({ worker })).jobs, []);
  const { status, losses } = await store.job(id);
  assert.deepEqual([status, losses], ['PENDING', 0]);
  assert.equal((await remote.claim({ worker })).jobs[0]?.id, id);
});
