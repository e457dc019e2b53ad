import assert from 'node:assert/strict';
import type { Engine, RememberInput } from '@duly/core/internal';
import { day, hour, lockRequest, minute, t0 } from './builders.ts';
import { claimOne, createRunning, finish, reap } from './steps.ts';
import type { DefineTest } from './suite.ts';

const recall = (engine: Engine, scope: string, key: string, now = t0) =>
  engine.remember({ now, scope, key, put: null });

const write = (
  engine: Engine,
  scope: string,
  key: string,
  put: NonNullable<RememberInput['put']>,
  now = t0,
) => engine.remember({ now, scope, key, put });

/** What `remember` promises. */
export function rememberTests(test: DefineTest): void {
  test('nothing there is absent', async ({ engine }) => {
    assert.deepEqual(await recall(engine, 'once', 'k'), { now: t0, value: null, result: 'absent' });
  });

  test('a value written by the holder of a lock stands, and later ones do not replace it', async ({
    engine,
  }) => {
    const { fence } = await engine.acquire(lockRequest('once:k'));
    const guard = { lock: 'once:k', fence };
    const first = await write(engine, 'once', 'k', { value: '{ "a": "ä" }', forMs: null, guard });
    assert.deepEqual([first.result, first.value], ['written', '{ "a": "ä" }']);
    const again = await write(engine, 'once', 'k', { value: '2', forMs: null, guard });
    assert.deepEqual([again.result, again.value], ['present', '{ "a": "ä" }']);
    const seen = await recall(engine, 'once', 'k', t0 + 1000 * day);
    assert.deepEqual([seen.result, seen.value], ['present', '{ "a": "ä" }']);
  });

  test('a value written under a lease of a job is seen by its next attempt', async ({ engine }) => {
    const lease = await createRunning(engine);
    const scope = `job:${lease.id}`;
    const guard = { job: lease.id, fence: lease.fence };
    const put = { value: '"step result"', forMs: null, guard };
    assert.equal((await write(engine, scope, 'charge', put)).result, 'written');
    await finish(engine, lease, 'RETRYING', { due: { inMs: 0 } });
    const again = await claimOne(engine);
    const seen = await recall(engine, scope, 'charge');
    assert.deepEqual([seen.result, seen.value], ['present', '"step result"']);
    const second = { ...put, value: '"other"', guard: { job: again.id, fence: again.fence } };
    assert.equal((await write(engine, scope, 'charge', second)).value, '"step result"');
  });

  test('scopes and keys are apart', async ({ engine }) => {
    const lease = await createRunning(engine);
    const guard = { job: lease.id, fence: lease.fence };
    await write(engine, `job:${lease.id}`, 'k', { value: '1', forMs: null, guard });
    assert.equal((await recall(engine, 'once', 'k')).result, 'absent');
    assert.equal((await recall(engine, `job:${lease.id}`, 'K')).result, 'absent');
    assert.equal((await recall(engine, 'job:other', 'k')).result, 'absent');
  });

  test('a guard that no longer holds writes nothing: a job whose lease was taken over', async ({
    engine,
  }) => {
    const lease = await createRunning(engine);
    await reap(engine, t0 + hour);
    const guard = { job: lease.id, fence: lease.fence };
    const reply = await write(engine, `job:${lease.id}`, 'k', { value: '1', forMs: null, guard }, t0 + hour);
    assert.deepEqual([reply.result, reply.value], ['lost', null]);
    assert.equal((await recall(engine, `job:${lease.id}`, 'k')).result, 'absent');
  });

  test('a guard that no longer holds writes nothing: a job that has ended', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'COMPLETED');
    const guard = { job: lease.id, fence: lease.fence };
    assert.equal((await write(engine, 'once', 'k', { value: '1', forMs: null, guard })).result, 'lost');
  });

  test('a guard that no longer holds writes nothing: a lock that was released or taken over', async ({
    engine,
  }) => {
    const first = await engine.acquire(lockRequest('l'));
    const guard = { lock: 'l', fence: first.fence };
    const second = await engine.acquire(lockRequest('l', { now: t0 + minute }));
    assert.ok(second.acquired);
    const put = { value: '1', forMs: null, guard };
    assert.equal((await write(engine, 'once', 'k', put, t0 + minute)).result, 'lost');
    await engine.release({ now: t0 + minute, locks: [{ name: 'l', fence: second.fence }] });
    const released = { ...put, guard: { lock: 'l', fence: second.fence } };
    assert.equal((await write(engine, 'once', 'k', released, t0 + minute)).result, 'lost');
    assert.equal((await recall(engine, 'once', 'k')).result, 'absent');
  });

  test('a value kept for a time is absent after it and may be written again', async ({ engine }) => {
    const lease = await createRunning(engine, {}, t0, { leaseMs: 10 * day });
    const put = { value: '1', forMs: hour, guard: { job: lease.id, fence: lease.fence } };
    await write(engine, 'once', 'k', put);
    assert.equal((await recall(engine, 'once', 'k', t0 + hour - 1)).result, 'present');
    assert.equal((await recall(engine, 'once', 'k', t0 + hour)).result, 'absent');
    const again = await write(engine, 'once', 'k', { ...put, value: '2' }, t0 + hour);
    assert.deepEqual([again.result, again.value], ['written', '2']);
  });
}
