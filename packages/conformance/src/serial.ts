import assert from 'node:assert/strict';
import type { JobSpec } from '@duly/core/internal';
import { claimRequest, hour, jobSpec, lostSettlement, minute, second, settlement, t0 } from './builders.ts';
import {
  cancel,
  claim,
  claimOne,
  create,
  createAll,
  createRunning,
  deleteJobs,
  finish,
  only,
  read,
  reap,
  reschedule,
  retry,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

const serial = (fields: Partial<JobSpec> = {}): JobSpec => jobSpec({ serial: 'account-1', ...fields });

/** What serial keys promise (docs/reference/semantics.md#serial). */
export function serialTests(test: DefineTest): void {
  test('jobs of one key run one at a time', async ({ engine }) => {
    const items = await createAll(engine, [serial(), serial(), serial()]);
    assert.deepEqual(
      items.map(({ status }) => status),
      ['PENDING', 'BLOCKED', 'BLOCKED'],
    );
    for (const { id } of items) {
      const lease = await claimOne(engine);
      assert.equal(lease.id, id);
      assert.deepEqual(await claim(engine), []);
      await finish(engine, lease, 'COMPLETED');
    }
    assert.deepEqual(await claim(engine), []);
  });

  test('a blocked job says that it waits for its key, and no longer once it may run', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    const { id } = await create(engine, serial());
    // How a store names the line is its own affair; the job carries the key.
    const blocked = await read(engine, id);
    assert.deepEqual([blocked.serial, only(blocked.gates).kind], ['account-1', 'serial']);
    await finish(engine, lease, 'COMPLETED');
    const job = await read(engine, id);
    assert.deepEqual([job.status, job.gates], ['PENDING', []]);
  });

  test('the exchange that ends one may take the next', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    const { id } = await create(engine, serial());
    const reply = await engine.exchange({
      now: t0,
      settle: [settlement(lease, 'COMPLETED')],
      claim: claimRequest(),
    });
    assert.equal(only(reply.claimed).id, id);
  });

  test('those that wait run in due order, not in the order they were created', async ({ engine }) => {
    const first = await createRunning(engine, serial());
    const { id: late } = await create(engine, serial({ due: { at: t0 - 1 } }));
    const { id: early } = await create(engine, serial({ due: { at: t0 - 3 } }));
    const { id: middle } = await create(engine, serial({ due: { at: t0 - 2 } }));
    await finish(engine, first, 'COMPLETED');
    const order: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const lease = await claimOne(engine);
      order.push(lease.id);
      await finish(engine, lease, 'COMPLETED');
    }
    assert.deepEqual(order, [early, middle, late]);
  });

  test('of equal due time the one created first runs first', async ({ engine }) => {
    const items = await createAll(
      engine,
      Array.from({ length: 4 }, () => serial()),
    );
    const order: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const lease = await claimOne(engine);
      order.push(lease.id);
      await finish(engine, lease, 'COMPLETED');
    }
    assert.deepEqual(
      order,
      items.map(({ id }) => id),
    );
  });

  test('a job that is not due yet holds no place and takes none', async ({ engine }) => {
    const { id: later, status } = await create(engine, serial({ due: { at: t0 + hour } }));
    assert.equal(status, 'SCHEDULED');
    const now = await createRunning(engine, serial());
    await finish(engine, now, 'COMPLETED');
    assert.deepEqual(await claim(engine), []);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, later);
  });

  test('a job that falls due while another holds the place waits its turn', async ({ engine }) => {
    const { id } = await create(engine, serial({ due: { at: t0 + minute } }));
    const holder = await createRunning(engine, serial(), t0, { leaseMs: 10 * hour });
    assert.deepEqual(await claim(engine, {}, t0 + minute), []);
    await reap(engine, t0 + minute);
    assert.equal(await statusOf(engine, id), 'BLOCKED');
    await finish(engine, holder, 'COMPLETED', {}, t0 + hour);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, id);
  });

  test('several that fall due together are promoted in due order, one at a time', async ({ engine }) => {
    const { id: second_ } = await create(engine, serial({ due: { at: t0 + 2 } }));
    const { id: first } = await create(engine, serial({ due: { at: t0 + 1 } }));
    const lease = await claimOne(engine, {}, t0 + minute);
    assert.equal(lease.id, first);
    assert.deepEqual(await claim(engine, {}, t0 + minute), []);
    await finish(engine, lease, 'COMPLETED', {}, t0 + minute);
    assert.equal((await claimOne(engine, {}, t0 + minute)).id, second_);
  });

  test('of several types that fall due together the earliest due gets the place', async ({ engine }) => {
    const { id: later } = await create(engine, serial({ type: 'a', due: { at: t0 + 2 } }));
    const { id: earlier } = await create(engine, serial({ type: 'b', due: { at: t0 + 1 } }));
    const tasks = ['a', 'b'].map((type) => ({ type, version: 1, limit: 5 }));
    const lease = await claimOne(engine, { tasks }, t0 + minute);
    assert.equal(lease.id, earlier);
    await finish(engine, lease, 'COMPLETED', {}, t0 + minute);
    assert.equal((await claimOne(engine, { tasks }, t0 + minute)).id, later);
  });

  test('one that is created now stands behind those that fell due while nobody looked', async ({
    engine,
  }) => {
    const { id: second_ } = await create(engine, serial({ due: { at: t0 + 2 } }));
    const { id: first } = await create(engine, serial({ due: { at: t0 + 1 } }));
    const { id: third } = await create(engine, serial({ due: { at: t0 + minute } }), t0 + minute);
    for (const id of [first, second_, third]) {
      const lease = await claimOne(engine, {}, t0 + minute);
      assert.equal(lease.id, id);
      assert.deepEqual(await claim(engine, {}, t0 + minute), []);
      await finish(engine, lease, 'COMPLETED', {}, t0 + minute);
    }
  });

  test('a place that is given up goes to the earliest due, promoted or not', async ({ engine }) => {
    const holder = await createRunning(engine, serial(), t0, { leaseMs: hour });
    const { id: inLine } = await create(engine, serial({ due: { at: t0 + 5 } }), t0 + 5);
    const { id: unseen } = await create(engine, serial({ due: { at: t0 + 3 } }), t0 + 2);
    await finish(engine, holder, 'COMPLETED', {}, t0 + minute);
    assert.equal((await claimOne(engine, {}, t0 + minute)).id, unseen);
    assert.equal(await statusOf(engine, inLine), 'BLOCKED');
  });

  test('of several types that a sweep finds due the earliest due gets the place', async ({ engine }) => {
    const { id: later } = await create(engine, serial({ type: 'a', due: { at: t0 + 2 } }));
    const { id: earlier } = await create(engine, serial({ type: 'b', due: { at: t0 + 1 } }));
    await reap(engine, t0 + minute);
    assert.equal(await statusOf(engine, earlier), 'PENDING');
    assert.equal(await statusOf(engine, later), 'BLOCKED');
  });

  test('a job that waits to run again keeps its place', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    const { id: next } = await create(engine, serial());
    await finish(engine, lease, 'RETRYING', { due: { at: t0 + minute } });
    assert.deepEqual(await claim(engine), []);
    const again = await claimOne(engine, {}, t0 + minute);
    assert.equal(again.id, lease.id);
    await finish(engine, again, 'COMPLETED', {}, t0 + minute);
    assert.equal((await claimOne(engine, {}, t0 + minute)).id, next);
  });

  test('a job whose lease was lost keeps its place', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    await create(engine, serial());
    const taken = only(await reap(engine, t0 + hour));
    assert.deepEqual(await claim(engine, {}, t0 + hour), []);
    assert.equal(await settle(engine, lostSettlement(taken, 'unproven'), t0 + hour), 'done');
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, lease.id);
  });

  test('a released job keeps its place', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    await create(engine, serial({ due: { at: t0 - hour } }));
    await finish(engine, lease, 'PENDING');
    assert.equal((await claimOne(engine)).id, lease.id);
  });

  test('a snoozed job gives its place to the next and queues up again when it is due', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    const { id: next } = await create(engine, serial());
    await finish(engine, lease, 'SCHEDULED', { due: { at: t0 + minute } });
    const nextLease = await claimOne(engine, { leaseMs: hour });
    assert.equal(nextLease.id, next);
    assert.deepEqual(await claim(engine, {}, t0 + minute), []);
    await finish(engine, nextLease, 'COMPLETED', {}, t0 + 2 * minute);
    assert.equal((await claimOne(engine, {}, t0 + 2 * minute)).id, lease.id);
  });

  test('a job that is moved away before it was taken gives its place to the next', async ({ engine }) => {
    const [holder, next] = await createAll(engine, [serial(), serial()]);
    assert.ok(holder && next);
    await reschedule(engine, { id: holder.id }, { at: t0 + hour });
    assert.equal((await claimOne(engine)).id, next.id);
  });

  test('a waiting job that is moved away lets the others pass', async ({ engine }) => {
    const lease = await createRunning(engine, serial());
    const { id: moved } = await create(engine, serial());
    const { id: last } = await create(engine, serial({ due: { at: t0 } }));
    await reschedule(engine, { id: moved }, { at: t0 + hour });
    await finish(engine, lease, 'COMPLETED');
    const next = await claimOne(engine);
    assert.equal(next.id, last);
    await finish(engine, next, 'COMPLETED');
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, moved);
  });

  test('a waiting job that is cancelled leaves the order of the others', async ({ engine }) => {
    const items = await createAll(engine, [serial(), serial(), serial()]);
    const [first, second_, third] = items;
    assert.ok(first && second_ && third);
    await cancel(engine, { id: second_.id });
    await finish(engine, await claimOne(engine), 'COMPLETED');
    assert.equal((await claimOne(engine)).id, third.id);
  });

  test('the place is passed on however the holder ends', async ({ engine }) => {
    const ends: ((id: string) => Promise<unknown>)[] = [
      (id) => cancel(engine, { id }),
      (id) => deleteJobs(engine, [id]),
      async (id) => {
        const lease = await claimOne(engine);
        assert.equal(lease.id, id);
        await finish(engine, lease, 'FAILED');
      },
      async (id) => {
        await claimOne(engine);
        await cancel(engine, { id }, t0, 'terminate');
      },
      async (id) => {
        await claimOne(engine);
        await finish(engine, only(await reap(engine, t0 + hour)), 'FAILED', {
          reason: 'lost',
          loss: 'begun',
        });
        assert.equal(await statusOf(engine, id), 'FAILED');
      },
    ];
    for (const end of ends) {
      const [holder, next] = await createAll(engine, [serial(), serial()]);
      assert.ok(holder && next);
      await end(holder.id);
      const lease = await claimOne(engine);
      assert.equal(lease.id, next.id);
      await finish(engine, lease, 'COMPLETED');
    }
  });

  test('the place is passed on when the holder expires', async ({ engine }) => {
    const [holder, next] = await createAll(engine, [serial({ startDeadlineMs: second }), serial()]);
    assert.ok(holder && next);
    await reap(engine, t0 + minute);
    assert.equal(await statusOf(engine, holder.id), 'EXPIRED');
    assert.equal((await claimOne(engine, {}, t0 + minute)).id, next.id);
  });

  test('keys are apart per tenant, shared by all types', async ({ engine }) => {
    const items = await createAll(engine, [
      serial(),
      serial({ tenant: 'acme' }),
      serial({ tenant: 'globex' }),
      serial({ serial: 'account-2' }),
      serial({ tenant: 'acme', type: 'other' }),
    ]);
    assert.deepEqual(
      items.map(({ status }) => status),
      ['PENDING', 'PENDING', 'PENDING', 'PENDING', 'BLOCKED'],
    );
    assert.equal((await claim(engine)).length, 4);
  });

  test('a retried job waits when the place is taken, and runs at once when it is free', async ({
    engine,
  }) => {
    const failed = await createRunning(engine, serial());
    await finish(engine, failed, 'FAILED');
    const holder = await createRunning(engine, serial());
    const item = await retry(engine, failed.id);
    assert.deepEqual([item.result, item.status], ['changed', 'BLOCKED']);
    assert.deepEqual(await claim(engine), []);
    await finish(engine, holder, 'COMPLETED');
    const again = await claimOne(engine);
    assert.equal(again.id, failed.id);
    await finish(engine, again, 'FAILED');
    assert.equal((await retry(engine, failed.id)).status, 'PENDING');
  });

  test('a job of a key with another gate takes the place only when that gate is open', async ({ engine }) => {
    const parent = await createRunning(engine, { type: 'other' });
    const { id: gated } = await create(
      engine,
      serial({ gates: [{ kind: 'parent', ref: parent.id }], due: { at: t0 - 1 } }),
    );
    const free = await createRunning(engine, serial());
    await finish(engine, parent, 'COMPLETED');
    assert.deepEqual(await claim(engine), [], 'the place is taken');
    await finish(engine, free, 'COMPLETED');
    assert.equal((await claimOne(engine)).id, gated);
  });
}
