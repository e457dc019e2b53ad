import assert from 'node:assert/strict';
import { hour, lockRequest, minute, second, t0 } from './builders.ts';
import { only } from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `acquire`, `renew`, `release` and `heldLocks` promise. */
export function lockTests(test: DefineTest): void {
  test('a free lock is given with a fence and an end', async ({ engine }) => {
    const reply = await engine.acquire(lockRequest('l', { ttlMs: minute }));
    assert.ok(reply.acquired && reply.fence > 0);
    assert.deepEqual([reply.now, reply.untilAt], [t0, t0 + minute]);
  });

  test('a held lock is refused, with who holds it and until when', async ({ engine }) => {
    const holder = { host: 'höst', pid: 42, node: 'node-x' };
    const mine = await engine.acquire(lockRequest('l', { holder }));
    const reply = await engine.acquire(lockRequest('l', { now: t0 + minute - 1 }));
    assert.deepEqual(reply, {
      now: t0 + minute - 1,
      acquired: false,
      holder,
      fence: mine.fence,
      untilAt: t0 + minute,
    });
  });

  test('a lock that is over is given to the next, exactly at its end', async ({ engine }) => {
    const first = await engine.acquire(lockRequest('l'));
    const next = await engine.acquire(lockRequest('l', { now: t0 + minute }));
    assert.ok(next.acquired && next.fence > first.fence);
  });

  test('the same token answers with the same lock', async ({ engine }) => {
    const request = lockRequest('l');
    const first = await engine.acquire(request);
    const again = await engine.acquire({ ...request, now: t0 + second });
    assert.ok(again.acquired);
    assert.equal(again.fence, first.fence);
    assert.ok(again.untilAt >= first.untilAt);
  });

  test('a token whose lock was taken over does not get it back', async ({ engine }) => {
    const request = lockRequest('l');
    await engine.acquire(request);
    await engine.acquire(lockRequest('l', { now: t0 + minute }));
    assert.equal((await engine.acquire({ ...request, now: t0 + minute + 1 })).acquired, false);
  });

  test('a lock is renewed by its fence and lasts that much longer', async ({ engine }) => {
    const { fence } = await engine.acquire(lockRequest('l'));
    const renew = (now: number) => engine.renew({ now, ttlMs: minute, locks: [{ name: 'l', fence }] });
    assert.deepEqual((await renew(t0 + 50 * second)).locks, ['kept']);
    const refused = await engine.acquire(lockRequest('l', { now: t0 + 109 * second }));
    assert.deepEqual([refused.acquired, refused.untilAt], [false, t0 + 110 * second]);
    assert.ok((await engine.acquire(lockRequest('l', { now: t0 + 110 * second }))).acquired);
    assert.deepEqual((await renew(t0 + 111 * second)).locks, ['lost']);
  });

  test('a released lock is free at once', async ({ engine }) => {
    const first = await engine.acquire(lockRequest('l'));
    const locks = [{ name: 'l', fence: first.fence }];
    assert.deepEqual((await engine.release({ now: t0 + 1, locks })).locks, ['kept']);
    const next = await engine.acquire(lockRequest('l', { now: t0 + 1 }));
    assert.ok(next.acquired && next.fence > first.fence, 'fences grow although the lock was gone in between');
    assert.deepEqual((await engine.release({ now: t0 + 2, locks })).locks, ['lost']);
    assert.equal(
      (await engine.acquire(lockRequest('l', { now: t0 + 2 }))).acquired,
      false,
      'the new one stands',
    );
  });

  test('a release of a lock that is gone, or was never there, is lost', async ({ engine }) => {
    const { fence } = await engine.acquire(lockRequest('l'));
    await engine.release({ now: t0, locks: [{ name: 'l', fence }] });
    const locks = [
      { name: 'l', fence },
      { name: 'never', fence },
    ];
    assert.deepEqual((await engine.release({ now: t0, locks })).locks, ['lost', 'lost']);
    assert.deepEqual((await engine.renew({ now: t0, ttlMs: minute, locks })).locks, ['lost', 'lost']);
  });

  test('locks are renewed and released in one call, each for itself', async ({ engine }) => {
    const a = await engine.acquire(lockRequest('a'));
    const b = await engine.acquire(lockRequest('b'));
    const locks = [
      { name: 'a', fence: a.fence },
      { name: 'b', fence: a.fence },
      { name: 'b', fence: b.fence },
    ];
    assert.deepEqual((await engine.renew({ now: t0, ttlMs: minute, locks })).locks, ['kept', 'lost', 'kept']);
    assert.deepEqual((await engine.release({ now: t0, locks })).locks, ['kept', 'lost', 'kept']);
    assert.deepEqual((await engine.release({ now: t0, locks: [] })).locks, []);
  });

  test('any string is a name, and names are apart', async ({ engine }) => {
    const names = ['l', 'L', 'l ', ' l', 'l%', 'l_', "l'", 'ł', '🔒', 'x'.repeat(500), 'job:1', '{tag}'];
    for (const name of names) assert.ok((await engine.acquire(lockRequest(name))).acquired, name);
    for (const name of names) assert.equal((await engine.acquire(lockRequest(name))).acquired, false, name);
    const { fence } = await engine.acquire(lockRequest('🔒'));
    assert.equal(only((await engine.release({ now: t0, locks: [{ name: '🔒', fence }] })).locks), 'kept');
  });

  test('held locks are listed by name, with who holds them and until when', async ({ engine }) => {
    const holder = { host: 'höst', pid: 42, node: 'node-x' };
    const b = await engine.acquire(lockRequest('b', { holder, ttlMs: 2 * minute }));
    const a = await engine.acquire(lockRequest('a'));
    const { locks, now } = await engine.heldLocks({ now: t0 + second, prefix: '', after: null, limit: 9 });
    assert.equal(now, t0 + second);
    assert.deepEqual(
      locks.map(({ name, fence, untilAt }) => [name, fence, untilAt]),
      [
        ['a', a.fence, t0 + minute],
        ['b', b.fence, t0 + 2 * minute],
      ],
    );
    assert.deepEqual(locks[1]?.holder, holder);
  });

  test('a lock that is over, or given back, is not listed', async ({ engine }) => {
    await engine.acquire(lockRequest('over'));
    const { fence } = await engine.acquire(lockRequest('back', { ttlMs: hour }));
    await engine.acquire(lockRequest('held', { ttlMs: hour }));
    await engine.release({ now: t0, locks: [{ name: 'back', fence }] });
    const at = async (now: number) =>
      (await engine.heldLocks({ now, prefix: '', after: null, limit: 9 })).locks.map(({ name }) => name);
    assert.deepEqual(await at(t0 + minute - 1), ['held', 'over']);
    assert.deepEqual(await at(t0 + minute), ['held']);
    assert.deepEqual(await at(t0 + hour), []);
  });

  test('locks are listed by the beginning of their names, page by page, whatever is in a name', async ({
    engine,
  }) => {
    const names = ['k:', 'k:%', 'k:_', 'k:a', 'k:ä', 'k:\ud7ff', 'k:\u{e000}', 'k:🔒', 'k:\u{10ffff}x'];
    for (const name of [...names, 'K:a', 'k', 'k;', 'l', '%', '\u{10ffff}a']) {
      await engine.acquire(lockRequest(name));
    }
    const under = async (prefix: string, limit: number) => {
      const found: string[] = [];
      for (let after: string | null = null; ; ) {
        const { locks } = await engine.heldLocks({ now: t0, prefix, after, limit });
        found.push(...locks.map(({ name }) => name));
        if (locks.length < limit) return found;
        after = found.at(-1) ?? null;
      }
    };
    for (const limit of [1, 2, 100]) assert.deepEqual(await under('k:', limit), names);
    assert.deepEqual(await under('k:\ud7ff', 9), ['k:\ud7ff']);
    assert.deepEqual(await under('\u{10ffff}', 9), ['\u{10ffff}a']);
    assert.deepEqual(await under('%', 9), ['%']);
    assert.deepEqual(await under('nobody', 9), []);
    assert.equal((await under('', 4)).length, names.length + 6);
  });
}
