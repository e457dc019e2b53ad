import assert from 'node:assert/strict';
import { hour, jobSpec, lostSettlement, minute, second, settlement, t0 } from './builders.ts';
import {
  cancel,
  claim,
  claimOne,
  create,
  createAll,
  createRunning,
  finish,
  heartbeat,
  only,
  read,
  reap,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `reap` promises. */
export function reapTests(test: DefineTest): void {
  test('a store with nothing to do says so', async ({ engine }) => {
    const reply = await engine.reap({ now: t0, node: 'reaper', leaseMs: minute, limit: 10 });
    assert.deepEqual(reply, { now: t0, jobs: [], expired: 0, promoted: 0, more: false, nextAt: null });
  });

  test('a lost lease is taken over under a new fence and the job stays RUNNING until it is settled', async ({
    engine,
  }) => {
    const lease = await createRunning(engine, { tenant: 'acme', metadata: '{"a":1}' });
    const taken = only(await reap(engine, t0 + hour));
    assert.ok(taken.fence > lease.fence);
    assert.deepEqual(
      [taken.id, taken.attempt, taken.input, taken.metadata, taken.tenant, taken.policy],
      [lease.id, 1, lease.input, lease.metadata, 'acme', lease.policy],
    );
    assert.equal(taken.begun, false);
    assert.equal(await statusOf(engine, lease.id), 'RUNNING');
    assert.deepEqual(await claim(engine, {}, t0 + hour), []);
  });

  test('nothing of the old lease is accepted after it was taken over', async ({ engine }) => {
    const lease = await createRunning(engine);
    const taken = only(await reap(engine, t0 + hour));
    const before = await read(engine, lease.id);
    for (const to of ['COMPLETED', 'FAILED', 'RETRYING', 'SCHEDULED', 'PENDING', 'CANCELLED'] as const) {
      assert.equal(await settle(engine, settlement(lease, to), t0 + hour), 'lost', to);
    }
    const progress = { percent: 99, message: 'stale', step: null, of: null };
    const logs = [{ line: 1, at: t0, level: 'info' as const, message: 'stale' }];
    const reports = [{ id: lease.id, fence: lease.fence, progress, logs }];
    assert.deepEqual((await engine.report({ now: t0 + hour, logLimit: 10, reports })).reports, ['lost']);
    assert.deepEqual((await engine.logs({ now: t0, id: lease.id, after: 0, limit: 10 })).lines, []);
    assert.deepEqual(await heartbeat(engine, lease, t0 + hour, { begun: true }), { state: 'lost' });
    assert.deepEqual(await read(engine, lease.id), before);
    assert.equal(await settle(engine, settlement(taken, 'COMPLETED'), t0 + hour), 'done');
  });

  test('what was taken over is not given to another reaper until the lease of the first is over', async ({
    engine,
  }) => {
    const lease = await createRunning(engine);
    const first = only(await reap(engine, t0 + hour, 10 * second));
    assert.deepEqual(await reap(engine, t0 + hour + 10 * second - 1), []);
    const next = only(await reap(engine, t0 + hour + 10 * second, 10 * second));
    assert.equal(next.id, lease.id);
    assert.ok(next.fence > first.fence);
    assert.equal(await settle(engine, lostSettlement(first, 'unproven'), t0 + hour + 10 * second), 'lost');
    assert.equal(await settle(engine, lostSettlement(next, 'unproven'), t0 + hour + 10 * second), 'done');
    assert.equal((await read(engine, lease.id)).losses, 1, 'one loss, however many reapers it took');
  });

  test('a beginning that was written survives until somebody settles the loss', async ({ engine }) => {
    const lease = await createRunning(engine);
    await heartbeat(engine, lease, t0, { begun: true });
    assert.equal(only(await reap(engine, t0 + hour, second)).begun, true);
    assert.equal(only(await reap(engine, t0 + 2 * hour, second)).begun, true);
  });

  test('an outcome that arrives after the lease ended counts, as long as no node took the lease over', async ({
    engine,
  }) => {
    const lease = await createRunning(engine);
    await heartbeat(engine, lease, t0, { begun: true });
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED'), t0 + hour), 'done');
    assert.deepEqual(await reap(engine, t0 + hour), []);
    assert.equal(await statusOf(engine, lease.id), 'COMPLETED');
  });

  test('a pass takes over only what had ended at the instant it names, and says that more has', async ({
    engine,
  }) => {
    const at = (now: number, endedBy: number) =>
      engine.reap({ now, node: 'reaper', leaseMs: minute, limit: 10, endedBy });
    const early = await createRunning(engine, {}, t0, { leaseMs: minute });
    const late = await createRunning(engine, {}, t0, { leaseMs: 2 * minute });
    const none = await at(t0 + hour, t0 + minute - 1);
    assert.deepEqual([none.jobs, none.more, none.nextAt], [[], false, t0 + minute]);
    assert.equal(only((await at(t0 + hour, t0 + minute)).jobs).id, early.id);
    // One that still holds is not taken over, whatever instant is named.
    assert.deepEqual((await at(t0 + minute, t0 + hour)).jobs, []);
    assert.equal(only((await at(t0 + hour, t0 + hour)).jobs).id, late.id);
  });

  test('a lost job is given again as a new attempt', async ({ engine }) => {
    const lease = await createRunning(engine);
    await heartbeat(engine, lease, t0, { begun: true });
    const taken = only(await reap(engine, t0 + hour));
    assert.equal(await settle(engine, lostSettlement(taken, 'begun'), t0 + hour), 'done');
    const again = await claimOne(engine, { node: 'node-b' }, t0 + hour);
    assert.deepEqual([again.id, again.attempt, again.spent, again.losses], [lease.id, 2, 0, 1]);
    assert.ok(again.fence > taken.fence);
  });

  test('a reaper may end the job, cancel it or hand it back unspent', async ({ engine }) => {
    const failed = await createRunning(engine);
    await finish(engine, only(await reap(engine, t0 + hour)), 'FAILED', {
      reason: 'lost',
      loss: 'begun',
      spends: false,
    });
    assert.deepEqual(
      [(await read(engine, failed.id)).status, (await read(engine, failed.id)).reason],
      ['FAILED', 'lost'],
    );

    const asked = await createRunning(engine);
    await cancel(engine, { id: asked.id }, t0 + 1);
    const taken = only(await reap(engine, t0 + hour));
    assert.equal(taken.cancelRequestedAt, t0 + 1);
    await finish(engine, taken, 'CANCELLED');
    assert.equal(await statusOf(engine, asked.id), 'CANCELLED');

    const released = await createRunning(engine);
    await finish(engine, only(await reap(engine, t0 + hour)), 'PENDING', { started: false });
    assert.deepEqual(
      [(await read(engine, released.id)).status, (await read(engine, released.id)).attempt],
      ['PENDING', 0],
    );
  });

  test('a pass takes at most its limit and says that more is waiting', async ({ engine }) => {
    await createAll(engine, [jobSpec(), jobSpec(), jobSpec()]);
    await claim(engine);
    const first = await engine.reap({ now: t0 + hour, node: 'reaper', leaseMs: hour, limit: 2 });
    assert.deepEqual([first.jobs.length, first.more], [2, true]);
    const rest = await engine.reap({ now: t0 + hour, node: 'reaper', leaseMs: hour, limit: 2 });
    assert.deepEqual([rest.jobs.length, rest.more], [1, false]);
    assert.equal(new Set([...first.jobs, ...rest.jobs].map(({ id }) => id)).size, 3);
  });

  test('a pass promotes what is due and counts it', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + minute } });
    const { id: later } = await create(engine, { due: { at: t0 + hour } });
    const early = await engine.reap({ now: t0 + minute - 1, node: 'reaper', leaseMs: second, limit: 10 });
    assert.equal(early.promoted, 0);
    const reply = await engine.reap({ now: t0 + minute, node: 'reaper', leaseMs: second, limit: 10 });
    assert.equal(reply.promoted, 1);
    assert.equal(await statusOf(engine, id), 'PENDING');
    assert.equal(await statusOf(engine, later), 'SCHEDULED');
  });

  test('the reply names the next instant at which a lease or a start deadline ends', async ({ engine }) => {
    const at = async (now: number) =>
      (await engine.reap({ now, node: 'reaper', leaseMs: second, limit: 10 })).nextAt;
    const lease = await createRunning(engine, {}, t0, { leaseMs: hour });
    assert.equal(await at(t0), t0 + hour);
    const { id } = await create(engine, { due: { at: t0 + minute }, startDeadlineMs: minute });
    const deadline = await at(t0);
    assert.ok(
      deadline !== null && Math.abs(deadline - (t0 + 2 * minute)) <= 1,
      'the start deadline comes first',
    );
    await cancel(engine, { id });
    assert.equal(await at(t0), t0 + hour);
    await finish(engine, lease, 'COMPLETED');
    assert.equal(await at(t0), null);
  });

  test('a job that waits far in the future is no work for a reaper', async ({ engine }) => {
    await createAll(engine, [jobSpec({ due: { at: t0 + 400 * 24 * hour } }), jobSpec({ due: { at: t0 } })]);
    const reply = await engine.reap({
      now: t0 + 399 * 24 * hour,
      node: 'reaper',
      leaseMs: second,
      limit: 10,
    });
    assert.deepEqual([reply.jobs, reply.expired, reply.promoted, reply.more], [[], 0, 0, false]);
  });
}
