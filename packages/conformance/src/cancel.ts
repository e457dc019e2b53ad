import assert from 'node:assert/strict';
import { dedupe, hour, jobSpec, minute, settlement, t0 } from './builders.ts';
import {
  accepted,
  auditOf,
  cancel,
  claim,
  claimOne,
  create,
  createFailed,
  createRunning,
  finish,
  heartbeat,
  only,
  read,
  reap,
  retry,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `cancel` promises. */
export function cancelTests(test: DefineTest): void {
  test('a waiting job is CANCELLED at once and never runs', async ({ engine }) => {
    const retrying = await createRunning(engine);
    await finish(engine, retrying, 'RETRYING', { due: { at: t0 + minute } });
    const { id: pending } = await create(engine);
    const { id: scheduled } = await create(engine, { due: { at: t0 + minute } });
    const { id: blocked } = await create(engine, { gates: [{ kind: 'parent', ref: scheduled }] });
    for (const id of [blocked, retrying.id, pending, scheduled]) {
      const item = await cancel(engine, { id }, t0 + 5);
      assert.deepEqual([item.id, item.result, item.status], [id, 'changed', 'CANCELLED']);
      const job = await read(engine, id);
      assert.deepEqual(
        [job.status, job.finishedAt, job.cancelledBy, job.dead, job.gates],
        ['CANCELLED', t0 + 5, 'key:anna', false, []],
      );
    }
    assert.deepEqual(await claim(engine, {}, t0 + hour), []);
  });

  test('a running job is asked, and may still decide how it ends', async ({ engine }) => {
    const lease = await createRunning(engine);
    const item = await cancel(engine, { id: lease.id }, t0 + 5);
    assert.deepEqual([item.id, item.result, item.status], [lease.id, 'asked', 'RUNNING']);
    const job = await read(engine, lease.id);
    assert.deepEqual([job.status, job.cancelRequestedAt, job.cancelledBy], ['RUNNING', t0 + 5, 'key:anna']);
    await finish(engine, lease, 'CANCELLED');
  });

  test('asking again changes nothing: the first instant stands', async ({ engine }) => {
    const lease = await createRunning(engine);
    await cancel(engine, { id: lease.id }, t0 + 5);
    const again = await cancel(engine, { id: lease.id }, t0 + 6);
    assert.ok(['asked', 'unchanged'].includes(again.result), again.result);
    assert.equal((await read(engine, lease.id)).cancelRequestedAt, t0 + 5);
  });

  test('a running job that is terminated is CANCELLED at once and its fence is dead', async ({ engine }) => {
    const lease = await createRunning(engine);
    const item = await cancel(engine, { id: lease.id }, t0 + 5, 'terminate');
    assert.deepEqual([item.result, item.status], ['changed', 'CANCELLED']);
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED'), t0 + 6), 'lost');
    assert.deepEqual(await heartbeat(engine, lease, t0 + 6), { state: 'lost' });
    assert.deepEqual(await reap(engine, t0 + hour), []);
    const job = await read(engine, lease.id);
    assert.deepEqual([job.status, job.finishedAt, job.leaseUntilAt], ['CANCELLED', t0 + 5, null]);
    assert.equal(job.attempts.at(-1)?.endedAt, t0 + 5);
  });

  test('an attempt that is cancelled keeps its own error, even one like that of an earlier attempt', async ({
    engine,
  }) => {
    const error = { name: 'Error', message: 'It had to stop.' };
    const first = await createRunning(engine);
    await cancel(engine, { id: first.id }, t0 + 1);
    await finish(engine, first, 'CANCELLED', { error }, t0 + 2);
    await retry(engine, first.id, t0 + 3);
    const second = await claimOne(engine, {}, t0 + 3);
    await cancel(engine, { id: first.id }, t0 + 4);
    await finish(engine, second, 'CANCELLED', { error }, t0 + 5);
    const expected = [
      [1, 'cancelled', error.message],
      [2, 'cancelled', error.message],
    ];
    const own = async (): Promise<unknown[]> =>
      (await read(engine, first.id)).attempts.map((one) => [one.n, one.reason, one.error?.message ?? null]);
    assert.deepEqual(await own(), expected);
    await retry(engine, first.id, t0 + 6);
    assert.deepEqual(await own(), expected, 'they are listed the same after a retry');
  });

  test('an attempt that is cancelled is not told the error of the one before it', async ({ engine }) => {
    for (const mode of ['ask', 'terminate'] as const) {
      const first = await createRunning(engine);
      await finish(engine, first, 'RETRYING', { due: { inMs: 0 } }, t0 + 1);
      const second = await claimOne(engine, {}, t0 + 2);
      await cancel(engine, { id: first.id }, t0 + 3, mode);
      if (mode === 'ask') await finish(engine, second, 'CANCELLED', { error: null }, t0 + 4);
      const { error, attempts } = await read(engine, first.id);
      assert.equal(error?.message, 'It broke.', 'the job keeps what last went wrong');
      assert.deepEqual(
        attempts.map(({ n, reason, error: own }) => [n, reason, own?.message ?? null]),
        [
          [1, 'threw', 'It broke.'],
          [2, 'cancelled', null],
        ],
      );
    }
  });

  test('a job that was asked can still be terminated', async ({ engine }) => {
    const lease = await createRunning(engine);
    await cancel(engine, { id: lease.id });
    assert.equal((await cancel(engine, { id: lease.id }, t0 + 1, 'terminate')).result, 'changed');
    assert.equal(await statusOf(engine, lease.id), 'CANCELLED');
  });

  test('a cancelled job is unchanged, a job that ended otherwise is refused, an unknown one is missing', async ({
    engine,
  }) => {
    const { id: cancelled } = await create(engine);
    await cancel(engine, { id: cancelled });
    const completed = await createRunning(engine);
    await finish(engine, completed, 'COMPLETED');
    const failed = await createFailed(engine);
    for (const mode of ['ask', 'terminate'] as const) {
      assert.deepEqual((await cancel(engine, { id: cancelled }, t0 + 9, mode)).result, 'unchanged');
      const refused = await cancel(engine, { id: completed.id }, t0 + 9, mode);
      assert.deepEqual([refused.result, refused.status], ['refused', 'COMPLETED']);
      assert.equal((await cancel(engine, { id: failed.id }, t0 + 9, mode)).result, 'refused');
      const missing = await cancel(engine, { id: 'job_nowhere' }, t0 + 9, mode);
      assert.deepEqual([missing.result, missing.status], ['missing', null]);
    }
    assert.equal((await read(engine, cancelled)).finishedAt, t0);
  });

  test('targets are answered in order, and one that is missing does not stop the others', async ({
    engine,
  }) => {
    const { id: a } = await create(engine);
    const { id: b } = await create(engine);
    const reply = await engine.cancel({
      now: t0,
      groups: [
        { actor: 'key:anna', note: null, mode: 'ask', targets: [{ id: a }, { id: 'job_nowhere' }] },
        { actor: 'key:ben', note: null, mode: 'ask', targets: [{ id: b }] },
      ],
    });
    assert.deepEqual(
      reply.groups.map((group) => accepted(group).map(({ result }) => result)),
      [['changed', 'missing'], ['changed']],
    );
  });

  test('a job is cancelled by its dedupe key, per type and tenant', async ({ engine }) => {
    const spec = { dedupe: dedupe('order-1'), due: { at: t0 + hour } };
    const { id } = await create(engine, spec);
    const { id: other } = await create(engine, { ...spec, tenant: 'acme' });
    const item = await cancel(engine, { type: 'work', tenant: null, key: 'order-1' });
    assert.deepEqual([item.id, item.result], [id, 'changed']);
    assert.equal(await statusOf(engine, other), 'SCHEDULED');
    const again = await cancel(engine, { type: 'work', tenant: null, key: 'order-1' });
    assert.deepEqual([again.id, again.result], [null, 'missing'], 'the key is free again');
    const never = await cancel(engine, { type: 'work', tenant: null, key: 'order-2' });
    assert.deepEqual([never.id, never.result, never.status], [null, 'missing', null]);
  });

  test('a cancel leaves an audit row with who, why, before and after', async ({ engine }) => {
    const { id } = await create(engine);
    await cancel(engine, { id }, t0 + 5);
    const row = only(await auditOf(engine, `job:${id}`));
    assert.deepEqual(
      [row.actor, row.action, row.subject, row.note, row.at],
      ['key:anna', 'cancel', `job:${id}`, 'no longer wanted', t0 + 5],
    );
    assert.ok(row.before?.includes('PENDING'), `before: ${row.before}`);
    assert.ok(row.after?.includes('CANCELLED'), `after: ${row.after}`);
  });

  test('what was not done leaves no audit row', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'COMPLETED');
    await cancel(engine, { id: lease.id });
    await cancel(engine, { id: 'job_nowhere' });
    assert.deepEqual((await engine.audit({ now: t0, subject: null, before: null, limit: 10 })).rows, []);
  });

  test('a cancelled job is not claimed by the same store a moment later', async ({ engine }) => {
    await engine.enqueue({ now: t0, groups: [{ jobs: [jobSpec(), jobSpec()] }] });
    const [first] = (await engine.list({ now: t0, filter: {}, cursor: null, limit: 10 })).jobs;
    assert.ok(first);
    await cancel(engine, { id: first.id });
    assert.notEqual((await claimOne(engine)).id, first.id);
  });
}
