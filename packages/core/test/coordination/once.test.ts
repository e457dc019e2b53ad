import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Engine } from '../../src/contract/engine.ts';
import { createDulyOn } from '../../src/duly.ts';
import { createHeartbeats } from '../../src/store/heartbeats.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createManualClock, createTestDuly } from '../../src/testing/index.ts';
import { createSharedStore, deferred } from './setup.ts';

test('the work is done once, and everybody is given its result', async (t) => {
  const { duly } = await createSharedStore(t);
  let runs = 0;
  const work = async () => {
    runs++;
    await new Promise((resolve) => setImmediate(resolve));
    return { invoice: runs };
  };
  const [one, two] = [duly(), duly()];
  const results = await Promise.all([
    one.once('invoice-7', {}, work),
    two.once('invoice-7', {}, work),
    one.once('invoice-7', {}, work),
  ]);
  assert.equal(runs, 1);
  assert.deepEqual(results, [{ invoice: 1 }, { invoice: 1 }, { invoice: 1 }]);
  assert.deepEqual(await two.once('invoice-7', {}, work), { invoice: 1 });
  assert.deepEqual(await two.once('invoice-8', {}, work), { invoice: 2 });
});

test('an error is not recorded: the next caller tries again', async (t) => {
  const { duly } = await createSharedStore(t);
  const one = duly();
  await assert.rejects(
    one.once('flaky', {}, () => {
      throw new Error('not today');
    }),
    /not today/,
  );
  assert.equal(await one.once('flaky', {}, () => 'today'), 'today');
});

test('a result is forgotten after its time', async (t) => {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  let runs = 0;
  const next = () => duly.once('daily', { for: '1 day' }, () => ++runs);
  assert.equal(await next(), 1);
  await duly.advance('23h');
  assert.equal(await next(), 1);
  await duly.advance('1h');
  assert.equal(await next(), 2);
});

test('a caller whose lock was lost while it worked does not overwrite the result that stands', async (t) => {
  const { duly, advance } = await createSharedStore(t, { virtual: true });
  const [slow, quick] = [duly(), duly()];
  const work = deferred();
  const begun = deferred();
  const first = slow.once('token', { ttl: '10s' }, async () => {
    begun.resolve();
    await work.promise;
    return 'slow';
  });
  await begun.promise;
  await advance(quick, 11_000);
  assert.equal(await quick.once('token', {}, () => 'quick'), 'quick');
  work.resolve();
  assert.equal(await first, 'quick');
});

test('nothing returned is null for everybody, and what JSON cannot keep is refused', async (t) => {
  const { duly } = await createSharedStore(t);
  const one = duly();
  assert.equal(await one.once('void', {}, () => undefined), null);
  assert.equal(await one.once('void', {}, () => assert.fail('must not run')), null);
  await assert.rejects(
    one.once('big', {}, () => 1n),
    { code: 'result_not_json' },
  );
  await assert.rejects(
    one.once('a', { four: 1 } as never, () => 1),
    { code: 'invalid_option' },
  );
});

test('what was recorded between the first look and the lock is not done again', async (t) => {
  const { duly, store } = await createSharedStore(t);
  const other = duly();
  const engine = await openEngine(`${store}?inline`, systemClock);
  let looks = 0;
  const late: Engine = {
    ...engine,
    async remember(input) {
      const reply = await engine.remember(input);
      // Another caller is done, and has given its lock back, before this one asks for it.
      if (++looks === 1) assert.equal(await other.once('invoice-9', {}, () => 'theirs'), 'theirs');
      return reply;
    },
  };
  const one = createDulyOn({ store: `${store}?inline` }, async () => ({
    engine: late,
    createHeartbeats: (heartbeats) =>
      createHeartbeats({ ...heartbeats, engine: late, clock: systemClock, random: seededRandom(1) }),
  }));
  t.after(() => one.stop());
  let runs = 0;
  const given = await one.once('invoice-9', {}, () => {
    runs++;
    return 'ours';
  });
  assert.deepEqual({ given, runs, looks }, { given: 'theirs', runs: 0, looks: 2 });
});

test('the work is not begun under a lock that ended while the store was asked', async (t) => {
  const { duly, store, advance } = await createSharedStore(t, { virtual: true });
  const other = duly();
  const clock = createManualClock();
  const engine = await openEngine(store, clock);
  let looks = 0;
  const slow: Engine = {
    ...engine,
    // The lock is not renewed, so it ends after its time.
    renew: () => Promise.reject(new Error('The store does not answer.')),
    async remember(input) {
      const reply = await engine.remember(input);
      // The answer under the lock takes longer than the lock lasts. Another caller takes over meanwhile.
      if (++looks === 2) {
        await Promise.all([clock.advance(11_000), advance(other, 11_000)]);
        assert.equal(await other.once('invoice-10', {}, () => 'theirs'), 'theirs');
      }
      return reply;
    },
  };
  const one = createDulyOn({ store, clock }, async () => ({
    engine: slow,
    createHeartbeats: (heartbeats) =>
      createHeartbeats({ ...heartbeats, engine: slow, clock, random: seededRandom(1) }),
  }));
  t.after(() => one.stop());
  const given = await one.once('invoice-10', { ttl: '10s' }, () => assert.fail('must not run'));
  assert.equal(given, 'theirs');
});

test('a lock whose grant arrives after its time is asked for again', async (t) => {
  const { store } = await createSharedStore(t, { virtual: true });
  const clock = createManualClock();
  const engine = await openEngine(store, clock);
  const fences: number[] = [];
  const slow: Engine = {
    ...engine,
    async acquire(input) {
      const reply = await engine.acquire(input);
      fences.push(reply.fence);
      if (fences.length === 1) await clock.advance(11_000);
      return reply;
    },
  };
  const one = createDulyOn({ store, clock }, async () => ({
    engine: slow,
    createHeartbeats: (heartbeats) =>
      createHeartbeats({ ...heartbeats, engine: slow, clock, random: seededRandom(1) }),
  }));
  t.after(() => one.stop());
  const result = await one.lock('report', { ttl: '10s' }, ({ fence, signal }) => ({
    fence,
    isLost: signal.aborted,
  }));
  assert.equal(fences.length, 2);
  assert.deepEqual(result, { acquired: true, value: { fence: fences[1], isLost: false }, kept: true });
});
