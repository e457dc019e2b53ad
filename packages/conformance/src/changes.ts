import assert from 'node:assert/strict';
import { day, dedupe, hour, jobSpec, minute, t0 } from './builders.ts';
import {
  cancel,
  claim,
  claimOne,
  create,
  createAll,
  createRunning,
  feedAfter,
  feedPosition,
  finish,
  itemAt,
  only,
  reap,
  reschedule,
  retry,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What the feed of changes promises. */
export function changeFeedTests(test: DefineTest): void {
  test('the feed of an empty store is empty, and asking from now on gives a place to go on from', async ({
    engine,
  }) => {
    const reply = await engine.changes({ now: t0, after: null, limit: 10 });
    assert.deepEqual([reply.changes, reply.gap], [[], false]);
    const { id } = await create(engine);
    const change = only(await feedAfter(engine, reply.position));
    assert.equal(change.id, id);
  });

  test('asking from now on skips what was before', async ({ engine }) => {
    await create(engine);
    const position = await feedPosition(engine);
    assert.deepEqual(await feedAfter(engine, position), []);
    const { id } = await create(engine);
    assert.equal(only(await feedAfter(engine, position)).id, id);
  });

  test('of jobs that are taken the moment they are due the feed tells both', async ({ engine }) => {
    for (const count of [1, 2]) {
      const start = await feedPosition(engine);
      const dueAt = t0 + count * minute;
      await createAll(
        engine,
        Array.from({ length: count }, () => jobSpec({ due: { at: dueAt } })),
      );
      assert.equal((await claim(engine, {}, dueAt)).length, count);
      const changes = await feedAfter(engine, start);
      for (const id of new Set(changes.map((change) => change.id))) {
        assert.deepEqual(
          changes.filter((change) => change.id === id).map(({ status, event }) => [status, event]),
          [
            ['SCHEDULED', 'created'],
            ['PENDING', 'due'],
            ['RUNNING', 'claimed'],
          ],
        );
      }
      assert.equal(changes.length, 3 * count);
    }
  });

  test('every step of a job is in the feed, in order, with its status', async ({ engine }) => {
    const start = await feedPosition(engine);
    const { id } = await create(engine, { type: 'wörk', due: { at: t0 + minute } }, t0);
    await reap(engine, t0 + minute);
    const tasks = [{ type: 'wörk', version: 1, limit: 1 }];
    await finish(engine, await claimOne(engine, { tasks }, t0 + minute), 'RETRYING', {}, t0 + 2 * minute);
    const lease = await claimOne(engine, { tasks }, t0 + hour);
    const progress = { percent: 40, message: null, step: null, of: null };
    await engine.report({
      now: t0 + hour,
      logLimit: 1,
      reports: [{ id, fence: lease.fence, progress, logs: [] }],
    });
    await finish(engine, lease, 'FAILED', {}, t0 + 2 * hour);
    await retry(engine, id, t0 + 3 * hour);
    await cancel(engine, { id }, t0 + 4 * hour);
    // An engine may also tell that the wait for a retry is over; the status stays.
    const changes = (await feedAfter(engine, start)).filter(
      ({ status, event }) => !(status === 'RETRYING' && event === 'due'),
    );
    assert.ok(changes.every((change) => change.id === id && change.type === 'wörk'));
    assert.deepEqual(
      changes.map(({ status, at }) => `${status} +${(at - t0) / minute}`),
      [
        'SCHEDULED +0',
        'PENDING +1',
        'RUNNING +1',
        'RETRYING +2',
        'RUNNING +60',
        'RUNNING +60',
        'FAILED +120',
        'PENDING +180',
        'CANCELLED +240',
      ],
    );
    const shown = itemAt(changes, 5);
    assert.deepEqual([shown.event, shown.percent], ['progress', 40]);
    assert.deepEqual([itemAt(changes, 0).event, itemAt(changes, 2).event], ['created', 'claimed']);
  });

  test('log lines are in the feed without their text, after the progress that came with them', async ({
    engine,
  }) => {
    const { id, fence } = await createRunning(engine);
    const start = await feedPosition(engine);
    const line = (n: number) => ({ line: n, at: t0, level: 'info' as const, message: `line ${n}` });
    const progress = { percent: 10, message: null, step: null, of: null };
    await engine.report({ now: t0, logLimit: 9, reports: [{ id, fence, progress: null, logs: [line(1)] }] });
    await engine.report({
      now: t0,
      logLimit: 9,
      reports: [{ id, fence, progress, logs: [line(2), line(3)] }],
    });
    await engine.report({
      now: t0,
      logLimit: 9,
      reports: [{ id, fence: fence - 1, progress, logs: [line(4)] }],
    });
    const changes = await feedAfter(engine, start);
    assert.deepEqual(
      changes.map(({ event, percent, status }) => [event, percent, status]),
      [
        ['log', null, 'RUNNING'],
        ['progress', 10, 'RUNNING'],
        ['log', null, 'RUNNING'],
      ],
    );
  });

  test('opened gates, expiry, moves and changed holders are in the feed', async ({ engine }) => {
    const start = await feedPosition(engine);
    const [holder, waiting] = await createAll(engine, [
      jobSpec({ serial: 's' }),
      jobSpec({ serial: 's', startDeadlineMs: hour }),
    ]);
    assert.ok(holder && waiting);
    await cancel(engine, { id: holder.id });
    await reap(engine, t0 + 2 * hour);
    const key = dedupe('k', { mode: 'replace' });
    const { id: moved } = await create(engine, { dedupe: key, due: { at: t0 + day } });
    const before = (await feedAfter(engine, start)).length;
    await reschedule(engine, { id: moved }, { at: t0 + 2 * day });
    await create(engine, { dedupe: key, due: { at: t0 + 3 * day } });
    const changes = await feedAfter(engine, start);
    const of = (id: string) => changes.filter((change) => change.id === id).map(({ status }) => status);
    assert.deepEqual(of(holder.id), ['PENDING', 'CANCELLED']);
    assert.deepEqual(of(waiting.id), ['BLOCKED', 'PENDING', 'EXPIRED']);
    assert.ok(changes.length >= before + 2, 'a move and a replaced holder are changes too');
    assert.ok(of(moved).every((status) => status === 'SCHEDULED'));
  });

  test('positions grow from change to change and pages neither repeat nor skip', async ({ engine }) => {
    const start = await feedPosition(engine);
    await createAll(
      engine,
      Array.from({ length: 7 }, () => jobSpec()),
    );
    await claim(engine);
    const whole = await feedAfter(engine, start);
    assert.equal(whole.length, 14);
    for (const [n, change] of whole.slice(1).entries()) {
      assert.ok(change.position > itemAt(whole, n).position, 'strictly: a reader may stop after any change');
    }
    for (const page of [1, 3, 5])
      assert.deepEqual(await feedAfter(engine, start, { page }), whole, `pages of ${page}`);
    const middle = itemAt(whole, 4).position;
    assert.deepEqual(await feedAfter(engine, middle), whole.slice(5));
  });

  test('what was refused is not in the feed', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'COMPLETED');
    const running = await createRunning(engine);
    const start = await feedPosition(engine);
    await cancel(engine, { id: lease.id });
    await reschedule(engine, { id: lease.id }, { at: t0 + hour });
    // Its id stands for a job of another type already, so the whole group is refused.
    const groups = [{ jobs: [jobSpec(), jobSpec({ id: running.id, type: 'other' })] }];
    await engine.enqueue({ now: t0, groups });
    const broken = { id: lease.id, fence: lease.fence, progress: null, logs: [] };
    await engine.report({ now: t0, logLimit: 1, reports: [broken] });
    assert.deepEqual(await feedAfter(engine, start), []);
  });

  test('a reader whose place was pruned away is told of the gap, others are not', async ({ engine }) => {
    const start = await feedPosition(engine);
    await create(engine, {}, t0);
    await create(engine, {}, t0 + 1);
    const middle = await feedPosition(engine);
    await create(engine, {}, t0 + 2 * day);
    await engine.prune({
      now: t0 + 2 * day,
      limit: 1_000,
      ledgerMs: 900 * day,
      auditMs: 900 * day,
      changesMs: day,
    });
    assert.equal((await engine.changes({ now: t0, after: start, limit: 10 })).gap, true);
    const rest = await engine.changes({ now: t0, after: middle, limit: 10 });
    assert.deepEqual([rest.changes.length, rest.gap], [1, false]);
  });

  test('a feed that was pruned empty still knows its place', async ({ engine }) => {
    const start = await feedPosition(engine);
    await create(engine);
    const end = await feedPosition(engine);
    await engine.prune({
      now: t0 + 9 * day,
      limit: 1_000,
      ledgerMs: 900 * day,
      auditMs: 900 * day,
      changesMs: day,
    });
    assert.equal((await engine.changes({ now: t0, after: start, limit: 10 })).gap, true);
    const rest = await engine.changes({ now: t0, after: end, limit: 10 });
    assert.deepEqual([rest.changes, rest.gap, rest.position], [[], false, end]);
    assert.equal(await feedPosition(engine), end, 'positions are never given twice');
    const { id } = await create(engine, {}, t0 + 9 * day);
    assert.equal(only(await feedAfter(engine, end)).id, id);
  });
}
