import assert from 'node:assert/strict';
import { isDulyError } from '@duly/core';
import {
  type Engine,
  engineVerbNames,
  engineVerbs,
  type JobSpec,
  type NotificationKind,
  type UserTransaction,
} from '@duly/core/internal';
import {
  claimRequest,
  dedupe,
  hour,
  jobSpec,
  minute,
  scheduleClaim,
  schedulePut,
  second,
  settlement,
  t0,
} from './builders.ts';
import { notifiedTypes } from './notifications.ts';
import {
  accepted,
  claim,
  claimOne,
  claimSchedule,
  create,
  createAll,
  createRunning,
  feedAfter,
  feedPosition,
  finish,
  heartbeat,
  itemAt,
  only,
  read,
  readSchedule,
  reap,
  statusOf,
  until,
} from './steps.ts';
import type { BegunTransaction, ConformanceContext, DefineTest } from './suite.ts';

interface Begun extends BegunTransaction {
  userTransaction: UserTransaction;
}

/** A transaction of the user's own, and the store inside it. */
async function beginTransaction({ engine, begin }: ConformanceContext): Promise<Begun> {
  const transaction = await begin();
  assert.ok(engine.userTransaction, 'an engine with transactions of the user has `userTransaction`');
  return { ...transaction, userTransaction: await engine.userTransaction(transaction.tx) };
}

/** Which types are announced once an action is done, those that are expected among them; null: any type is. */
function announced(
  engine: Engine,
  expected: string[],
  act: () => Promise<unknown>,
): Promise<string[] | null> {
  return notifiedTypes(engine, async () => {
    const missing = new Set(expected);
    const stop = engine.subscribe(({ kind, types = expected }) => {
      if (kind === 'jobs') for (const type of types) missing.delete(type);
    });
    await act();
    await until(engine, () => missing.size === 0);
    stop();
  });
}

/** Makes jobs inside a transaction, as one group. */
async function createInTransaction({ userTransaction }: Begun, jobs: Partial<JobSpec>[], now = t0) {
  const reply = await userTransaction.enqueue({
    now,
    groups: [{ jobs: jobs.map((fields) => jobSpec(fields)) }],
  });
  return accepted(only(reply.groups));
}

/** Whether a job is there for everyone. */
async function isThere(engine: Engine, id: string): Promise<boolean> {
  return only((await engine.get({ now: t0, ids: [id] })).jobs) !== null;
}

const listAll = { now: t0, filter: {}, cursor: null, limit: 100 };

/** What the store promises inside transactions of the user's own, and beside them. */
export function userTransactionTests(test: DefineTest): void {
  test('a job created within is seen by nobody before the commit, and is as any other after it', async (context) => {
    const { engine } = context;
    const fields = { due: { at: t0 + hour }, input: '{"a":[1,"§"]}', metadata: '{"m":1}', priority: 3 };
    const usual = await read(engine, (await create(engine, fields)).id);
    const position = await feedPosition(engine);
    const begun = await beginTransaction(context);
    const { id, status, deduped } = only(await createInTransaction(begun, [fields]));
    assert.deepEqual([status, deduped], ['SCHEDULED', false]);
    assert.equal(await isThere(engine, id), false);
    assert.equal((await engine.list(listAll)).jobs.length, 1);
    assert.equal(await begun.commit(), true);
    assert.deepEqual(await read(engine, id), { ...usual, id });
    assert.deepEqual(
      (await feedAfter(engine, position)).map((change) => [change.id, change.event]),
      [[id, 'created']],
    );
    assert.equal((await claimOne(engine, { limit: 1 }, t0 + hour)).input, fields.input);
  });

  test('a transaction has the verbs that the table gives it, and `settle`', async (context) => {
    const { userTransaction } = await beginTransaction(context);
    const given = Object.keys(userTransaction).filter((name) => name !== 'settle');
    const wanted = (value: boolean | 'optional') =>
      engineVerbNames.filter((verb) => engineVerbs[verb].inUserTransaction === value);
    const optional = new Set<string>(wanted('optional'));
    assert.deepEqual(given.filter((name) => !optional.has(name)).toSorted(), wanted(true).toSorted());
  });

  test('inside its transaction what was created is seen at once', async (context) => {
    const begun = await beginTransaction(context);
    const { id } = only(await createInTransaction(begun, [{}]));
    const got = await begun.userTransaction.get({ now: t0, ids: [id] });
    assert.equal(only(got.jobs)?.id, id);
    const listed = await begun.userTransaction.list(listAll);
    assert.deepEqual(
      listed.jobs.map((job) => job.id),
      [id],
    );
  });

  test('what was created within and rolled back never was', async (context) => {
    const { engine } = context;
    const position = await feedPosition(engine);
    const parent = await createRunning(engine, { type: 'parent' });
    const begun = await beginTransaction(context);
    const held = { dedupe: dedupe('k') };
    const child = { parent: { id: parent.id, key: 'c' } };
    const created = await createInTransaction(begun, [
      {},
      { due: { at: t0 + hour } },
      { serial: 's' },
      held,
      child,
    ]);
    await begun.rollback();
    for (const { id } of created) assert.equal(await isThere(engine, id), false);
    assert.deepEqual(await claim(engine), []);
    const reported = (await feedAfter(engine, position)).map((change) => change.id);
    assert.deepEqual(new Set(reported), new Set([parent.id]));
    // Neither key, child nor serial place is taken.
    const again = await createAll(engine, [jobSpec(held), jobSpec(child), jobSpec({ serial: 's' })]);
    assert.deepEqual(
      again.map(({ status, deduped }) => [status, deduped]),
      [
        ['PENDING', false],
        ['PENDING', false],
        ['PENDING', false],
      ],
    );
  });

  test('a repeated enqueue within, of a job that has ended, creates nothing and answers its end', async (context) => {
    const { engine } = context;
    const spec = jobSpec();
    await createAll(engine, [spec]);
    await finish(engine, await claimOne(engine), 'COMPLETED');
    const begun = await beginTransaction(context);
    const reply = await begun.userTransaction.enqueue({
      now: t0 + 1,
      repeat: true,
      groups: [{ jobs: [spec] }],
    });
    assert.equal(only(accepted(only(reply.groups))).status, 'COMPLETED');
    assert.equal(await begun.commit(), true);
    assert.deepEqual(await claim(engine, {}, t0 + 1), []);
  });

  test('one transaction may make much, in several calls, and all of it is kept together', async (context) => {
    const { engine } = context;
    const begun = await beginTransaction(context);
    const plain = await createInTransaction(
      begun,
      Array.from({ length: 30 }, () => ({})),
    );
    const gated = await createInTransaction(begun, [
      { gates: [{ kind: 'parent', ref: itemAt(plain, 0).id }] },
      { dedupe: dedupe('k') },
      { dedupe: dedupe('k') },
    ]);
    assert.equal(itemAt(gated, 0).status, 'BLOCKED');
    assert.deepEqual([itemAt(gated, 2).id, itemAt(gated, 2).deduped], [itemAt(gated, 1).id, true]);
    assert.equal(await begun.commit(), true);
    assert.equal((await claim(engine)).length, 31);
    assert.equal(await statusOf(engine, itemAt(gated, 0).id), 'BLOCKED');
  });

  test('a group that is refused within fails alone, and the transaction goes on', async (context) => {
    const { engine } = context;
    const { id: taken } = await create(engine, { due: { at: t0 + hour } });
    const begun = await beginTransaction(context);
    const good = jobSpec({ serial: 's' });
    const bad = [jobSpec({ serial: 's' }), jobSpec({ id: taken, type: 'other', serial: 's' })];
    const { groups } = await begun.userTransaction.enqueue({
      now: t0,
      groups: [{ jobs: bad }, { jobs: [good] }],
    });
    const refused = itemAt(groups, 0);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, 'group_refused');
    assert.equal(await begun.commit(), true);
    assert.equal((await claimOne(engine)).id, good.id);
  });

  test('a key that is held answers within with its holder', async (context) => {
    const { engine } = context;
    const holder = await create(engine, { dedupe: dedupe('k'), due: { at: t0 + hour } });
    const begun = await beginTransaction(context);
    const dropped = only(await createInTransaction(begun, [{ dedupe: dedupe('k') }]));
    assert.deepEqual([dropped.id, dropped.deduped], [holder.id, true]);
    const replace = dedupe('k', { mode: 'replace' });
    const replaced = only(
      await createInTransaction(begun, [{ dedupe: replace, input: '"new"', due: { at: t0 + minute } }]),
    );
    assert.deepEqual([replaced.id, replaced.deduped], [holder.id, true]);
    assert.equal((await read(engine, holder.id)).input, '{"n":1}');
    assert.equal(await begun.commit(), true);
    const { input, dueAt } = await read(engine, holder.id);
    assert.deepEqual([input, dueAt], ['"new"', t0 + minute]);
  });

  test('serial jobs created within run one at a time, in due order, with those created outside', async (context) => {
    const { engine } = context;
    const begun = await beginTransaction(context);
    const inside = await createInTransaction(begun, [
      { serial: 's', due: { at: t0 - 2 } },
      { serial: 's', due: { at: t0 - 1 } },
    ]);
    assert.equal(await begun.commit(), true);
    const outside = await create(engine, { serial: 's' });
    const order: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const lease = await claimOne(engine);
      order.push(lease.id);
      await finish(engine, lease, 'COMPLETED');
    }
    assert.deepEqual(order, [...inside.map(({ id }) => id), outside.id]);
  });

  test('a job settled within is over for everyone after the commit, and runs until then', async (context) => {
    const { engine } = context;
    const lease = await createRunning(engine, { dedupe: dedupe('k'), serial: 's' });
    const waiting = await create(engine, { gates: [{ kind: 'parent', ref: lease.id }] });
    const next = await create(engine, { serial: 's', type: 'next' });
    const both = await create(engine, { serial: 't', gates: [{ kind: 'parent', ref: lease.id }] });
    const begun = await beginTransaction(context);
    const logs = [{ line: 1, at: t0, level: 'info' as const, message: 'paid' }];
    const report = { progress: null, logs };
    const now = t0 + second;
    await begun.userTransaction.settle({
      now,
      settlement: settlement(lease, 'COMPLETED', { result: '{"paid":1}', report }),
    });
    assert.equal(await statusOf(engine, lease.id), 'RUNNING');
    assert.equal(await statusOf(engine, waiting.id), 'BLOCKED');
    assert.equal(await begun.commit(), true);
    const { status, result, finishedAt, progress } = await read(engine, lease.id);
    assert.deepEqual([status, result, finishedAt, progress.percent], ['COMPLETED', '{"paid":1}', now, 100]);
    const { lines } = await engine.logs({ now, id: lease.id, after: 0, limit: 9 });
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['paid'],
    );
    const ready = await claim(
      engine,
      {
        tasks: ['work', 'next'].map((type) => ({ type, version: 1, limit: 9 })),
      },
      now,
    );
    assert.deepEqual(new Set(ready.map(({ id }) => id)), new Set([waiting.id, next.id, both.id]));
    assert.equal((await create(engine, { dedupe: dedupe('k') }, now)).deduped, false, 'its key is free');
  });

  test('a settlement that was rolled back settled nothing: the lease holds and may be settled again', async (context) => {
    const { engine } = context;
    const lease = await createRunning(engine, { dedupe: dedupe('k'), serial: 's' });
    for (const end of ['rollback', 'commit'] as const) {
      const begun = await beginTransaction(context);
      await begun.userTransaction.settle({ now: t0, settlement: settlement(lease, 'COMPLETED') });
      await begun[end]();
      if (end === 'commit') continue;
      const { status, fence, attempts } = await read(engine, lease.id);
      assert.deepEqual([status, fence, attempts.length], ['RUNNING', lease.fence, 1]);
      assert.deepEqual(await heartbeat(engine, lease), { state: 'kept' });
    }
    assert.equal(await statusOf(engine, lease.id), 'COMPLETED');
  });

  test('a settlement under a lost lease fails the whole transaction, whoever swallows the error', async (context) => {
    const { engine } = context;
    const lease = await createRunning(engine);
    const taken = only(await reap(engine, t0 + hour));
    const begun = await beginTransaction(context);
    const { id } = only(await createInTransaction(begun, [{ type: 'beside' }], t0 + hour));
    await assert.rejects(
      begun.userTransaction.settle({ now: t0 + hour, settlement: settlement(lease, 'COMPLETED') }),
      (error) => isDulyError(error, 'lease_lost') && error.details.id === lease.id,
    );
    assert.equal(await begun.commit(), false, 'nothing of it can be kept');
    assert.equal(await isThere(engine, id), false);
    const { status, fence } = await read(engine, lease.id);
    assert.deepEqual([status, fence], ['RUNNING', taken.fence]);
  });

  test('a job that is over already cannot be settled within', async (context) => {
    const { engine } = context;
    const lease = await createRunning(engine);
    await finish(engine, lease, 'COMPLETED', { result: '"first"' });
    const begun = await beginTransaction(context);
    const again = settlement(lease, 'COMPLETED', { result: '"second"' });
    await assert.rejects(begun.userTransaction.settle({ now: t0, settlement: again }), (error) =>
      isDulyError(error, 'lease_lost'),
    );
    assert.equal(await begun.commit(), false);
    assert.equal((await read(engine, lease.id)).result, '"first"');
  });

  test('a schedule created within is due for nodes after the commit, and never was after a rollback', async (context) => {
    const { engine } = context;
    for (const end of ['rollback', 'commit'] as const) {
      const begun = await beginTransaction(context);
      const put = schedulePut();
      const groups = [{ actor: 'key:anna', changes: [put] }];
      accepted(only((await begun.userTransaction.applySchedules({ now: t0, groups })).groups));
      const inside = await begun.userTransaction.schedules({
        now: t0,
        filter: { ids: [put.id] },
        cursor: null,
        limit: 2,
      });
      assert.equal(only(inside.schedules).id, put.id);
      assert.equal(await readSchedule(engine, put.id), null);
      await begun[end]();
      const due = (await engine.claimSchedules(scheduleClaim())).schedules.map(({ id }) => id);
      assert.deepEqual(due, end === 'commit' ? [put.id] : [], end);
      const { rows } = await engine.audit({ now: t0, subject: `schedule:${put.id}`, before: null, limit: 9 });
      assert.equal(rows.length, end === 'commit' ? 1 : 0);
    }
  });

  test('a schedule is changed within by compare-and-set', async (context) => {
    const { engine } = context;
    const put = schedulePut();
    accepted(
      only((await engine.applySchedules({ now: t0, groups: [{ actor: 'a', changes: [put] }] })).groups),
    );
    const { version } = await claimSchedule(engine, put.id);
    const edit = { ...put, action: 'edit', spec: '{"rule":"hourly"}' };
    const begun = await beginTransaction(context);
    const apply = async (expectVersion: number) => {
      const groups = [{ actor: 'a', changes: [{ ...edit, expectVersion }] }];
      return only((await begun.userTransaction.applySchedules({ now: t0, groups })).groups);
    };
    const late = await apply(version + 7);
    assert.ok(!late.ok);
    assert.equal(late.error.code, 'records_conflict');
    assert.equal((await apply(version)).ok, true);
    assert.equal(await begun.commit(), true);
    assert.equal((await readSchedule(engine, put.id))?.spec, edit.spec);
  });

  test('whoever listens is told after the commit', async (context) => {
    const { engine } = context;
    const notifications = new Set<NotificationKind>();
    const stop = engine.subscribe(({ kind }) => notifications.add(kind));
    // Listening may begin with every notification once.
    await engine.probe();
    await until(engine, () => notifications.has('probe'));
    notifications.clear();
    const begun = await beginTransaction(context);
    await createInTransaction(begun, [{}]);
    const groups = [{ actor: 'key:anna', changes: [schedulePut()] }];
    await begun.userTransaction.applySchedules({ now: t0, groups });
    await begun.commit();
    await until(engine, () => notifications.has('jobs') && notifications.has('schedules'));
    stop();
  });

  test('jobs of a transaction are announced with their types after the commit', async (context) => {
    const { engine } = context;
    const begun = await beginTransaction(context);
    for (const fields of [{ type: 'mail' }, { type: "it's, a:b", serial: 'line' }])
      await createInTransaction(begun, [fields]);
    await createInTransaction(begun, [{ type: 'report a' }, { type: 'report b' }]);
    const expected = ['mail', "it's, a:b", 'report a', 'report b'];
    assert.deepEqual(await announced(engine, expected, begun.commit), expected.toSorted());
  });

  test('the next in line for a place that a transaction left is announced after the commit', async (context) => {
    const { engine } = context;
    const lease = await createRunning(engine, { type: 'first', serial: 'line' });
    await create(engine, { type: 'second', serial: 'line' });
    const begun = await beginTransaction(context);
    await begun.userTransaction.settle({ now: t0, settlement: settlement(lease, 'COMPLETED') });
    const types = await announced(engine, ['second'], begun.commit);
    // An engine that cannot know which one is next announces any type.
    assert.deepEqual(types, types === null ? null : ['second']);
  });

  test('what stands for no transaction is refused, and one that is over too', async (context) => {
    const { engine } = context;
    for (const tx of [null, 'BEGIN', {}, () => {}]) {
      await assert.rejects(
        async () => engine.userTransaction?.(tx),
        (error) => isDulyError(error, 'tx_unknown'),
      );
    }
    for (const end of ['rollback', 'commit'] as const) {
      const begun = await beginTransaction(context);
      await begun[end]();
      await assert.rejects(
        createInTransaction(begun, [{}]),
        (error) => isDulyError(error, 'tx_not_open'),
        end,
      );
    }
    assert.deepEqual(await claim(engine), []);
  });

  test('beside an open transaction with jobs of its own everyone makes, takes and ends others', async (context) => {
    const { engine } = context;
    const begun = await beginTransaction(context);
    await createInTransaction(begun, [{}, { serial: 's' }, { dedupe: dedupe('held') }]);
    const created = await createAll(engine, [
      jobSpec(),
      jobSpec({ serial: 's' }),
      jobSpec({ dedupe: dedupe('free') }),
    ]);
    const leases = await claim(engine);
    assert.deepEqual(new Set(leases.map(({ id }) => id)), new Set(created.map(({ id }) => id)));
    for (const lease of leases) await finish(engine, lease, 'COMPLETED');
    await begun.commit();
    assert.equal((await claim(engine)).length, 3);
  });

  test('a key that an open transaction took is busy for its own calls only, and then its holder answers', async (context) => {
    const { engine } = context;
    const peer = await context.openPeer();
    const begun = await beginTransaction(context);
    const { id } = only(await createInTransaction(begun, [{ dedupe: dedupe('held') }]));
    await assert.rejects(create(peer, { dedupe: dedupe('held') }), (error) =>
      isDulyError(error, 'store_busy'),
    );
    assert.equal((await create(engine, { dedupe: dedupe('other') })).deduped, false);
    await begun.commit();
    const late = await create(peer, { dedupe: dedupe('held') });
    assert.deepEqual([late.id, late.deduped], [id, true]);
  });

  test('a lease that is being settled in an open transaction is kept, and nobody reaps it', async (context) => {
    const { engine } = context;
    const lease = await createRunning(engine);
    const begun = await beginTransaction(context);
    await begun.userTransaction.settle({ now: t0 + hour, settlement: settlement(lease, 'COMPLETED') });
    assert.deepEqual(await heartbeat(engine, lease, t0 + hour), { state: 'kept' });
    assert.deepEqual(await reap(engine, t0 + 2 * hour), []);
    await begun.commit();
    assert.equal(await statusOf(engine, lease.id), 'COMPLETED');
    assert.deepEqual(await heartbeat(engine, lease, t0 + hour), { state: 'lost' });
  });

  test('beside a settlement in an open transaction others of its serial key are created, and wait for it', async (context) => {
    const { engine } = context;
    const peer = await context.openPeer();
    const lease = await createRunning(engine, { serial: 's' });
    const begun = await beginTransaction(context);
    await begun.userTransaction.settle({ now: t0, settlement: settlement(lease, 'COMPLETED') });
    const next = await create(peer, { serial: 's' });
    const others = await createAll(
      peer,
      Array.from({ length: 40 }, (_, n) => jobSpec({ serial: `other ${n}` })),
    );
    const { claimed } = await peer.exchange({ now: t0, settle: [], claim: claimRequest() });
    assert.ok(
      claimed.every(({ id }) => id !== next.id),
      'it waits for the one before',
    );
    await begun.commit();
    const rest = [...claimed, ...(await claim(peer))].map(({ id }) => id);
    assert.deepEqual(new Set(rest), new Set([next.id, ...others.map(({ id }) => id)]));
  });

  test('serial jobs that several workers settle within run one at a time, in order, each once', async (context) => {
    const { engine } = context;
    const workers = [engine, await context.openPeer(), await context.openPeer()];
    const created = await createAll(
      engine,
      Array.from({ length: 24 }, (_, n) => jobSpec({ serial: `s${n % 2}`, due: { at: t0 - 24 + n } })),
    );
    const ended: string[] = [];
    const running = new Set<string>();
    const serialOf = new Map(created.map(({ id }, n) => [id, `s${n % 2}`]));
    await Promise.all(
      workers.map(async (worker) => {
        while (ended.length < created.length) {
          for (const lease of await claim(worker, { limit: 1 })) {
            const serial = serialOf.get(lease.id) as string;
            assert.ok(!running.has(serial), `two of "${serial}" run at once`);
            running.add(serial);
            const begun = await beginTransaction(context);
            await begun.userTransaction.settle({ now: t0, settlement: settlement(lease, 'COMPLETED') });
            running.delete(serial);
            ended.push(lease.id);
            await begun.commit();
          }
        }
      }),
    );
    for (const serial of ['s0', 's1']) {
      const of = (ids: string[]) => ids.filter((id) => serialOf.get(id) === serial);
      assert.deepEqual(of(ended), of(created.map(({ id }) => id)));
    }
  });
}
