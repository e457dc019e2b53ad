import assert from 'node:assert/strict';
import type { ChangeInput, Engine } from '@duly/core/internal';
import { hour, jobSpec, settlement, t0 } from './builders.ts';
import {
  auditOf,
  claim,
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  only,
  read,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

const change = (engine: Engine, fields: Partial<ChangeInput> & Pick<ChangeInput, 'action'>) =>
  engine.change({
    now: t0,
    actor: 'key:anna',
    filter: {},
    note: 'clearing up',
    cursor: null,
    limit: 100,
    dryRun: false,
    ...fields,
  });

/** What `change` promises. */
export function changeTests(test: DefineTest): void {
  test('all jobs that match are cancelled, running ones asked, and no others', async ({ engine }) => {
    const { id: other } = await create(engine, { type: 'other' });
    const running = await createRunning(engine, { tenant: 'acme' });
    const { id: pending } = await create(engine, { tenant: 'acme' });
    const { id: scheduled } = await create(engine, { tenant: 'acme', due: { at: t0 + hour } });
    const { id: stranger } = await create(engine, { tenant: 'globex' });
    const reply = await change(engine, { action: 'cancel', filter: { tenant: 'acme' } });
    assert.deepEqual([reply.changed, reply.refused, reply.nextCursor], [3, 0, null]);
    assert.deepEqual([...reply.ids].sort(), [running.id, pending, scheduled].sort());
    assert.equal(await statusOf(engine, pending), 'CANCELLED');
    assert.equal(await statusOf(engine, scheduled), 'CANCELLED');
    assert.notEqual((await read(engine, running.id)).cancelRequestedAt, null);
    assert.equal(await statusOf(engine, other), 'PENDING');
    assert.equal(await statusOf(engine, stranger), 'PENDING');
  });

  test('terminate ends running jobs at once', async ({ engine }) => {
    const lease = await createRunning(engine);
    const reply = await change(engine, { action: 'terminate', filter: { status: ['RUNNING'] } });
    assert.equal(reply.changed, 1);
    assert.equal(await statusOf(engine, lease.id), 'CANCELLED');
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED')), 'lost');
  });

  test('all dead letters are retried', async ({ engine }) => {
    const first = await createFailed(engine);
    const second = await createFailed(engine);
    const reply = await change(engine, { action: 'retry', filter: { dead: true } });
    assert.equal(reply.changed, 2);
    assert.deepEqual((await claim(engine)).map(({ id }) => id).sort(), [first.id, second.id].sort());
  });

  test('a discarded dead letter is a dead letter no more, and others are refused', async ({ engine }) => {
    const dead = await createFailed(engine);
    const { id: alive } = await create(engine);
    const reply = await change(engine, { action: 'discard', filter: { ids: [dead.id, alive] } });
    assert.deepEqual([reply.changed, reply.refused, reply.ids], [1, 1, [dead.id]]);
    const { jobs } = await engine.list({ now: t0, filter: { dead: true }, cursor: null, limit: 10 });
    assert.deepEqual(jobs, []);
    assert.equal(await statusOf(engine, alive), 'PENDING');
  });

  test('a deleted job is gone, waiting or ended', async ({ engine }) => {
    const done = await createRunning(engine);
    await finish(engine, done, 'COMPLETED');
    const dead = await createFailed(engine);
    const { id: waiting } = await create(engine);
    const ids = [done.id, dead.id, waiting];
    const reply = await change(engine, { action: 'delete', filter: { ids } });
    assert.equal(reply.changed, 3);
    assert.deepEqual((await engine.get({ now: t0, ids })).jobs, [null, null, null]);
    assert.deepEqual(await claim(engine), []);
    assert.deepEqual((await engine.list({ now: t0, filter: {}, cursor: null, limit: 10 })).jobs, []);
  });

  test('a running job is either refused or deleted with its fence dead', async ({ engine }) => {
    const lease = await createRunning(engine);
    const reply = await change(engine, { action: 'delete', filter: { ids: [lease.id] } });
    const outcome = await settle(engine, settlement(lease, 'COMPLETED'));
    assert.deepEqual([reply.changed, outcome], reply.changed === 1 ? [1, 'lost'] : [0, 'done']);
  });

  test('what the status does not allow is counted as refused and stays as it is', async ({ engine }) => {
    const done = await createRunning(engine);
    await finish(engine, done, 'COMPLETED');
    const before = await read(engine, done.id);
    for (const action of ['cancel', 'terminate', 'retry', 'discard'] as const) {
      const reply = await change(engine, { action, filter: { ids: [done.id] } });
      assert.deepEqual([reply.changed, reply.refused, reply.ids], [0, 1, []], action);
      assert.deepEqual(await read(engine, done.id), before, action);
    }
  });

  test('a dry run counts and changes nothing', async ({ engine }) => {
    const { id } = await create(engine);
    const dead = await createFailed(engine, { type: 'other' });
    const before = await engine.get({ now: t0, ids: [id, dead.id] });
    const cancelled = await change(engine, { action: 'cancel', dryRun: true });
    assert.deepEqual([cancelled.changed, cancelled.refused], [1, 1]);
    const retried = await change(engine, { action: 'retry', dryRun: true });
    assert.deepEqual([retried.changed, retried.refused], [1, 1]);
    const deleted = await change(engine, { action: 'delete', dryRun: true });
    assert.equal(deleted.changed, 2);
    assert.deepEqual((await engine.get({ now: t0, ids: [id, dead.id] })).jobs, before.jobs);
    assert.deepEqual(await auditOf(engine, `job:${id}`), []);
  });

  for (const action of ['cancel', 'delete', 'retry'] as const) {
    test(`pages of ${action} visit every matching job once`, async ({ engine }) => {
      const ids: string[] = [];
      if (action === 'retry') {
        for (let n = 0; n < 7; n += 1) ids.push((await createFailed(engine)).id);
      } else {
        const created = await createAll(
          engine,
          Array.from({ length: 7 }, () => jobSpec()),
        );
        ids.push(...created.map(({ id }) => id));
      }
      await create(engine, { type: 'other' });
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const reply = await change(engine, { action, filter: { type: ['work'] }, limit: 3, cursor });
        assert.ok(reply.changed + reply.refused <= 3, 'a page is at most its limit');
        seen.push(...reply.ids);
        cursor = reply.nextCursor;
        pages += 1;
      } while (cursor !== null && pages < 20);
      assert.equal(cursor, null, 'the pages come to an end');
      assert.deepEqual(seen.sort(), ids.sort());
    });
  }

  test('a dry run pages through everything that matches', async ({ engine }) => {
    await createAll(
      engine,
      Array.from({ length: 5 }, () => jobSpec()),
    );
    let changed = 0;
    let cursor: string | null = null;
    do {
      const reply = await change(engine, { action: 'cancel', limit: 2, cursor, dryRun: true });
      changed += reply.changed;
      cursor = reply.nextCursor;
    } while (cursor !== null && changed < 100);
    assert.equal(changed, 5);
  });

  test('every job that changed has an audit row of its own', async ({ engine }) => {
    const jobs = await createAll(engine, [jobSpec(), jobSpec()]);
    const dead = await createFailed(engine, { type: 'other' });
    await change(engine, { action: 'cancel', filter: { type: ['work'] } });
    for (const { id } of jobs) {
      const row = only(await auditOf(engine, `job:${id}`));
      assert.deepEqual([row.actor, row.action, row.note], ['key:anna', 'cancel', 'clearing up']);
    }
    await change(engine, { action: 'discard', filter: { dead: true } });
    assert.equal(only(await auditOf(engine, `job:${dead.id}`)).action, 'discard');
    const { id: gone } = await create(engine);
    await change(engine, { action: 'delete', filter: { ids: [gone] } });
    const row = only(await auditOf(engine, `job:${gone}`));
    assert.deepEqual([row.action, row.after], ['delete', null], 'the row outlives the job');
    assert.ok(row.before !== null);
  });
}
