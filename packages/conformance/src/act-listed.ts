import assert from 'node:assert/strict';
import { jobStatuses } from '@duly/core';
import type { JobFilter, JobState } from '@duly/core/internal';
import {
  actions,
  actOnOne,
  afterwards,
  createOfEachStatus,
  listedTarget,
  listStates,
  targetOf,
} from './act-steps.ts';
import { dedupe, hour, jobSpec, minute, second, t0 } from './builders.ts';
import {
  actOn,
  auditOf,
  cancel,
  claim,
  claimOne,
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  only,
  read,
  reap,
  reschedule,
  retry,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';
/** What `list` and `act` promise together: a job that changed between the two is refused. */
export function actListedTests(test: DefineTest): void {
  expectationTests(test);
  sameStatusTests(test);
  sameFenceTests(test);
  listTests(test);
  actRaceTests(test);
}

function expectationTests(test: DefineTest): void {
  test('a job with another fence is refused and stays as it is, whatever the action', async ({ engine }) => {
    const ids = await createOfEachStatus(engine);
    for (const status of jobStatuses) {
      const before = await read(engine, ids[status], afterwards);
      const target = { id: ids[status], expectFence: before.fence + 1_000 };
      for (const action of actions) {
        const item = await actOnOne(engine, action, target, afterwards);
        assert.deepEqual([item.result, item.status], ['refused', status], `${action} ${status}`);
      }
      assert.deepEqual(await read(engine, ids[status], afterwards), before, status);
    }
  });

  test('a job with another status is refused and stays as it is, whatever the action', async ({ engine }) => {
    const ids = await createOfEachStatus(engine);
    for (const status of jobStatuses) {
      const before = await read(engine, ids[status], afterwards);
      for (const expectStatus of jobStatuses.filter((one) => one !== status)) {
        for (const action of actions) {
          const target = { id: ids[status], expectFence: before.fence, expectStatus };
          const item = await actOnOne(engine, action, target, afterwards);
          assert.deepEqual([item.result, item.status], ['refused', status], `${action} ${status}`);
        }
      }
      assert.deepEqual(await read(engine, ids[status], afterwards), before, status);
    }
  });

  test('a job that is as it was listed is changed, whatever its status', async ({ engine }) => {
    const ids = await createOfEachStatus(engine);
    for (const status of jobStatuses.toSorted((a) => (a === 'BLOCKED' ? -1 : 0))) {
      const action = status === 'RUNNING' ? 'terminate' : 'delete';
      const target = await listedTarget(engine, ids[status], afterwards);
      assert.equal(target.expectStatus, status);
      assert.equal((await actOnOne(engine, action, target, afterwards)).result, 'changed', status);
    }
  });
}

function sameStatusTests(test: DefineTest): void {
  test('a job that was never claimed has a fence until its first claim', async ({ engine }) => {
    const { id } = await create(engine);
    const listed = { id, expectFence: only(await listStates(engine, { ids: [id] })).fence };
    const lease = await claimOne(engine);
    assert.equal((await actOnOne(engine, 'cancel', listed)).result, 'refused');
    assert.equal((await read(engine, id)).cancelRequestedAt, null);
    // A release gives the attempt back, and not the fence.
    await finish(engine, lease, 'PENDING', { started: false });
    assert.equal(await statusOf(engine, id), 'PENDING');
    assert.equal((await actOnOne(engine, 'cancel', listed)).result, 'refused');
    const { id: other } = await create(engine);
    assert.equal((await actOnOne(engine, 'cancel', { ...listed, id: other })).result, 'changed');
  });

  test('a running job that was taken over since is refused', async ({ engine }) => {
    const { id } = await createRunning(engine);
    const listed = await listedTarget(engine, id);
    await reap(engine, t0 + minute);
    for (const action of ['cancel', 'terminate'] as const) {
      assert.equal((await actOnOne(engine, action, listed, t0 + minute)).result, 'refused');
    }
    assert.equal(await statusOf(engine, id, t0 + minute), 'RUNNING');
  });

  for (const to of ['RETRYING', 'SCHEDULED', 'PENDING', 'COMPLETED', 'FAILED'] as const) {
    test(`a running job that was settled to ${to} since is refused, although it has the same fence`, async ({
      engine,
    }) => {
      const lease = await createRunning(engine);
      const listed = await listedTarget(engine, lease.id);
      await finish(engine, lease, to);
      const before = await read(engine, lease.id);
      assert.equal(before.fence, listed.expectFence);
      for (const action of actions) {
        assert.equal((await actOnOne(engine, action, listed)).result, 'refused', action);
      }
      assert.deepEqual(await read(engine, lease.id), before);
    });
  }

  test('progress of a running job is no change', async ({ engine }) => {
    const lease = await createRunning(engine);
    const listed = await listedTarget(engine, lease.id);
    const progress = { percent: 50, message: null, step: null, of: null };
    await engine.report({
      now: t0 + second,
      logLimit: 9,
      reports: [{ id: lease.id, fence: lease.fence, progress, logs: [] }],
    });
    assert.equal((await actOnOne(engine, 'cancel', listed, t0 + second)).result, 'asked');
  });
}

function sameFenceTests(test: DefineTest): void {
  test('a job that fell due, was moved or was opened since is refused', async ({ engine }) => {
    const { id: due } = await create(engine, { due: { at: t0 + second } });
    const { id: moved } = await create(engine);
    const { id: first } = await create(engine, { due: { at: t0 + hour } });
    const { id: opened } = await create(engine, { gates: [{ kind: 'parent', ref: first }] });
    const listed = (await listStates(engine, { ids: [due, moved, opened] })).map(targetOf);
    await reschedule(engine, { id: moved }, { at: t0 + hour });
    await cancel(engine, { id: first });
    // No node has looked at the one that fell due.
    const items = await actOn(engine, 'cancel', listed, t0 + second);
    assert.deepEqual(
      items.map(({ result }) => result),
      ['refused', 'refused', 'refused'],
    );
    assert.deepEqual(await auditOf(engine, `job:${due}`), []);
    assert.equal(await statusOf(engine, opened), 'PENDING');
  });

  test('a job that a call with its dedupe key replaced since is refused', async ({ engine }) => {
    const fields = { dedupe: dedupe('k', { mode: 'replace' }), due: { at: t0 + hour } } as const;
    const { id } = await create(engine, { ...fields, input: '{"n":1}' });
    const filter = { input: [{ path: 'n', value: '1' }] };
    const target = targetOf(only(await listStates(engine, filter)));
    const { deduped } = await create(engine, { ...fields, input: '{"n":2}' }, t0 + 1);
    assert.ok(deduped);
    assert.equal((await actOnOne(engine, 'cancel', target, t0 + 1)).result, 'refused');
    assert.equal((await read(engine, id, t0 + 1)).input, '{"n":2}');
  });

  test('a dead letter that was discarded or retried since is refused', async ({ engine }) => {
    const discarded = await createFailed(engine);
    const retriedLease = await createFailed(engine);
    const listed = (await listStates(engine, { dead: true })).map(targetOf);
    await actOnOne(engine, 'discard', { id: discarded.id }, t0 + 1);
    await retry(engine, retriedLease.id, t0 + 1);
    await finish(engine, await claimOne(engine, {}, t0 + 1), 'FAILED', {}, t0 + 1);
    for (const action of ['retry', 'discard', 'delete'] as const) {
      const items = await actOn(engine, action, listed, t0 + 2);
      assert.deepEqual(
        items.map(({ result }) => result),
        ['refused', 'refused'],
        action,
      );
    }
    assert.equal(only(await listStates(engine, { dead: true })).id, retriedLease.id);
  });
}

function listTests(test: DefineTest): void {
  test('a list of states has the jobs and the pages of the list of jobs', async ({ engine }) => {
    await createOfEachStatus(engine);
    const filters: JobFilter[] = [
      {},
      { dead: true },
      { status: ['RUNNING'] },
      { status: ['BLOCKED', 'COMPLETED'] },
      { input: [{ path: 'n', value: '1' }] },
      { type: ['nothing'] },
    ];
    for (const filter of filters) {
      let cursor: string | null = null;
      do {
        const page: { filter: JobFilter; cursor: string | null; limit: number } = {
          filter,
          cursor,
          limit: 2,
        };
        const jobs = await engine.list({ now: afterwards, ...page });
        const states = await engine.list({ now: afterwards, ...page, statesOnly: true });
        assert.deepEqual(
          states.states,
          jobs.jobs.map(({ id, status, fence, updatedAt, dead }) => ({ id, fence, status, updatedAt, dead })),
        );
        assert.deepEqual([states.nextCursor, states.jobs], [jobs.nextCursor, []]);
        cursor = jobs.nextCursor;
      } while (cursor !== null);
    }
  });

  for (const action of ['cancel', 'delete', 'retry'] as const) {
    test(`a ${action} of page after page changes every listed job once`, async ({ engine }) => {
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
      const changed: (string | null)[] = [];
      let cursor: string | null = null;
      do {
        const page: { states?: JobState[]; nextCursor: string | null } = await engine.list({
          ...{ now: t0, filter: { type: ['work'] }, cursor, limit: 3, statesOnly: true },
        });
        const items = await actOn(engine, action, (page.states ?? []).map(targetOf));
        changed.push(...items.filter(({ result }) => result === 'changed').map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      assert.deepEqual(changed.sort(), ids.sort());
    });
  }
}

function actRaceTests(test: DefineTest): void {
  test('a listed job is claimed or cancelled, and never both', async ({ engine, openPeer }) => {
    const peer = await openPeer();
    await createAll(
      engine,
      Array.from({ length: 60 }, () => jobSpec()),
    );
    const targets = (await listStates(engine, { status: ['PENDING'] })).map(targetOf);
    const cancelSome = (from: number) => actOn(peer, 'cancel', targets.slice(from, from + 10));
    const [leases, ...replies] = await Promise.all([
      Promise.all([1, 2, 3, 4].map(() => claim(engine, { limit: 10 }))),
      ...[0, 10, 20, 30, 40, 50].map(cancelSome),
    ]);
    const claimed = new Set(leases.flat().map(({ id }) => id));
    for (const { id, result } of replies.flat()) {
      const isClaimed = claimed.has(id as string);
      assert.equal(result, isClaimed ? 'refused' : 'changed');
      const { status, cancelRequestedAt } = await read(engine, id as string);
      assert.deepEqual([status, cancelRequestedAt], [isClaimed ? 'RUNNING' : 'CANCELLED', null]);
    }
  });

  test('a dead letter that several calls retry at once comes back once', async ({ engine, openPeer }) => {
    const peer = await openPeer();
    for (let round = 0; round < 10; round += 1) {
      const { id, fence } = await createFailed(engine);
      const target = await listedTarget(engine, id);
      const items = await Promise.all([
        retry(engine, id, t0, { expectFence: fence }),
        actOnOne(peer, 'retry', target),
        retry(peer, id, t0, { expectFence: fence }),
        actOnOne(engine, 'retry', target),
      ]);
      assert.equal(items.filter(({ result }) => result === 'changed').length, 1);
      assert.equal((await auditOf(engine, `job:${id}`)).length, 1);
      await finish(engine, await claimOne(engine), 'COMPLETED');
    }
  });
}
