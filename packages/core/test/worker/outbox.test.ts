import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../../src/base/emitter.ts';
import { dulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Engine, ReportBody } from '../../src/contract/engine.ts';
import type { LeaseRef } from '../../src/store/heartbeats.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { type Batch, createOutbox } from '../../src/worker/outbox.ts';
import type { WorkerEvents } from '../../src/worker/worker-events.ts';
import { claimedJob } from './claimed-job.ts';
import { deferred } from './setup.ts';

interface SetupOptions {
  engine?: Partial<Pick<Engine, 'exchange' | 'get'>>;
  followsStoreCalls?: boolean;
}

function setup({ engine = {}, followsStoreCalls = false }: SetupOptions = {}) {
  const clock = createManualClock();
  const events = createEvents<WorkerEvents>();
  const notes: string[] = [];
  const dropped: number[] = [];
  for (const name of ['settled', 'failed', 'lost'] as const)
    events.on(name, ({ job }) => notes.push(`${name} ${job.fence}`));
  const unused = async (): Promise<never> => assert.fail('the store is not needed');
  const outbox = createOutbox({
    ...{ clock, events },
    engine: { exchange: unused, get: unused, ...engine },
    random: seededRandom(1),
    tasks: new Map(),
    heartbeats: {
      followsStoreCalls,
      drop: (leases: LeaseRef[]) => dropped.push(...leases.map(({ fence }) => fence)),
    },
    onWaiting: () => notes.push('waiting'),
    onFinished: () => notes.push('finished'),
  });
  /** Sends the outcomes of attempts with these fences. */
  function send(...fences: number[]): void {
    for (const fence of fences)
      outbox.send(claimedJob({ id: `job_${fence}`, fence }), { kind: 'returned', result: null }, null);
  }
  const fencesOf = ({ settle }: Batch) => settle.map(({ job }) => job.fence);
  return { clock, outbox, notes, dropped, send, fencesOf };
}

const done = ({ settle }: Batch) => settle.map(() => 'done' as const);

function numbers(count: number, from = 1): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}

test('outcomes are sent in order, at most 2,000 at once', () => {
  const { outbox, notes, send, fencesOf } = setup();
  send(...numbers(4_001));
  assert.equal(outbox.waiting().length, 4_001);
  const batches = [outbox.takeBatch(), outbox.takeBatch(), outbox.takeBatch(), outbox.takeBatch()];
  assert.deepEqual(
    batches.map(({ settle, isIsolated }) => [settle.length, isIsolated]),
    [
      [2_000, false],
      [2_000, false],
      [1, false],
      [0, false],
    ],
  );
  assert.deepEqual(batches.flatMap(fencesOf), numbers(4_001));
  assert.equal(notes.filter((note) => note === 'waiting').length, 4_001);
});

test('what the store recorded and what it no longer accepted is reported apart, failures after their settlement', () => {
  const { clock, outbox, notes, dropped } = setup();
  clock.jump(500);
  for (const fence of [1, 2]) outbox.send(claimedJob({ fence }), { kind: 'returned', result: '7' }, null);
  const error = { name: 'Error', message: 'no' };
  outbox.send(claimedJob({ fence: 3 }), { kind: 'threw', error }, null);
  const batch = outbox.takeBatch();
  assert.deepEqual(
    batch.settle.map(({ settlement, decidedElapsed }) => [settlement.to, decidedElapsed]),
    [
      ['COMPLETED', 500],
      ['COMPLETED', 500],
      ['RETRYING', 500],
    ],
  );
  notes.length = 0;
  outbox.recorded(batch, ['done', 'lost', 'done']);
  assert.deepEqual(notes, ['settled 1', 'lost 2', 'settled 3', 'failed 3']);
  assert.deepEqual(dropped, [1, 2, 3], 'their leases are not renewed any more');
});

test('leases are not dropped here where the heartbeats follow the calls of the store', () => {
  const { outbox, dropped, send } = setup({ followsStoreCalls: true });
  send(1);
  const batch = outbox.takeBatch();
  outbox.recorded(batch, done(batch));
  assert.deepEqual(dropped, []);
});

/** Sends everything to a store that refuses each exchange with one of these fences. Returns the number of exchanges. */
function sendAll({ outbox, fencesOf }: ReturnType<typeof setup>, refused: ReadonlySet<number>): number {
  let count = 0;
  for (; outbox.waiting().length > 0; count++) {
    assert.ok(count < 10_000, 'it comes to an end');
    const batch = outbox.takeBatch();
    if (fencesOf(batch).some((fence) => refused.has(fence))) outbox.refused(batch, { isMixed: false });
    else outbox.recorded(batch, done(batch));
  }
  return count;
}

for (const size of [1, 2, 3, 17, 2_000, 2_001]) {
  test(`of ${size} outcomes only those that the store refuses are lost, wherever they are`, () => {
    for (const refused of [[1], [size], [1, size], [Math.ceil(size / 2)], numbers(Math.min(size, 20))]) {
      const parts = setup();
      parts.send(...numbers(size));
      const exchangeCount = sendAll(parts, new Set(refused));
      const isRefused = (fence: number) => refused.includes(fence);
      const notes = parts.notes.filter((note) => note !== 'waiting');
      const expected = numbers(size).map((fence) => `${isRefused(fence) ? 'lost' : 'settled'} ${fence}`);
      assert.deepEqual(notes, expected, 'each is reported once, in order');
      assert.deepEqual(parts.dropped, numbers(size));
      assert.ok(exchangeCount <= size + 2, `${exchangeCount} exchanges`);
      assert.equal(parts.outbox.isIsolating(), false);
    }
  });
}

test('the search ends with the refused batch, and later outcomes are sent together again', () => {
  const { outbox, send, fencesOf } = setup();
  send(1, 2, 3);
  const refused = outbox.takeBatch();
  send(4, 5);
  outbox.refused(refused, { isMixed: false });
  for (const fence of [1, 2, 3]) {
    assert.equal(outbox.isIsolating(), true);
    const batch = outbox.takeBatch();
    assert.deepEqual([fencesOf(batch), batch.isIsolated], [[fence], true]);
    outbox.recorded(batch, ['done']);
  }
  assert.equal(outbox.isIsolating(), false);
  const rest = outbox.takeBatch();
  assert.deepEqual([fencesOf(rest), rest.isIsolated], [[4, 5], false]);
});

test('two batches that are refused while both are sent are searched one after the other', () => {
  const { outbox, notes, send, fencesOf } = setup();
  send(...numbers(2_002));
  const [first, second] = [outbox.takeBatch(), outbox.takeBatch()];
  outbox.refused(first, { isMixed: false });
  outbox.refused(second, { isMixed: false });
  let count = 0;
  for (; outbox.isIsolating() && count < 10_000; count++) {
    const batch = outbox.takeBatch();
    if (fencesOf(batch)[0] === 2_001) outbox.refused(batch, { isMixed: false });
    else outbox.recorded(batch, done(batch));
  }
  assert.deepEqual([count, outbox.waiting().length], [2_002, 0]);
  assert.deepEqual(
    notes.filter((note) => note.startsWith('lost')),
    ['lost 2001'],
  );
});

test('a batch that was sent before the search does not shorten it', () => {
  const { outbox, send, fencesOf } = setup();
  send(...numbers(2_002));
  const [earlier, refused] = [outbox.takeBatch(), outbox.takeBatch()];
  outbox.refused(refused, { isMixed: false });
  outbox.recorded(earlier, done(earlier));
  const alone = outbox.takeBatch();
  assert.deepEqual(fencesOf(alone), [2_001]);
  outbox.recorded(alone, done(alone));
  assert.equal(outbox.isIsolating(), true, 'the other was not sent alone yet');
});

test('an outcome that was refused together with a claim is sent again without it before it is dropped', () => {
  const { outbox, notes, send, fencesOf } = setup();
  send(1);
  outbox.refused(outbox.takeBatch(), { isMixed: true });
  assert.equal(outbox.isIsolating(), true);
  const alone = outbox.takeBatch();
  assert.deepEqual([fencesOf(alone), alone.isIsolated], [[1], true]);
  outbox.recorded(alone, ['done']);
  assert.deepEqual(notes, ['waiting', 'settled 1']);
});

test('a refused exchange without outcomes starts no search', () => {
  const { outbox } = setup();
  outbox.refused(outbox.takeBatch(), { isMixed: true });
  assert.equal(outbox.isIsolating(), false);
});

test('an outcome waits for its last report and carries it', async () => {
  const { outbox, notes } = setup();
  const report = deferred<ReportBody | null>();
  outbox.send(claimedJob({ fence: 1 }), { kind: 'returned', result: null }, report.promise);
  assert.deepEqual([outbox.unfinishedCount(), outbox.waiting().length], [1, 0]);
  const body: ReportBody = { progress: { percent: 50, message: null, step: null, of: null }, logs: [] };
  report.resolve(body);
  await report.promise;
  assert.deepEqual([outbox.unfinishedCount(), outbox.waiting().length], [0, 1]);
  assert.deepEqual(outbox.takeBatch().settle[0]?.settlement.report, body);
  assert.deepEqual(notes, ['waiting']);
});

/** A completion of the job with fence 7 in a transaction of the user's own, as its attempt reports it. */
function completion(outbox: ReturnType<typeof setup>['outbox']): void {
  const job = claimedJob({ fence: 7 });
  const other = setup();
  other.outbox.send(job, { kind: 'returned', result: '"in a transaction"' }, null);
  const [outgoing] = other.outbox.takeBatch().settle;
  assert.ok(outgoing);
  const { settlement } = outgoing;
  outbox.sendCompleted(job, { kind: 'returned', result: null }, { settlement, report: null }, null);
}

test('a completion in a transaction that is committed needs no exchange', async () => {
  // Past its retention: only an ended job is deleted.
  const { clock, outbox, notes, dropped } = setup({
    engine: { get: async () => ({ now: 1, jobs: [null] }) as never },
  });
  completion(outbox);
  assert.equal(outbox.unfinishedCount(), 1);
  await clock.settle();
  assert.equal(outbox.unfinishedCount(), 0);
  assert.deepEqual([notes, dropped], [['settled 7', 'finished'], [7]]);
});

test('a completion whose transaction was rolled back is settled as a failure, apart from the others', async () => {
  const record = { status: 'RUNNING', fence: 7, attempts: [] };
  const settled: string[] = [];
  const { clock, outbox, notes } = setup({
    engine: {
      get: async () => ({ jobs: [record] }) as never,
      exchange: async ({ settle }) => {
        settled.push(...settle.map(({ to, reason }) => `${to} ${reason}`));
        return { settled: ['done'], claimed: [] } as never;
      },
    },
  });
  completion(outbox);
  await clock.settle();
  assert.deepEqual(settled, ['RETRYING threw']);
  assert.deepEqual(notes, ['settled 7', 'failed 7', 'finished']);
});

test('a completion that cannot be looked up is given up with the worker and reported as lost', async () => {
  let callCount = 0;
  const { clock, outbox, notes } = setup({
    engine: {
      get: async () => {
        callCount++;
        throw dulyError('store_unavailable', { message: 'away', hint: '-' });
      },
    },
  });
  completion(outbox);
  await clock.advance(10_000);
  assert.ok(callCount > 2);
  assert.equal(outbox.unfinishedCount(), 1);
  outbox.giveUp();
  await clock.settle();
  assert.equal(outbox.unfinishedCount(), 0);
  assert.deepEqual(notes, ['lost 7', 'finished']);
});
