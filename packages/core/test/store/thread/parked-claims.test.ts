import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { claimRequest, jobSpec, t0 } from '@duly/conformance/builders';
import { dulyError, isDulyError } from '../../../src/base/errors.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type {
  ClaimRequest,
  ExchangeInput,
  ExchangeReply,
  Notification,
} from '../../../src/contract/engine.ts';
import { Duly } from '../../../src/index.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import type { ParkedClaim } from '../../../src/store/parked-claim.ts';
import type { Store } from '../../../src/store/store.ts';
import { openStore } from '../../../src/store/thread/open-store.ts';
import { createParkedClaims, type Delivery, noDelivery } from '../../../src/store/thread/parked-claims.ts';
import { createManualClock } from '../../../src/testing/index.ts';
import { testFolder } from '../../engines/sqlite/folder.ts';

const idle = (fields: Partial<ClaimRequest> = {}) => claimRequest({ node: 'node_1', limit: 5, ...fields });

async function setup(t: TestContext) {
  const clock = createManualClock(t0);
  const engine = await openEngine('sqlite::memory:', clock);
  t.after(() => engine.close());
  /** What stands between the claims and the store; a test may hold a call up, or make it fail. */
  let before: (input: ExchangeInput) => Promise<void> = async () => {};
  const delivered: Delivery[] = [];
  const failed: unknown[] = [];
  const notTaken: string[] = [];
  const claims = createParkedClaims({
    clock,
    random: seededRandom(1),
    engine: {
      async exchange(input) {
        await before(input);
        return engine.exchange({ ...input, now: clock.now() });
      },
    },
    onDelivered: (one) => delivered.push(one),
    onFailed: (_claim, error) => failed.push(error),
    onNotTaken: (jobs) => notTaken.push(...jobs.map(({ id }) => id)),
    onReturned() {},
  });
  const word = new Int32Array(new SharedArrayBuffer(4));
  claims.open('node_1', word);
  return {
    ...{ clock, engine, claims, delivered, failed, notTaken, word },
    hold: (fn: typeof before) => {
      before = fn;
    },
    /** An exchange as the thread makes it for the worker. */
    async exchange(claim: ClaimRequest): Promise<ExchangeReply> {
      claims.begin(claim);
      const reply = await engine.exchange({ settle: [], claim, now: clock.now() });
      claims.end(claim, reply);
      return reply;
    },
    async create(): Promise<string> {
      const spec = jobSpec();
      await engine.enqueue({ groups: [{ jobs: [spec] }], now: clock.now() });
      return spec.id;
    },
    async notifyJobs(types?: string[]): Promise<string[]> {
      let used: string[] = [];
      claims.use({ kind: 'jobs', ...(types && { types }) }, (nodes) => {
        used = nodes;
      });
      await clock.settle();
      return used;
    },
    async status(id: string) {
      return (await engine.get({ ids: [id], now: clock.now() })).jobs[0]?.status;
    },
  };
}

test('a notification of other types leaves a claim parked', async (t) => {
  const { exchange, create, notifyJobs, delivered } = await setup(t);
  await exchange(idle());
  await create();
  assert.deepEqual(await notifyJobs(['other', 'another']), []);
  assert.deepEqual(delivered, []);
  assert.deepEqual(await notifyJobs(['other', 'work']), ['node_1']);
  assert.equal(delivered.length, 1);
});

test('the claim of an idle worker that found nothing is used when jobs are heard of, once', async (t) => {
  const { exchange, create, notifyJobs, delivered, status } = await setup(t);
  await exchange(idle());
  const id = await create();
  assert.deepEqual(await notifyJobs(), ['node_1']);
  assert.deepEqual(
    delivered.map(({ reply }) => reply.claimed.map((job) => job.id)),
    [[id]],
  );
  assert.equal(await status(id), 'RUNNING');
  await create();
  assert.deepEqual(await notifyJobs(), [], 'the worker has not said yet what it can do besides');
});

test('a claim that is used in vain stands on', async (t) => {
  const { exchange, create, notifyJobs, delivered } = await setup(t);
  await exchange(idle());
  assert.deepEqual(await notifyJobs(), ['node_1']);
  await create();
  assert.deepEqual(await notifyJobs(), ['node_1']);
  assert.deepEqual(
    delivered.map(({ reply }) => reply.claimed.length),
    [0, 1],
  );
});

test('only a claim of a worker that does nothing and wants something stands', async (t) => {
  const { exchange, create, notifyJobs } = await setup(t);
  await exchange(idle({ idle: false }));
  assert.deepEqual(await notifyJobs(), []);
  await exchange(idle({ limit: 0 }));
  assert.deepEqual(await notifyJobs(), []);
  await exchange(idle({ node: 'node_2' }));
  assert.deepEqual(await notifyJobs(), [], 'nobody opened a place for it');
  await create();
  await exchange(idle());
  assert.deepEqual(await notifyJobs(), [], 'it found something');
});

test('a claim that goes out, with whatever call, takes the place of the one that stands', async (t) => {
  const { claims, exchange, notifyJobs } = await setup(t);
  await exchange(idle());
  const other = idle();
  claims.begin(other);
  assert.deepEqual(await notifyJobs(), []);
  claims.end(other, null);
  assert.deepEqual(
    await notifyJobs(),
    [],
    'it travelled with an enqueue, or failed: what the worker does then is not known',
  );
});

test('of two claims on their way none stands before both are answered', async (t) => {
  const { claims, exchange, notifyJobs } = await setup(t);
  const first = idle();
  claims.begin(first);
  const reply = await exchange(idle());
  assert.deepEqual(await notifyJobs(), []);
  claims.end(first, reply);
  assert.deepEqual(await notifyJobs(), ['node_1']);
});

test('jobs that the worker does not take in time go back unspent', async (t) => {
  const { clock, engine, exchange, create, notifyJobs, delivered, notTaken, word, status } = await setup(t);
  await exchange(idle());
  const id = await create();
  await notifyJobs();
  await clock.advance(249);
  assert.equal(await status(id), 'RUNNING');
  await clock.advance(1);
  assert.equal(await status(id), 'PENDING');
  assert.deepEqual(notTaken, [id]);
  assert.equal(Atomics.load(word, 0), noDelivery, 'the worker that comes now finds that it is too late');
  const { jobs } = await engine.get({ ids: [id], now: clock.now() });
  assert.equal(jobs[0]?.spent, 0);
  assert.equal(jobs[0]?.losses, 0);
  assert.equal(delivered.length, 1);
});

test('jobs that the worker has taken do not go back', async (t) => {
  const { clock, exchange, create, notifyJobs, delivered, notTaken, word, status } = await setup(t);
  await exchange(idle());
  const id = await create();
  await notifyJobs();
  const { number } = delivered[0] as Delivery;
  assert.equal(Atomics.compareExchange(word, 0, number, noDelivery), number);
  await clock.advance(1_000);
  assert.equal(await status(id), 'RUNNING');
  assert.deepEqual(notTaken, []);
});

test('nothing stands while what was given before is not taken', async (t) => {
  const { exchange, create, notifyJobs, delivered, word } = await setup(t);
  await exchange(idle());
  await create();
  await notifyJobs();
  // The worker asked again before it heard of what it was given.
  await exchange(idle());
  await create();
  assert.deepEqual(await notifyJobs(), []);
  Atomics.store(word, 0, noDelivery);
  assert.equal(delivered.length, 1);
});

test('a place that closes waits for the use that is on its way', async (t) => {
  const { clock, claims, exchange, notifyJobs, hold, delivered } = await setup(t);
  const reached = Promise.withResolvers<void>();
  hold(() => reached.promise);
  await exchange(idle());
  assert.deepEqual(await notifyJobs(), ['node_1']);
  let isClosed = false;
  const closed = claims.close('node_1').then(() => {
    isClosed = true;
  });
  await clock.settle();
  assert.equal(isClosed, false);
  assert.deepEqual(delivered, []);
  reached.resolve();
  await closed;
  assert.equal(delivered.length, 1, 'told before it is closed');
  assert.deepEqual(await notifyJobs(), []);
});

test('a use that fails is told, and the claim stands no more', async (t) => {
  const { exchange, notifyJobs, hold, failed } = await setup(t);
  await exchange(idle());
  hold(() => Promise.reject(dulyError('store_busy', { message: 'Busy.' })));
  assert.deepEqual(await notifyJobs(), ['node_1']);
  assert.ok(isDulyError(failed[0], 'store_busy'));
  assert.deepEqual(await notifyJobs(), []);
});

// ------------------------------------------------------------------------------------- through the thread

interface Worked {
  store: Store;
  parked: ParkedClaim;
  /** What the claim that stood was given, in turn. */
  nextDelivery(): Promise<ExchangeReply | null>;
  stand(): Promise<void>;
}

async function openWorker(t: TestContext, url: string): Promise<Worked> {
  const store = await openStore(url);
  t.after(() => store.engine.close());
  const delivered: (ExchangeReply | null)[] = [];
  let reported: (() => void) | null = null;
  assert.ok(store.openParkedClaim !== undefined);
  const parked = store.openParkedClaim({
    node: 'node_1',
    onDelivered(_claim, reply) {
      delivered.push(reply);
      reported?.();
    },
    onFailed: (_claim, error) => assert.fail(error),
  });
  store.engine.subscribe(() => {});
  return {
    store,
    parked,
    async nextDelivery() {
      while (delivered.length === 0)
        await new Promise<void>((resolve) => {
          reported = resolve;
        });
      return delivered.shift() as ExchangeReply | null;
    },
    async stand() {
      await store.engine.exchange({ settle: [], claim: idle() });
    },
  };
}

const dueNow = () => jobSpec({ due: { inMs: 0 } });

function nextJobsNotification(engine: Store['engine'], look: () => void): Promise<void> {
  return new Promise((resolve) => {
    const stop = engine.subscribe((notification: Notification) => {
      if (notification.kind !== 'jobs') return;
      look();
      stop();
      resolve();
    });
  });
}

test('a job that another process makes is given to a worker that did not ask', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const creator = await openStore(url);
  t.after(() => creator.engine.close());
  const { store, parked, nextDelivery, stand } = await openWorker(t, url);
  await stand();
  let isUsed = false;
  const notified = nextJobsNotification(store.engine, () => {
    isUsed = parked.isUsed();
  });
  const spec = dueNow();
  await creator.engine.enqueue({ groups: [{ jobs: [spec] }] });
  const reply = await nextDelivery();
  assert.deepEqual(
    reply?.claimed.map(({ id }) => id),
    [spec.id],
  );
  await notified;
  assert.equal(isUsed, true, 'a listener sees during the notification that nothing is left to ask');
  assert.equal(parked.isUsed(), false);
});

test('a job that its own process makes, for whomever, is given too, after its maker has the answer', async (t) => {
  const { store, nextDelivery, stand } = await openWorker(t, `sqlite:${join(testFolder(t), 'duly.db')}`);
  await stand();
  const order: string[] = [];
  const delivered = nextDelivery().then(() => order.push('given'));
  await store.engine.enqueue({ groups: [{ jobs: [dueNow()] }] }).then(() => order.push('made'));
  await delivered;
  assert.deepEqual(order, ['made', 'given']);
});

test('a worker whose main loop is blocked loses what it was given to others, unspent', async (t) => {
  const file = join(testFolder(t), 'duly.db');
  const { store, nextDelivery, stand } = await openWorker(t, `sqlite:${file}`);
  await stand();
  // A thread of its own makes the job, while nothing on this one runs: no timer, no message.
  const creator = await openStore(`sqlite:${file}`);
  t.after(() => creator.engine.close());
  const spec = dueNow();
  const created = creator.engine.enqueue({ groups: [{ jobs: [spec] }] });
  blockUntilGivenBack(file, spec.id);
  await created;
  assert.equal(await nextDelivery(), null, 'it is told that it came too late');
  const { jobs } = await store.engine.get({ ids: [spec.id] });
  assert.equal(jobs[0]?.status, 'PENDING');
  assert.equal(jobs[0]?.losses, 0);
  const { claimed } = await creator.engine.exchange({ settle: [], claim: claimRequest({ node: 'node_2' }) });
  assert.equal(claimed[0]?.id, spec.id);
});

/** Keeps this thread from everything else until the job was claimed and went back, however long a busy machine takes for it. */
function blockUntilGivenBack(file: string, id: string): void {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const read = db.prepare('SELECT status, fence FROM jobs WHERE id = ?');
    const cell = new Int32Array(new SharedArrayBuffer(4));
    for (let looks = 0; looks < 3_000; looks++) {
      const { status, fence } = read.get(id) ?? {};
      if (status === 'PENDING' && fence !== 0) return;
      Atomics.wait(cell, 0, 0, 10);
    }
    assert.fail('It was never claimed, or never went back.');
  } finally {
    db.close();
  }
}

test('once a worker has closed its place nothing is claimed for it', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const creator = await openStore(url);
  t.after(() => creator.engine.close());
  const { store, parked, stand } = await openWorker(t, url);
  await stand();
  await parked.close();
  let isUsed = true;
  const notified = nextJobsNotification(store.engine, () => {
    isUsed = parked.isUsed();
  });
  const spec = dueNow();
  await creator.engine.enqueue({ groups: [{ jobs: [spec] }] });
  await notified;
  assert.equal(isUsed, false);
  assert.equal((await store.engine.get({ ids: [spec.id] })).jobs[0]?.status, 'PENDING');
});

test('no job is left running by a node that stops while it is created', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const creator = new Duly({ store: url, logger: false });
  t.after(() => creator.stop());
  const created = creator.task({ name: 'work', run: () => {} });
  for (let n = 0; n < 8; n++) {
    const node = new Duly({ store: url, logger: false });
    node.task({ name: 'work', run: () => {} });
    const isIdle = node.next('idle');
    await node.start();
    await isIdle;
    const [job] = await Promise.all([created.now(), node.stop()]);
    const { status } = (await creator.job(job.id).get()) ?? {};
    assert.ok(status === 'PENDING' || status === 'COMPLETED', `stop ${n}: the job is ${status}`);
    if (status === 'PENDING') await creator.job(job.id).cancel();
  }
});

test('a job that falls due while the jobs of a parked claim run starts at its time', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const creator = new Duly({ store: url, logger: false });
  const node = new Duly({ store: url, logger: false });
  const long = Promise.withResolvers<void>();
  t.after(async () => {
    long.resolve();
    await Promise.all([creator.stop(), node.stop()]);
  });
  const define = (duly: Duly) => ({
    long: duly.task({ name: 'long', run: () => long.promise }),
    short: duly.task({ name: 'short', run: ({ lateness }) => lateness }),
  });
  const created = define(creator);
  define(node);
  const isIdle = node.next('idle');
  await node.start();
  await isIdle;
  const started = node.next('job.started', ({ type }) => type === 'long');
  const ended = node.next('job.settled', ({ type }) => type === 'short');
  // Both in one transaction: what the claim is told about the next due time is all that the node hears of the second.
  await Promise.all([created.long.now(), created.short.in(300)]);
  await started;
  const { result } = await ended;
  // Without that it would sleep for 30 s, as long as notifications are proven.
  assert.ok((result as number) < 10_000, `it started ${result} ms late`);
});
