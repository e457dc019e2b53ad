import assert from 'node:assert/strict';
import { hour, lostSettlement, minute, second, settlement, t0 } from './builders.ts';
import {
  cancel,
  claimOne,
  create,
  createRunning,
  finish,
  heartbeat,
  only,
  read,
  reap,
  settle,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `heartbeat` promises. */
export function heartbeatTests(test: DefineTest): void {
  test('a heartbeat keeps the lease and moves its end', async ({ engine }) => {
    const lease = await createRunning(engine, {}, t0, { leaseMs: 30 * second });
    assert.deepEqual(await heartbeat(engine, lease, t0 + 5 * second, { leaseMs: 20 * second }), {
      state: 'kept',
    });
    assert.equal((await read(engine, lease.id)).leaseUntilAt, t0 + 25 * second);
    assert.deepEqual(await reap(engine, t0 + 25 * second - 1), []);
    assert.equal(only(await reap(engine, t0 + 25 * second)).id, lease.id);
  });

  test('a lease is over exactly at its end, and not a millisecond before', async ({ engine }) => {
    const lease = await createRunning(engine, {}, t0, { leaseMs: minute });
    assert.deepEqual(await reap(engine, t0 + minute - 1), []);
    assert.equal(only(await reap(engine, t0 + minute)).id, lease.id);
  });

  test('a late heartbeat is still kept as long as nobody has taken the lease over', async ({ engine }) => {
    const lease = await createRunning(engine, {}, t0, { leaseMs: minute });
    assert.deepEqual(await heartbeat(engine, lease, t0 + hour, { leaseMs: minute }), { state: 'kept' });
    assert.deepEqual(await reap(engine, t0 + hour + minute - 1), []);
    await finish(engine, lease, 'COMPLETED', {}, t0 + hour + 1);
  });

  test('a late outcome is still accepted as long as nobody has taken the lease over', async ({ engine }) => {
    const lease = await createRunning(engine, {}, t0, { leaseMs: minute });
    await finish(engine, lease, 'COMPLETED', {}, t0 + hour);
  });

  test('a lease that was taken over is lost', async ({ engine }) => {
    const lease = await createRunning(engine);
    const taken = only(await reap(engine, t0 + hour));
    assert.deepEqual(await heartbeat(engine, lease, t0 + hour), { state: 'lost' });
    assert.deepEqual(await heartbeat(engine, taken, t0 + hour), { state: 'kept' }, 'the new holder has it');
    assert.equal((await read(engine, lease.id)).fence, taken.fence);
  });

  test('a lease of a job that ended, waits again or never was is lost', async ({ engine }) => {
    const ended = await createRunning(engine);
    await finish(engine, ended, 'COMPLETED');
    const failed = await createRunning(engine);
    await finish(engine, failed, 'FAILED');
    const waiting = await createRunning(engine);
    await finish(engine, waiting, 'RETRYING');
    const released = await createRunning(engine);
    await finish(engine, released, 'PENDING');
    const leases = [ended, failed, waiting, released, { id: 'job_nowhere', fence: 1 }].map(
      ({ id, fence }) => ({
        id,
        fence,
        begun: true,
      }),
    );
    const reply = await engine.heartbeat({ now: t0 + 1, node: 'node-a', leaseMs: minute, leases });
    assert.deepEqual(
      reply.leases.map(({ state }) => state),
      ['lost', 'lost', 'lost', 'lost', 'lost'],
    );
    assert.equal((await read(engine, waiting.id)).leaseUntilAt, null);
    assert.equal((await read(engine, released.id)).status, 'PENDING');
  });

  test('leases are answered one by one, in the order asked', async ({ engine }) => {
    const asked = await createRunning(engine);
    await cancel(engine, { id: asked.id }, t0 + 7);
    const kept = await createRunning(engine);
    const wrong = { ...kept, fence: kept.fence + 100 };
    const leases = [kept, wrong, asked].map(({ id, fence }) => ({ id, fence, begun: false }));
    const reply = await engine.heartbeat({ now: t0 + second, node: 'node-a', leaseMs: minute, leases });
    assert.deepEqual(reply.leases, [
      { state: 'kept' },
      { state: 'lost' },
      { state: 'cancel', requestedAt: t0 + 7 },
    ]);
    assert.deepEqual(
      (await engine.heartbeat({ now: t0, node: 'node-a', leaseMs: 1, leases: [] })).leases,
      [],
    );
  });

  test('a lease asked to cancel is renewed all the same, and told at every heartbeat', async ({ engine }) => {
    const lease = await createRunning(engine);
    await cancel(engine, { id: lease.id }, t0 + 1);
    for (const now of [t0 + 20 * second, t0 + 40 * second]) {
      assert.deepEqual(await heartbeat(engine, lease, now), { state: 'cancel', requestedAt: t0 + 1 });
      assert.deepEqual(await reap(engine, now + 29 * second), []);
    }
    await finish(engine, lease, 'CANCELLED', {}, t0 + minute);
  });

  test('a beginning is written once, at the first heartbeat that tells of it', async ({ engine }) => {
    const lease = await createRunning(engine);
    await heartbeat(engine, lease, t0 + 1);
    assert.equal((await read(engine, lease.id)).attempts.at(-1)?.begunAt, null);
    await heartbeat(engine, lease, t0 + 2, { begun: true });
    await heartbeat(engine, lease, t0 + 3, { begun: true });
    await heartbeat(engine, lease, t0 + 4);
    assert.equal((await read(engine, lease.id)).attempts.at(-1)?.begunAt, t0 + 2);
    await finish(engine, lease, 'COMPLETED', {}, t0 + 5);
    assert.equal((await read(engine, lease.id)).attempts.at(-1)?.begunAt, t0 + 2);
  });

  test('a new attempt has not begun, whatever the one before had', async ({ engine }) => {
    const lease = await createRunning(engine);
    await heartbeat(engine, lease, t0, { begun: true });
    await finish(engine, lease, 'RETRYING', { due: { inMs: 0 } });
    const again = await claimOne(engine);
    assert.equal(again.begun, false);
    assert.equal((await read(engine, lease.id)).attempts.at(-1)?.begunAt, null);
    assert.equal(only(await reap(engine, t0 + hour)).begun, false);
  });

  test('a heartbeat under a stale fence writes no beginning', async ({ engine }) => {
    const { id } = await create(engine);
    const lease = await claimOne(engine);
    const taken = only(await reap(engine, t0 + hour));
    await heartbeat(engine, lease, t0 + hour, { begun: true });
    assert.equal(await settle(engine, lostSettlement(taken, 'unproven'), t0 + hour), 'done');
    assert.ok((await read(engine, id)).attempts.every(({ begunAt }) => begunAt === null));
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED'), t0 + hour), 'lost');
  });
}
