import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLoop } from '../../src/base/loop.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

function setup(pass: (n: number) => number | Promise<number>, maxWaitMs?: number) {
  const clock = createManualClock();
  const passes: number[] = [];
  const errors: unknown[] = [];
  const loop = createLoop({
    clock,
    random: seededRandom(1),
    onError: (error) => errors.push(error),
    async pass() {
      passes.push(clock.elapsed());
      return pass(passes.length);
    },
    ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
  });
  return { clock, loop, passes, errors };
}

test('a pass says how long to wait before the next one', async () => {
  const { clock, loop, passes } = setup((n) => (n === 1 ? 0 : 1_000));
  loop.start();
  await clock.advance(2_500);
  assert.deepEqual(passes, [0, 0, 1_000, 2_000]);
  await loop.stop();
});

test('wake cuts the wait', async () => {
  const { clock, loop, passes } = setup(() => 1_000);
  loop.start();
  await clock.advance(300);
  loop.wake();
  await clock.settle();
  assert.deepEqual(passes, [0, 300]);
  await loop.stop();
});

test('wakeWithin shortens the wait, and never makes it longer', async () => {
  const { clock, loop, passes } = setup(() => 1_000);
  loop.start();
  await clock.advance(100);
  loop.wakeWithin(5_000);
  loop.wakeWithin(200);
  await clock.advance(250);
  assert.deepEqual(passes, [0, 300]);
  loop.wakeWithin(2_000);
  await clock.advance(1_000);
  assert.deepEqual(passes, [0, 300, 1_300]);
  await clock.advance(1_100);
  assert.deepEqual(passes, [0, 300, 1_300, 2_300], 'not at 2,350: a pass in between has looked already');
  loop.wakeWithin(10);
  await loop.stop();
  await clock.advance(5_000);
  assert.equal(passes.length, 4);
});

test('wake during a pass skips the wait after it', async () => {
  const { clock, loop, passes } = setup((n) => {
    if (n === 1) loop.wake();
    return 1_000;
  });
  loop.start();
  await clock.settle();
  assert.deepEqual(passes, [0, 0]);
  await loop.stop();
});

test('a wait is never longer than 30 s', async () => {
  const { clock, loop, passes } = setup(() => Number.POSITIVE_INFINITY);
  loop.start();
  await clock.advance(60_000);
  assert.deepEqual(passes, [0, 30_000, 60_000]);
  await loop.stop();
});

test('without a longest wait, a loop may wait for nothing but a wake', async () => {
  const { clock, loop, passes } = setup(() => Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  loop.start();
  await clock.advance(10 * 86_400_000);
  assert.equal(passes.length, 1);
  assert.equal(clock.pendingCount(), 0);
  loop.wake();
  await clock.settle();
  assert.equal(passes.length, 2);
  await loop.stop();
});

test('errors are told, back off to at most 5 s, and never end the loop', async () => {
  const { clock, loop, passes, errors } = setup((n) => {
    if (n <= 10) throw new Error(`pass ${n}`);
    return 1_000;
  });
  loop.start();
  await clock.advance(60_000);
  assert.equal(errors.length, 10);
  const waits = passes.slice(1, 11).map((at, i) => at - (passes[i] as number));
  assert.ok((waits[0] as number) <= 100, 'the first wait is short');
  assert.ok((waits[9] as number) >= 2_500 && (waits[9] as number) <= 5_000, `the tenth was ${waits[9]}`);
  assert.ok(passes.length > 20, 'it goes on every second afterwards');
  await loop.stop();
});

test('a notification does not cut the wait after an error', async () => {
  const { clock, loop, passes } = setup(() => {
    throw new Error('the store is away');
  });
  loop.start();
  await clock.settle();
  for (let i = 0; i < 100; i++) loop.wake();
  await clock.settle();
  assert.equal(passes.length, 1);
  await loop.stop();
});

test('stop waits for the pass that runs, and no other pass follows', async () => {
  let release = () => {};
  const { clock, loop, passes } = setup(
    () =>
      new Promise<number>((resolve) => {
        release = () => resolve(0);
      }),
  );
  loop.start();
  await clock.settle();
  let isStopped = false;
  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  await clock.settle();
  assert.equal(isStopped, false);
  release();
  await stopped;
  await clock.advance(60_000);
  assert.equal(passes.length, 1);
  assert.equal(clock.pendingCount(), 0);
});

test('stop cuts a wait and leaves no timer behind', async () => {
  const { clock, loop } = setup(() => 1_000);
  loop.start();
  await clock.settle();
  await loop.stop();
  assert.equal(clock.pendingCount(), 0);
});
