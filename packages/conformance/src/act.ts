import assert from 'node:assert/strict';
import { type JobStatus, jobStatuses } from '@duly/core';
import {
  type Action,
  actions,
  actOnOne,
  afterwards,
  createOfEachStatus,
  listedTarget,
  listStates,
  targetOf,
} from './act-steps.ts';
import { hour, jobSpec, settlement, t0 } from './builders.ts';
import {
  accepted,
  actOn,
  auditOf,
  cancel,
  claim,
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  itemAt,
  only,
  read,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

const waiting: Partial<Record<JobStatus, string>> = {
  SCHEDULED: 'changed CANCELLED',
  PENDING: 'changed CANCELLED',
  BLOCKED: 'changed CANCELLED',
  RETRYING: 'changed CANCELLED',
  CANCELLED: 'unchanged CANCELLED',
};
const retried = 'changed PENDING';
const deleted = 'changed null';

/** What each action does to a job of each status; what is not named is refused. */
const effects: Record<Action, Partial<Record<JobStatus, string>>> = {
  cancel: { ...waiting, RUNNING: 'asked RUNNING' },
  terminate: { ...waiting, RUNNING: 'changed CANCELLED' },
  retry: { FAILED: retried, CANCELLED: retried, EXPIRED: retried },
  discard: { FAILED: 'changed FAILED' },
  delete: {
    ...Object.fromEntries(jobStatuses.map((status) => [status, deleted])),
    RUNNING: 'refused RUNNING',
  },
};

/** What `act` promises of jobs as they stand. */
export function actTests(test: DefineTest): void {
  effectTests(test);
  groupTests(test);
  repeatTests(test);
}

function effectTests(test: DefineTest): void {
  for (const action of actions) {
    test(`${action} does to a job of each status what the status allows`, async ({ engine }) => {
      const ids = await createOfEachStatus(engine);
      // The blocked one first: the end of the job that it waits for would open it.
      for (const status of jobStatuses.toSorted((a) => (a === 'BLOCKED' ? -1 : 0))) {
        const id = ids[status];
        const before = await read(engine, id, afterwards);
        const rowCount = (await auditOf(engine, `job:${id}`)).length;
        const item = await actOnOne(engine, action, { id }, afterwards);
        const expected = effects[action][status] ?? `refused ${status}`;
        assert.deepEqual([item.id, `${item.result} ${item.status}`], [id, expected], status);
        const rows = await auditOf(engine, `job:${id}`);
        const isDone = item.result === 'changed' || item.result === 'asked';
        assert.equal(rows.length - rowCount, isDone ? 1 : 0, status);
        if (isDone) assert.deepEqual([rows[0]?.action, rows[0]?.note], [action, 'clearing up']);
        else assert.deepEqual(await read(engine, id, afterwards), before, status);
      }
    });
  }

  test('a running job that is asked may still decide how it ends', async ({ engine }) => {
    const lease = await createRunning(engine);
    await actOnOne(engine, 'cancel', { id: lease.id });
    assert.notEqual((await read(engine, lease.id)).cancelRequestedAt, null);
    assert.equal((await actOnOne(engine, 'cancel', { id: lease.id })).result, 'unchanged');
    await finish(engine, lease, 'COMPLETED');
  });

  test('a running job that is terminated has a dead fence', async ({ engine }) => {
    const lease = await createRunning(engine);
    await actOnOne(engine, 'terminate', { id: lease.id });
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED')), 'lost');
  });

  test('a running job is not deleted, and its fence holds', async ({ engine }) => {
    const lease = await createRunning(engine);
    assert.equal((await actOnOne(engine, 'delete', { id: lease.id })).result, 'refused');
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED')), 'done');
  });

  test('dead letters that are retried can be claimed', async ({ engine }) => {
    const ids = [(await createFailed(engine)).id, (await createFailed(engine)).id];
    const targets = (await listStates(engine, { dead: true })).map(targetOf);
    const items = await actOn(engine, 'retry', targets);
    assert.deepEqual(
      items.map(({ result }) => result),
      ['changed', 'changed'],
    );
    assert.deepEqual((await claim(engine)).map(({ id }) => id).sort(), ids.sort());
  });

  test('a discarded dead letter is listed as an ended job', async ({ engine }) => {
    const { id } = await createFailed(engine);
    await actOnOne(engine, 'discard', { id });
    assert.deepEqual(await listStates(engine, { dead: true }), []);
    const { status, dead } = await read(engine, id);
    assert.deepEqual([status, dead], ['FAILED', false]);
    assert.equal((await actOnOne(engine, 'retry', { id })).result, 'changed');
  });

  test('a deleted job is gone, waiting or ended', async ({ engine }) => {
    const done = await createRunning(engine);
    await finish(engine, done, 'COMPLETED');
    const dead = await createFailed(engine);
    const { id: waits } = await create(engine);
    const ids = [done.id, dead.id, waits];
    await actOn(
      engine,
      'delete',
      ids.map((id) => ({ id })),
    );
    assert.deepEqual((await engine.get({ now: t0, ids })).jobs, [null, null, null]);
    assert.deepEqual(await claim(engine), []);
    assert.deepEqual(await listStates(engine, {}), []);
    const row = only(await auditOf(engine, `job:${waits}`));
    assert.deepEqual([row.actor, row.action, row.after], ['key:anna', 'delete', null]);
    assert.ok(row.before !== null, 'the row outlives the job');
  });
}

function groupTests(test: DefineTest): void {
  test('an unknown job is missing, and the other jobs of its group are changed', async ({ engine }) => {
    const { id } = await create(engine);
    for (const action of actions) {
      const unknown = await actOnOne(engine, action, { id: 'job_nowhere', expectFence: 0 });
      assert.deepEqual(
        [unknown.id, unknown.result, unknown.status],
        ['job_nowhere', 'missing', null],
        action,
      );
    }
    const items = await actOn(engine, 'cancel', [{ id: 'job_nowhere' }, { id }]);
    assert.deepEqual(
      items.map(({ id, result }) => [id, result]),
      [
        ['job_nowhere', 'missing'],
        [id, 'changed'],
      ],
    );
  });

  test('groups are answered in order, and one that is refused fails alone', async ({ engine }) => {
    const [first, second] = await createAll(engine, [jobSpec(), jobSpec()]);
    const group = (action: Action, id: string | undefined) => ({
      ...{ actor: 'key:anna', note: null, action },
      targets: [{ id: id as string }],
    });
    const { groups } = await engine.act({
      now: t0,
      groups: [
        group('cancel', first?.id),
        group('unheard of' as Action, second?.id),
        // It sees what an earlier group did.
        group('delete', first?.id),
        group('cancel', second?.id),
      ],
    });
    assert.equal(itemAt(groups, 1).ok, false);
    const results = [0, 2, 3].map((n) => only(accepted(groups[n])).result);
    assert.deepEqual(results, ['changed', 'changed', 'changed']);
    assert.deepEqual((await engine.get({ now: t0, ids: [first?.id as string] })).jobs, [null]);
    assert.equal(await statusOf(engine, second?.id as string), 'CANCELLED');
  });

  test('jobs of one group are changed in the order of the group', async ({ engine }) => {
    const { id: first } = await create(engine, { due: { at: t0 + hour } });
    const { id: behind } = await create(engine, { gates: [{ kind: 'parent', ref: first }] });
    const items = await actOn(engine, 'cancel', [
      { id: first, expectStatus: 'SCHEDULED' },
      { id: behind, expectStatus: 'BLOCKED' },
      { id: first },
    ]);
    // The end of the first one opened the second one.
    assert.deepEqual(
      items.map(({ result }) => result),
      ['changed', 'refused', 'unchanged'],
    );
  });
}

function repeatTests(test: DefineTest): void {
  test('a call that is repeated after a lost reply does nothing twice', async ({ engine }) => {
    const cases: [Action, JobStatus][] = [
      ['cancel', 'PENDING'],
      ['cancel', 'RUNNING'],
      ['terminate', 'RUNNING'],
      ['retry', 'FAILED'],
      ['discard', 'FAILED'],
      ['delete', 'COMPLETED'],
    ];
    for (const [action, status] of cases) {
      const { id } = status === 'PENDING' ? await create(engine) : await createRunning(engine);
      const { fence } = await read(engine, id);
      if (status === 'FAILED' || status === 'COMPLETED') await finish(engine, { id, fence }, status);
      const target = await listedTarget(engine, id);
      const first = await actOnOne(engine, action, target, t0 + 1);
      assert.equal(first.result, action === 'cancel' && status === 'RUNNING' ? 'asked' : 'changed');
      const [after] = (await engine.get({ now: t0 + 1, ids: [id] })).jobs;
      const again = await actOnOne(engine, action, target, t0 + 2);
      assert.ok(['unchanged', 'refused', 'missing'].includes(again.result), `${action}: ${again.result}`);
      assert.deepEqual((await engine.get({ now: t0 + 1, ids: [id] })).jobs, [after], action);
      assert.equal((await auditOf(engine, `job:${id}`)).length, 1, action);
      await engine.exchange({ now: t0 + 2, settle: [], claim: null });
      if (after?.status === 'PENDING') await cancel(engine, { id });
    }
  });
}
