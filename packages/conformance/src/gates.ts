import assert from 'node:assert/strict';
import type { Engine, Gate, GateKind } from '@duly/core/internal';
import { claimRequest, hour, jobSpec, minute, second, settlement, t0 } from './builders.ts';
import {
  cancel,
  claim,
  claimOne,
  create,
  createAll,
  createRunning,
  deleteJobs,
  finish,
  gatesOf,
  itemAt,
  only,
  read,
  reap,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

const other = { type: 'other' };
const behind = (ref: string, kind: GateKind = 'parent'): { gates: Gate[] } => ({ gates: [{ kind, ref }] });

/** What gates promise (docs/reference/semantics.md#the-life-of-a-job). */
export function gateTests(test: DefineTest): void {
  for (const kind of ['overlap', 'parent', 'dedupe'] as const) {
    test(`a job behind a gate of kind ${kind} is BLOCKED until the named job is terminal`, async ({
      engine,
    }) => {
      const { id: holder } = await create(engine, other);
      const item = await create(engine, behind(holder, kind));
      assert.equal(item.status, 'BLOCKED');
      assert.deepEqual(gatesOf(await read(engine, item.id)), [`${kind} ${holder}`]);
      assert.deepEqual(await claim(engine), []);
      const lease = await claimOne(engine, { tasks: [{ type: 'other', version: 1, limit: 1 }] });
      assert.equal(await statusOf(engine, item.id), 'BLOCKED', 'running is not terminal');
      await finish(engine, lease, 'COMPLETED');
      const job = await read(engine, item.id);
      assert.deepEqual([job.status, job.gates], ['PENDING', []]);
      assert.equal((await claimOne(engine)).id, item.id);
    });
  }

  test('a gate that names an ended or unknown job is open from the start', async ({ engine }) => {
    const ended: string[] = ['job_nowhere'];
    for (const to of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
      const lease = await createRunning(engine, other);
      await finish(engine, lease, to);
      ended.push(lease.id);
    }
    const { id: expired } = await create(engine, {
      ...other,
      startDeadlineMs: second,
      due: { at: t0 - minute },
    });
    await reap(engine, t0);
    assert.equal(await statusOf(engine, expired), 'EXPIRED');
    ended.push(expired);
    const items = await createAll(
      engine,
      ended.map((ref) => jobSpec(behind(ref))),
    );
    for (const { id, status } of items) {
      assert.equal(status, 'PENDING');
      assert.deepEqual((await read(engine, id)).gates, []);
    }
  });

  test('a gate may name a job created earlier in the same group', async ({ engine }) => {
    const first = jobSpec(other);
    const [, second_] = await createAll(engine, [first, jobSpec(behind(first.id))]);
    assert.equal(second_?.status, 'BLOCKED');
    await cancel(engine, { id: first.id });
    assert.equal((await claimOne(engine)).id, second_?.id);
  });

  const ends: Record<string, (engine: Engine) => Promise<{ id: string; end: () => Promise<unknown> }>> = {
    'a completion': async (engine) => {
      const lease = await createRunning(engine, other);
      return { id: lease.id, end: () => finish(engine, lease, 'COMPLETED') };
    },
    'a failure': async (engine) => {
      const lease = await createRunning(engine, other);
      return { id: lease.id, end: () => finish(engine, lease, 'FAILED') };
    },
    'a cancel that was obeyed': async (engine) => {
      const lease = await createRunning(engine, other);
      return { id: lease.id, end: () => finish(engine, lease, 'CANCELLED') };
    },
    'a cancel of a waiting job': async (engine) => {
      const { id } = await create(engine, other);
      return { id, end: () => cancel(engine, { id }) };
    },
    'a termination': async (engine) => {
      const { id } = await createRunning(engine, other);
      return { id, end: () => cancel(engine, { id }, t0, 'terminate') };
    },
    'an expired start deadline': async (engine) => {
      const { id } = await create(engine, { ...other, due: { at: t0 - minute }, startDeadlineMs: minute });
      return { id, end: () => reap(engine, t0 + 1) };
    },
    'a delete': async (engine) => {
      const { id } = await create(engine, other);
      return { id, end: () => deleteJobs(engine, [id]) };
    },
    'a loss that ends the job': async (engine) => {
      const { id } = await createRunning(engine, other);
      const end = async () => {
        const taken = only(await reap(engine, t0 + hour));
        assert.equal(
          await settle(engine, settlement(taken, 'FAILED', { reason: 'lost', loss: 'begun' })),
          'done',
        );
      };
      return { id, end };
    },
  };
  for (const [name, prepare] of Object.entries(ends)) {
    test(`a gate is opened by ${name}`, async ({ engine }) => {
      const holder = await prepare(engine);
      const { id, status } = await create(engine, behind(holder.id, 'overlap'));
      assert.equal(status, 'BLOCKED');
      await holder.end();
      assert.equal(await statusOf(engine, id), 'PENDING');
      assert.equal((await claimOne(engine)).id, id);
    });
  }

  test('a holder that only waits to run again keeps the gate shut', async ({ engine }) => {
    const lease = await createRunning(engine, other);
    const { id } = await create(engine, behind(lease.id));
    for (const to of ['RETRYING', 'SCHEDULED', 'PENDING'] as const) {
      const [held] = await claim(engine, { tasks: [{ type: 'other', version: 1, limit: 1 }] }, t0 + hour);
      await finish(engine, held ?? lease, to, { due: to === 'PENDING' ? null : { inMs: 0 } }, t0 + hour);
      assert.equal(await statusOf(engine, id), 'BLOCKED', to);
    }
  });

  test('a job behind two gates waits for both', async ({ engine }) => {
    const [first, second_] = await createAll(engine, [jobSpec(other), jobSpec(other)]);
    assert.ok(first && second_);
    const gates: Gate[] = [
      { kind: 'parent', ref: first.id },
      { kind: 'overlap', ref: second_.id },
    ];
    const { id } = await create(engine, { gates });
    await cancel(engine, { id: first.id });
    const job = await read(engine, id);
    assert.deepEqual([job.status, gatesOf(job)], ['BLOCKED', [`overlap ${second_.id}`]]);
    await cancel(engine, { id: second_.id });
    assert.equal(await statusOf(engine, id), 'PENDING');
  });

  test('one end opens the gates of all that waited for it', async ({ engine }) => {
    const { id: holder } = await create(engine, other);
    const items = await createAll(
      engine,
      Array.from({ length: 5 }, () => jobSpec(behind(holder))),
    );
    await cancel(engine, { id: holder });
    assert.deepEqual(
      (await claim(engine)).map(({ id }) => id),
      items.map(({ id }) => id),
    );
  });

  test('a job whose gate opens before it is due is SCHEDULED', async ({ engine }) => {
    const { id: holder } = await create(engine, other);
    const { id, status } = await create(engine, { ...behind(holder), due: { at: t0 + hour } });
    assert.equal(status, 'BLOCKED');
    await cancel(engine, { id: holder });
    assert.equal(await statusOf(engine, id), 'SCHEDULED');
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, id);
  });

  test('a job whose due time passed behind the gate is taken by its old rank', async ({ engine }) => {
    const { id: holder } = await create(engine, other);
    const { id: blocked } = await create(engine, { ...behind(holder), due: { at: t0 } });
    const { id: fresh } = await create(engine, { due: { at: t0 + minute } }, t0 + minute);
    await cancel(engine, { id: holder }, t0 + 2 * minute);
    assert.deepEqual(
      (await claim(engine, {}, t0 + 2 * minute)).map(({ id }) => id),
      [blocked, fresh],
    );
  });

  test('the exchange that ends the holder may take what waited behind it', async ({ engine }) => {
    const lease = await createRunning(engine, other);
    const { id } = await create(engine, behind(lease.id));
    const reply = await engine.exchange({
      now: t0,
      settle: [settlement(lease, 'COMPLETED')],
      claim: claimRequest(),
    });
    assert.equal(only(reply.claimed).id, id);
  });

  test('a chain of gates opens link by link', async ({ engine }) => {
    const first = jobSpec();
    const second_ = jobSpec(behind(first.id));
    const third = jobSpec(behind(second_.id));
    const items = await createAll(engine, [first, second_, third]);
    assert.deepEqual(
      items.map(({ status }) => status),
      ['PENDING', 'BLOCKED', 'BLOCKED'],
    );
    await cancel(engine, { id: second_.id });
    assert.equal(await statusOf(engine, third.id), 'PENDING', 'a cancelled link is an ended one');
    assert.deepEqual(
      (await claim(engine)).map(({ id }) => id),
      [itemAt(items, 0).id, itemAt(items, 2).id],
    );
  });
}
