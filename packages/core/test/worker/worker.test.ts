import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';
import { dulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { ClaimedJob, ClaimRequest, ExchangeInput, Settlement } from '../../src/contract/engine.ts';
import { currentJob } from '../../src/jobs/current-job.ts';
import type { ResolvedTask, TaskContext } from '../../src/jobs/task-definition.ts';
import { resolveRetry } from '../../src/lifecycle/retry.ts';
import { createReapPass } from '../../src/maintenance/reap.ts';
import { deferred, openTestStore, type TestStore, task } from './setup.ts';

async function setup(t: TestContext) {
  const store = await openTestStore();
  t.after(() => store.close());
  return store;
}

/** A handler that ends when the test says so, or when it is told to stop if it listens. */
function held({ listens = false } = {}) {
  const gates: {
    end: (value?: unknown) => void;
    fail: (error: unknown) => void;
    context: TaskContext<unknown>;
  }[] = [];
  const run = (context: TaskContext<unknown>) => {
    const { promise, resolve, reject } = deferred<unknown>();
    gates.push({ end: resolve, fail: reject, context });
    if (listens) context.signal.addEventListener('abort', () => reject(context.signal.reason));
    return promise;
  };
  return { run, gates };
}

/** The code of an aborted signal's reason; null: it is not aborted. */
function abortCode(gate: { context: TaskContext<unknown> } | undefined): string | null {
  return (gate?.context.signal.reason as { code: string } | undefined)?.code ?? null;
}

test('a job runs with its input and completes with what its handler returned', async (t) => {
  const store = await setup(t);
  const double = task('double', ({ input }) => ({ twice: (input as number) * 2 }));
  const id = await store.enqueue(double, 21);
  store.start([double]);
  await store.clock.settle();
  const job = await store.job(id);
  assert.equal(job.status, 'COMPLETED');
  assert.equal(job.result, '{"twice":42}');
  assert.equal(job.progress.percent, 100);
  assert.equal(job.spent, 1);
});

test('a handler is told everything about its attempt', async (t) => {
  const store = await setup(t);
  let seen: TaskContext<unknown> | undefined;
  let current: unknown;
  const look = task('look', (context) => {
    seen = context;
    current = currentJob();
  });
  const id = await store.enqueue(look, { a: 1 }, { metadata: '{"user":7}', priority: 3, tenant: 'acme' });
  await store.clock.advance(5_000);
  store.start([look]);
  await store.clock.settle();
  assert.partialDeepStrictEqual(seen, {
    input: { a: 1 },
    attempt: 1,
    lateness: 5_000,
    isCatchUp: false,
    slot: null,
  });
  assert.partialDeepStrictEqual(seen?.job, {
    id,
    type: 'look',
    metadata: { user: 7 },
    priority: 3,
    tenant: 'acme',
  });
  assert.deepEqual(current, { id, type: 'look', tenant: 'acme' });
  assert.equal(currentJob(), null);
});

test('a job due later starts at its instant, not before, and costs few looks', async (t) => {
  const store = await setup(t);
  const started: number[] = [];
  const later = task('later', () => started.push(store.clock.now()));
  store.start([later]);
  await store.clock.settle();
  const dueAt = store.clock.now() + 600_123;
  await store.enqueue(later, null, { due: { at: dueAt } });
  const before = store.instrumented.counts().exchange;
  await store.clock.advance(600_122);
  assert.deepEqual(started, []);
  await store.clock.advance(1);
  assert.deepEqual(started, [dueAt]);
  // One look every 30 s at most, and the one that took it.
  assert.ok(
    store.instrumented.counts().exchange - before <= 25,
    `${store.instrumented.counts().exchange - before} exchanges`,
  );
});

test('no more attempts run at once than the worker or the task allows', async (t) => {
  const store = await setup(t);
  const wide = held();
  const narrow = held();
  const wideTask = task('wide', wide.run);
  const narrowTask = task('narrow', narrow.run, { concurrency: 2 });
  await store.enqueueMany(narrowTask, 10);
  await store.enqueueMany(wideTask, 10);
  const { worker } = store.start([wideTask, narrowTask], { concurrency: 5 });
  await store.clock.settle();
  assert.deepEqual([narrow.gates.length, wide.gates.length], [2, 3]);
  assert.equal(worker.runningCount(), 5);
  narrow.gates[0]?.end();
  wide.gates[0]?.end();
  await store.clock.settle();
  assert.deepEqual([narrow.gates.length, wide.gates.length], [3, 4]);
  assert.equal(worker.runningCount(), 5);
});

test('two claims at once do not start more of a task than it allows: the rest waits a moment and goes back', async (t) => {
  const store = await setup(t);
  const narrow = held();
  const narrowTask = task('narrow', narrow.run, { concurrency: 1 });
  const { worker } = store.start([narrowTask], { concurrency: 5 });
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  // Each of them was asked for while nothing ran; the others are answers that were lost and come again.
  const ids: string[] = [];
  for (const token of [request.token, 'second', 'third']) {
    const job = store.spec(narrowTask, null);
    const reply = await store.engine.enqueue({ groups: [{ jobs: [job] }], claim: { ...request, token } });
    worker.receive({ ...request, limit: token === request.token ? request.limit : 0 }, reply.claimed);
    ids.push(job.id);
  }
  await store.clock.settle();
  assert.deepEqual([narrow.gates.length, worker.runningCount()], [1, 1]);
  narrow.gates[0]?.end();
  await store.clock.settle();
  assert.deepEqual([narrow.gates.length, worker.runningCount()], [2, 1], 'the next takes the place');
  await store.clock.advance(250);
  const { status, attempt, losses } = await store.job(ids[2] as string);
  assert.deepEqual([status, attempt, losses], ['PENDING', 0, 0]);
});

test('a backlog of 5,000 short jobs is drained in far fewer exchanges than places would need', async (t) => {
  const store = await setup(t);
  const short = task('short', () => null);
  await store.enqueueMany(short, 5_000);
  let exchanges = 0;
  const { worker } = store.start([short], {
    concurrency: 20,
    engine: {
      ...store.engine,
      // Answers in a later turn of the event loop, as a store behind a thread or a socket does.
      async exchange(input) {
        exchanges++;
        const reply = await store.engine.exchange(input);
        await new Promise((resolve) => setImmediate(resolve));
        return reply;
      },
    },
  });
  await worker.events.next('idle');
  const { status } = await store.engine.counts({ cap: 10_000 });
  assert.equal(status.COMPLETED.count, 5_000);
  assert.ok(exchanges < 25, `${exchanges} exchanges; 20 at a time would be 250`);
});

/** A store that works on several exchanges at once, each answered in a later turn of the event loop. */
function parallel(store: TestStore, onExchange: (input: ExchangeInput, atOnce: number) => void = () => {}) {
  let atOnce = 0;
  return {
    ...store.engine,
    info: () => ({ ...store.engine.info(), isParallel: true }),
    async exchange(input: ExchangeInput) {
      onExchange(input, ++atOnce);
      try {
        const reply = await store.engine.exchange(input);
        await new Promise((resolve) => setImmediate(resolve));
        return reply;
      } finally {
        atOnce--;
      }
    },
  };
}

test('a backlog goes through two exchanges at once where the store works on several, and idle is told when both are back', async (t) => {
  const store = await setup(t);
  const short = task('short', () => null);
  await store.enqueueMany(short, 20_000);
  let most = 0;
  let onTheirWay = 0;
  const engine = parallel(store, (_, atOnce) => {
    most = Math.max(most, atOnce);
  });
  const { exchange } = engine;
  engine.exchange = async (input) => {
    onTheirWay++;
    const reply = await exchange(input);
    onTheirWay--;
    return reply;
  };
  const { worker } = store.start([short], { engine });
  await worker.events.next('idle');
  assert.equal(onTheirWay, 0);
  assert.equal(most, 2);
  assert.equal((await store.engine.counts({ cap: 100_000 })).status.COMPLETED.count, 20_000);
  // With little to do there is one way again.
  most = 0;
  await store.enqueueMany(short, 30);
  worker.wake();
  await worker.events.next('idle');
  assert.equal(most, 1);
});

test('a job that falls due while an exchange is on its way is asked for beside it', async (t) => {
  const store = await setup(t);
  const started: string[] = [];
  const short = task('short', ({ job }) => void started.push(job.id));
  const first = await store.enqueue(short);
  const second = await store.enqueue(short, null, { due: { inMs: 10 } });
  const last = await store.enqueue(short, null, { due: { inMs: 30 } });
  const calls: ExchangeInput[] = [];
  const held = deferred<void>();
  const engine = parallel(store, (input) => calls.push(input));
  const { exchange } = engine;
  engine.exchange = async (input) => {
    const reply = await exchange(input);
    // The disk takes its time with the first outcome.
    if (input.settle.some(({ id }) => id === first)) await held.promise;
    return reply;
  };
  const { worker } = store.start([short], { engine });
  await store.clock.settle();
  assert.deepEqual(started, [first]);
  await store.clock.advance(9);
  assert.deepEqual(started, [first], 'and not before its time');
  await store.clock.advance(1);
  assert.deepEqual(started, [first, second]);
  held.resolve();
  await store.clock.settle();
  const before = calls.length;
  await store.clock.advance(19);
  assert.equal(calls.length, before, 'the older answer, which saw it coming, makes nobody ask again');
  await store.clock.advance(1);
  assert.deepEqual(started, [first, second, last]);
  assert.equal(worker.isIdle(), true);
  for (const id of started) assert.equal((await store.job(id)).status, 'COMPLETED');
});

test('with two exchanges at once, answers that are lost and settlements that are refused cost nobody else anything', async (t) => {
  const store = await setup(t);
  const ran = new Map<string, number>();
  const work = task('work', ({ job }) => void ran.set(job.id, (ran.get(job.id) ?? 0) + 1));
  const ids = await store.enqueueMany(work, 8_000);
  const refused = new Set([ids[50], ids[3_500], ids[7_000]]);
  const random = seededRandom(5);
  const engine = parallel(store);
  const { exchange } = engine;
  let mistakes = 8;
  engine.exchange = async (input) => {
    if (input.settle.some(({ id }) => refused.has(id)))
      throw dulyError('internal', { message: 'cannot be written' });
    const reply = await exchange(input);
    if (random.next() < 0.5 && mistakes-- > 0) throw dulyError('store_unavailable', { message: 'no reply' });
    return reply;
  };
  const { worker } = store.start([work], { engine });
  const lost = new Set<string>();
  worker.events.on('lost', ({ job }) => lost.add(job.id));
  const isDone = async () => (await store.engine.counts({ cap: 10_000 })).status.COMPLETED.count === 7_997;
  // Refused settlements are looked for one by one, each in a turn of the event loop.
  for (let turn = 0; turn < 60_000 && !(await isDone()); turn++) {
    for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
    await store.clock.advance(20);
  }
  assert.ok(await isDone());
  assert.deepEqual(lost, refused);
  assert.ok([...ran.values()].every((count) => count === 1));
  assert.equal(ran.size, 8_000);
});

test('jobs claimed at an outdated throughput are returned unspent after a quarter of a second', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  let isFast = true;
  const changing = task('changing', (context) => (isFast ? null : run(context)));
  await store.enqueueMany(changing, 300);
  const { worker } = store.start([changing], { concurrency: 2 });
  const released: Settlement[] = [];
  worker.events.on('settled', ({ settlement }) => {
    if (settlement.reason === 'released') released.push(settlement);
  });
  let count = 0;
  worker.events.on('settled', () => {
    if (++count === 100) isFast = false;
  });
  await store.clock.advance(249);
  assert.equal(gates.length, 2);
  assert.equal(released.length, 0);
  await store.clock.advance(10);
  assert.ok(released.length > 0, 'some were taken ahead');
  for (const settlement of released) {
    assert.partialDeepStrictEqual(settlement, { to: 'PENDING', spends: false, started: false });
  }
  const { jobs } = await store.engine.get({ ids: [released[0]?.id as string] });
  assert.partialDeepStrictEqual(jobs[0], { status: 'PENDING', attempt: 0, spent: 0 });
  isFast = true;
  for (const { end } of gates) end();
  await store.clock.advance(1_000);
  assert.equal((await store.engine.counts({ cap: 1_000 })).status.COMPLETED.count, 300);
});

test('a failing job is tried again after its backoff and ends as a dead letter', async (t) => {
  const store = await setup(t);
  const instants: number[] = [];
  const failing = task(
    'failing',
    () => {
      instants.push(store.clock.now());
      throw new TypeError('no such host', { cause: new Error('dns') });
    },
    { retry: resolveRetry({ attempts: 3, delay: '10s', jitter: 0 }) },
  );
  const id = await store.enqueue(failing);
  const { worker } = store.start([failing]);
  const statuses: string[] = [];
  worker.events.on('failed', ({ status }) => statuses.push(status));
  await store.clock.advance(60_000);
  const [first = 0] = instants;
  assert.deepEqual(
    instants.map((at) => at - first),
    [0, 10_000, 30_000],
  );
  assert.deepEqual(statuses, ['RETRYING', 'RETRYING', 'FAILED']);
  const job = await store.job(id);
  assert.partialDeepStrictEqual(job, { status: 'FAILED', reason: 'threw', dead: true, spent: 3, attempt: 3 });
  assert.partialDeepStrictEqual(job.error, {
    name: 'TypeError',
    message: 'no such host',
    cause: { message: 'dns' },
  });
  assert.equal(job.attempts.length, 3);
});

test('retryIn, retryAt and snooze decide when, and snooze spends nothing', async (t) => {
  const store = await setup(t);
  const t0 = store.clock.now();
  const instants: [number, number][] = [];
  const asking = task('asking', ({ attempt, retryIn, retryAt, snooze }) => {
    instants.push([attempt, store.clock.now() - t0]);
    if (attempt === 1) snooze('1h');
    if (attempt === 2) retryIn('2h', 'not there yet');
    if (attempt === 3) retryAt(t0 + 6 * 3_600_000);
    return 'done';
  });
  const id = await store.enqueue(asking);
  const { worker } = store.start([asking]);
  const reasons: string[] = [];
  worker.events.on('settled', ({ settlement }) => reasons.push(`${settlement.reason} ${settlement.to}`));
  await store.clock.advance(7 * 3_600_000);
  assert.deepEqual(instants, [
    [1, 0],
    [2, 3_600_000],
    [3, 3 * 3_600_000],
    [4, 6 * 3_600_000],
  ]);
  assert.deepEqual(reasons, [
    'snoozed SCHEDULED',
    'retry-asked RETRYING',
    'retry-asked RETRYING',
    'returned COMPLETED',
  ]);
  const job = await store.job(id);
  assert.equal(job.spent, 3);
  assert.equal(job.attempts[1]?.error?.message, 'not there yet');
});

test('retryIn on the last attempt is a dead letter that keeps the reason', async (t) => {
  const store = await setup(t);
  const asking = task('asking', ({ retryIn }) => retryIn('1m', 'still locked'), { retry: resolveRetry(1) });
  const id = await store.enqueue(asking);
  store.start([asking]);
  await store.clock.settle();
  const job = await store.job(id);
  assert.partialDeepStrictEqual(job, { status: 'FAILED', reason: 'retry-asked', dead: true });
  assert.equal(job.error?.message, 'still locked');
});

test('a handler that throws undefined fails with a clear error', async (t) => {
  const store = await setup(t);
  const nothing = task(
    'nothing',
    () => {
      throw undefined;
    },
    { retry: resolveRetry(1) },
  );
  const id = await store.enqueue(nothing);
  store.start([nothing]);
  await store.clock.settle();
  const job = await store.job(id);
  assert.equal(job.status, 'FAILED');
  assert.equal(job.error?.code, 'handler_threw_nullish');
});

test('a result that is no JSON fails the job at once, and says where', async (t) => {
  const store = await setup(t);
  const bigint = task('bigint', () => ({ total: 10n }));
  const id = await store.enqueue(bigint);
  store.start([bigint]);
  await store.clock.settle();
  const job = await store.job(id);
  assert.partialDeepStrictEqual(job, { status: 'FAILED', reason: 'result-refused', spent: 1 });
  assert.equal(job.error?.code, 'result_not_json');
  assert.match(job.error?.message ?? '', /"total"/);
});

test('an input that no longer fits its schema fails the job without running or retrying it', async (t) => {
  const store = await setup(t);
  let ran = false;
  const strict = task(
    'strict',
    () => {
      ran = true;
    },
    { input: z.object({ url: z.string() }) },
  );
  const id = await store.enqueue(strict, { url: 5 });
  store.start([strict]);
  await store.clock.settle();
  const job = await store.job(id);
  assert.partialDeepStrictEqual(job, { status: 'FAILED', reason: 'input-refused' });
  assert.equal(job.error?.code, 'invalid_input');
  assert.equal(ran, false);
});

test('jobs of a newer version wait for a worker that has it', async (t) => {
  const store = await setup(t);
  const oldTask = task('versioned', () => 'old');
  const newTask = task('versioned', () => 'new', { version: 2 });
  const id = await store.enqueue(newTask);
  store.start([oldTask]);
  await store.clock.advance(10_000);
  assert.equal((await store.job(id)).status, 'PENDING');
  store.start([newTask]);
  await store.clock.settle();
  assert.equal((await store.job(id)).result, '"new"');
});

test('a handler that ends when its timeout aborts it is tried again', async (t) => {
  const store = await setup(t);
  const { run, gates } = held({ listens: true });
  const slow = task('slow', run, { timeoutMs: 60_000 });
  const id = await store.enqueue(slow);
  store.start([slow]);
  await store.clock.advance(59_999);
  assert.equal(gates[0]?.context.signal.aborted, false);
  await store.clock.advance(1);
  assert.equal(abortCode(gates[0]), 'timeout');
  const job = await store.job(id);
  assert.partialDeepStrictEqual(job, { status: 'RETRYING', reason: 'timeout', spent: 1 });
  assert.equal(job.error?.code, 'timeout');
});

test('a handler that still returns within the grace completes', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const slow = task('slow', run, { timeoutMs: 60_000, graceMs: 10_000 });
  const id = await store.enqueue(slow);
  store.start([slow]);
  await store.clock.advance(69_000);
  gates[0]?.end('just in time');
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'COMPLETED');
});

test('a handler that ignores its timeout is failed after the grace, keeps its place, and is heard no more', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const disconnected = task('disconnected', run, {
    timeoutMs: 60_000,
    graceMs: 10_000,
    retry: resolveRetry(1),
  });
  const ids = await store.enqueueMany(disconnected, 3);
  const { worker } = store.start([disconnected], { concurrency: 2 });
  await store.clock.advance(69_999);
  assert.equal((await store.job(ids[0] as string)).status, 'RUNNING');
  await store.clock.advance(1);
  assert.partialDeepStrictEqual(await store.job(ids[0] as string), { status: 'FAILED', reason: 'timeout' });
  assert.equal(worker.runningCount(), 2);
  assert.match(worker.notReady() ?? '', /All 2 concurrency slots/);
  assert.equal((await store.job(ids[2] as string)).status, 'PENDING');
  await store.clock.advance(600_000);
  assert.equal((await store.job(ids[2] as string)).status, 'PENDING', 'nothing is claimed');

  await assert.rejects(gates[0]?.context.progress(50) as Promise<void>, { code: 'lease_lost' });
  gates[0]?.end('too late');
  await store.clock.settle();
  assert.equal((await store.job(ids[0] as string)).result, null);
  assert.equal(worker.notReady(), null);
  assert.equal((await store.job(ids[2] as string)).status, 'RUNNING', 'the freed place is used');
});

test('a cancelled handler that throws is CANCELLED, told at once by the notification', async (t) => {
  const store = await setup(t);
  const { run, gates } = held({ listens: true });
  const long = task('long', run);
  const id = await store.enqueue(long);
  store.start([long]);
  await store.clock.settle();
  await store.cancel(id);
  await store.clock.advance(10);
  assert.equal(abortCode(gates[0]), 'cancelled');
  assert.equal((await store.job(id)).status, 'CANCELLED');
});

test('without the notification a cancel reaches the handler with the next heartbeat', async (t) => {
  const store = await setup(t);
  const { run, gates } = held({ listens: true });
  const long = task('long', run);
  const id = await store.enqueue(long);
  store.start([long], { engine: { ...store.engine, subscribe: () => () => {} } });
  await store.clock.advance(1_000);
  await store.cancel(id);
  await store.clock.advance(3_999);
  assert.equal(gates[0]?.context.signal.aborted, false);
  await store.clock.advance(1);
  assert.equal(gates[0]?.context.signal.aborted, true);
  assert.equal((await store.job(id)).status, 'CANCELLED');
});

test('a cancelled handler that still returns is COMPLETED', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const long = task('long', run);
  const id = await store.enqueue(long);
  store.start([long]);
  await store.clock.settle();
  await store.cancel(id);
  await store.clock.advance(29_000);
  gates[0]?.end('made it');
  await store.clock.settle();
  assert.partialDeepStrictEqual(await store.job(id), { status: 'COMPLETED', result: '"made it"' });
});

test('a cancelled handler that does not end is CANCELLED after the grace and its later return is dropped', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const long = task('long', run);
  const id = await store.enqueue(long);
  const { worker } = store.start([long]);
  await store.clock.settle();
  await store.cancel(id);
  await store.clock.advance(10);
  await store.clock.advance(29_980);
  assert.equal((await store.job(id)).status, 'RUNNING');
  await store.clock.advance(20);
  assert.equal((await store.job(id)).status, 'CANCELLED');
  assert.equal(worker.runningCount(), 1);
  gates[0]?.end('too late');
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'CANCELLED');
  assert.equal(worker.runningCount(), 0);
});

test('a cancel within the grace of a timeout makes it no longer, and the job is CANCELLED', async (t) => {
  const store = await setup(t);
  const { run } = held();
  const disconnected = task('disconnected', run, { timeoutMs: 60_000, graceMs: 10_000 });
  const id = await store.enqueue(disconnected);
  store.start([disconnected]);
  await store.clock.advance(65_000);
  await store.cancel(id);
  await store.clock.advance(4_999);
  assert.equal((await store.job(id)).status, 'RUNNING');
  await store.clock.advance(1);
  assert.equal((await store.job(id)).status, 'CANCELLED');
});

test('a worker that was paused past its lease settles nothing: the next worker did', async (t) => {
  const store = await setup(t);
  const first = held();
  const paused = task('work', first.run);
  const id = await store.enqueue(paused);
  const { worker, freeze, thaw } = store.start([paused]);
  await store.clock.settle();
  freeze();
  store.startReaping();
  await store.clock.advance(35_000);
  assert.partialDeepStrictEqual(await store.job(id), { losses: 1, spent: 0 });
  const second = held();
  const { worker: other } = store.start([task('work', second.run)]);
  await store.clock.settle();
  const fences = [first.gates[0]?.context.fence, second.gates[0]?.context.fence] as number[];
  assert.ok((fences[0] as number) < (fences[1] as number), `the fence grew: ${fences}`);

  // Its handler ends first, then it hears how it stands with the lease.
  const lost = worker.events.next('lost');
  first.gates[0]?.end('stale');
  await store.clock.settle();
  thaw();
  await store.clock.settle();
  assert.equal((await lost).settlement?.to, 'COMPLETED');
  assert.equal((await store.job(id)).status, 'RUNNING');
  const settled = other.events.next('settled');
  second.gates[0]?.end('fresh');
  await store.clock.settle();
  assert.equal((await settled).status, 'COMPLETED');
  assert.equal((await store.job(id)).result, '"fresh"');
});

test('a handler whose lease was taken over is told with the next heartbeat and its outcome is not sent', async (t) => {
  const store = await setup(t);
  const { run, gates } = held({ listens: true });
  const work = task('work', run);
  await store.enqueue(work);
  let isCut = false;
  const { worker } = store.start([work], {
    engine: {
      ...store.engine,
      heartbeat(input) {
        if (isCut) throw dulyError('store_unavailable', { message: 'cut off' });
        return store.engine.heartbeat(input);
      },
    },
  });
  await store.clock.settle();
  store.startReaping();
  isCut = true;
  const lost = worker.events.next('lost');
  await store.clock.advance(35_000);
  assert.equal((await lost).settlement, null);
  assert.equal(abortCode(gates[0]), 'lost');
});

test('a handler that returns after its lease seemed lost is recorded, if no other node took the lease over', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const work = task('work', run);
  const id = await store.enqueue(work);
  let isAway = false;
  const away = dulyError('store_unavailable', { message: 'away' });
  const { worker } = store.start([work], {
    engine: {
      ...store.engine,
      heartbeat: (input) => (isAway ? Promise.reject(away) : store.engine.heartbeat(input)),
      exchange: (input) => (isAway ? Promise.reject(away) : store.engine.exchange(input)),
    },
  });
  let lostCount = 0;
  worker.events.on('lost', () => lostCount++);
  await store.clock.settle();
  isAway = true;
  await store.clock.advance(60_000);
  assert.equal(abortCode(gates[0]), 'lost');
  gates[0]?.end('done');
  await store.clock.advance(5_000);
  isAway = false;
  await store.clock.advance(5_000);
  assert.partialDeepStrictEqual(await store.job(id), { status: 'COMPLETED', losses: 0, result: '"done"' });
  assert.equal(lostCount, 0);
});

test('a handler that throws after its lease seemed lost is left to the node that takes the lease over', async (t) => {
  const store = await setup(t);
  const { run } = held({ listens: true });
  const work = task('work', run);
  const id = await store.enqueue(work);
  let isAway = false;
  const away = dulyError('store_unavailable', { message: 'away' });
  const { worker } = store.start([work], {
    engine: {
      ...store.engine,
      heartbeat: (input) => (isAway ? Promise.reject(away) : store.engine.heartbeat(input)),
    },
  });
  await store.clock.settle();
  isAway = true;
  const lost = worker.events.next('lost');
  await store.clock.advance(60_000);
  assert.equal((await lost).settlement, null);
  assert.partialDeepStrictEqual(await store.job(id), { status: 'RUNNING', spent: 0 });
});

test('a long attempt keeps its lease by its heartbeats', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const long = task('long', run, { timeoutMs: 7_200_000 });
  const id = await store.enqueue(long);
  store.start([long]);
  store.startReaping();
  await store.clock.advance(3_600_000);
  gates[0]?.end('after an hour');
  await store.clock.settle();
  assert.partialDeepStrictEqual(await store.job(id), { status: 'COMPLETED', losses: 0, attempt: 1 });
});

test('the beginning of an at-most-once attempt is written before its handler is entered', async (t) => {
  const store = await setup(t);
  let begunAt: number | null | undefined;
  const careful = task(
    'careful',
    async ({ job }) => {
      begunAt = (await store.job(job.id)).attempts.at(-1)?.begunAt;
    },
    { delivery: 'at-most-once' },
  );
  const id = await store.enqueue(careful);
  store.start([careful]);
  await store.clock.settle();
  assert.equal(begunAt, store.clock.now());
  assert.equal((await store.job(id)).status, 'COMPLETED');
});

test('an attempt whose beginning cannot be written is not run and goes back unspent', async (t) => {
  const store = await setup(t);
  let entered = 0;
  let isAway = true;
  const careful = task('careful', () => void entered++, { delivery: 'at-most-once' });
  const id = await store.enqueue(careful);
  store.start([careful], {
    engine: {
      ...store.engine,
      heartbeat(input) {
        if (isAway) throw dulyError('store_unavailable', { message: 'away' });
        return store.engine.heartbeat(input);
      },
    },
  });
  await store.clock.advance(5_000);
  assert.equal(entered, 0);
  isAway = false;
  await store.clock.advance(10_000);
  assert.equal(entered, 1);
  assert.partialDeepStrictEqual(await store.job(id), { status: 'COMPLETED', attempt: 1, spent: 1 });
});

test('a poison job ends FAILED after losses with a written beginning', async (t) => {
  const store = await setup(t);
  const poison = task('poison', () => new Promise(() => {}));
  const id = await store.enqueue(poison);
  store.startReaping();
  for (let i = 0; i < 8 && (await store.job(id)).status !== 'FAILED'; i++) {
    // A process that takes it, runs it and dies of it.
    const { worker, freeze } = store.start([poison]);
    await worker.events.next('started');
    freeze();
    await store.clock.advance(36_000);
  }
  const job = await store.job(id);
  assert.partialDeepStrictEqual(job, {
    status: 'FAILED',
    reason: 'lost',
    spent: 0,
    losses: 4,
    begunLosses: 3,
  });
  assert.equal(job.error?.code, 'lost');
});

/** A job that its process did not survive twice: the next time it must be alone there. */
async function createSuspect(store: Awaited<ReturnType<typeof setup>>, of: ResolvedTask): Promise<string> {
  const id = await store.enqueue(of);
  const reap = createReapPass({ engine: store.engine, node: 'reaper' });
  for (let i = 0; i < 2; i++) {
    const claim = {
      token: `dies-${i}`,
      node: 'dead',
      tasks: [{ type: of.name, version: 1, limit: 1 }],
      queues: null,
      limit: 1,
      leaseMs: 30_000,
      idle: true,
    };
    const { claimed } = await store.engine.exchange({ settle: [], claim });
    const leases = claimed.map((job) => ({ id: job.id, fence: job.fence, begun: true }));
    await store.engine.heartbeat({ node: 'dead', leaseMs: 30_000, leases });
    await store.clock.advance(30_000);
    await reap();
  }
  assert.equal((await store.job(id)).begunLosses, 2);
  return id;
}

test('while a job runs that must be alone in its process, nothing else starts beside it', async (t) => {
  const store = await setup(t);
  const other = held();
  const suspect = held();
  const otherTask = task('other', other.run);
  const suspectTask = task('suspect', suspect.run);
  const id = await createSuspect(store, suspectTask);
  await store.enqueueMany(otherTask, 5);
  const { worker } = store.start([otherTask, suspectTask]);
  await store.clock.advance(5_000);
  assert.equal((await store.job(id)).status, 'RUNNING');
  assert.equal(worker.runningCount(), 1);
  assert.equal(worker.request(), null);
  suspect.gates[0]?.end('innocent');
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'COMPLETED');
  assert.equal(other.gates.length, 5);
});

test('a job that must be alone waits while others run; after 30 s no other work is taken until it ran', async (t) => {
  const store = await setup(t);
  const other = held();
  const suspect = held();
  const otherTask = task('other', other.run);
  const suspectTask = task('suspect', suspect.run);
  const id = await createSuspect(store, suspectTask);
  await store.enqueue(otherTask);
  const tasks = new Map([[otherTask.name, otherTask]]);
  const { worker } = store.start([], { tasks, maxSleepMs: () => 1_000 });
  await store.clock.settle();
  assert.equal(other.gates.length, 1);
  // Only from now on does this worker know the task of the job that must be alone.
  tasks.set(suspectTask.name, suspectTask);
  await store.enqueue(otherTask);
  await store.clock.advance(5_000);
  assert.equal(other.gates.length, 2, 'other work goes on at first');
  await store.clock.advance(30_000);
  await store.enqueue(otherTask);
  await store.clock.advance(5_000);
  assert.equal(other.gates.length, 2, 'and then no longer');
  other.gates[0]?.end();
  await store.clock.advance(5_000);
  assert.equal((await store.job(id)).status, 'RETRYING');
  other.gates[1]?.end();
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'RUNNING');
  assert.equal(worker.runningCount(), 1);
  suspect.gates[0]?.end();
  await store.clock.settle();
  assert.equal(other.gates.length, 3);
});

test('drain lets running attempts finish and takes nothing new', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const work = task('work', run);
  const ids = await store.enqueueMany(work, 3);
  const { worker } = store.start([work], { concurrency: 2 });
  await store.clock.settle();
  const drained = worker.drain({ limitMs: 30_000 });
  await store.clock.advance(10_000);
  for (const { end } of gates) end('done');
  await drained;
  const statuses = await Promise.all(ids.map(async (id) => (await store.job(id)).status));
  assert.deepEqual(statuses, ['COMPLETED', 'COMPLETED', 'PENDING']);
});

test('a drain that is hurried aborts and gives back what is left without waiting for its limit', async (t) => {
  const store = await setup(t);
  const disconnected = held();
  const disconnectedTask = task('disconnected', disconnected.run);
  const id = await store.enqueue(disconnectedTask);
  const { worker } = store.start([disconnectedTask]);
  await store.clock.settle();
  const drained = worker.drain({ limitMs: 30_000 });
  await store.clock.advance(100);
  assert.equal(disconnected.gates[0]?.context.signal.aborted, false);
  worker.abortDrain();
  await store.clock.settle();
  assert.equal(abortCode(disconnected.gates[0]), 'shutdown');
  await store.clock.advance(1_000);
  await drained;
  assert.partialDeepStrictEqual(await store.job(id), { status: 'PENDING', reason: 'released', spent: 0 });
});

test('after the limit a drain aborts what is left and gives it back unspent', async (t) => {
  const store = await setup(t);
  const polite = held({ listens: true });
  const disconnected = held();
  const politeTask = task('polite', polite.run);
  const disconnectedTask = task('disconnected', disconnected.run);
  const ids = [await store.enqueue(politeTask), await store.enqueue(disconnectedTask)];
  const { worker } = store.start([politeTask, disconnectedTask]);
  await store.clock.settle();
  const drained = worker.drain({ limitMs: 30_000 });
  // Longer than a lease: the heartbeats go on to the end.
  store.startReaping();
  await store.clock.advance(29_999);
  assert.equal(polite.gates[0]?.context.signal.aborted, false);
  await store.clock.advance(1);
  assert.equal(abortCode(polite.gates[0]), 'shutdown');
  await store.clock.advance(1_000);
  await drained;
  for (const id of ids) {
    assert.partialDeepStrictEqual(await store.job(id), {
      status: 'PENDING',
      reason: 'released',
      spent: 0,
      losses: 0,
    });
  }
});

test('an at-most-once attempt that does not end in a drain is never started again', async (t) => {
  const store = await setup(t);
  const { run } = held();
  const careful = task('careful', run, { delivery: 'at-most-once' });
  const id = await store.enqueue(careful);
  const { worker } = store.start([careful]);
  await store.clock.settle();
  const drained = worker.drain({ limitMs: 1_000 });
  await store.clock.advance(2_000);
  await drained;
  assert.partialDeepStrictEqual(await store.job(id), { status: 'FAILED', reason: 'released' });
});

test('once runs a step until its result is recorded, then never again for this job', async (t) => {
  const store = await setup(t);
  let charges = 0;
  const results: unknown[] = [];
  const pay = task('pay', async ({ once, attempt }) => {
    const [a, b] = await Promise.all([
      once('charge', () => ({ charge: ++charges })),
      once('charge', () => ({ charge: ++charges })),
    ]);
    results.push(a, b);
    if (attempt === 1) throw new Error('after the charge');
    await assert.rejects(
      once('', () => 1),
      { code: 'invalid_option' },
    );
  });
  const id = await store.enqueue(pay);
  store.start([pay]);
  await store.clock.advance(10_000);
  assert.equal((await store.job(id)).status, 'COMPLETED');
  assert.equal(charges, 1);
  assert.deepEqual(results, Array(4).fill({ charge: 1 }));
});

test('an exchange whose answer was lost is repeated: no job is lost, none runs twice', async (t) => {
  const store = await setup(t);
  let runs = 0;
  let lossesLeft = 6;
  const work = task('work', () => void runs++);
  await store.enqueueMany(work, 50);
  const { worker } = store.start([work], {
    concurrency: 7,
    engine: {
      ...store.engine,
      async exchange(input) {
        const reply = await store.engine.exchange(input);
        if (lossesLeft > 0 && lossesLeft-- % 2 === 0)
          throw dulyError('store_unavailable', { message: 'no reply' });
        return reply;
      },
    },
  });
  const lost: ClaimedJob[] = [];
  worker.events.on('lost', ({ job }) => lost.push(job));
  await store.clock.advance(20_000);
  assert.equal(runs, 50);
  assert.deepEqual(lost, []);
  assert.equal((await store.engine.counts({ cap: 100 })).status.COMPLETED.count, 50);
});

for (const { leaseMs, waitMsMax } of [
  { leaseMs: 1_200, waitMsMax: 200 },
  { leaseMs: 6_000, waitMsMax: 500 },
  { leaseMs: 30_000, waitMsMax: 500 },
]) {
  test(`while the store is away, a worker with a lease of ${leaseMs} ms asks it again within ${waitMsMax} ms`, async (t) => {
    const store = await setup(t);
    const sentAt: number[] = [];
    store.start([task('work', () => {})], {
      leaseMs,
      engine: {
        ...store.engine,
        async exchange() {
          sentAt.push(store.clock.now());
          throw dulyError('store_unavailable', { message: 'away' });
        },
      },
    });
    await store.clock.advance(20_000);
    const waits = sentAt.slice(1).map((at, i) => at - (sentAt[i] as number));
    assert.ok(waits.length >= 20, `${waits.length} repeats`);
    assert.ok(Math.max(...waits) <= waitMsMax, `waited ${Math.max(...waits)} ms`);
    const last = waits.slice(-10).reduce((sum, ms) => sum + ms, 0);
    assert.ok(last > (waitMsMax / 2) * 10, `${last} ms for the last ten: a broken store is asked too often`);
  });
}

test('a settlement that the store refuses does not hold up the others', async (t) => {
  const store = await setup(t);
  const work = task('work', ({ input }) => input);
  const ids = await store.enqueueMany(work, 10);
  const { worker } = store.start([work], {
    engine: {
      ...store.engine,
      exchange(input) {
        if (input.settle.some(({ id }) => id === ids[4])) {
          throw dulyError('internal', { message: 'this one cannot be written' });
        }
        return store.engine.exchange(input);
      },
    },
  });
  const lost = worker.events.next('lost');
  await store.clock.advance(20_000);
  assert.equal((await lost).job.id, ids[4]);
  assert.equal((await store.engine.counts({ cap: 100 })).status.COMPLETED.count, 9);
});

test('free capacity is requested with an enqueue, and what it claims starts at once', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'quick');
  const { worker } = store.start([work]);
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  assert.equal(worker.request(), null, 'places are promised once');
  const job = store.spec(work, null);
  const started = worker.events.next('started');
  const reply = await store.engine.enqueue({ groups: [{ jobs: [job] }], claim: request });
  assert.equal(reply.claimed[0]?.id, job.id, 'one commit brought it here');
  worker.receive(request, reply.claimed);
  assert.equal((await started).job.id, job.id);
  await store.clock.settle();
  assert.equal((await store.job(job.id)).status, 'COMPLETED');
});

test('as many as could run in a moment are requested even while an exchange asks for the places', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'quick');
  const gate = deferred<void>();
  let isHeld = false;
  const { worker } = store.start([work], {
    engine: {
      ...store.engine,
      async exchange(input) {
        if (isHeld) await gate.promise;
        return store.engine.exchange(input);
      },
    },
  });
  const jobs = Array.from({ length: 60 }, () => store.spec(work, null));
  await store.engine.enqueue({ groups: [{ jobs }] });
  await store.clock.settle();
  assert.equal((await store.engine.counts({ cap: 100 })).status.COMPLETED.count, 60);
  isHeld = true;
  worker.wake();
  await store.clock.settle();
  const request = worker.request();
  assert.equal(request?.limit, 2_000, 'which the exchange has been promised too; 60 ran in no time');
  assert.equal(worker.request(), null, 'but to one call only');
  worker.receive(request as ClaimRequest, []);
  await store.clock.advance(1_001);
  assert.equal(worker.request(), null, 'nothing ran lately');
  gate.resolve();
  await store.clock.settle();
  assert.equal(worker.request()?.limit, 20, 'and the places are free again');
});

test('a worker whose outcomes cannot be recorded takes no more work, also with calls that create jobs', async (t) => {
  const store = await setup(t);
  const gate = held();
  const work = task('work', gate.run);
  const { worker, freeze, thaw } = store.start([work], { concurrency: 4 });
  const id = await store.enqueue(work);
  await store.clock.settle();
  freeze();
  gate.gates[0]?.end();
  await store.clock.advance(1_000);
  assert.equal(worker.unrecordedCount(), 1);
  assert.equal(worker.notReady(), null, 'an exchange may take a moment');
  await store.clock.advance(1_500);
  assert.equal(worker.request(), null);
  assert.match(worker.notReady() as string, /wait to be recorded/);
  thaw();
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'COMPLETED');
  assert.equal(worker.unrecordedCount(), 0);
  assert.equal(worker.notReady(), null);
  assert.ok(worker.request());
});

test('a worker with thousands of unrecorded outcomes takes no more work, however new they are', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'quick');
  const { worker, freeze, thaw } = store.start([work]);
  await store.clock.settle();
  freeze();
  let takenCount = 0;
  for (;;) {
    const request = worker.request();
    if (request === null) break;
    const jobs = Array.from({ length: request.limit }, () => store.spec(work, null));
    const { claimed } = await store.engine.enqueue({ groups: [{ jobs }], claim: request });
    worker.receive(request, claimed);
    takenCount += claimed.length;
    await store.clock.settle();
  }
  assert.match(worker.notReady() as string, /wait to be recorded/);
  assert.ok(takenCount <= 10_000, `${takenCount} were taken`);
  thaw();
  await store.clock.advance(1_000);
  assert.equal(worker.unrecordedCount(), 0);
  const { status } = await store.engine.counts({ cap: 20_000 });
  assert.equal(status.COMPLETED.count, takenCount);
});

test('a request whose answer was lost is asked for again: its jobs start at once, and once', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'quick');
  const { worker } = store.start([work]);
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  const job = store.spec(work, null);
  // It took effect, and nobody heard.
  await store.engine.enqueue({ groups: [{ jobs: [job] }], claim: request });
  worker.receive(request, 'unknown');
  await store.clock.settle();
  const { status, attempt, losses } = await store.job(job.id);
  assert.deepEqual([status, attempt, losses], ['COMPLETED', 1, 0]);
  assert.ok(worker.request(), 'the places that were promised are free again');
});

test('a request whose answer was lost while an exchange waited to be repeated is asked for right after that', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'quick');
  const { run, gates } = held();
  const slow = task('slow', run);
  let isLost = false;
  const engine = {
    ...store.engine,
    async exchange(input: ExchangeInput) {
      const reply = await store.engine.exchange(input);
      if (!isLost) return reply;
      isLost = false;
      throw dulyError('store_unavailable', { message: 'The answer was lost.', hint: '-' });
    },
  };
  const { worker } = store.start([work, slow], { engine, concurrency: 2 });
  await store.enqueue(slow);
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  isLost = true;
  gates[0]?.end();
  await store.clock.settle();
  assert.equal(isLost, false, 'the outcome was sent, and its answer was lost');
  const job = store.spec(work, null);
  await store.engine.enqueue({ groups: [{ jobs: [job] }], claim: request });
  worker.receive(request, 'unknown');
  await store.clock.advance(100);
  const { status, attempt, losses } = await store.job(job.id);
  assert.deepEqual([status, attempt, losses], ['COMPLETED', 1, 0]);
});

test('a worker that drains asks for the leases of a call whose replies were all lost, and releases them', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'quick');
  const { worker } = store.start([work]);
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  const job = store.spec(work, null);
  await store.engine.enqueue({ groups: [{ jobs: [job] }], claim: request });
  worker.receive(request, []);
  const drained = worker.drain({ limitMs: 1_000 });
  worker.receive({ ...request, limit: 0 }, 'unknown');
  await store.clock.advance(1_000);
  await drained;
  const { status, losses, spent } = await store.job(job.id);
  assert.deepEqual([status, losses, spent], ['PENDING', 0, 0]);
});

test('outcomes do not wait behind the leases of lost calls', async (t) => {
  const store = await setup(t);
  const { run, gates } = held();
  const slow = task('slow', run);
  const exchanges: ExchangeInput[] = [];
  const engine = {
    ...store.engine,
    exchange(input: ExchangeInput) {
      exchanges.push(input);
      return store.engine.exchange(input);
    },
  };
  const { worker } = store.start([slow], { engine, concurrency: 4 });
  await store.enqueue(slow);
  await store.clock.settle();
  const requests = [worker.request(), worker.request()];
  exchanges.length = 0;
  for (const request of requests) if (request !== null) worker.receive({ ...request, limit: 0 }, 'unknown');
  gates[0]?.end();
  await store.clock.settle();
  assert.equal(
    exchanges.findIndex(({ settle }) => settle.length > 0) <= 1,
    true,
    'the outcome travels with one of the first two',
  );
});

test('a reply that arrives late does not delay what falls due next', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'punctual');
  let delayMs = 0;
  const engine = {
    ...store.engine,
    async exchange(input: ExchangeInput) {
      const reply = await store.engine.exchange(input);
      if (delayMs > 0) await store.clock.sleep(delayMs);
      return reply;
    },
  };
  const { worker } = store.start([work], { engine });
  await store.clock.settle();
  const soon = store.spec(work, null, { due: { inMs: 20_000 } });
  await store.engine.enqueue({ groups: [{ jobs: [soon] }] });
  delayMs = 12_000;
  worker.wake();
  await store.clock.advance(12_000);
  delayMs = 0;
  await store.clock.advance(8_000);
  assert.equal((await store.job(soon.id)).status, 'COMPLETED');
});

test('a notification that comes while all capacity is requested is followed once the request has its answer', async (t) => {
  const store = await setup(t);
  const [long, later] = [task('long', () => new Promise(() => {})), task('later', () => 'punctual')];
  const { worker } = store.start([long, later]);
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  // Another process makes a job for later; the notification finds no free place here, and a long job takes one for good.
  const soon = store.spec(later, null, { due: { inMs: 800 } });
  await store.engine.enqueue({ groups: [{ jobs: [soon] }] });
  await store.clock.settle();
  const reply = await store.engine.enqueue({ groups: [{ jobs: [store.spec(long, null)] }], claim: request });
  worker.receive(request, reply.claimed);
  await store.clock.settle();
  await store.clock.advance(800);
  assert.equal((await store.job(soon.id)).status, 'COMPLETED');
});

test('a job that an exchange announced while all capacity was requested starts at its instant', async (t) => {
  const store = await setup(t);
  const work = task('work', () => 'punctual');
  const gate = deferred<void>();
  let isHeld = false;
  const { worker } = store.start([work], {
    concurrency: 1,
    engine: {
      ...store.engine,
      async exchange(input) {
        if (isHeld) await gate.promise;
        return store.engine.exchange(input);
      },
    },
  });
  await store.enqueue(work);
  await store.clock.settle();
  isHeld = true;
  // The notification sends an exchange. It asks for the only place, and so does the request.
  const soon = await store.enqueue(work, null, { due: { inMs: 800 } });
  await store.clock.settle();
  const request = worker.request();
  assert.ok(request);
  gate.resolve();
  await store.clock.settle();
  worker.receive(request, []);
  await store.clock.advance(800);
  assert.equal((await store.job(soon)).status, 'COMPLETED');
});

test('a job of a type that a worker does not handle wakes it neither when it is created nor when it becomes ready', async (t) => {
  const store = await setup(t);
  const [mine, foreign] = [task('mine', () => 'ran'), task('foreign', () => null)];
  store.start([mine]);
  await store.clock.settle();
  const before = store.instrumented.counts().exchange;
  const first = store.spec(foreign, null);
  const second = store.spec(foreign, null, { gates: [{ kind: 'parent', ref: first.id }] });
  const later = store.spec(foreign, null, { due: { inMs: 1_000 } });
  await store.engine.enqueue({ groups: [{ jobs: [first, second, later] }] });
  await store.cancel(first.id);
  await store.clock.settle();
  assert.equal(store.instrumented.counts().exchange, before);
  // One of its own among them wakes it.
  const own = store.spec(mine, null);
  await store.engine.enqueue({ groups: [{ jobs: [store.spec(foreign, null), own] }] });
  await store.clock.settle();
  assert.equal((await store.job(own.id)).status, 'COMPLETED');
});

test('a job that waited for one of another type wakes the worker that handles it', async (t) => {
  for (const link of ['gate', 'serial'] as const) {
    const store = await setup(t);
    const [first, second] = [task('first', () => 'done'), task('second', () => 'done')];
    const [firstJob, secondJob] = [store.spec(first, null), store.spec(second, null)];
    if (link === 'gate') secondJob.gates = [{ kind: 'parent', ref: firstJob.id }];
    else firstJob.serial = secondJob.serial = 'line';
    await store.engine.enqueue({ groups: [{ jobs: [firstJob, secondJob] }] });
    store.start([second]);
    await store.clock.settle();
    assert.equal((await store.job(secondJob.id)).status, 'BLOCKED');
    store.start([first]);
    await store.clock.settle();
    assert.equal((await store.job(secondJob.id)).status, 'COMPLETED', link);
  }
});

test('a worker whose notification was lost finds the job with its next poll', async (t) => {
  const store = await setup(t);
  const work = task('work', () => null);
  store.start([work], { engine: { ...store.engine, subscribe: () => () => {} } });
  await store.clock.settle();
  const id = await store.enqueue(work);
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'PENDING');
  await store.clock.advance(30_000);
  assert.equal((await store.job(id)).status, 'COMPLETED');
});

test('a listener that throws does not disturb the worker', async (t) => {
  const store = await setup(t);
  const work = task('work', () => null);
  const { worker } = store.start([work]);
  worker.events.on('started', () => {
    throw new Error('listener');
  });
  const error = worker.events.next('error');
  const id = await store.enqueue(work);
  await store.clock.settle();
  assert.match((await error).doing, /started/);
  assert.equal((await store.job(id)).status, 'COMPLETED');
});
