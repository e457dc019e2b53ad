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
  finish,
  only,
  read,
  reap,
  reschedule,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `reschedule` promises. */
export function rescheduleTests(test: DefineTest): void {
  test('a job that waits for its time is moved later and earlier', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + hour } });
    const later = await reschedule(engine, { id }, { at: t0 + 2 * hour });
    assert.deepEqual([later.id, later.result, later.dueAt], [id, 'changed', t0 + 2 * hour]);
    assert.deepEqual(await claim(engine, {}, t0 + hour), []);
    await reschedule(engine, { id }, { inMs: minute }, t0 + hour);
    assert.equal((await read(engine, id)).dueAt, t0 + hour + minute);
    assert.deepEqual(await claim(engine, {}, t0 + hour + minute - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + hour + minute)).id, id);
  });

  test('a job that is moved to now or to the past can be taken at once', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + hour } });
    await reschedule(engine, { id }, { at: t0 - hour });
    assert.equal((await claimOne(engine)).id, id);
  });

  test('a job that is due but not taken waits again when it is moved', async ({ engine }) => {
    const { id } = await create(engine);
    const item = await reschedule(engine, { id }, { at: t0 + hour });
    assert.deepEqual([item.result, item.status], ['changed', 'SCHEDULED']);
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, id);
  });

  test('a retry is moved and stays a retry', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'RETRYING', { due: { at: t0 + minute } });
    const item = await reschedule(engine, { id: lease.id }, { at: t0 + hour });
    assert.deepEqual([item.result, item.status, item.dueAt], ['changed', 'RETRYING', t0 + hour]);
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + hour)).attempt, 2);
  });

  test('a retry that is due already can still be moved', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'RETRYING', { due: { at: t0 + minute } });
    await reap(engine, t0 + 2 * minute);
    await reschedule(engine, { id: lease.id }, { at: t0 + hour }, t0 + 2 * minute);
    assert.equal(await statusOf(engine, lease.id), 'RETRYING');
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, lease.id);
  });

  test('a blocked job is moved and stays blocked until its gate opens', async ({ engine }) => {
    const holder = await createRunning(engine, { type: 'other' });
    const { id } = await create(engine, { gates: [{ kind: 'parent', ref: holder.id }] });
    const item = await reschedule(engine, { id }, { at: t0 + hour });
    assert.deepEqual([item.result, item.status, item.dueAt], ['changed', 'BLOCKED', t0 + hour]);
    await finish(engine, holder, 'COMPLETED');
    assert.equal(await statusOf(engine, id), 'SCHEDULED');
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, id);
  });

  test('the start deadline moves with the due time', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + minute }, startDeadlineMs: 10 * second });
    await reschedule(engine, { id }, { at: t0 + hour });
    assert.equal((await read(engine, id)).expireAt, t0 + hour + 10 * second);
    await reap(engine, t0 + 30 * minute);
    assert.equal((await claimOne(engine, {}, t0 + hour + 5 * second)).id, id);
  });

  test('a running or ended job is refused and stays as it was; an unknown one is missing', async ({
    engine,
  }) => {
    const running = await createRunning(engine);
    const failed = await createFailed(engine);
    const completed = await createRunning(engine);
    await finish(engine, completed, 'COMPLETED');
    const { id: cancelled } = await create(engine);
    await cancel(engine, { id: cancelled });
    for (const id of [running.id, failed.id, completed.id, cancelled]) {
      const before = await read(engine, id);
      const item = await reschedule(engine, { id }, { at: t0 + hour }, t0 + 1);
      assert.deepEqual([item.id, item.result, item.status], [id, 'refused', before.status]);
      assert.deepEqual(await read(engine, id), before);
    }
    assert.equal((await reschedule(engine, { id: 'job_nowhere' }, { at: t0 })).result, 'missing');
  });

  test('a job is moved by its dedupe key', async ({ engine }) => {
    const { id } = await create(engine, { tenant: 'acme', dedupe: dedupe('k'), due: { at: t0 + hour } });
    const item = await reschedule(engine, { type: 'work', tenant: 'acme', key: 'k' }, { at: t0 + minute });
    assert.deepEqual([item.id, item.result, item.dueAt], [id, 'changed', t0 + minute]);
    const missing = await reschedule(engine, { type: 'work', tenant: null, key: 'k' }, { at: t0 });
    assert.deepEqual([missing.id, missing.result], [null, 'missing']);
  });

  test('a move leaves an audit row with the instant before and after', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + hour } });
    await reschedule(engine, { id }, { at: t0 + 2 * hour }, t0 + 5);
    const row = only(await auditOf(engine, `job:${id}`));
    assert.deepEqual([row.actor, row.action, row.at], ['key:anna', 'reschedule', t0 + 5]);
    assert.ok(row.before?.includes(String(t0 + hour)), `before: ${row.before}`);
    assert.ok(row.after?.includes(String(t0 + 2 * hour)), `after: ${row.after}`);
  });
}
