import assert from 'node:assert/strict';
import { jobStatuses } from '@duly/core';
import type { Engine, JobFilter, JobRecord } from '@duly/core/internal';
import { day, dedupe, hour, jobError, jobSlot, jobSpec, minute, second, slotJob, t0 } from './builders.ts';
import {
  cancel,
  claimOne,
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  itemAt,
  only,
  read,
  reap,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

async function list(engine: Engine, filter: JobFilter = {}, limit = 100): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
      now: t0,
      filter,
      cursor,
      limit,
    });
    assert.ok(page.jobs.length <= limit, 'a page is at most its limit');
    ids.push(...page.jobs.map(({ id }) => id));
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== null && pages < 200);
  assert.equal(cursor, null, 'the pages come to an end');
  return ids;
}

/** Makes one job in every status, each made a second after the one before; answers their ids by status. */
async function createOneOfEach(engine: Engine): Promise<Record<JobRecord['status'], string>> {
  const at = (n: number) => t0 + n * second;
  const completed = await createRunning(engine, { type: 'a' }, at(0));
  await finish(engine, completed, 'COMPLETED', {}, at(0));
  const failed = await createFailed(engine, { type: 'a' }, at(1));
  const cancelled = await create(engine, { type: 'a' }, at(2));
  await cancel(engine, { id: cancelled.id }, at(2));
  const expired = await create(engine, { type: 'a', due: { at: at(0) }, startDeadlineMs: 3 * second }, at(3));
  await reap(engine, at(3) + 1);
  const retrying = await createRunning(engine, { type: 'a' }, at(4));
  await finish(engine, retrying, 'RETRYING', { due: { at: t0 + hour } }, at(4));
  const running = await createRunning(engine, { type: 'a' }, at(5), { leaseMs: hour });
  const blocked = await create(engine, { type: 'a', gates: [{ kind: 'parent', ref: running.id }] }, at(6));
  const pending = await create(engine, { type: 'a' }, at(7));
  const scheduled = await create(engine, { type: 'a', due: { at: t0 + hour } }, at(8));
  return {
    COMPLETED: completed.id,
    FAILED: failed.id,
    CANCELLED: cancelled.id,
    EXPIRED: expired.id,
    RETRYING: retrying.id,
    RUNNING: running.id,
    BLOCKED: blocked.id,
    PENDING: pending.id,
    SCHEDULED: scheduled.id,
  };
}

/** What `get`, `list`, `upcoming`, `counts`, `stats` and `audit` promise. */
export function readingTests(test: DefineTest): void {
  test('jobs are read by id, live and ended, in the order asked; unknown ones as null', async ({
    engine,
  }) => {
    const byStatus = await createOneOfEach(engine);
    const ids = ['job_nowhere', ...Object.values(byStatus).reverse(), 'job_nowhere'];
    const { jobs, now } = await engine.get({ now: t0 + 1, ids });
    assert.equal(now, t0 + 1);
    assert.deepEqual(
      jobs.map((job) => job?.id ?? null),
      ids.map((id) => (id === 'job_nowhere' ? null : id)),
    );
    for (const [status, id] of Object.entries(byStatus)) {
      assert.equal(jobs.find((job) => job?.id === id)?.status, status);
    }
    assert.deepEqual((await engine.get({ now: t0, ids: [] })).jobs, []);
  });

  test('reading writes nothing, at any instant', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + minute }, startDeadlineMs: minute });
    const before = await read(engine, id);
    for (const now of [t0 + hour, t0 - hour]) {
      await engine.get({ now, ids: [id] });
      await engine.list({ now, filter: {}, cursor: null, limit: 10 });
      await engine.counts({ now, cap: 10 });
      await engine.upcoming({ now, withinMs: day, stepMs: hour, cap: 10, limit: 10 });
      await engine.stats({ now, sinceAt: 0, types: null });
    }
    assert.deepEqual(await read(engine, id), before);
  });

  test('a list holds live and ended jobs together, newest created first', async ({ engine }) => {
    const byStatus = await createOneOfEach(engine);
    const created = [
      'COMPLETED',
      'FAILED',
      'CANCELLED',
      'EXPIRED',
      'RETRYING',
      'RUNNING',
      'BLOCKED',
      'PENDING',
      'SCHEDULED',
    ] as const;
    const newestFirst = created.map((status) => byStatus[status]).reverse();
    for (const limit of [100, 9, 4, 1])
      assert.deepEqual(await list(engine, {}, limit), newestFirst, `pages of ${limit}`);
  });

  test('a listed job is the same record that is read by id', async ({ engine }) => {
    const byStatus = await createOneOfEach(engine);
    const { jobs } = await engine.list({ now: t0, filter: {}, cursor: null, limit: 100 });
    for (const job of jobs) assert.deepEqual(job, await read(engine, job.id));
    assert.equal(jobs.length, Object.keys(byStatus).length);
  });

  test('a list by status holds that status only', async ({ engine }) => {
    const byStatus = await createOneOfEach(engine);
    for (const status of jobStatuses)
      assert.deepEqual(await list(engine, { status: [status] }), [byStatus[status]]);
    assert.deepEqual(await list(engine, { status: ['RUNNING', 'COMPLETED'] }, 1), [
      byStatus.RUNNING,
      byStatus.COMPLETED,
    ]);
    assert.deepEqual(await list(engine, { status: [] }), []);
  });

  test('pages are stable while jobs are created, end and are deleted in between', async ({ engine }) => {
    const created = await createAll(
      engine,
      Array.from({ length: 6 }, () => jobSpec({ type: 'old' })),
    );
    const first = await engine.list({ now: t0, filter: {}, cursor: null, limit: 3 });
    await createAll(engine, [jobSpec(), jobSpec()], t0 + second);
    await cancel(engine, { id: itemAt(created, 0).id }, t0 + second);
    await cancel(engine, { id: itemAt(created, 5).id }, t0 + second);
    const rest = await engine.list({ now: t0, filter: {}, cursor: first.nextCursor, limit: 10 });
    assert.deepEqual(
      [...first.jobs, ...rest.jobs].map(({ id }) => id),
      created.map(({ id }) => id).reverse(),
    );
    assert.equal(rest.nextCursor, null);
  });

  test('filters: ids, type, queue, tenant, serial, key, parent, schedule', async ({ engine }) => {
    const [a, b, c, d] = await createAll(engine, [
      jobSpec({ type: 'x', queue: 'q1', tenant: 'acme', serial: 's1' }),
      jobSpec({ type: 'x', queue: 'q2', dedupe: dedupe('k1') }),
      jobSpec({ type: 'y', queue: 'q1', tenant: 'globex', parent: { id: 'job_p', key: null } }),
      slotJob('sch_1', t0, { type: 'z', queue: 'q3' }),
    ]);
    assert.ok(a && b && c && d);
    const lease = await claimOne(engine, { tasks: [{ type: 'y', version: 1, limit: 1 }] });
    await finish(engine, lease, 'COMPLETED');
    const cases: [JobFilter, string[]][] = [
      [{ ids: [a.id, c.id, 'job_nowhere'] }, [c.id, a.id]],
      [{ ids: [] }, []],
      [{ type: ['x'] }, [b.id, a.id]],
      [{ type: ['x', 'y'] }, [c.id, b.id, a.id]],
      [{ queue: ['q1'] }, [c.id, a.id]],
      [{ tenant: 'acme' }, [a.id]],
      [{ tenant: null }, [d.id, b.id]],
      [{ serial: 's1' }, [a.id]],
      [{ dedupeKey: 'k1' }, [b.id]],
      [{ parentId: 'job_p' }, [c.id]],
      [{ scheduleId: 'sch_1' }, [d.id]],
      [{ type: ['x'], queue: ['q1'] }, [a.id]],
      [{ type: ['x'], tenant: 'globex' }, []],
    ];
    for (const [filter, expected] of cases) {
      assert.deepEqual(await list(engine, filter), expected, JSON.stringify(filter));
    }
  });

  test('filters: text in the type, the tenant, the status or the error; several must all match', async ({
    engine,
  }) => {
    const [mail, report, invoice, other] = await createAll(engine, [
      jobSpec({ type: 'send_mail', tenant: 'acme' }),
      jobSpec({ type: 'report', tenant: 'Globex' }),
      jobSpec({ type: 'invoice', due: { at: t0 + day } }),
      jobSpec({ type: 'other' }),
    ]);
    assert.ok(mail && report && invoice && other);
    const tasks = (type: string) => ({ tasks: [{ type, version: 1, limit: 1 }] });
    const error = { ...jobError('Mailbox of Acme: 100% full_'), name: 'SmtpError' };
    await finish(engine, await claimOne(engine, tasks('report')), 'FAILED', { error });
    await finish(engine, await claimOne(engine, tasks('other')), 'COMPLETED');
    const cases: [string[], string[]][] = [
      [['send_mail'], [mail.id]],
      [['MAIL'], [report.id, mail.id]],
      [['acme'], [report.id, mail.id]],
      [['globex'], [report.id]],
      [['failed'], [report.id]],
      [['Completed'], [other.id]],
      [['scheduled'], [invoice.id]],
      [['pending'], [mail.id]],
      // A part of a status is no status.
      [['fail'], []],
      [['smtperror: mailbox'], [report.id]],
      // No pattern: these characters mean themselves.
      [['100%'], [report.id]],
      [['end_ma'], [mail.id]],
      [['endxma'], []],
      [['%'], [report.id]],
      [['acme', 'failed'], [report.id]],
      [['acme', 'send', 'pending'], [mail.id]],
      [['acme', 'nowhere'], []],
    ];
    for (const [text, expected] of cases) {
      assert.deepEqual(await list(engine, { text }), expected, JSON.stringify(text));
    }
    assert.deepEqual(await list(engine, { text: ['acme'], dead: true }), [report.id]);
  });

  test('filters: jobs as of an instant exclude those created later and those finished later', async ({
    engine,
  }) => {
    const early = await create(engine, { type: 'early' });
    const ended = await create(engine, { type: 'ended' });
    const lease = await claimOne(engine, { tasks: [{ type: 'ended', version: 1, limit: 1 }] });
    await finish(engine, lease, 'FAILED', {}, t0 + 2 * second);
    const late = await create(engine, { type: 'late' }, t0 + 3 * second);
    const cases: [number, string[]][] = [
      [t0 - 1, []],
      [t0, [early.id]],
      [t0 + 2 * second - 1, [early.id]],
      [t0 + 2 * second, [ended.id, early.id]],
      [t0 + 3 * second, [late.id, ended.id, early.id]],
    ];
    for (const [asOf, expected] of cases)
      assert.deepEqual(await list(engine, { asOf }), expected, `${asOf - t0}`);
  });

  test('filters: the slots of a schedule and where its runs came from, live and ended', async ({
    engine,
  }) => {
    const specs = [0, 1, 2, 2, 3].map((n, i) =>
      slotJob('sch_1', t0 + n, {
        origin: i === 2 ? 'schedule' : 'backfill',
        due: { at: t0 + (i === 1 ? 0 : day) },
      }),
    );
    const trigger = jobSpec({ origin: 'trigger', slot: jobSlot('sch_1', null) });
    const created = await createAll(engine, [
      ...specs,
      slotJob('sch_2', t0 + 1, { origin: 'backfill' }),
      trigger,
    ]);
    const ids = created.map(({ id }) => id);
    await cancel(engine, { id: ids[1] as string });
    const of = (...places: number[]) => places.map((place) => ids[place]);
    const scheduleId = 'sch_1';
    const cases: [JobFilter, (string | undefined)[]][] = [
      [{ scheduleId, origin: 'backfill' }, of(4, 3, 1, 0)],
      [{ scheduleId, origin: 'backfill', slotFrom: t0 + 1, slotBefore: t0 + 3 }, of(3, 1)],
      [{ scheduleId, origin: 'backfill', slotFrom: t0 + 2, slotBefore: t0 + 3 }, of(3)],
      [{ scheduleId, slotFrom: t0 + 2 }, of(4, 3, 2)],
      [{ scheduleId, slotBefore: t0 + 1 }, of(0)],
      [{ scheduleId, origin: 'trigger' }, of(6)],
      [{ origin: 'backfill', slotFrom: t0 + 1, slotBefore: t0 + 2 }, of(5, 1)],
    ];
    for (const [filter, expected] of cases) {
      assert.deepEqual(await list(engine, filter), expected, JSON.stringify(filter));
    }
  });

  test('what falls due next is counted in steps, and the earliest are told, whatever their type', async ({
    engine,
  }) => {
    await createOneOfEach(engine);
    const later = (type: string, inMs: number, tenant: string | null = null) =>
      create(engine, { type, due: { at: t0 + inMs }, tenant });
    const [third, first, next, far] = [
      await later('b', 3 * minute + 7),
      await later('c', 10 * second, 'acme'),
      await later('a', 70 * second, 'acme'),
      await later('a', 3 * hour),
    ];
    const ask = { now: t0, withinMs: hour + 1, stepMs: minute, cap: 10, limit: 3 };
    const all = await engine.upcoming(ask);
    assert.deepEqual(
      all.jobs.map(({ id }) => id),
      [first.id, next.id, third.id],
    );
    // One that is retried in an hour, and one that is due then.
    assert.deepEqual(all.steps, [
      { fromAt: t0, count: 1 },
      { fromAt: t0 + minute, count: 1 },
      { fromAt: t0 + 3 * minute, count: 1 },
      { fromAt: t0 + hour, count: 2 },
    ]);
    assert.equal(all.capped, false);
    assert.deepEqual(
      (await engine.upcoming({ ...ask, withinMs: hour })).steps.length,
      3,
      'the end is outside',
    );
    const acme = await engine.upcoming({ ...ask, tenant: 'acme' });
    assert.deepEqual([acme.jobs.map(({ id }) => id), acme.steps.length], [[first.id, next.id], 2]);
    const nobody = await engine.upcoming({ ...ask, withinMs: day, tenant: null, limit: 9 });
    assert.equal(nobody.jobs.at(-1)?.id, far.id);
    assert.equal(nobody.jobs.length, 4);
    const few = await engine.upcoming({ ...ask, cap: 1, limit: 0 });
    assert.deepEqual([few.capped, few.jobs], [true, []]);
    // What is due is no longer to come.
    assert.equal((await engine.upcoming({ ...ask, now: t0 + 10 * second })).jobs[0]?.id, next.id);
  });

  test('filters: created from and before an instant', async ({ engine }) => {
    const ids: string[] = [];
    for (const n of [0, 1, 2, 3]) ids.push((await create(engine, {}, t0 + n)).id);
    assert.deepEqual(await list(engine, { createdFrom: t0 + 1, createdBefore: t0 + 3 }), [ids[2], ids[1]]);
    assert.deepEqual(await list(engine, { createdFrom: t0 + 3 }), [ids[3]]);
    assert.deepEqual(await list(engine, { createdBefore: t0 }), []);
  });

  test('filters: a part of the error, in any case; percent and underscore mean themselves', async ({
    engine,
  }) => {
    const fail = async (message: string, name = 'Error') => {
      const lease = await createRunning(engine);
      await finish(engine, lease, 'FAILED', { error: { ...jobError(message), name } });
      return lease.id;
    };
    const timeout = await fail('Connection timed out after 100%', 'NetError');
    const disk = await fail('disk_full');
    assert.deepEqual(await list(engine, { error: 'TIMED OUT' }), [timeout]);
    assert.deepEqual(await list(engine, { error: 'neterror' }), [timeout]);
    assert.deepEqual(await list(engine, { error: '%' }), [timeout]);
    assert.deepEqual(await list(engine, { error: '_' }), [disk]);
    assert.deepEqual(await list(engine, { error: 'nothing like it' }), []);
  });

  test('filters: values at paths of the input, compared as JSON', async ({ engine }) => {
    const [number, text, deep, none] = await createAll(engine, [
      jobSpec({ input: '{"user":{"id":1},"tag":"a"}' }),
      jobSpec({ input: '{"user":{"id":"1"},"tag":null}' }),
      jobSpec({ input: '{"user":{"id":{"x":true}},"tag":false}' }),
      jobSpec({ input: '"just text"' }),
    ]);
    assert.ok(number && text && deep && none);
    const at = (path: string, value: string) => list(engine, { input: [{ path, value }] });
    assert.deepEqual(await at('user.id', '1'), [number.id]);
    assert.deepEqual(await at('user.id', '"1"'), [text.id]);
    assert.deepEqual(await at('user.id.x', 'true'), [deep.id]);
    assert.deepEqual(await at('tag', '"a"'), [number.id]);
    assert.deepEqual(await at('tag', 'false'), [deep.id]);
    assert.deepEqual(await at('missing', '1'), []);
    const both = [
      { path: 'user.id', value: '1' },
      { path: 'tag', value: '"b"' },
    ];
    assert.deepEqual(await list(engine, { input: both }), []);
  });

  test('filters: every name in a path is taken as it is, and only plain whole numbers are places in a list', async ({
    engine,
  }) => {
    const names = [
      'number',
      'n\\u0075mber',
      '\\',
      'a\\',
      '"',
      'a"b',
      '\\"',
      '$',
      '*',
      '[0]',
      '#-1',
      ' ',
      'é',
      '\n',
      '01',
    ];
    const created = await createAll(
      engine,
      names.map((name) => jobSpec({ input: JSON.stringify({ at: { [name]: 7 } }) })),
    );
    const at = (path: string, value = '7') => list(engine, { input: [{ path, value }] });
    for (const [i, name] of names.entries()) {
      assert.deepEqual(await at(`at.${name}`), [created[i]?.id], JSON.stringify(name));
    }
    for (const path of [
      'at.NUMBER',
      'at.numbe\\u0072',
      'at.number\\',
      'at."number"',
      '$.at.number',
      'at[number]',
    ]) {
      assert.deepEqual(await at(path), [], path);
    }
    const listed = await create(engine, { input: '{"list":[1,[2,7]]}' });
    assert.deepEqual(await at('list.1.1'), [listed.id]);
    const others = ['01', '+1', '-1', '1 ', ' 1', '4294967297', '18446744073709551617', '[1]', '#-1'];
    for (const other of others) {
      assert.deepEqual(await at(`list.1.${other}`), [], JSON.stringify(other));
      assert.deepEqual(await at(`list.${other}.1`), [], JSON.stringify(other));
    }
  });

  test('filters: dead letters, and everything but', async ({ engine }) => {
    const dead = await createFailed(engine);
    const { id: alive } = await create(engine);
    assert.deepEqual(await list(engine, { dead: true }), [dead.id]);
    assert.deepEqual(await list(engine, { dead: false }), [alive]);
  });

  test('jobs are counted by status', async ({ engine }) => {
    await createOneOfEach(engine);
    await create(engine);
    const { status } = await engine.counts({ now: t0, cap: 100 });
    for (const name of jobStatuses) {
      assert.deepEqual(status[name], { count: name === 'PENDING' ? 2 : 1, capped: false }, name);
    }
  });

  test('a count stops at its cap and says so', async ({ engine }) => {
    await createAll(
      engine,
      Array.from({ length: 8 }, () => jobSpec()),
    );
    assert.deepEqual((await engine.counts({ now: t0, cap: 5 })).status.PENDING, { count: 5, capped: true });
    assert.deepEqual((await engine.counts({ now: t0, cap: 9 })).status.PENDING, { count: 8, capped: false });
  });

  test('what is ready is counted by queue, type and version, with the oldest due instant', async ({
    engine,
  }) => {
    await createAll(engine, [
      jobSpec({ due: { at: t0 - 5 } }),
      jobSpec({ due: { at: t0 - 9 } }),
      jobSpec({ version: 2 }),
      jobSpec({ queue: 'mail', type: 'send' }),
      jobSpec({ queue: 'later', due: { at: t0 + hour } }),
    ]);
    const { lanes } = await engine.counts({ now: t0, cap: 10 });
    const ready = lanes.filter((lane) => lane.ready.count > 0);
    const text = ready.map(
      (lane) => `${lane.queue} ${lane.type} ${lane.version} ${lane.ready.count} ${lane.oldestDueAt}`,
    );
    assert.deepEqual(text.sort(), [
      `default work 1 2 ${t0 - 9}`,
      `default work 2 1 ${t0}`,
      `mail send 1 1 ${t0}`,
    ]);
  });

  test('ended jobs are summed up by type since an instant', async ({ engine }) => {
    const run = async (
      type: string,
      waitMs: number,
      durationMs: number,
      to: 'COMPLETED' | 'FAILED',
      at: number,
    ) => {
      const lease = await createRunning(engine, { type, due: { at: at - waitMs } }, at);
      await finish(engine, lease, to, {}, at + durationMs);
    };
    await run('a', 10, 100, 'COMPLETED', t0 - hour);
    for (const n of [1, 2, 3]) await run('a', n * 10, n * 100, 'COMPLETED', t0);
    await run('a', 10, 5000, 'FAILED', t0);
    await run('b', 1, 7, 'COMPLETED', t0);
    const { id } = await create(engine, { type: 'c' });
    await cancel(engine, { id }, t0 + 1);
    const { types } = await engine.stats({ now: t0 + hour, sinceAt: t0, types: null });
    const a = types.find(({ type }) => type === 'a');
    assert.ok(a);
    assert.deepEqual([a.completed, a.failed, a.cancelled, a.expired], [3, 1, 0, 0]);
    assert.deepEqual(a.durationMsP50, 200);
    assert.ok(a.durationMsP95 !== null && a.durationMsP95 >= 200 && a.durationMsP95 <= 300);
    assert.ok(a.waitMsP50 !== null && a.waitMsP50 >= 10 && a.waitMsP50 <= 30);
    assert.ok(a.waitMsP95 !== null && a.waitMsP95 >= a.waitMsP50 && a.waitMsP95 <= 30);
    const c = types.find(({ type }) => type === 'c');
    assert.deepEqual([c?.completed, c?.cancelled, c?.durationMsP50], [0, 1, null]);
    const onlyB = await engine.stats({ now: t0 + hour, sinceAt: t0, types: ['b'] });
    assert.deepEqual([only(onlyB.types).type, only(onlyB.types).completed], ['b', 1]);
  });

  test('the last completed one is told by type, and schedules are summed up each by itself', async ({
    engine,
  }) => {
    const run = async (
      scheduleId: string | null,
      to: 'COMPLETED' | 'FAILED',
      at: number,
      durationMs: number,
    ) => {
      const slot = scheduleId === null ? null : jobSlot(scheduleId, at);
      const lease = await createRunning(
        engine,
        { type: 'a', slot, origin: slot === null ? 'event' : 'schedule' },
        at,
      );
      await finish(engine, lease, to, {}, at + durationMs);
    };
    await run('one', 'COMPLETED', t0 - hour, 1);
    for (const n of [1, 2, 3]) await run('one', 'COMPLETED', t0 + n * minute, n * 100);
    await run('one', 'FAILED', t0 + 4 * minute, 5);
    await run('two', 'FAILED', t0 + 5 * minute, 5);
    await run(null, 'COMPLETED', t0 + 6 * minute, 9);
    const input = { now: t0 + hour, sinceAt: t0, types: [], scheduleIds: ['two', 'one', 'none'] };
    const { types, schedules } = await engine.stats(input);
    assert.deepEqual(types, []);
    assert.deepEqual(
      schedules.map((one) => [
        one.scheduleId,
        one.completed,
        one.failed,
        one.durationMsP50,
        one.lastCompletedAt,
      ]),
      [
        ['two', 0, 1, null, null],
        ['one', 3, 1, 200, t0 + 3 * minute + 300],
        ['none', 0, 0, null, null],
      ],
    );
    const all = await engine.stats({ now: t0 + hour, sinceAt: t0, types: null });
    assert.equal(only(all.types).lastCompletedAt, t0 + 6 * minute + 9);
    assert.deepEqual(all.schedules, []);
  });

  test('what ended is summed up in steps of time, by type and by schedule', async ({ engine }) => {
    const run = async (
      spec: Parameters<typeof createRunning>[1],
      at: number,
      to: 'COMPLETED' | 'FAILED',
      durationMs: number,
    ) => {
      const lease = await createRunning(engine, spec, at);
      await finish(engine, lease, to, {}, at + durationMs);
    };
    for (const n of [1, 2, 3, 4])
      await run({ type: 'a', due: { at: t0 - n * 10 } }, t0, 'COMPLETED', n * 100);
    await run({ type: 'b', due: { at: t0 - 500 } }, t0, 'FAILED', 7);
    const slot = jobSlot('nightly', t0 + minute);
    const spec = { type: 'b', slot, origin: 'schedule' as const };
    await run({ ...spec, due: { at: t0 + minute } }, t0 + minute + 30, 'COMPLETED', 11);
    const { id } = await create(engine, { type: 'c' }, t0 + minute);
    await cancel(engine, { id }, t0 + 2 * minute - 1);
    // Ends where the last step does: it belongs to the next one.
    await run({ type: 'a' }, t0 + 3 * minute, 'COMPLETED', 0);
    const steps = { fromAt: t0, stepMs: minute, stepCount: 3, sampleCount: 100 };
    const all = await engine.trend({ now: t0 + hour, ...steps, type: null, scheduleId: null });
    assert.deepEqual(
      all.steps.map((step) => [
        step.fromAt,
        step.completed,
        step.failed,
        step.cancelled,
        step.expired,
        step.sampled,
      ]),
      [
        [t0, 4, 1, 0, 0, false],
        [t0 + minute, 1, 0, 1, 0, false],
        [t0 + 2 * minute, 0, 0, 0, 0, false],
      ],
    );
    const [first, second] = all.steps;
    assert.deepEqual([first?.durationMsP50, first?.durationMsP95], [200, 400]);
    assert.deepEqual([first?.waitMsP50, first?.waitMsP95, first?.waitMsP99], [30, 500, 500]);
    assert.deepEqual([first?.latenessMsP50, first?.latenessMsP99], [null, null]);
    assert.deepEqual([second?.latenessMsP50, second?.latenessMsP95, second?.latenessMsP99], [30, 30, 30]);
    const ofType = await engine.trend({ now: t0 + hour, ...steps, type: 'b', scheduleId: null });
    assert.deepEqual(
      ofType.steps.map((step) => [step.completed, step.failed]),
      [
        [0, 1],
        [1, 0],
        [0, 0],
      ],
    );
    const ofSchedule = await engine.trend({ now: t0 + hour, ...steps, type: null, scheduleId: 'nightly' });
    assert.deepEqual(
      ofSchedule.steps.map((step) => [step.completed, step.failed, step.cancelled]),
      [
        [0, 0, 0],
        [1, 0, 0],
        [0, 0, 0],
      ],
    );
  });

  test('of a step in which very many ended a part is looked at; how many there were is still counted', async ({
    engine,
  }) => {
    for (let n = 0; n < 40; n += 1) {
      const type = n % 4 === 0 ? 'b' : 'a';
      const lease = await createRunning(engine, { type, due: { at: t0 + n * second - 20 } }, t0 + n * second);
      await finish(engine, lease, n % 10 === 3 ? 'FAILED' : 'COMPLETED', {}, t0 + n * second + 5);
    }
    const steps = { fromAt: t0, stepMs: minute, stepCount: 1, sampleCount: 8 };
    const all = only((await engine.trend({ now: t0 + hour, ...steps, type: null, scheduleId: null })).steps);
    assert.deepEqual([all.completed, all.failed, all.sampled], [36, 4, true]);
    assert.deepEqual([all.durationMsP50, all.waitMsP50], [5, 20]);
    const ofType = only(
      (await engine.trend({ now: t0 + hour, ...steps, type: 'b', scheduleId: null })).steps,
    );
    assert.ok(ofType.sampled);
    assert.equal(ofType.failed, 0);
    assert.ok(ofType.completed >= 5 && ofType.completed <= 20, `${ofType.completed} of 10`);
  });

  test('the audit is read newest first, by subject or whole, in pages', async ({ engine }) => {
    const created = await createAll(
      engine,
      Array.from({ length: 5 }, () => jobSpec()),
    );
    for (const [n, { id }] of created.entries()) await cancel(engine, { id }, t0 + n);
    const subjects: string[] = [];
    let before: number | null = null;
    for (;;) {
      const { rows } = await engine.audit({ now: t0, subject: null, before, limit: 2 });
      assert.ok(rows.length <= 2);
      const last = rows.at(-1);
      if (last === undefined) break;
      subjects.push(...rows.map(({ subject }) => subject));
      before = last.position;
    }
    assert.deepEqual(subjects, created.map(({ id }) => `job:${id}`).reverse());
    assert.deepEqual(
      (await engine.audit({ now: t0, subject: 'job:nobody', before: null, limit: 9 })).rows,
      [],
    );
  });
}
