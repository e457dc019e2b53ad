import assert from 'node:assert/strict';
import { dedupe, hour, minute, second, t0 } from './builders.ts';
import {
  auditOf,
  cancel,
  claim,
  claimOne,
  create,
  createFailed,
  createRunning,
  feedAfter,
  feedPosition,
  finish,
  heartbeat,
  only,
  read,
  reap,
  retry,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `retry` promises. */
export function retryTests(test: DefineTest): void {
  test('a dead letter comes back as the same job and can be taken at once', async ({ engine }) => {
    const lease = await createFailed(engine, { input: '{"x":1}', metadata: '{"m":2}', tenant: 'acme' });
    const item = await retry(engine, lease.id, t0 + hour);
    assert.deepEqual([item.id, item.result, item.status], [lease.id, 'changed', 'PENDING']);
    const job = await read(engine, lease.id, t0 + hour);
    assert.equal(job.reason, 'retried');
    assert.deepEqual(
      [job.dead, job.finishedAt, job.input, job.metadata, job.tenant, job.createdAt],
      [false, null, '{"x":1}', '{"m":2}', 'acme', t0],
    );
    const again = await claimOne(engine, {}, t0 + hour);
    assert.deepEqual([again.id, again.attempt], [lease.id, 2]);
    assert.ok(again.fence > lease.fence);
    assert.deepEqual(
      (await engine.list({ now: t0, filter: { dead: true }, cursor: null, limit: 10 })).jobs,
      [],
    );
  });

  test('a retried job keeps the record of its earlier attempts', async ({ engine }) => {
    const lease = await createFailed(engine);
    await retry(engine, lease.id);
    await finish(engine, await claimOne(engine), 'COMPLETED');
    const { attempts, status, error } = await read(engine, lease.id);
    assert.deepEqual([status, error], ['COMPLETED', null]);
    assert.deepEqual(
      attempts.map(({ n, reason }) => [n, reason]),
      [
        [1, 'threw'],
        [2, 'returned'],
      ],
    );
  });

  test('a cancelled job comes back and is no longer asked to cancel', async ({ engine }) => {
    const lease = await createRunning(engine);
    await cancel(engine, { id: lease.id });
    await finish(engine, lease, 'CANCELLED');
    await retry(engine, lease.id, t0 + minute);
    const again = await claimOne(engine, {}, t0 + minute);
    assert.equal(again.cancelRequestedAt, null);
    assert.deepEqual(await heartbeat(engine, again, t0 + minute), { state: 'kept' });
  });

  test('a retried job holds its key again, unless the key is still held', async ({ engine }) => {
    for (const [key, retryAt, holds] of [
      ['own time is over', t0 + 2 * hour, true],
      ['own time runs', t0 + minute, false],
    ] as const) {
      const fields = { dedupe: dedupe(key, { forMs: hour, mode: 'replace' }) } as const;
      const { id } = await create(engine, { ...fields, due: { at: t0 + minute } });
      await cancel(engine, { id });
      await retry(engine, id, retryAt);
      // Three hours after its creation, only the key that was taken anew is held.
      const next = await create(engine, { ...fields, due: { at: t0 + 4 * hour } }, t0 + 3 * hour);
      assert.deepEqual([key, next.deduped, next.id === id], [key, holds, holds]);
    }
    const fields = { dedupe: dedupe('taken', { forMs: hour }) };
    const first = await create(engine, { ...fields, due: { at: t0 + minute } });
    await cancel(engine, { id: first.id });
    const second = await create(engine, { ...fields, due: { at: t0 + 9 * hour } }, t0 + 2 * hour);
    await retry(engine, first.id, t0 + 2 * hour + 1);
    const folded = await create(engine, fields, t0 + 2 * hour + 2);
    assert.equal(folded.id, second.id);
  });

  test('an expired job comes back and does not expire again at once', async ({ engine }) => {
    const { id } = await create(engine, { startDeadlineMs: second });
    await reap(engine, t0 + minute);
    assert.equal(await statusOf(engine, id), 'EXPIRED');
    await retry(engine, id, t0 + hour);
    await reap(engine, t0 + hour);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, id);
  });

  test('a job that was put off by a gate or a due time and then cancelled is due at once', async ({
    engine,
  }) => {
    const { id } = await create(engine, { due: { at: t0 + 24 * hour } });
    await cancel(engine, { id });
    assert.equal((await retry(engine, id, t0 + 1)).status, 'PENDING');
    assert.equal((await claimOne(engine, {}, t0 + 1)).id, id);
  });

  test('a completed or unfinished job is not retried; an unknown one is missing', async ({ engine }) => {
    const completed = await createRunning(engine);
    await finish(engine, completed, 'COMPLETED');
    const running = await createRunning(engine);
    const { id: pending } = await create(engine);
    const { id: scheduled } = await create(engine, { due: { at: t0 + hour } });
    for (const id of [completed.id, running.id, pending, scheduled]) {
      const before = await read(engine, id);
      const item = await retry(engine, id, t0 + 1);
      assert.ok(['refused', 'unchanged'].includes(item.result), `${before.status}: ${item.result}`);
      assert.equal(item.status, before.status);
      assert.deepEqual(await read(engine, id), before);
    }
    assert.equal((await retry(engine, completed.id)).result, 'refused');
    assert.equal((await retry(engine, 'job_nowhere')).result, 'missing');
  });

  test('a retry that is sent twice brings the job back once', async ({ engine }) => {
    const lease = await createFailed(engine);
    await retry(engine, lease.id, t0 + 1);
    const before = await read(engine, lease.id);
    await retry(engine, lease.id, t0 + 2);
    assert.deepEqual(await read(engine, lease.id), before);
    assert.equal((await claim(engine)).length, 1);
  });

  test('a retry with the fence that was read brings the job back once, however late it is repeated', async ({
    engine,
  }) => {
    const lease = await createFailed(engine);
    const expectFence = (await read(engine, lease.id)).fence;
    const repeat = async (now: number) => {
      const { id, result, status } = await retry(engine, lease.id, now, { expectFence });
      return [id, result, status];
    };
    assert.deepEqual(await repeat(t0 + 1), [lease.id, 'changed', 'PENDING']);
    assert.deepEqual(await repeat(t0 + 2), [lease.id, 'unchanged', 'PENDING']);
    const again = await claimOne(engine, {}, t0 + 3);
    assert.deepEqual(await repeat(t0 + 3), [lease.id, 'unchanged', 'RUNNING']);
    await finish(engine, again, 'FAILED', {}, t0 + 4);
    const before = await read(engine, lease.id, t0 + 4);
    assert.deepEqual(await repeat(t0 + 5), [lease.id, 'unchanged', 'FAILED']);
    assert.deepEqual(await read(engine, lease.id, t0 + 4), before);
    only(await auditOf(engine, `job:${lease.id}`));
    const { result } = await retry(engine, lease.id, t0 + 6, { expectFence: before.fence });
    assert.equal(result, 'changed');
    await finish(engine, await claimOne(engine, {}, t0 + 6), 'COMPLETED', {}, t0 + 6);
    assert.deepEqual(await repeat(t0 + 7), [lease.id, 'unchanged', 'COMPLETED']);
  });

  test('a retry with the fence of a job that never ran brings it back', async ({ engine }) => {
    const { id } = await create(engine);
    await cancel(engine, { id });
    const expectFence = (await read(engine, id)).fence;
    assert.equal((await retry(engine, id, t0 + 1, { expectFence })).result, 'changed');
    await cancel(engine, { id });
    assert.equal((await retry(engine, id, t0 + 2, { expectFence })).result, 'unchanged');
    assert.equal(await statusOf(engine, id), 'CANCELLED');
  });

  test('a retry with a fence of a job that does not allow it changes nothing', async ({ engine }) => {
    const completed = await createRunning(engine);
    await finish(engine, completed, 'COMPLETED');
    const running = await createRunning(engine);
    const { id: pending } = await create(engine);
    for (const id of [completed.id, running.id, pending]) {
      const before = await read(engine, id);
      const item = await retry(engine, id, t0 + 1, { expectFence: before.fence });
      assert.deepEqual([item.result, item.status], ['refused', before.status]);
      assert.deepEqual(await read(engine, id), before);
    }
    assert.equal((await retry(engine, 'job_nowhere', t0, { expectFence: 0 })).result, 'missing');
  });

  test('the audit row of a retry tells how the job came back', async ({ engine }) => {
    const lease = await createFailed(engine, { serial: 's' });
    await create(engine, { serial: 's' });
    assert.equal((await retry(engine, lease.id)).status, 'BLOCKED');
    const row = only(await auditOf(engine, `job:${lease.id}`));
    assert.ok(row.after?.includes('BLOCKED'), `after: ${row.after}`);
  });

  test('the feed shows a job that is retried into a line as retried', async ({ engine }) => {
    const lease = await createFailed(engine, { serial: 's' });
    await create(engine, { serial: 's' });
    const position = await feedPosition(engine);
    await retry(engine, lease.id);
    const changes = await feedAfter(engine, position);
    assert.deepEqual(
      changes.map(({ id, event, status }) => [id, event, status]),
      [[lease.id, 'retried', 'BLOCKED']],
    );
  });

  test('a retry leaves an audit row', async ({ engine }) => {
    const lease = await createFailed(engine);
    await retry(engine, lease.id, t0 + 5);
    const row = only(await auditOf(engine, `job:${lease.id}`));
    assert.deepEqual(
      [row.actor, row.action, row.note, row.at],
      ['key:anna', 'retry', 'fixed upstream', t0 + 5],
    );
    assert.ok(row.before?.includes('FAILED') && row.after?.includes('PENDING'));
  });
}
