import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dulyError, isDulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import { type BatcherOptions, createBatcher } from '../../src/store/batcher.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

type Send = { items: number[]; repeat: boolean };

/** A batcher of numbers whose sends wait until the test lets them go. */
function setup(options: Partial<BatcherOptions<number, string>> = {}) {
  const clock = createManualClock();
  const sends: Send[] = [];
  const waiting: { answer: () => void; fail: (error: unknown) => void }[] = [];
  const batcher = createBatcher<number, string>({
    clock,
    random: seededRandom(1),
    maxItems: 1_000,
    send(items, { repeat }) {
      sends.push({ items, repeat });
      return new Promise((resolve, reject) => {
        waiting.push({ answer: () => resolve(items.map((item) => `got ${item}`)), fail: reject });
      });
    },
    ...options,
  });
  const next = async () => {
    await clock.settle();
    const send = waiting.shift();
    assert.ok(send, 'a send is on its way');
    return send;
  };
  return { clock, batcher, sends, waiting, next };
}

const away = () => dulyError('store_unavailable', { message: 'The store is away.' });
const busy = () => dulyError('store_busy', { message: 'The store is busy.' });

test('a burst of 1,000 calls created in one turn travels in one send', async () => {
  const { batcher, sends, next } = setup();
  const results = Promise.all(Array.from({ length: 1_000 }, (_, i) => batcher.push(i)));
  (await next()).answer();
  assert.equal((await results)[999], 'got 999');
  assert.equal(sends.length, 1);
});

test('a burst of async calls that check their input first still travels in one send', async () => {
  const { batcher, sends, next } = setup();
  const call = async (item: number) => {
    await null;
    await null;
    return batcher.push(item);
  };
  const results = Promise.all(Array.from({ length: 1_000 }, (_, i) => call(i)));
  (await next()).answer();
  await results;
  assert.equal(sends.length, 1);
});

test('what arrives while a send is on its way travels together in the next one', async () => {
  const { batcher, sends, next } = setup();
  const first = batcher.push(1);
  const send = await next();
  const rest = batcher.pushMany([2, 3]);
  const last = batcher.push(4);
  send.answer();
  assert.equal(await first, 'got 1');
  (await next()).answer();
  assert.deepEqual(await rest, ['got 2', 'got 3']);
  assert.equal(await last, 'got 4');
  assert.deepEqual(
    sends.map(({ items }) => items),
    [[1], [2, 3, 4]],
  );
});

test('a lone caller does not wait for time to pass', async () => {
  const { batcher, next, clock } = setup();
  const result = batcher.push(1);
  (await next()).answer();
  assert.equal(await result, 'got 1');
  assert.equal(clock.elapsed(), 0);
});

test('a failing send rejects only its own items', async () => {
  const { batcher, next } = setup();
  const first = batcher.push(1);
  const failing = await next();
  const second = batcher.push(2);
  failing.fail(new Error('refused'));
  await assert.rejects(first, /refused/);
  (await next()).answer();
  assert.equal(await second, 'got 2');
});

test('a send of unknown outcome is repeated with the same items, marked as a repeat', async () => {
  const { batcher, sends, next, clock } = setup();
  const result = batcher.push(1);
  (await next()).fail(away());
  await clock.settle();
  void batcher.push(2);
  await clock.advance(50);
  (await next()).answer();
  assert.equal(await result, 'got 1');
  assert.deepEqual(sends.slice(0, 2), [
    { items: [1], repeat: false },
    { items: [1], repeat: true },
  ]);
});

test('a store that is busy after an unknown outcome does not make the outcome known', async () => {
  const { batcher, sends, next, clock } = setup();
  const outcome = batcher.push(1).catch((error: unknown) => error);
  (await next()).fail(away());
  const tries = 7;
  for (let tried = 1; tried < tries; tried++) {
    await clock.advance(1_600);
    (await next()).fail(busy());
  }
  assert.ok(isDulyError(await outcome, 'store_unavailable'), 'the first send may have taken effect');
  assert.equal(sends.length, tries);
  assert.ok(sends.slice(1).every(({ repeat }) => repeat));
});

test('a store that is busy at the first send is told at once: surely nothing was done', async () => {
  const { batcher, sends, next } = setup();
  const outcome = batcher.push(1).catch((error: unknown) => error);
  (await next()).fail(busy());
  assert.ok(isDulyError(await outcome, 'store_busy'));
  assert.equal(sends.length, 1);
});

test('a store that stays away is told to the caller after seven tries and about three seconds', async () => {
  const { batcher, sends, next, clock } = setup();
  const outcome = batcher.push(1).catch((error: unknown) => error);
  for (let i = 0; i < 7; i++) {
    (await next()).fail(dulyError('store_unavailable', { message: 'The store is away.' }));
    await clock.advance(1_600);
  }
  assert.equal(((await outcome) as { code: string }).code, 'store_unavailable');
  assert.deepEqual(
    sends.map(({ repeat }) => repeat),
    [false, true, true, true, true, true, true],
  );
});

test('a send holds no more than the allowed items and weight, and a heavy item travels alone', async () => {
  const { batcher, sends, next } = setup({ maxItems: 3, maxWeight: 10, weigh: (item) => item });
  const results = batcher.pushMany([1, 1, 1, 1, 5, 4, 99, 1]);
  for (let i = 0; i < 4; i++) (await next()).answer();
  assert.equal((await results).length, 8);
  assert.deepEqual(
    sends.map(({ items }) => items),
    [[1, 1, 1], [1, 5, 4], [99], [1]],
  );
});

test('drained waits for what came while it waited', async () => {
  const { batcher, next } = setup();
  void batcher.push(1);
  let isDrained = false;
  const drained = batcher.drained().then(() => {
    isDrained = true;
  });
  const send = await next();
  void batcher.push(2);
  send.answer();
  const second = await next();
  assert.equal(isDrained, false);
  second.answer();
  await drained;
});

test('with much to carry a second send goes beside the first, with little it does not', async () => {
  const { batcher, sends, next, clock } = setup({ weigh: (item) => item, maxWeight: 100, secondWeight: 50 });
  const first = batcher.push(60);
  await clock.settle();
  const small = batcher.push(40);
  await clock.settle();
  assert.deepEqual(
    sends.map(({ items }) => items),
    [[60]],
  );
  const more = batcher.pushMany([30, 20, 45]);
  await clock.settle();
  assert.deepEqual(
    sends.map(({ items }) => items),
    [[60], [40, 30, 20]],
  );
  (await next()).answer();
  (await next()).answer();
  assert.deepEqual(await Promise.all([first, small]), ['got 60', 'got 40']);
  (await next()).answer();
  assert.deepEqual(await more, ['got 30', 'got 20', 'got 45']);
  assert.equal(sends.length, 3);
  await batcher.drained();
});

test('what a second send could not carry is told to those it carried, and drained waits for both', async () => {
  const { batcher, next, clock } = setup({ weigh: () => 60, maxWeight: 100, secondWeight: 50 });
  const first = batcher.push(1);
  await clock.settle();
  const second = batcher.push(2);
  await clock.settle();
  let isDrained = false;
  const drained = batcher.drained().then(() => {
    isDrained = true;
  });
  const ways = [await next(), await next()];
  ways[0]?.answer();
  assert.equal(await first, 'got 1');
  await clock.settle();
  assert.equal(isDrained, false);
  ways[1]?.fail(busy());
  await assert.rejects(second, (error) => isDulyError(error, 'store_busy'));
  await drained;
});
