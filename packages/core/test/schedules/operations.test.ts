import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScheduleChanges } from '../../src/index.ts';
import { scene, short, startsOf } from './setup.ts';

for (const [onResume, slots] of [
  ['skip', []],
  ['latest', ['13:00']],
  ['all', ['11:00', '12:00', '13:00']],
] as const) {
  test(`pause and resume: onResume '${onResume}'`, async (t) => {
    const { t: duly, every, reported, ledger } = scene(t);
    await every('0 * * * *', { onResume });
    const paused = await duly.schedules.pause('nightly', { note: 'stocktaking' });
    assert.equal(paused.status, 'paused');
    assert.deepEqual(
      [paused.paused?.note, paused.paused?.until, paused.paused?.cause, paused.nextRunAt],
      ['stocktaking', null, 'person', null],
    );
    assert.deepEqual(await duly.advance('3h 30m'), []);
    assert.deepEqual(await ledger(), ['01-15T11:00..01-15T13:00 ×3 held']);
    const resumed = await duly.schedules.resume('nightly');
    assert.deepEqual([resumed.status, resumed.paused], ['active', null]);
    assert.ok(!(await ledger()).some((row) => row.endsWith('held')), 'decided in one step');
    await duly.runDue();
    assert.deepEqual(
      reported.map(({ slot }) => slot?.slice(11, 16)),
      slots,
    );
    assert.deepEqual(startsOf(await duly.advance('30m')), ['01-15T14:00']);
  });
}

test('a pause with an end ends by itself', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  const { paused, nextRunAt } = await duly.schedules.pause('nightly', { until: '2027-01-15T12:30:00Z' });
  assert.equal(paused?.until?.toISOString(), '2027-01-15T12:30:00.000Z');
  assert.equal(nextRunAt?.toISOString(), '2027-01-15T13:00:00.000Z');
  assert.deepEqual(startsOf(await duly.advance('4h')), ['01-15T13:00', '01-15T14:00']);
  await assert.rejects(duly.schedules.pause('nightly', { until: '2027-01-15T11:00:00Z' }), {
    code: 'invalid_option',
  });
});

test('jobs already created go on while the schedule is paused', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.pause({ type: 'report' });
  await duly.advance('1h');
  await duly.schedules.pause('nightly');
  await duly.resume({ type: 'report' });
  assert.equal((await duly.runDue()).length, 1);
});

test('skipNext names one slot and survives a pause', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every('0 * * * *', { onResume: 'all' });
  const skip = await duly.schedules.skipNext('nightly', { note: 'not today' });
  assert.equal(short(skip.slot as Date), '01-15T11:00');
  assert.equal(skip.schedule.nextRunAt?.toISOString(), '2027-01-15T12:00:00.000Z');
  await duly.schedules.skipNext('nightly');
  await duly.schedules.pause('nightly');
  await duly.advance('2h');
  await duly.schedules.resume('nightly');
  await duly.advance('1h');
  assert.deepEqual(await ledger(), [
    '01-15T11:00 skipped (skip next)',
    '01-15T12:00 completed (after pause)',
    '01-15T13:00 completed',
  ]);
  const why = await duly.why('nightly', '2027-01-15T11:00');
  assert.match(why.sentence, /^It was skipped by .*@/);
});

test('trigger runs now, while paused too, and obeys overlap unless told', async (t) => {
  const { t: duly, every, reported } = scene(t, { run: async (_, on) => on.clock.sleep(60_000) });
  await every('0 * * * *', { exclude: ['2027-01-15'] });
  await duly.schedules.pause('nightly');
  const first = await duly.schedules.trigger('nightly', { input: { by: 'hand' } });
  assert.equal(first.result, 'created');
  await duly.runDue();
  assert.deepEqual(
    [reported[0]?.origin, reported[0]?.slot, reported[0]?.input],
    ['trigger', null, { by: 'hand' }],
  );
  const second = await duly.schedules.trigger('nightly');
  assert.deepEqual([second.result, second.job, second.reason], ['skipped', null, 'overlap']);
  const third = await duly.schedules.trigger('nightly', { allow: true });
  assert.equal(third.result, 'created');
  await duly.runDue();
  assert.equal(reported.length, 2);
  await duly.advance('1h');
  assert.equal(reported.length, 2);
  const audit = await duly.audit({ subject: `schedule:${(await duly.schedules.get('nightly')).id}` });
  assert.deepEqual(
    audit.map(({ action }) => action),
    ['trigger', 'trigger', 'trigger', 'pause', 'create'],
  );
});

test('a trigger beside others does not count for overlap, one that obeys does', async (t) => {
  const { t: duly, every, ledger } = scene(t, { run: async (_, on) => on.clock.sleep(30 * 60_000) });
  await every('0 * * * *');
  await duly.advance('50m');
  await duly.schedules.trigger('nightly', { allow: true });
  await duly.advance('1h');
  await duly.schedules.trigger('nightly');
  await duly.advance('15m');
  assert.deepEqual(await ledger(), ['01-15T11:00 completed', '01-15T12:00 skipped (overlap)']);
});

test('edit decides by the old rule first, and the next slot changes at once', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every('0 * * * *');
  await duly.advance('90m');
  const edited = await duly.schedules.edit('nightly', { cron: '15 * * * *' }, { note: 'later' });
  assert.equal(edited.nextRunAt?.toISOString(), '2027-01-15T12:15:00.000Z');
  assert.equal(edited.words, 'At minute 15 of every hour, in UTC.');
  await duly.advance('1h');
  assert.deepEqual(await ledger(), ['01-15T11:00 completed', '01-15T12:15 completed']);
});

test('an edit of input and policies keeps the cursor, and jobs already created keep their input', async (t) => {
  const { t: duly, every, reported } = scene(t);
  await every('0 * * * *');
  await duly.pause({ type: 'report' });
  await duly.advance('1h');
  const before = await duly.schedules.get('nightly');
  const after = await duly.schedules.edit('nightly', { input: { v: 2 }, missed: 'skip', note: 'second' });
  assert.deepEqual(after.nextRunAt, before.nextRunAt);
  assert.deepEqual([after.input, after.policies.missed, after.note], [{ v: 2 }, 'skip', 'second']);
  await duly.resume({ type: 'report' });
  await duly.advance('1h');
  assert.deepEqual(
    reported.map(({ input }) => input),
    [null, { v: 2 }],
  );
  const back = await duly.schedules.edit('nightly', { missed: null, note: null });
  assert.deepEqual([back.policies.missed, back.note], ['latest', null]);
});

test('the anchor of a rate moves only when the rule changes', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ rate: '10m' });
  await duly.advance('14m');
  const noted = await duly.schedules.edit('nightly', { jitter: '1m' });
  assert.equal(noted.nextSlot?.toISOString(), '2027-01-15T10:20:00.000Z');
  const faster = await duly.schedules.edit('nightly', { rate: '5m' });
  assert.equal(faster.nextSlot?.toISOString(), '2027-01-15T10:19:00.000Z');
});

test('backfill makes runs for slots without a completed one and changes no decision', async (t) => {
  const { t: duly, every, reported, ledger } = scene(t);
  await every('0 * * * *', { missed: 'skip' });
  await duly.advance('1h');
  await duly.outage('3h 30m');
  await duly.runDue();
  reported.length = 0;
  const range = { from: '2027-01-15T10:30:00Z', to: '2027-01-15T14:00:00Z' };
  const dry = await duly.schedules.backfill('nightly', { ...range, dryRun: true });
  assert.deepEqual(dry.slots.map(short), ['01-15T12:00', '01-15T13:00', '01-15T14:00']);
  assert.deepEqual([dry.jobs, dry.completedCount, dry.dryRun], [[], 1, true]);
  assert.equal((await duly.runDue()).length, 0);
  const created = await duly.schedules.backfill('nightly', { ...range, order: 'newest' });
  assert.equal(created.jobs.length, 3);
  await duly.runDue();
  assert.deepEqual(
    reported.map(({ slot, origin }) => [slot?.slice(11, 16), origin]),
    [
      ['14:00', 'backfill'],
      ['13:00', 'backfill'],
      ['12:00', 'backfill'],
    ],
  );
  assert.deepEqual(await ledger(), ['01-15T11:00 completed', '01-15T12:00..01-15T14:00 ×3 missed (late)']);
  const [line] = await duly.schedules.slots('nightly', { to: duly.now });
  assert.deepEqual(
    line?.runs.map(({ slot, origin, status }) => [slot?.toISOString().slice(11, 16), origin, status]),
    [
      ['12:00', 'backfill', 'COMPLETED'],
      ['13:00', 'backfill', 'COMPLETED'],
      ['14:00', 'backfill', 'COMPLETED'],
    ],
    'a line of several slots tells their runs',
  );
  const why = await duly.why('nightly', '2027-01-15T13:00');
  assert.deepEqual([why.decision, why.status, why.runs.length], ['missed', 'completed', 1]);
  assert.match(why.sentence, /It was missed: .* A backfill created another run: it ran at /);
  assert.equal((await duly.schedules.backfill('nightly', range)).slots.length, 0);
  assert.equal((await duly.schedules.backfill('nightly', { ...range, reprocess: true })).slots.length, 4);
});

test('a backfill runs so many at a time as it is told', async (t) => {
  let running = 0;
  let most = 0;
  const { t: duly, every } = scene(t, {
    run: async (_, on) => {
      most = Math.max(most, ++running);
      await on.clock.sleep(60_000);
      running--;
    },
  });
  await every('0 * * * *', { missed: 'skip' });
  await duly.outage('9h');
  await duly.runDue();
  assert.equal(
    (await duly.schedules.backfill('nightly', { from: '2027-01-15T10:30', concurrency: 3 })).jobs.length,
    // The ninth slot is now, and its own run goes on.
    8,
  );
  await duly.advance('59m');
  assert.equal(most, 3);
});

test('delete cancels what has not started, lets the rest finish, and keeps the ledger; a new one is another generation', async (t) => {
  const { t: duly, every } = scene(t, { run: async (_, on) => on.clock.sleep(50 * 60_000) });
  const { id } = await every({ rate: '30m' }, { overlap: 'bufferAll' });
  await duly.advance('1h');
  const slots = await duly.schedules.slots('nightly', { to: new Date(duly.now.getTime() + 1) });
  await duly.schedules.delete('nightly');
  await assert.rejects(duly.schedules.get('nightly'), { code: 'schedule_not_found' });
  const [waiting, running] = slots.map(({ runs }) => duly.job(runs[0]?.id ?? ''));
  assert.equal((await waiting?.get())?.status, 'CANCELLED');
  assert.equal((await running?.get())?.status, 'RUNNING');
  await duly.advance('1h');
  assert.equal((await running?.get())?.status, 'COMPLETED');
  const again = await every({ rate: '30m' }, { overlap: 'bufferAll' });
  assert.deepEqual([again.id, again.generation], [id, 2]);
  assert.equal(
    (await duly.schedules.slots('nightly', { to: duly.now })).length,
    2,
    'the old generation is still there',
  );
});

test('pauseAfterFailures stops, flagAfterFailures only flags', async (t) => {
  let fails = true;
  const {
    t: duly,
    every,
    task,
  } = scene(t, {
    run: () => {
      if (fails) throw new Error('no');
    },
  });
  await every('0 * * * *', { pauseAfterFailures: 3 });
  await task.every('0 * * * *', undefined, { name: 'flagged', flagAfterFailures: 2 });
  const events: string[] = [];
  for (const name of ['schedule.paused', 'schedule.flagged', 'schedule.recovered'] as const) {
    duly.on(name, (notice) => events.push(`${name} ${notice.name}`));
  }
  await duly.advance('6h');
  const paused = await duly.schedules.get('nightly');
  assert.deepEqual([paused.status, paused.paused?.cause, paused.counts.fired], ['paused', 'failures', 3]);
  const flagged = await duly.schedules.get('flagged');
  assert.deepEqual([flagged.status, flagged.flagged !== null, flagged.counts.fired], ['active', true, 6]);
  fails = false;
  await duly.advance('2h');
  assert.equal((await duly.schedules.get('flagged')).flagged, null);
  assert.deepEqual(events, [
    'schedule.flagged flagged',
    'schedule.paused nightly',
    'schedule.recovered flagged',
  ]);
});

test('preview tells what will fire: without what is skipped or excluded, up to the end', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *', { exclude: [{ cron: '* 12 * * *' }], endAt: '2027-01-15T15:30:00Z' });
  await duly.schedules.skipNext('nightly');
  assert.deepEqual((await duly.schedules.preview('nightly', { count: 9 })).map(short), [
    '01-15T13:00',
    '01-15T14:00',
    '01-15T15:00',
  ]);
});

test('schedules are listed by name, by task, by status, in pages', async (t) => {
  const { t: duly, every, task } = scene(t);
  await every('0 * * * *');
  for (const name of ['b', 'c', 'a']) await task.every('0 * * * *', undefined, { name });
  await duly.schedules.put({ type: 'other', name: 'd', rate: '5m' });
  await duly.schedules.pause('c');
  const page = await duly.schedules.list({ limit: 2 });
  assert.deepEqual(
    page.schedules.map(({ name }) => name),
    ['a', 'b'],
  );
  const names: string[] = [];
  for await (const { name } of duly.schedules.each({ limit: 2, type: 'report' })) names.push(name);
  assert.deepEqual(names, ['a', 'b', 'c', 'nightly']);
  const paused = await duly.schedules.list({ status: 'paused' });
  assert.deepEqual(
    paused.schedules.map(({ name }) => name),
    ['c'],
  );
});

test('what a schedule is can be put again: its definition makes the same one', async (t) => {
  const { t: duly, every } = scene(t);
  const created = await every(
    {
      cron: '30 2 * * 1-5',
      timezone: 'Europe/Rome',
      dst: { repeat: 'both' },
      exclude: ['2027-12-24/2028-01-02'],
    },
    {
      missed: 'all',
      catchUpLimit: 3,
      jitter: '5m',
      tenant: 'acme',
      priority: 2,
      note: 'hello',
      metadata: { a: 1 },
      retry: { attempts: 5, backoff: 'fixed', delay: '10s', maxDelay: '6m' },
      timeout: 'none',
    },
  );
  const { retry, timeout } = created.definition;
  assert.deepEqual(
    [retry, timeout],
    [{ attempts: 5, backoff: 'fixed', delay: 10_000, maxDelay: 360_000 }, 'none'],
  );
  const again = await duly.schedules.put(JSON.parse(JSON.stringify(created.definition)));
  assert.deepEqual(again.updatedAt, created.updatedAt);
  assert.deepEqual({ ...again, lastRun: null }, { ...created, lastRun: null });
  assert.equal((await duly.audit({ subject: `schedule:${created.id}` })).length, 1, 'nothing was written');
});

test('a handler may make and change schedules', async (t) => {
  const {
    t: duly,
    every,
    reported,
  } = scene(t, {
    run: async (_, on) => {
      await on.schedules.pause('nightly');
    },
  });
  await every('0 * * * *');
  await duly.advance('5h');
  assert.equal(reported.length, 1);
});

for (const overlap of ['cancelOther', 'terminateOther'] as const) {
  test(`overlap '${overlap}': live slots leave the runs of a backfill alone, and all of them complete`, async (t) => {
    const { t: duly, every } = scene(t, {
      run: ({ signal }, duly) => duly.clock.sleep(50 * 60_000, signal),
    });
    await every('0 * * * *', { overlap });
    await duly.schedules.backfill('nightly', { from: '2027-01-15T00:00:00Z', to: '2027-01-15T09:00:00Z' });
    await duly.advance('14h');
    for (let hour = 0; hour < 10; hour++) {
      const { runs } = await duly.why('nightly', `2027-01-15T0${hour}:00:00Z`);
      assert.deepEqual(
        runs.map(({ origin, status }) => [origin, status]),
        [['backfill', 'COMPLETED']],
      );
    }
  });
}

test('a second pause keeps the note and the end that it does not give', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.schedules.pause('nightly', { note: 'holiday', until: '2027-02-01' });
  const { paused } = await duly.schedules.pause('nightly');
  assert.deepEqual([paused?.note, paused?.until?.toISOString()], ['holiday', '2027-02-01T00:00:00.000Z']);
  const { paused: longer } = await duly.schedules.pause('nightly', { until: '2027-03-01' });
  assert.deepEqual([longer?.note, longer?.until?.toISOString()], ['holiday', '2027-03-01T00:00:00.000Z']);
  const { paused: renamed } = await duly.schedules.pause('nightly', { note: 'still away' });
  assert.deepEqual(
    [renamed?.note, renamed?.until?.toISOString()],
    ['still away', '2027-03-01T00:00:00.000Z'],
  );
});

test('startAt and endAt without an offset are of the zone of the schedule', async (t) => {
  const { every } = scene(t);
  const options = { timezone: 'Asia/Kolkata', startAt: '2027-02-01', endAt: '2027-03-01T12:00' };
  const { policies, nextSlot } = await every('0 0 * * *', options);
  assert.equal(policies.startAt?.toISOString(), '2027-01-31T18:30:00.000Z');
  assert.equal(policies.endAt?.toISOString(), '2027-03-01T06:30:00.000Z');
  assert.equal(nextSlot?.toISOString(), '2027-01-31T18:30:00.000Z');
});

test('an edit of a rate keeps what it counts from, and its zone changes nothing of it', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-01-15T10:10:00Z' });
  await every({ rate: '1h', anchor: 'epoch' });
  const next = async (changes: ScheduleChanges) =>
    (await duly.schedules.edit('nightly', changes)).nextSlot?.toISOString().slice(11, 16);
  assert.equal(await next({ rate: '60m' }), '11:00');
  assert.equal(await next({ rate: '2h' }), '12:00', 'another rate from the same beginning');
  assert.equal(await next({ anchor: 'start' }), '12:10');
  await duly.advance('30m');
  assert.equal(await next({ timezone: 'Asia/Tokyo' }), '12:10');
  assert.equal(await next({ rate: '120m' }), '12:10');
  assert.equal(await next({ rate: '3h' }), '13:40');
});

test('a fixed delay shows what it will do: outstanding, skipped, with a new startAt', async (t) => {
  const { t: duly, every } = scene(t);
  const created = await every({ delay: '10m' });
  const preview = async (options = {}): Promise<string[]> =>
    (await duly.schedules.preview('nightly', { count: 2, ...options })).map(short);
  assert.deepEqual(await preview(), [short(created.nextRunAt as Date), short(later(created.nextRunAt, 10))]);
  await duly.advance('15m');
  const { nextRunAt } = await duly.schedules.get('nightly');
  const minutes = (count: number): string => short(later(nextRunAt, count));
  assert.deepEqual(await preview(), [minutes(0), minutes(10)]);
  assert.deepEqual(await preview({ after: later(nextRunAt, 5) }), [minutes(10), minutes(20)]);
  const skip = await duly.schedules.skipNext('nightly');
  assert.deepEqual([skip.slot, skip.schedule.nextRunAt], [nextRunAt, later(nextRunAt, 10)]);
  assert.deepEqual(await preview(), [minutes(10), minutes(20)]);
  const startAt = later(nextRunAt, 60);
  const edited = await duly.schedules.edit('nightly', { startAt });
  assert.deepEqual(edited.nextRunAt, startAt);
  assert.deepEqual(await preview(), [minutes(60), minutes(70)]);
  assert.deepEqual(startsOf(await duly.advance('75m')), [minutes(60), minutes(70)]);
});

test('a slot that comes in a pause and falls due after it is the next run', async (t) => {
  const { t: duly, every } = scene(t);
  const { nextSlot, nextRunAt } = await every('0 * * * *', { jitter: '50m' });
  const until = nextRunAt as Date;
  assert.ok(nextSlot !== null && until > nextSlot);
  const paused = await duly.schedules.pause('nightly', { until });
  assert.deepEqual([paused.nextSlot, paused.nextRunAt], [nextSlot, nextRunAt]);
  const held = await duly.schedules.pause('nightly', { until: new Date(until.getTime() + 1) });
  assert.deepEqual(held.nextSlot, later(nextSlot, 60));
});

function later(at: Date | null, minutes: number): Date {
  return new Date((at?.getTime() ?? Number.NaN) + minutes * 60_000);
}

test('an edit to a fixed delay in the instant of a decided slot does not name that slot once more', async (t) => {
  const { t: duly, every, reported, ledger } = scene(t);
  await every('0 * * * *');
  await duly.advance('1h');
  await duly.schedules.edit('nightly', { delay: '10m' });
  await duly.advance('25m');
  assert.deepEqual(
    reported.map(({ slot }) => slot?.slice(11)),
    ['11:00:00.000Z', '11:00:00.001Z', '11:10:00.001Z', '11:20:00.001Z'],
  );
  assert.equal((await ledger()).length, 4);
  // One that was only made in this instant has no decided slot, and begins at once.
  await duly.schedules.delete('nightly');
  await every('0 * * * *', { maxRuns: 1 });
  await duly.schedules.edit('nightly', { delay: '10m' });
  await duly.runDue();
  assert.equal(reported.at(-1)?.slot, '2027-01-15T11:25:00.000Z');
});
