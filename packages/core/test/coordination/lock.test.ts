import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { isDulyError } from '../../src/base/errors.ts';
import { createTestDuly } from '../../src/testing/index.ts';
import { createSharedStore, deferred } from './setup.ts';

test('work under a lock runs, and its value comes back', async (t) => {
  const { duly } = await createSharedStore(t);
  const result = await duly().lock('nightly', {}, ({ fence }) => {
    assert.ok(fence > 0);
    return 'done';
  });
  assert.deepEqual(result, { acquired: true, value: 'done', kept: true });
});

test('a lock that is taken answers at once with its holder, and is free after the work', async (t) => {
  const { duly } = await createSharedStore(t);
  const work = deferred();
  const begun = deferred();
  const first = duly().lock('nightly', { ttl: '1m' }, async () => {
    begun.resolve();
    await work.promise;
  });
  await begun.promise;
  const second = await duly().lock('nightly', {}, () => assert.fail('must not run'));
  assert.equal(second.acquired, false);
  assert.ok(!second.acquired);
  assert.deepEqual([second.holder.host, second.holder.pid], [hostname(), process.pid]);
  assert.ok(second.until instanceof Date);
  work.resolve();
  await first;
  assert.equal((await duly().lock('nightly', {}, () => 1)).acquired, true);
});

test('a lock is given back when the work throws', async (t) => {
  const { duly } = await createSharedStore(t);
  await assert.rejects(
    duly().lock('nightly', {}, () => {
      throw new Error('halfway');
    }),
    /halfway/,
  );
  assert.equal((await duly().lock('nightly', {}, () => 1)).acquired, true);
});

test('whoever waits gets the lock when it is given back, with a greater fence', async (t) => {
  const { duly } = await createSharedStore(t);
  const work = deferred();
  const begun = deferred();
  let firstFence = 0;
  const first = duly().lock('nightly', { ttl: '1m' }, async ({ fence }) => {
    firstFence = fence;
    begun.resolve();
    await work.promise;
  });
  await begun.promise;
  const second = duly().lock('nightly', { wait: 'forever' }, ({ fence }) => fence);
  work.resolve();
  await first;
  const got = await second;
  assert.ok(got.acquired && got.value > firstFence);
});

test('at most one of many runs at a time, and each one runs', async (t) => {
  const { duly } = await createSharedStore(t);
  let inside = 0;
  let count = 0;
  const fences: number[] = [];
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      const result = await duly().lock('hot', { wait: 'forever' }, async ({ fence }) => {
        assert.equal(++inside, 1);
        await new Promise((resolve) => setImmediate(resolve));
        fences.push(fence);
        count++;
        inside--;
      });
      assert.ok(result.acquired);
    }),
  );
  assert.equal(count, 10);
  assert.deepEqual(
    fences,
    [...fences].sort((a, b) => a - b),
  );
});

test('a wait that is too short answers with the holder; an aborted one throws', async (t) => {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  const work = deferred();
  const begun = deferred();
  const first = duly.lock('nightly', { ttl: '10m' }, async () => {
    begun.resolve();
    await work.promise;
  });
  await begun.promise;
  const waiting = duly.lock('nightly', { wait: '5s' }, () => 1);
  await duly.advance('6s');
  assert.equal((await waiting).acquired, false);
  const stop = new AbortController();
  const aborted = assert.rejects(
    duly.lock('nightly', { wait: 'forever', signal: stop.signal }, () => 1),
    /enough/,
  );
  stop.abort(new Error('enough'));
  await duly.advance('1s');
  await aborted;
  work.resolve();
  await first;
});

test('a lock is renewed for as long as the work takes', async (t) => {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  const work = deferred();
  const begun = deferred();
  const first = duly.lock('long', { ttl: '30s' }, async ({ signal }) => {
    begun.resolve();
    await work.promise;
    return signal.aborted;
  });
  await begun.promise;
  await duly.advance('10m');
  assert.equal((await duly.lock('long', {}, () => 1)).acquired, false);
  work.resolve();
  assert.deepEqual(await first, { acquired: true, value: false, kept: true });
});

test('a lock whose holder stands still is taken over, and the holder is told', async (t) => {
  // Two Dulys with clocks of their own on one store: while the first clock stands, its lock is not renewed.
  const { duly, advance } = await createSharedStore(t, { virtual: true });
  const holder = duly();
  const other = duly();
  const begun = deferred();
  const lost = deferred<unknown>();
  const work = deferred();
  const first = holder.lock('stalled', { ttl: '30s' }, async ({ signal }) => {
    signal.addEventListener('abort', () => lost.resolve(signal.reason));
    begun.resolve();
    await work.promise;
  });
  await begun.promise;
  await advance(other, 31_000);
  assert.equal((await other.lock('stalled', { ttl: '5m' }, () => 'mine')).acquired, true);
  await advance(holder, 31_000);
  assert.ok(isDulyError(await lost.promise, 'lock_lost'));
  work.resolve();
  const result = await first;
  assert.ok(result.acquired && !result.kept);
});

test('locks, leaderships and once() have names of their own', async (t) => {
  const { duly } = await createSharedStore(t);
  const one = duly();
  const names = ['z', 'leader:z', 'once:z', 'lock:z'];
  const work = deferred();
  const begun = names.map(() => deferred());
  const locks = names.map((name, i) =>
    one.lock(name, {}, async () => {
      begun[i]?.resolve();
      await work.promise;
    }),
  );
  await Promise.all(begun.map(({ promise }) => promise));
  await one.leader('z').elected();
  assert.equal(await one.once('z', {}, () => 'done'), 'done');
  work.resolve();
  for (const result of await Promise.all(locks)) assert.ok(result.acquired && result.kept);
});

test('a lost lock is told by the name that was given', async (t) => {
  const { duly, advance } = await createSharedStore(t, { virtual: true });
  const [holder, other] = [duly(), duly()];
  const lost = deferred<unknown>();
  const begun = deferred();
  const first = holder.lock('stalled', { ttl: '30s' }, async ({ signal }) => {
    signal.addEventListener('abort', () => lost.resolve(signal.reason));
    begun.resolve();
    await lost.promise;
  });
  await begun.promise;
  await advance(other, 31_000);
  await other.lock('stalled', {}, () => 1);
  await advance(holder, 31_000);
  assert.match(String(await lost.promise), /The lock "stalled" is no longer ours/);
  await first;
});

test('a lock is waited for by notification, by the end of the holder and by a look each second', async (t) => {
  const { duly, advance } = await createSharedStore(t, { virtual: true });
  const [holder, other] = [duly(), duly()];
  const work = deferred();
  const begun = deferred();
  const first = holder.lock('nightly', { ttl: '10m' }, async () => {
    begun.resolve();
    await work.promise;
  });
  await begun.promise;
  const second = other.lock('nightly', { wait: '1h' }, () => 'mine');
  await advance(other, 0);
  const before = other.calls()?.acquire ?? 0;
  await advance(other, 10_000);
  const asked = (other.calls()?.acquire ?? 0) - before;
  assert.ok(asked >= 9 && asked <= 10, `${asked} questions in ten seconds`);
  work.resolve();
  await first;
  await advance(other, 1_000);
  assert.deepEqual(await second, { acquired: true, value: 'mine', kept: true });
});

test('whoever waits for a lock or a result is told when the Duly stops', async (t) => {
  const { duly } = await createSharedStore(t);
  const [holder, other] = [duly(), duly()];
  const work = deferred();
  const begun = [deferred(), deferred()];
  const locked = holder.lock('a', {}, async () => {
    begun[0]?.resolve();
    await work.promise;
  });
  const once = holder.once('a', {}, async () => {
    begun[1]?.resolve();
    await work.promise;
  });
  await Promise.all(begun.map(({ promise }) => promise));
  await other.open();
  const reported = Promise.all([
    assert.rejects(
      other.lock('a', { wait: 'forever' }, () => assert.fail('must not run')),
      { code: 'stopped' },
    ),
    assert.rejects(
      other.once('a', {}, () => assert.fail('must not run')),
      { code: 'stopped' },
    ),
  ]);
  // Both have asked and wait.
  while ((other.calls()?.acquire ?? 0) < 2) await other.next('call');
  await new Promise((resolve) => setImmediate(resolve));
  await other.stop();
  await reported;
  work.resolve();
  await Promise.all([locked, once]);
});

test('bad options are refused', async (t) => {
  const { duly } = await createSharedStore(t);
  const one = duly();
  await assert.rejects(
    one.lock('a', { tll: '1m' } as never, () => 1),
    { code: 'invalid_option', hint: 'Did you mean "ttl"?' },
  );
  await assert.rejects(
    one.lock('a', { ttl: '-1m' }, () => 1),
    { code: 'invalid_duration' },
  );
  await assert.rejects(
    one.lock('a', { ttl: 99 }, () => 1),
    { code: 'invalid_duration' },
  );
  await assert.rejects(
    one.lock(7 as never, {}, () => 1),
    { code: 'invalid_option' },
  );
  await assert.rejects(one.lock('a', {}, undefined as never), { code: 'invalid_option' });
  const odd = await one.lock('any text: ü 🎬 / \n', {}, () => 'fine');
  assert.ok(odd.acquired);
});

test('a Duly that stops waits for the work under a lock, then tells it and gives the lock back', async (t) => {
  const { duly } = await createSharedStore(t);
  const [one, other] = [duly(), duly()];
  const [quick, stubborn, entered] = [deferred(), deferred(), deferred()];
  let reported: AbortSignal | null = null;
  const finished = one.lock('quick', {}, () => quick.promise);
  const interrupted = one.lock('stubborn', {}, async ({ signal }) => {
    reported = signal;
    entered.resolve();
    await stubborn.promise;
  });
  await entered.promise;
  const stopping = one.stop({ drain: 200 });
  quick.resolve();
  assert.equal((await finished).acquired, true);
  await stopping;
  assert.equal((reported as unknown as AbortSignal).reason.code, 'stopped');
  stubborn.resolve();
  const late = await interrupted;
  assert.ok(late.acquired && !late.kept);
  for (const name of ['quick', 'stubborn']) {
    assert.equal((await other.lock(name, {}, () => 1)).acquired, true, name);
  }
});

test('held locks are listed by kind and name, page by page', async (t) => {
  const { duly } = await createSharedStore(t);
  const one = duly();
  const zebra = await one.locks.acquire('zebra', { ttl: '1m' });
  assert.ok(zebra.acquired);
  await one.locks.acquire('ant', { ttl: '1m' });
  const inside = await one.once('bee', { for: '1h' }, async () => {
    const leader = one.leader('cat');
    await leader.elected();
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const page = await duly().locks.list({ limit: 3, cursor });
      pages.push(page.locks.map((lock) => `${lock.kind} ${lock.name}`));
      cursor = page.nextCursor;
    } while (cursor !== null);
    await leader.resign();
    return pages;
  });
  assert.deepEqual(inside, [['leader cat', 'lock ant', 'lock zebra'], ['once bee']]);
  const { locks, nextCursor } = await one.locks.list({ prefix: 'z' });
  assert.deepEqual(
    [locks.map(({ name, fence: of }) => [name, of]), nextCursor],
    [[['zebra', zebra.fence]], null],
  );
  assert.equal(locks[0]?.holder.pid, process.pid);
  assert.ok(locks[0].ttlMs > 0 && locks[0].ttlMs <= 60_000);
  assert.deepEqual((await one.locks.list({ kind: 'once' })).locks, []);
  for (const wrong of [{ kind: 'x' }, { limit: 0 }, { limit: 1_001 }, { prefix: 'a\0' }, { more: 1 }]) {
    await assert.rejects(one.locks.list(wrong as never), (error) => isDulyError(error, 'invalid_option'));
  }
  for (const cursor of ['zebra', 7]) {
    await assert.rejects(one.locks.list({ cursor } as never), (error) =>
      isDulyError(error, 'invalid_cursor'),
    );
  }
});
