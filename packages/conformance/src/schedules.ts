import assert from 'node:assert/strict';
import type {
  ClaimedSchedule,
  Engine,
  FireGroup,
  FireReply,
  JobSpec,
  NotificationKind,
} from '@duly/core/internal';
import {
  claimRequest,
  day,
  fireGroup,
  freshId,
  hour,
  jobSlot,
  jobSpec,
  minute,
  scheduleClaim,
  schedulePut,
  second,
  settlement,
  slotJob,
  slotRow,
  t0,
} from './builders.ts';
import {
  accepted,
  applySchedules,
  auditOf,
  cancel,
  claim,
  claimOne,
  claimSchedule,
  create,
  createRunning,
  deleteJobs,
  finish,
  itemAt,
  only,
  read,
  readSchedule,
  reap,
  settle,
  statusOf,
  until,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

const fire = async (engine: Engine, group: FireGroup, now = t0): Promise<FireReply['groups'][number]> =>
  only((await engine.fire({ now, node: 'node-a', groups: [group] })).groups);

const slotsOf = async (engine: Engine, scheduleId: string) =>
  (await engine.slots({ now: t0, scheduleId, fromAt: 0, beforeAt: t0 + 1000 * day, limit: 100 })).slots;

const dueIds = async (engine: Engine, now: number): Promise<string[]> =>
  (await engine.claimSchedules(scheduleClaim({ now }))).schedules.map(({ id }) => id);

/** Makes a schedule that is due and claims it. */
async function createClaimed(engine: Engine, now = t0): Promise<ClaimedSchedule> {
  const put = schedulePut({ dueAt: now });
  await applySchedules(engine, [put], now);
  return claimSchedule(engine, put.id, now);
}

/** Makes a schedule that waits for a job and is due by nothing else. */
async function createWaiting(engine: Engine, waitsFor: string): Promise<string> {
  const claimed = await createClaimed(engine);
  assert.equal(await fire(engine, fireGroup(claimed, { dueAt: null, waitsFor })), 'fired');
  return claimed.id;
}

/** What the verbs of schedules promise. */
export function scheduleTests(test: DefineTest): void {
  applyTests(test);
  applyRunTests(test);
  claimTests(test);
  fireTests(test);
  waitTests(test);
  deleteTests(test);
}

function applyTests(test: DefineTest): void {
  test('a schedule is created and read back as it came', async ({ engine }) => {
    const put = schedulePut({
      app: 'studio',
      tenant: 'acme',
      name: 'nächtlich',
      spec: '{ "cron": "0 0 * * *" }',
    });
    const item = only(await applySchedules(engine, [put]));
    assert.equal(item.id, put.id);
    const record = await readSchedule(engine, put.id);
    assert.deepEqual(record, {
      id: put.id,
      app: 'studio',
      tenant: 'acme',
      name: 'nächtlich',
      generation: item.generation,
      version: item.version,
      spec: '{ "cron": "0 0 * * *" }',
      state: put.state,
      dueAt: t0,
      waitsFor: null,
      createdAt: t0,
      updatedAt: t0,
    });
  });

  test('an edit at the expected version changes the schedule and gives a greater version', async ({
    engine,
  }) => {
    const put = schedulePut();
    const created = only(await applySchedules(engine, [put]));
    const edit = {
      ...put,
      expectVersion: created.version,
      spec: '"new"',
      state: '"s"',
      dueAt: t0 + hour,
      action: 'edit',
    };
    const edited = only(await applySchedules(engine, [edit], t0 + 1));
    assert.ok(edited.version > created.version);
    assert.equal(edited.generation, created.generation);
    const record = await readSchedule(engine, put.id);
    assert.deepEqual(
      [record?.spec, record?.state, record?.dueAt, record?.createdAt, record?.updatedAt, record?.version],
      ['"new"', '"s"', t0 + hour, t0, t0 + 1, edited.version],
    );
  });

  test('a change at another version than expected refuses its whole group, and only it', async ({
    engine,
  }) => {
    const put = schedulePut();
    const { version } = only(await applySchedules(engine, [put]));
    const [fresh, other] = [schedulePut(), schedulePut()];
    const reply = await engine.applySchedules({
      now: t0 + 1,
      groups: [
        { actor: 'a', changes: [fresh, { ...put, expectVersion: version + 1, spec: '"wrong"' }] },
        { actor: 'a', changes: [{ ...put, expectVersion: null, spec: '"twice"' }] },
        { actor: 'a', changes: [{ op: 'delete', id: put.id, expectVersion: version + 1, action: 'delete' }] },
        { actor: 'a', changes: [{ ...schedulePut(), expectVersion: 1 }] },
        { actor: 'a', changes: [other] },
      ],
    });
    assert.deepEqual(
      reply.groups.map(({ ok }) => ok),
      [false, false, false, false, true],
    );
    const refused = itemAt(reply.groups, 0);
    assert.ok(!refused.ok);
    assert.match(String(refused.error.code), /conflict/);
    assert.equal(await readSchedule(engine, fresh.id), null, 'nothing of the refused group stands');
    assert.equal((await readSchedule(engine, put.id))?.spec, put.spec);
    assert.notEqual(await readSchedule(engine, other.id), null);
  });

  test('a schedule created again after its deletion is a new generation', async ({ engine }) => {
    const put = schedulePut();
    const first = only(await applySchedules(engine, [put]));
    await applySchedules(engine, [
      { op: 'delete', id: put.id, expectVersion: first.version, action: 'delete' },
    ]);
    assert.equal(await readSchedule(engine, put.id), null);
    const second_ = only(await applySchedules(engine, [put], t0 + 1));
    assert.ok(second_.generation > first.generation);
  });

  test('a change that was planned on an earlier generation is refused', async ({ engine }) => {
    const put = schedulePut();
    const first = only(await applySchedules(engine, [put]));
    const expected = { expectVersion: first.version, expectGeneration: first.generation };
    const remove = { op: 'delete' as const, id: put.id, action: 'delete', ...expected };
    await applySchedules(engine, [remove]);
    const again = only(await applySchedules(engine, [{ ...put, spec: '{"again":true}' }], t0 + 1));
    assert.equal(again.version, first.version);
    const edit = { ...put, spec: '{"stale":true}', action: 'edit', ...expected };
    for (const change of [edit, remove]) {
      const groups = [{ actor: 'a', changes: [change] }];
      const refused = only((await engine.applySchedules({ now: t0 + 2, groups })).groups);
      assert.equal(refused.ok === false && refused.error.code, 'records_conflict');
    }
    assert.equal((await readSchedule(engine, put.id))?.spec, '{"again":true}');
    await applySchedules(engine, [{ ...edit, expectGeneration: again.generation }], t0 + 3);
    assert.equal((await readSchedule(engine, put.id))?.spec, '{"stale":true}');
  });

  test('a deletion may decide slots, and they stay in the ledger', async ({ engine }) => {
    const put = schedulePut();
    const late = { decision: 'missed', reason: 'late' };
    const { version } = only(
      await applySchedules(engine, [{ ...put, slots: [slotRow(t0 - 2 * hour, late)] }]),
    );
    const remove = { op: 'delete' as const, id: put.id, action: 'delete' };
    const slots = [slotRow(t0 - hour, late), slotRow(t0, { decision: 'missed', reason: 'deleted' })];
    const refused = { ...remove, expectVersion: version + 1, slots };
    const { groups } = await engine.applySchedules({ now: t0, groups: [{ actor: 'a', changes: [refused] }] });
    assert.equal(only(groups).ok, false);
    assert.equal((await slotsOf(engine, put.id)).length, 1, 'a refused one decides nothing');
    await applySchedules(engine, [{ ...remove, expectVersion: version, slots }]);
    assert.deepEqual(
      (await slotsOf(engine, put.id)).map(({ fromAt, toAt, reason }) => [fromAt, toAt, reason]),
      [
        [t0, t0, 'deleted'],
        [t0 - 2 * hour, t0 - hour, 'late'],
      ],
    );
  });

  test('a change may decide slots and create jobs at once', async ({ engine }) => {
    const put = schedulePut();
    const job = slotJob(put.id, t0);
    const slots = [
      slotRow(t0 - hour, { decision: 'missed', reason: 'paused' }),
      slotRow(t0, { jobId: job.id }),
    ];
    await applySchedules(engine, [{ ...put, slots, jobs: [job] }]);
    assert.deepEqual(
      (await slotsOf(engine, put.id)).map(({ decision }) => decision),
      ['fired', 'missed'],
    );
    assert.equal((await claimOne(engine)).id, job.id);
  });

  test('a refused change creates no jobs and decides no slots', async ({ engine }) => {
    const put = schedulePut();
    const { version } = only(await applySchedules(engine, [put]));
    const job = slotJob(put.id, t0);
    const changes = [{ ...put, expectVersion: version + 1, slots: [slotRow(t0)], jobs: [job] }];
    const { groups } = await engine.applySchedules({ now: t0, groups: [{ actor: 'a', changes }] });
    assert.equal(only(groups).ok, false);
    assert.deepEqual(await slotsOf(engine, put.id), []);
    assert.deepEqual((await engine.get({ now: t0, ids: [job.id] })).jobs, [null]);
  });

  test('every change leaves an audit row', async ({ engine }) => {
    const put = schedulePut();
    const { version } = only(await applySchedules(engine, [put]));
    const edited = only(
      await applySchedules(
        engine,
        [{ ...put, expectVersion: version, spec: '"new"', action: 'pause' }],
        t0 + 1,
      ),
    );
    await applySchedules(engine, [
      { op: 'delete', id: put.id, expectVersion: edited.version, action: 'delete' },
    ]);
    const rows = await auditOf(engine, `schedule:${put.id}`);
    assert.deepEqual(
      rows.map(({ actor, action }) => [actor, action]),
      [
        ['key:anna', 'delete'],
        ['key:anna', 'pause'],
        ['key:anna', 'create'],
      ],
    );
    const [deleted, paused, created] = rows;
    assert.equal(created?.before, null);
    assert.equal(deleted?.after, null);
    assert.ok(paused?.before !== null && paused?.after !== null && paused?.before !== paused?.after);
  });

  test('schedules are listed by name, filtered, in pages', async ({ engine }) => {
    const rows: [string, string | null, string | null][] = [
      ['c', 'studio', null],
      ['a', 'studio', 'acme'],
      ['d', null, 'acme'],
      ['b', null, null],
      ['e', 'shop', null],
    ];
    for (const [name, app, tenant] of rows)
      await applySchedules(engine, [schedulePut({ name, app, tenant })]);
    const names = async (filter: Parameters<Engine['schedules']>[0]['filter'], limit: number) => {
      const all: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
          now: t0,
          filter,
          cursor,
          limit,
        });
        assert.ok(page.schedules.length <= limit);
        all.push(...page.schedules.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor !== null && all.length < 100);
      return all;
    };
    assert.deepEqual(await names({}, 2), ['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual(await names({}, 10), ['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual(await names({ app: 'studio' }, 1), ['a', 'c']);
    assert.deepEqual(await names({ app: null }, 10), ['b', 'd']);
    assert.deepEqual(await names({ tenant: 'acme' }, 10), ['a', 'd']);
    assert.deepEqual(await names({ tenant: null }, 10), ['b', 'c', 'e']);
    assert.deepEqual(await names({ name: 'd' }, 10), ['d']);
    assert.deepEqual(await names({ ids: [] }, 10), []);
    // Any of them is a place to go on from, not only the last of a page.
    const { schedules } = await engine.schedules({ now: t0, filter: {}, cursor: null, limit: 10 });
    const cursor = JSON.stringify([schedules[2]?.name, schedules[2]?.id]);
    const rest = await engine.schedules({ now: t0, filter: {}, cursor, limit: 10 });
    assert.deepEqual(
      rest.schedules.map(({ name }) => name),
      ['d', 'e'],
    );
  });

  test('schedules are listed by when they are due, without those that are due at no time', async ({
    engine,
  }) => {
    const dues: [string, number | null][] = [
      ['a', t0 + hour],
      ['b', null],
      ['c', t0 - hour],
      ['d', t0 + minute],
      ['e', t0 + day],
    ];
    for (const [name, dueAt] of dues) {
      const tenant = name === 'd' ? 'acme' : null;
      await applySchedules(engine, [schedulePut({ name, dueAt, tenant })]);
    }
    const names = async (filter: Parameters<Engine['schedules']>[0]['filter'], limit: number) => {
      const reply = await engine.schedules({ now: t0, filter, order: 'due', cursor: null, limit });
      assert.equal(reply.nextCursor, null);
      return reply.schedules.map(({ name }) => name);
    };
    assert.deepEqual(await names({}, 10), ['c', 'd', 'a', 'e']);
    assert.deepEqual(await names({}, 3), ['c', 'd', 'a']);
    assert.deepEqual(await names({ tenant: null }, 2), ['c', 'a']);
  });
}

function applyRunTests(test: DefineTest): void {
  test('a change ends other runs before it makes its own, and its note is in the audit', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const old = slotJob(claimed.id, t0);
    assert.equal(await fire(engine, fireGroup(claimed, { jobs: [old] })), 'fired');
    const record = await readSchedule(engine, claimed.id);
    const job = slotJob(claimed.id, t0 + 1, { origin: 'trigger' });
    const put = schedulePut({
      id: claimed.id,
      expectVersion: record?.version ?? null,
      action: 'trigger',
      note: 'by hand',
      jobs: [job],
      cancel: [{ id: old.id, mode: 'terminate' }],
    });
    await applySchedules(engine, [put], t0 + 1);
    assert.equal(await statusOf(engine, old.id), 'CANCELLED');
    assert.equal(await statusOf(engine, job.id), 'PENDING');
    const [row] = await auditOf(engine, `schedule:${claimed.id}`);
    assert.deepEqual([row?.action, row?.note], ['trigger', 'by hand']);
  });
}

function claimTests(test: DefineTest): void {
  test('due schedules are leased, others are not, and the next due instant is named', async ({ engine }) => {
    const [due, now, later, never] = [
      schedulePut({ dueAt: t0 - hour }),
      schedulePut({ dueAt: t0 }),
      schedulePut({ dueAt: t0 + 1 }),
      schedulePut({ dueAt: null }),
    ];
    await applySchedules(engine, [due, now, later, never]);
    const reply = await engine.claimSchedules(scheduleClaim());
    assert.deepEqual(reply.schedules.map(({ id }) => id).sort(), [due.id, now.id].sort());
    assert.deepEqual([reply.nextDueAt, reply.more], [t0 + 1, false]);
    const claimed = itemAt(reply.schedules, 0);
    const { fence, active, activeCount, waited, ...record } = claimed;
    assert.ok(fence > 0);
    assert.deepEqual([active, activeCount, waited], [[], 0, null]);
    assert.deepEqual(
      record,
      await readSchedule(engine, claimed.id),
      'a lease is no write: the version stands',
    );
  });

  test('a leased schedule is given to nobody else until its lease is over', async ({ engine }) => {
    const put = schedulePut();
    await applySchedules(engine, [put]);
    const first = only((await engine.claimSchedules(scheduleClaim({ leaseMs: 3 * second }))).schedules);
    assert.deepEqual(await dueIds(engine, t0 + 3 * second - 1), []);
    const byId = scheduleClaim({ now: t0 + 3 * second - 1, ids: [put.id] });
    assert.deepEqual((await engine.claimSchedules(byId)).schedules, [], 'not by name either');
    const next = only((await engine.claimSchedules(scheduleClaim({ now: t0 + 3 * second }))).schedules);
    assert.equal(next.id, put.id);
    assert.ok(next.fence > first.fence);
  });

  test('of leases that have ended, what nobody took is still decided by who had it', async ({ engine }) => {
    const puts = [schedulePut({ dueAt: t0 - 2 }), schedulePut({ dueAt: t0 - 1 }), schedulePut({ dueAt: t0 })];
    await applySchedules(engine, puts);
    const late = await engine.claimSchedules(scheduleClaim({ leaseMs: second }));
    assert.equal(late.schedules.length, 3);
    const next = await engine.claimSchedules(scheduleClaim({ now: t0 + second, limit: 1 }));
    assert.deepEqual(
      [next.schedules.map(({ id }) => id), next.nextDueAt, next.more],
      [[itemAt(puts, 0).id], t0 - 1, true],
    );
    const groups = late.schedules.map((one) => fireGroup(one));
    assert.deepEqual((await engine.fire({ now: t0 + second, node: 'node-a', groups })).groups, [
      'conflict',
      'fired',
      'fired',
    ]);
    assert.equal(await fire(engine, fireGroup(only(next.schedules)), t0 + second), 'fired');
    assert.deepEqual(await dueIds(engine, t0 + minute), [], 'and nothing is due any more');
  });

  test('an edit ends a lease, and the others of its claim stay', async ({ engine }) => {
    const [edited, kept] = [schedulePut(), schedulePut()];
    await applySchedules(engine, [edited, kept]);
    const first = await engine.claimSchedules(scheduleClaim({ leaseMs: 3 * second }));
    assert.equal(first.schedules.length, 2);
    await applySchedules(engine, [{ ...edited, expectVersion: 1 }]);
    assert.deepEqual(await dueIds(engine, t0 + 1), [edited.id]);
    const groups = first.schedules.map((one) => fireGroup(one));
    const { groups: outcomes } = await engine.fire({ now: t0 + 1, node: 'node-a', groups });
    assert.deepEqual(
      outcomes.map((outcome, i) => [itemAt(groups, i).scheduleId, outcome]).sort(),
      [
        [edited.id, 'conflict'],
        [kept.id, 'fired'],
      ].sort(),
    );
  });

  test('the end of a lease is named: whoever holds it may be dead', async ({ engine }) => {
    await applySchedules(engine, [schedulePut(), schedulePut({ dueAt: t0 + hour })]);
    const first = await engine.claimSchedules(scheduleClaim({ leaseMs: 3 * second }));
    assert.equal(first.schedules.length, 1);
    assert.equal(first.nextDueAt, t0 + hour, 'who claimed knows about its own');
    const other = await engine.claimSchedules(scheduleClaim({ now: t0 + second }));
    assert.deepEqual([other.schedules, other.nextDueAt], [[], t0 + 3 * second]);
  });

  test('the same token answers with the same schedules', async ({ engine }) => {
    await applySchedules(engine, [schedulePut(), schedulePut(), schedulePut()]);
    const request = scheduleClaim({ limit: 2 });
    const first = await engine.claimSchedules(request);
    assert.deepEqual([first.schedules.length, first.more], [2, true]);
    const again = await engine.claimSchedules({ ...request, now: t0 + second });
    const leases = (reply: typeof first) => reply.schedules.map(({ id, fence }) => `${id} ${fence}`).sort();
    assert.deepEqual(leases(again), leases(first));
    assert.equal((await dueIds(engine, t0 + second)).length, 1);
  });

  test('a schedule is claimed by id, due or not', async ({ engine }) => {
    const [later, other] = [schedulePut({ dueAt: null }), schedulePut()];
    await applySchedules(engine, [later, other]);
    const reply = await engine.claimSchedules(scheduleClaim({ ids: [later.id, 'sch_nowhere'] }));
    assert.deepEqual(
      reply.schedules.map(({ id }) => id),
      [later.id],
    );
    assert.deepEqual(await dueIds(engine, t0), [other.id]);
  });

  test('unfinished jobs of the schedule come with it, oldest first', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const jobs = Array.from({ length: 12 }, (_, n) => slotJob(claimed.id, t0 - (12 - n) * minute));
    assert.equal(await fire(engine, fireGroup(claimed, { jobs, dueAt: t0 })), 'fired');
    const running = await claimOne(engine, { limit: 1, leaseMs: day });
    const done = await claimOne(engine, { limit: 1 });
    await finish(engine, done, 'COMPLETED');
    await cancel(engine, { id: running.id }, t0 + 1);
    const next = await claimSchedule(engine, claimed.id, t0 + 2);
    assert.equal(next.activeCount, 11);
    assert.equal(next.active.length, 10);
    assert.deepEqual(next.active[0], {
      id: running.id,
      status: 'RUNNING',
      slotAt: t0 - 12 * minute,
      origin: 'schedule',
      dueAt: t0 - 12 * minute,
      cancelRequestedAt: t0 + 1,
    });
    assert.deepEqual(
      next.active.map(({ id }) => id),
      [running, ...jobs.slice(2, 11)].map(({ id }) => id),
    );
  });

  test('a run that was told to run beside others is not among the unfinished ones', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const counted = slotJob(claimed.id, t0);
    const beside = slotJob(claimed.id, t0, {
      origin: 'trigger',
      slot: jobSlot(claimed.id, null, { allow: true }),
    });
    assert.equal(await fire(engine, fireGroup(claimed, { jobs: [beside, counted], dueAt: t0 })), 'fired');
    const next = await claimSchedule(engine, claimed.id, t0 + 1);
    assert.deepEqual([next.active.map(({ id }) => id), next.activeCount], [[counted.id], 1]);
  });
}

function fireTests(test: DefineTest): void {
  test('a fire writes slots, jobs and cursor together and ends the lease', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const job = slotJob(claimed.id, t0);
    const group = fireGroup(claimed, {
      state: '{"cursor":"x"}',
      dueAt: t0 + 1,
      slots: [slotRow(t0, { jobId: job.id, node: 'node-ä' })],
      jobs: [job],
    });
    assert.equal(await fire(engine, group), 'fired');
    const record = await readSchedule(engine, claimed.id);
    assert.deepEqual([record?.state, record?.dueAt], ['{"cursor":"x"}', t0 + 1]);
    assert.ok(record && record.version > claimed.version);
    const row = only(await slotsOf(engine, claimed.id));
    assert.deepEqual(row, {
      ...slotRow(t0, { jobId: job.id, node: 'node-ä' }),
      generation: claimed.generation,
      decidedAt: t0,
    });
    const created = await read(engine, job.id);
    assert.deepEqual([created.status, created.origin, created.slot], ['PENDING', 'schedule', job.slot]);
    assert.deepEqual(await dueIds(engine, t0 + 1), [claimed.id], 'nobody has to wait for the lease to end');
  });

  test('a fire may take what it makes, and what else is ready, in the same transaction', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const other = await create(engine);
    const job = slotJob(claimed.id, t0);
    const reply = await engine.fire({
      now: t0,
      node: 'n',
      groups: [fireGroup(claimed, { slots: [slotRow(t0, { jobId: job.id })], jobs: [job] })],
      claim: claimRequest(),
    });
    assert.deepEqual(reply.groups, ['fired']);
    assert.deepEqual(reply.claimed.map(({ id }) => id).sort(), [job.id, other.id].sort());
    const run = reply.claimed.find(({ id }) => id === job.id);
    assert.deepEqual([run?.attempt, run?.origin, run?.slot], [1, 'schedule', job.slot]);
    assert.equal(await statusOf(engine, job.id), 'RUNNING');
    assert.deepEqual(await claim(engine), [], 'what was taken is taken');
  });

  test('a claim that travels with a fire in conflict takes what is ready, and nothing of the fire', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const ready = await create(engine);
    const group = fireGroup(claimed, { jobs: [slotJob(claimed.id, t0)] });
    const stale = { ...group, version: group.version + 1 };
    const reply = await engine.fire({ now: t0, node: 'n', groups: [stale], claim: claimRequest() });
    assert.deepEqual(reply.groups, ['conflict']);
    assert.deepEqual(
      reply.claimed.map(({ id }) => id),
      [ready.id],
    );
  });

  test('the leases of a fire whose answer was lost are given again for their token', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const job = slotJob(claimed.id, t0);
    const request = claimRequest();
    const group = fireGroup(claimed, { jobs: [job] });
    const first = await engine.fire({ now: t0, node: 'n', groups: [group], claim: request });
    const again = await engine.exchange({ now: t0 + 1, settle: [], claim: request, repeat: true });
    assert.deepEqual(again.claimed, first.claimed);
  });

  test('a run that waits is told what changed', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const [first, second] = [slotJob(claimed.id, t0 - 1), slotJob(claimed.id, t0)];
    assert.equal(await fire(engine, fireGroup(claimed, { jobs: [first, second], dueAt: t0 })), 'fired');
    const next = await claimSchedule(engine, claimed.id);
    const slotDetails = [{ id: second.id, details: '{"covers":2}' }];
    assert.equal(await fire(engine, fireGroup(next, { slotDetails })), 'fired');
    assert.equal((await read(engine, first.id)).slot?.details, null);
    assert.deepEqual((await read(engine, second.id)).slot, { ...second.slot, details: '{"covers":2}' });
  });

  test('a fire that tells a run which has started or is over is stale: nothing is written, and it may be claimed at once', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const [first, second] = [slotJob(claimed.id, t0 - 1), slotJob(claimed.id, t0)];
    assert.equal(await fire(engine, fireGroup(claimed, { jobs: [first, second], dueAt: t0 })), 'fired');
    const running = await claimOne(engine, { limit: 1 });
    assert.equal(running.id, first.id);
    const next = await claimSchedule(engine, claimed.id);
    const slotDetails = [second, first].map(({ id }) => ({ id, details: '{"covers":2}' }));
    const group = fireGroup(next, {
      slotDetails,
      slots: [slotRow(t0 + 1)],
      jobs: [slotJob(claimed.id, t0 + 1)],
      dueAt: null,
    });
    assert.equal(await fire(engine, group), 'stale');
    for (const { id } of [first, second]) assert.equal((await read(engine, id)).slot?.details, null);
    assert.deepEqual(await slotsOf(engine, claimed.id), []);
    const again = await claimSchedule(engine, claimed.id);
    assert.deepEqual([again.version, again.state, again.activeCount], [next.version, next.state, 2]);

    await finish(engine, running, 'COMPLETED');
    const over = [{ id: running.id, details: '{}' }];
    assert.equal(await fire(engine, fireGroup(again, { slotDetails: over })), 'stale');
    const third = await claimSchedule(engine, claimed.id);
    assert.equal(
      await fire(engine, fireGroup(third, { slotDetails: [{ id: 'job_gone', details: '{}' }] })),
      'stale',
    );
  });

  test('a change that tells a run which has started is refused, and the run keeps what it was told', async ({
    engine,
  }) => {
    const put = schedulePut();
    const { version } = only(await applySchedules(engine, [put]));
    const { id } = await createRunning(engine, slotJob(put.id, t0));
    const change = {
      ...put,
      expectVersion: version,
      spec: '"edited"',
      action: 'edit',
      slotDetails: [{ id, details: '{"covers":2}' }],
    };
    const { groups } = await engine.applySchedules({ now: t0, groups: [{ actor: 'a', changes: [change] }] });
    assert.equal(groups[0]?.ok === false && groups[0].error.code, 'records_conflict');
    assert.equal((await readSchedule(engine, put.id))?.spec, put.spec);
    assert.equal((await read(engine, id)).slot?.details, null);
  });

  test('a fire at another version is a conflict and writes nothing', async ({ engine }) => {
    const put = schedulePut();
    const { version } = only(await applySchedules(engine, [put]));
    const claimed = await claimSchedule(engine, put.id);
    await applySchedules(engine, [{ ...put, expectVersion: version, spec: '"edited"', action: 'edit' }]);
    const job = slotJob(put.id, t0);
    const group = fireGroup(claimed, { slots: [slotRow(t0)], jobs: [job], state: '"lost"' });
    assert.equal(await fire(engine, group), 'conflict');
    const record = await readSchedule(engine, put.id);
    assert.deepEqual([record?.spec, record?.state], ['"edited"', put.state]);
    assert.deepEqual(await slotsOf(engine, put.id), []);
    assert.deepEqual((await engine.get({ now: t0, ids: [job.id] })).jobs, [null]);
  });

  test('a fire under a lease that was taken over is a conflict', async ({ engine }) => {
    const first = await createClaimed(engine);
    const second_ = await claimSchedule(engine, first.id, t0 + minute);
    assert.equal(await fire(engine, fireGroup(first, { slots: [slotRow(t0)] }), t0 + minute), 'conflict');
    assert.deepEqual(await slotsOf(engine, first.id), []);
    assert.equal(await fire(engine, fireGroup(second_, { slots: [slotRow(t0)] }), t0 + minute), 'fired');
    assert.equal((await slotsOf(engine, first.id)).length, 1);
  });

  test('a fire that took effect is a conflict when it is repeated', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const job = slotJob(claimed.id, t0);
    const group = fireGroup(claimed, { slots: [slotRow(t0, { jobId: job.id })], jobs: [job] });
    assert.equal(await fire(engine, group), 'fired');
    assert.equal(await fire(engine, group, t0 + 1), 'conflict');
    assert.equal((await slotsOf(engine, claimed.id)).length, 1);
    assert.equal((await claim(engine)).length, 1);
  });

  test('a fire of a deleted schedule is a conflict', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const removal = {
      op: 'delete' as const,
      id: claimed.id,
      expectVersion: claimed.version,
      action: 'delete',
    };
    await applySchedules(engine, [removal]);
    const job = slotJob(claimed.id, t0);
    assert.equal(await fire(engine, fireGroup(claimed, { jobs: [job] })), 'conflict');
    assert.deepEqual((await engine.get({ now: t0, ids: [job.id] })).jobs, [null]);
  });

  test('groups of a fire stand or fall alone', async ({ engine }) => {
    const good = await createClaimed(engine);
    const bad = await createClaimed(engine);
    const groups = [
      fireGroup(bad, { version: bad.version + 1, slots: [slotRow(t0)] }),
      fireGroup(good, { slots: [slotRow(t0)] }),
      fireGroup(bad, { fence: bad.fence + 1, slots: [slotRow(t0)] }),
      fireGroup({ id: 'sch_nowhere', version: 1, fence: 1 }),
    ];
    const reply = await engine.fire({ now: t0, node: 'node-a', groups });
    assert.deepEqual(reply.groups, ['conflict', 'fired', 'conflict', 'conflict']);
    assert.equal((await slotsOf(engine, good.id)).length, 1);
    assert.deepEqual(await slotsOf(engine, bad.id), []);
  });

  test('a fire may end other runs: waiting ones at once, running ones asked or terminated', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const asked = await createRunning(engine);
    const terminated = await createRunning(engine);
    const { id: waiting } = await create(engine);
    const job = slotJob(claimed.id, t0, { gates: [{ kind: 'overlap', ref: asked.id }] });
    const cancels: FireGroup['cancel'] = [
      { id: asked.id, mode: 'ask' },
      { id: terminated.id, mode: 'terminate' },
      { id: waiting, mode: 'ask' },
      { id: 'job_nowhere', mode: 'ask' },
    ];
    assert.equal(await fire(engine, fireGroup(claimed, { cancel: cancels, jobs: [job] })), 'fired');
    assert.equal((await read(engine, asked.id)).cancelRequestedAt, t0);
    assert.equal(await statusOf(engine, terminated.id), 'CANCELLED');
    assert.equal(await settle(engine, settlement(terminated, 'COMPLETED')), 'lost');
    assert.equal(await statusOf(engine, waiting), 'CANCELLED');
    assert.equal(await statusOf(engine, job.id), 'BLOCKED');
    await finish(engine, asked, 'CANCELLED');
    assert.equal((await claimOne(engine)).id, job.id);
  });

  test('a job behind a run that the same fire terminates may start at once', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const running = await createRunning(engine);
    const job = slotJob(claimed.id, t0, { gates: [{ kind: 'overlap', ref: running.id }] });
    const group = fireGroup(claimed, { cancel: [{ id: running.id, mode: 'terminate' }], jobs: [job] });
    assert.equal(await fire(engine, group), 'fired');
    assert.equal((await claimOne(engine)).id, job.id);
  });

  test('slots decided alike, one after the other, are one row with a range and a count', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const missed = (at: number, count: number) =>
      slotRow(at, { toAt: at + minute, count, decision: 'missed', reason: 'grace' });
    await fire(engine, fireGroup(claimed, { dueAt: t0, slots: [missed(t0, 2)] }));
    const again = await claimSchedule(engine, claimed.id);
    const later = [
      missed(t0 + hour, 3),
      slotRow(t0 + 2 * hour, { jobId: freshId() }),
      missed(t0 + 3 * hour, 4),
    ];
    await fire(engine, fireGroup(again, { slots: later }));
    assert.deepEqual(
      (await slotsOf(engine, claimed.id)).map(({ decision, fromAt, toAt, count }) => [
        decision,
        fromAt,
        toAt,
        count,
      ]),
      [
        ['missed', t0 + 3 * hour, t0 + 3 * hour + minute, 4],
        ['fired', t0 + 2 * hour, t0 + 2 * hour, 1],
        ['missed', t0, t0 + hour + minute, 5],
      ],
    );
  });

  test('a row that was lengthened keeps its first and its last decision', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const skipped = (at: number, node: string) =>
      slotRow(at, { decision: 'skipped', reason: 'overlap', node });
    await fire(engine, fireGroup(claimed, { dueAt: t0, slots: [skipped(t0, 'node-a')] }));
    assert.equal(only(await slotsOf(engine, claimed.id)).lastDecidedAt, undefined);
    for (const at of [t0 + hour, t0 + 2 * hour]) {
      const again = await claimSchedule(engine, claimed.id, at);
      await fire(engine, fireGroup(again, { dueAt: t0, slots: [skipped(at, 'node-b')] }), at);
    }
    const { node, decidedAt, lastDecidedAt, count } = only(await slotsOf(engine, claimed.id));
    assert.deepEqual([node, decidedAt, lastDecidedAt, count], ['node-a', t0, t0 + 2 * hour, 3]);
  });

  test('the ledger is read newest first, within bounds', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const hours = [1, 2, 3, 4].map((n) => t0 + n * hour);
    const slots = [
      slotRow(itemAt(hours, 0), {
        decision: 'missed',
        reason: 'beyond window',
        toAt: itemAt(hours, 0) + minute,
        count: 61,
      }),
      ...hours.slice(1).map((at) => slotRow(at, { count: null, jobId: freshId() })),
    ];
    assert.equal(await fire(engine, fireGroup(claimed, { slots })), 'fired');
    const readSlots = async (fromAt: number, beforeAt: number, limit: number) =>
      (await engine.slots({ now: t0, scheduleId: claimed.id, fromAt, beforeAt, limit })).slots.map(
        (row) => row.fromAt,
      );
    assert.deepEqual(await readSlots(t0, t0 + day, 10), [...hours].reverse());
    assert.deepEqual(await readSlots(t0, t0 + day, 2), [hours[3], hours[2]]);
    assert.deepEqual(await readSlots(itemAt(hours, 1), itemAt(hours, 3), 10), [hours[2], hours[1]]);
    const oldest = (await slotsOf(engine, claimed.id)).at(-1);
    assert.deepEqual(
      [oldest?.decision, oldest?.reason, oldest?.count, oldest?.toAt],
      ['missed', 'beyond window', 61, itemAt(hours, 0) + minute],
    );
  });
}

function waitTests(test: DefineTest): void {
  /** A job of a schedule of its own, RUNNING. */
  const createRun = async (engine: Engine, fields: Partial<JobSpec> = {}) =>
    createRunning(engine, slotJob(freshId('sch'), t0, fields));

  const ends: Record<string, (engine: Engine, job: { id: string; fence: number }) => Promise<unknown>> = {
    'a completion': (engine, job) => finish(engine, job, 'COMPLETED', {}, t0 + minute),
    'a failure': (engine, job) => finish(engine, job, 'FAILED', {}, t0 + minute),
    'a termination': (engine, { id }) => cancel(engine, { id }, t0 + minute, 'terminate'),
  };
  for (const [name, end] of Object.entries(ends)) {
    test(`a schedule that waits for a job is due the moment it ends: by ${name}`, async ({ engine }) => {
      const job = await createRun(engine);
      const id = await createWaiting(engine, job.id);
      assert.deepEqual(await dueIds(engine, t0 + minute), []);
      await end(engine, job);
      const claimed = only((await engine.claimSchedules(scheduleClaim({ now: t0 + minute }))).schedules);
      assert.equal(claimed.id, id);
      const { status } = await read(engine, job.id);
      assert.deepEqual(claimed.waited, { id: job.id, status, finishedAt: t0 + minute });
    });
  }

  test('a schedule that waits for a job is due when that job is cancelled or expires', async ({ engine }) => {
    const { id: cancelled } = await create(engine, slotJob('sch_a', t0));
    const first = await createWaiting(engine, cancelled);
    await cancel(engine, { id: cancelled }, t0 + 1);
    assert.deepEqual(await dueIds(engine, t0 + 1), [first]);
    const { id: expiring } = await create(engine, slotJob('sch_a', t0, { startDeadlineMs: second }));
    const second_ = await createWaiting(engine, expiring);
    await reap(engine, t0 + 2 * second);
    assert.deepEqual(await dueIds(engine, t0 + 2 * second), [second_]);
  });

  test('a schedule that waits for a job is due when that job is deleted', async ({ engine }) => {
    const { id } = await create(engine, slotJob('sch_a', t0));
    const schedule = await createWaiting(engine, id);
    await deleteJobs(engine, [id], t0 + 1);
    assert.deepEqual(await dueIds(engine, t0 + 1), [schedule]);
  });

  test('a schedule that would wait for a job that ended meanwhile is due at once', async ({ engine }) => {
    const job = await createRun(engine);
    const claimed = await createClaimed(engine);
    await finish(engine, job, 'COMPLETED');
    assert.equal(await fire(engine, fireGroup(claimed, { dueAt: null, waitsFor: job.id })), 'fired');
    const next = only((await engine.claimSchedules(scheduleClaim({ now: t0 + 1 }))).schedules);
    assert.deepEqual(
      [next.id, next.waited],
      [claimed.id, { id: job.id, status: 'COMPLETED', finishedAt: t0 }],
    );
  });

  test('a fire that leaves its schedule due at once tells those who sleep, the node that fired among them', async ({
    engine,
  }) => {
    const job = await createRun(engine);
    const claimed = await createClaimed(engine);
    await finish(engine, job, 'COMPLETED');
    const received: NotificationKind[] = [];
    const stop = engine.subscribe(({ kind }) => received.push(kind));
    await fire(engine, fireGroup(claimed, { dueAt: null, waitsFor: job.id }));
    await until(engine, () => received.includes('schedules'));
    stop();
  });

  test('a schedule that would wait for a job that is gone is due at once', async ({ engine }) => {
    const { id } = await create(engine, slotJob('sch_a', t0));
    const claimed = await createClaimed(engine);
    await deleteJobs(engine, [id]);
    assert.equal(await fire(engine, fireGroup(claimed, { dueAt: null, waitsFor: id })), 'fired');
    assert.deepEqual(await dueIds(engine, t0 + 1), [claimed.id]);
  });

  test('an edit that would wait for a job that ended meanwhile is due at once', async ({ engine }) => {
    const job = await createRun(engine);
    await finish(engine, job, 'COMPLETED');
    const put = schedulePut({ dueAt: null, waitsFor: job.id });
    await applySchedules(engine, [put], t0 + 1);
    assert.deepEqual(await dueIds(engine, t0 + 1), [put.id]);
  });

  test('a schedule may wait for a job that no schedule created', async ({ engine }) => {
    const job = await createRunning(engine);
    const id = await createWaiting(engine, job.id);
    await finish(engine, job, 'COMPLETED', {}, t0 + 1);
    assert.deepEqual(await dueIds(engine, t0 + 1), [id]);
  });

  test('a schedule waits for a job that the same fire makes', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const job = slotJob(claimed.id, t0);
    const group = fireGroup(claimed, { dueAt: null, waitsFor: job.id, jobs: [job] });
    assert.equal(await fire(engine, group), 'fired');
    assert.deepEqual(await dueIds(engine, t0 + 1), []);
    await finish(engine, await claimOne(engine), 'COMPLETED', {}, t0 + 2);
    assert.deepEqual(await dueIds(engine, t0 + 2), [claimed.id]);
  });

  test('a schedule waits for a job that the same edit creates', async ({ engine }) => {
    const job = slotJob('sch_a', t0);
    const put = schedulePut({ id: 'sch_a', dueAt: null, waitsFor: job.id, jobs: [job] });
    await applySchedules(engine, [put]);
    assert.deepEqual(await dueIds(engine, t0 + 1), []);
    await finish(engine, await claimOne(engine), 'COMPLETED', {}, t0 + 2);
    assert.deepEqual(await dueIds(engine, t0 + 2), [put.id]);
  });

  test('a job that only waits to run again does not make the schedule due', async ({ engine }) => {
    const job = await createRun(engine);
    await createWaiting(engine, job.id);
    await finish(engine, job, 'RETRYING');
    assert.deepEqual(await dueIds(engine, t0 + hour), []);
  });

  test('a schedule that has a due time beside the job it waits for keeps the earlier of the two', async ({
    engine,
  }) => {
    const job = await createRun(engine);
    const claimed = await createClaimed(engine);
    await fire(engine, fireGroup(claimed, { dueAt: t0 + minute, waitsFor: job.id }));
    assert.deepEqual(await dueIds(engine, t0 + minute - 1), []);
    assert.deepEqual(await dueIds(engine, t0 + minute), [claimed.id]);
  });
}

function deleteTests(test: DefineTest): void {
  test('deleting a schedule cancels what has not started, lets running jobs finish and keeps the ledger', async ({
    engine,
  }) => {
    const claimed = await createClaimed(engine);
    const [running, pending, scheduled] = [t0 - 1, t0, t0 + hour].map((at) => slotJob(claimed.id, at));
    assert.ok(running && pending && scheduled);
    const blocked = slotJob(claimed.id, t0 + 1, { gates: [{ kind: 'overlap', ref: running.id }] });
    const jobs = [running, pending, scheduled, blocked];
    await fire(engine, fireGroup(claimed, { jobs, slots: [slotRow(t0, { jobId: pending.id })] }));
    const lease = await claimOne(engine, { limit: 1 });
    assert.equal(lease.id, running.id);
    const version = (await readSchedule(engine, claimed.id))?.version as number;
    await applySchedules(
      engine,
      [{ op: 'delete', id: claimed.id, expectVersion: version, action: 'delete' }],
      t0 + 2,
    );
    for (const { id } of [pending, scheduled, blocked]) assert.equal(await statusOf(engine, id), 'CANCELLED');
    await finish(engine, lease, 'COMPLETED', {}, t0 + 3);
    assert.equal((await slotsOf(engine, claimed.id)).length, 1);
    assert.deepEqual(await dueIds(engine, t0 + day), []);
    const { groups } = await engine.applySchedules({
      now: t0,
      groups: [
        { actor: 'a', changes: [{ op: 'delete', id: claimed.id, expectVersion: version, action: 'delete' }] },
      ],
    });
    assert.equal(only(groups).ok, false, 'what is gone cannot be deleted at a version');
  });

  test('deleting a schedule leaves the jobs of others alone', async ({ engine }) => {
    const mine = await createClaimed(engine);
    const other = await createClaimed(engine);
    const job = slotJob(other.id, t0 + hour);
    await fire(engine, fireGroup(other, { jobs: [job] }));
    const { id: free } = await create(engine, { due: { at: t0 + hour } });
    await applySchedules(engine, [
      { op: 'delete', id: mine.id, expectVersion: mine.version, action: 'delete' },
    ]);
    assert.equal(await statusOf(engine, job.id), 'SCHEDULED');
    assert.equal(await statusOf(engine, free), 'SCHEDULED');
  });

  test('deleting jobs never stops their schedule', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const [ended, waiting] = [slotJob(claimed.id, t0), slotJob(claimed.id, t0 + hour)];
    await fire(
      engine,
      fireGroup(claimed, { jobs: [ended, waiting], dueAt: t0 + hour, slots: [slotRow(t0)] }),
    );
    await finish(engine, await claimOne(engine), 'COMPLETED');
    await deleteJobs(engine, [ended.id, waiting.id]);
    assert.equal((await slotsOf(engine, claimed.id)).length, 1);
    assert.deepEqual(await dueIds(engine, t0 + hour), [claimed.id]);
  });

  test('jobs of a schedule never dedupe', async ({ engine }) => {
    const claimed = await createClaimed(engine);
    const jobs = [slotJob(claimed.id, t0 - 1), slotJob(claimed.id, t0)];
    await create(engine, jobSpec({ type: 'other' }));
    const reply = await engine.fire({ now: t0, node: 'n', groups: [fireGroup(claimed, { jobs })] });
    assert.deepEqual(reply.groups, ['fired']);
    assert.equal((await claim(engine)).length, 2);
    assert.deepEqual(accepted((await engine.enqueue({ now: t0, groups: [{ jobs: [] }] })).groups[0]), []);
  });
}
