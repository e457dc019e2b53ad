import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from '../../src/testing/index.ts';
import { scene } from './setup.ts';

const newYork = { timezone: 'America/New_York' };

test('a time in the gap runs once, after it, and why says so', async (t) => {
  const { t: duly, every, reported } = scene(t, { start: '2027-03-13T12:00:00Z' });
  await every('30 2 * * *', newYork);
  await duly.advance('2 days');
  assert.deepEqual(
    reported.map(({ slot, date }) => [slot, date]),
    [
      ['2027-03-14T07:00:00.000Z', '2027-03-14'],
      ['2027-03-15T06:30:00.000Z', '2027-03-15'],
    ],
  );
  const why = await duly.why('nightly', '2027-03-14T02:30');
  assert.deepEqual(why.clockChange, { kind: 'gap', named: '02:30', which: null });
  assert.equal(why.slot.toISOString(), '2027-03-14T07:00:00.000Z');
  assert.match(
    why.sentence,
    /^02:30 did not exist on 14 March 2027 in America\/New_York, so its slot is the first instant after the gap, 03:00\. It ran at 2027-03-14 03:00 \(America\/New_York\), on time, on node "node_\w+", and completed after 0 ms\.$/,
  );
});

for (const [timezone, cron, start, dates, named] of [
  // The clock is put forward at the end of a day, and the slot falls on the next.
  ['America/Nuuk', '30 23 * * *', '2027-03-26T12:00:00Z', ['26', '27', '28', '29'], '2027-03-27T23:30'],
  [
    'America/Scoresbysund',
    '30 23 * * *',
    '2027-03-26T12:00:00Z',
    ['26', '27', '28', '29'],
    '2027-03-27T23:30',
  ],
  // A whole day is left out.
  ['Pacific/Apia', '0 12 * * *', '2011-12-28T00:00:00Z', ['28', '29', '30', '31', '01'], '2011-12-30T12:00'],
] as const) {
  test(`a time in a gap is told the date that it names: ${timezone}`, async (t) => {
    const { t: duly, every, reported } = scene(t, { start });
    await every(cron, { timezone });
    await duly.advance('4 days');
    assert.deepEqual(
      reported.map(({ date }) => date?.slice(8)),
      dates,
    );
    const why = await duly.why('nightly', named);
    assert.equal(why.date, named.slice(0, 10));
    assert.match(
      why.sentence,
      /^\d\d:\d\d did not exist on (\d+ \w+ \d+) in .*, so its slot is the first instant after the gap, 00:00 on \d+ \w+ \d+; it is the slot of \1\. It ran /,
    );
  });
}

test('a time in a gap and one that exists are one slot, that of the date that exists', async (t) => {
  const { t: duly, every, reported } = scene(t, { start: '2027-03-27T12:00:00Z' });
  await every('0 0,23 * * *', { timezone: 'America/Nuuk' });
  await duly.advance('1 day');
  assert.deepEqual(
    reported.map(({ slot, date }) => [slot, date]),
    [['2027-03-28T01:00:00.000Z', '2027-03-28']],
  );
  const why = await duly.why('nightly', '2027-03-27T23:00');
  assert.equal(why.date, '2027-03-28');
  assert.match(
    why.sentence,
    /^23:00 did not exist on 27 March 2027 in America\/Nuuk, so its slot is the first instant after the gap, 00:00 on 28 March 2027, which the rule names too: they are one slot, that of 28 March 2027\. /,
  );
});

test('an excluded time in a gap says which date was excluded', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-03-27T12:00:00Z' });
  await every('30 23 * * *', { timezone: 'America/Nuuk', exclude: '2027-03-27' });
  await duly.advance('1 day');
  const why = await duly.why('nightly', '2027-03-27T23:30');
  assert.equal(why.status, 'excluded');
  assert.equal(why.date, '2027-03-27');
  assert.match(why.sentence, /^23:30 did not exist on 27 March 2027 .* it is the slot of 27 March 2027\. /);
});

test("dst.gap 'skip': the day has no slot", async (t) => {
  const { t: duly, every, reported } = scene(t, { start: '2027-03-13T12:00:00Z' });
  await every('30 2 * * *', { ...newYork, dst: { gap: 'skip' } });
  await duly.advance('2 days');
  assert.equal(reported.length, 1);
  const why = await duly.why('nightly', '2027-03-14T02:30');
  assert.equal(why.status, 'none');
  assert.match(
    why.sentence,
    /^02:30 did not exist on 14 March 2027 in America\/New_York, and dst\.gap is "skip", so it has no slot\. The one before is 2027-03-13 02:30 .*, the one after is 2027-03-15 02:30/,
  );
  const after = await duly.why('nightly', '2027-03-14T03:00');
  assert.match(
    after.sentence,
    /^2027-03-14 03:00 \(America\/New_York\) is no slot of the schedule "nightly": /,
  );
});

test('a time in the gap was asked for, and the instant after it is a slot by itself', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-03-13T12:00:00Z' });
  await every('0 * * * *', newYork);
  await duly.advance('1 day');
  const why = await duly.why('nightly', '2027-03-14T02:30');
  assert.equal(why.status, 'completed');
  assert.match(
    why.sentence,
    /^02:30 did not exist on 14 March 2027 in America\/New_York, and an hour field with "\*", a step or a range follows real time, so it has no slot\. The first instant after the gap, 03:00, is a slot of its own\. It ran at /,
  );
});

for (const [repeat, slots] of [
  ['first', ['05:30']],
  ['last', ['06:30']],
  ['both', ['05:30', '06:30']],
] as const) {
  test(`a time that comes twice: dst.repeat '${repeat}'`, async (t) => {
    const { t: duly, every, reported } = scene(t, { start: '2027-11-06T12:00:00Z' });
    await every('30 1 * * *', { ...newYork, dst: { repeat } });
    await duly.advance('1 day');
    assert.deepEqual(
      reported.map(({ slot }) => slot?.slice(11, 16)),
      slots,
    );
    const why = await duly.why('nightly', '2027-11-07T01:30');
    assert.match(
      why.sentence,
      new RegExp(
        `^01:30 came twice on 7 November 2027 in America/New_York; this is the ${repeat === 'last' ? 'second' : 'first'} of them\\. It ran `,
      ),
    );
  });
}

test('every hour follows real time through both changes of the clock', async (t) => {
  for (const [start, count] of [
    ['2027-03-14T05:00:00Z', 23],
    ['2027-11-07T04:00:00Z', 25],
  ] as const) {
    const { t: duly, every, reported } = scene(t, { start });
    await every('0 * * * *', newYork);
    await duly.advance(`${count}h`);
    assert.equal(reported.length, count);
  }
});

test('why: each decision has its sentence', async (t) => {
  const { t: duly, every, task } = scene(t, { run: async (_, on) => on.clock.sleep(90_000) });
  await every('0 * * * *', { missed: 'skip', exclude: ['2027-01-16'] });
  await task.every({ rate: '1m' }, undefined, { name: 'quick', endAt: '2027-01-15T10:04:30Z' });
  const ask = async (name: string, slot: string) => (await duly.why(name, slot)).sentence;

  assert.match(
    await ask('nightly', '2027-01-15T11:00'),
    /^It is not due yet: it falls due at 2027-01-15 11:00 \(UTC\), in 1 h\.$/,
  );
  assert.match(
    await ask('nightly', '2027-01-16T11:00'),
    /not due yet.* A calendar of "exclude" names it, so nothing will run\.$/,
  );
  assert.match(
    await ask('nightly', '2027-01-15T09:00'),
    /^The schedule "nightly" was created at 10:00, after this slot, and decides nothing before that\.$/,
  );
  assert.match(await ask('nightly', '2027-01-15T11:30'), /is no slot of the schedule "nightly"/);
  assert.match(
    await ask('quick', '2027-01-15T10:09'),
    /^It will not run: the schedule "quick" is over before this slot: it lies after "endAt", 10:04:30\.$/,
  );

  await duly.advance('2m');
  assert.match(
    await ask('quick', '2027-01-15T10:01'),
    /^It ran at 2027-01-15 10:01 \(UTC\), on time, on node ".*", and is RUNNING\.$/,
  );
  assert.match(
    await ask('quick', '2027-01-15T10:02'),
    /^It was skipped: an earlier run was not finished, and overlap is "skip" \(decided at/,
  );
  await duly.outage('3h');
  await duly.runDue();
  assert.match(
    await ask('nightly', '2027-01-15T12:00'),
    /^It was missed: no scheduler noticed it in time\. It was noticed 1 h 2 min after it fell due, and missed is "skip" \(decided at 13:02 by node ".*"\)\.$/,
  );
  await duly.schedules.pause('nightly', { note: 'audit', until: '2027-01-15T20:00:00Z' });
  await duly.advance('1h');
  assert.match(
    await ask('nightly', '2027-01-15T14:00'),
    /^The schedule is paused since 13:02 by .* \("audit"\), until 20:00, and the slot is held\. What becomes of it is decided when the schedule goes on, by onResume: "skip"\.$/,
  );
  const held = await duly.why('nightly', '2027-01-15T14:00');
  assert.deepEqual([held.status, held.decision], ['held', null]);
  await duly.schedules.resume('nightly');
  assert.match(await ask('nightly', '2027-01-15T14:00'), /^It fell in a pause, and onResume is "skip"/);
  await duly.advance('1 day');
  const excluded = await duly.why('nightly', '2027-01-16T04:00');
  assert.equal(excluded.status, 'excluded');
  assert.ok((excluded.together?.count ?? 0) > 10);
  assert.match(excluded.sentence, /^It did not run: a calendar of "exclude" names it/);
});

test('why: a catch-up, a late start, a failed run, a run that is gone', async (t) => {
  const { t: duly, every } = scene(t, {
    run: () => {
      throw new Error('the disk is full');
    },
  });
  await every('0 * * * *');
  await duly.outage('3h');
  await duly.runDue();
  const caught = await duly.why('nightly', '2027-01-15T12:00');
  assert.match(caught.sentence, /It was missed and caught up on, decided 1 h after it fell due\.$/);
  const missed = await duly.why('nightly', '2027-01-15T11:00');
  assert.equal(missed.decision, 'missed');
  assert.match(missed.sentence, /a later slot was missed too; missed: "latest" runs only that one/);
  await duly.pause({ type: 'report' });
  await duly.advance('1h');
  await duly.advance('1200ms');
  await duly.resume({ type: 'report' });
  await duly.runDue();
  const late = await duly.why('nightly', '2027-01-15T14:00');
  assert.equal(late.latenessMs, 1_200);
  assert.match(
    late.sentence,
    /^It ran at 2027-01-15 14:00:01 \(UTC\), 1\.2 s late, on node ".*", and is FAILED with "the disk is full"\.$|^It ran at 14:00:01, 1\.2 s late/,
  );
  await duly.jobs({}).delete();
  assert.match(
    (await duly.why('nightly', '2027-01-15T14:00')).sentence,
    /^It fired at .* decided by node ".*"; its job "job_.*" is no longer stored\.$/,
  );
});

test('why: the slots of a fixed delay are found to the second', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ delay: '10m' });
  await duly.advance('5m');
  assert.match((await duly.why('nightly', '2027-01-15T10:00')).sentence, /^It ran at/);
  assert.equal((await duly.why('nightly', '2027-01-15T10:10')).status, 'pending');
  assert.equal((await duly.why('nightly', '2027-01-15T10:07')).status, 'none');
});

test('why of a job still works as it did', async (t) => {
  const { t: duly, task } = scene(t);
  const job = await task.in('1h');
  assert.match((await duly.why(job.id)).sentence, /waits for its time/);
});

test('why: no slot of a row is said to be decided before it was due', async (t) => {
  const { t: duly, every } = scene(t, { run: async (_, on) => on.clock.sleep(50 * 60_000) });
  await every('*/10 * * * *');
  await duly.advance('55m');
  const [first, middle, last] = [
    await duly.why('nightly', '2027-01-15T10:20'),
    await duly.why('nightly', '2027-01-15T10:30'),
    await duly.why('nightly', '2027-01-15T10:50'),
  ];
  assert.deepEqual(
    [first, middle, last].map(({ status, together }) => [status, together?.count]),
    [
      ['skipped', 4],
      ['skipped', 4],
      ['skipped', 4],
    ],
  );
  assert.equal(first.decidedAt?.toISOString(), '2027-01-15T10:20:00.000Z');
  assert.match(first.sentence, /\(decided at 2027-01-15 10:20 \(UTC\) by node ".*"\)\.$/);
  assert.deepEqual([middle.decidedAt, middle.node], [null, null]);
  assert.deepEqual(middle.decidedBetween, {
    from: new Date('2027-01-15T10:30:00Z'),
    to: new Date('2027-01-15T10:50:00Z'),
  });
  assert.match(middle.sentence, /\(decided between 2027-01-15 10:30 \(UTC\) and 10:50\)\.$/);
  assert.equal(last.decidedAt?.toISOString(), '2027-01-15T10:50:00.000Z');
  assert.match(last.sentence, /\(decided at 2027-01-15 10:50 \(UTC\)\)\.$/);
  const row = (await duly.schedules.slots('nightly')).find(({ decision }) => decision === 'skipped');
  assert.deepEqual([row?.decidedAt, row?.lastDecidedAt], [first.decidedAt, last.decidedAt]);
});

test('why: a slot to come is not held by a pause, it is not due yet', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.schedules.pause('nightly', { note: 'audit' });
  const coming = await duly.why('nightly', '2027-01-20T12:00');
  assert.equal(coming.status, 'pending');
  assert.match(
    coming.sentence,
    /^It is not due yet: it falls due at .*, in 5 d 2 h\. The schedule is paused since 2027-01-15 10:00 \(UTC\) by .* \("audit"\)\.$/,
  );
  assert.deepEqual(
    (await duly.schedules.slots('nightly')).map(({ status }) => status),
    ['pending'],
  );
  await duly.advance('1h');
  assert.equal((await duly.why('nightly', '2027-01-15T11:00')).status, 'held');
});

test('why: the slots of a rate are found to the second', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-01-15T10:00:00.345Z' });
  await every({ rate: '10m' });
  await duly.advance('25m');
  const why = await duly.why('nightly', '2027-01-15T10:10:00');
  assert.deepEqual([why.status, why.slot.toISOString()], ['completed', '2027-01-15T10:10:00.345Z']);
  assert.equal((await duly.why('nightly', '2027-01-15T10:30:00Z')).status, 'pending');
  assert.equal((await duly.why('nightly', '2027-01-15T10:10:00.100Z')).status, 'none');
  assert.equal((await duly.why('nightly', '2027-01-15T10:11:00')).status, 'none');
});

test('the ledger of a deleted schedule is read by id and by name, and says so', async (t) => {
  const { t: duly, every } = scene(t);
  const { id } = await every('0 * * * *');
  await duly.advance('150m');
  const before = await duly.schedules.slots('nightly');
  await duly.schedules.delete('nightly', { note: 'moved' });
  await duly.advance('1h');
  for (const reference of [{ id }, id, 'nightly', { name: 'nightly', app: null }, { name: 'nightly' }]) {
    const rows = await duly.schedules.slots(reference);
    assert.deepEqual(
      rows.map(({ slot, status }) => [slot, status]),
      before.filter(({ decision }) => decision !== null).map(({ slot, status }) => [slot, status]),
    );
    assert.ok(rows.every(({ deleted }) => deleted?.note === 'moved'));
    const why = await duly.why(reference, '2027-01-15T11:00');
    assert.deepEqual([why.schedule, why.scheduleId, why.status], ['nightly', id, 'completed']);
    assert.equal(why.deleted?.at.toISOString(), '2027-01-15T12:30:00.000Z');
    assert.match(
      why.sentence,
      /^It ran at .*, and completed after 0 ms\. The schedule was deleted since then: at 12:30 by .+ \("moved"\)\.$/,
    );
  }
  const never = await duly.why('nightly', '2027-01-15T13:00');
  assert.equal(never.status, 'none');
  assert.match(
    never.sentence,
    /^It was not due yet when the schedule was deleted\. The schedule was deleted: at 12:30 by /,
  );
  assert.match((await duly.why('nightly', '2027-01-15T13:10')).sentence, /is no slot of the schedule/);
  await assert.rejects(duly.why('nightly2', '2027-01-15T13:00'), { code: 'schedule_not_found' });
  await assert.rejects(duly.schedules.slots({ name: 'nightly', tenant: 'other' }), {
    code: 'schedule_not_found',
  });

  await every('0 * * * *');
  assert.equal((await duly.why('nightly', '2027-01-15T11:00')).deleted, null);
});

test('a deleted schedule is shown when asked for, and refused with who deleted it otherwise', async (t) => {
  const { t: duly, every } = scene(t);
  const { id } = await every('0 * * * *');
  await duly.advance('90m');
  await duly.schedules.delete('nightly', { note: 'moved' });
  const gone = {
    code: 'schedule_not_found',
    message: /^The schedule "nightly" was deleted at 2027-01-15T11:30:00\.000Z by .+ \("moved"\)\.$/,
    hint: new RegExp(`get\\(\\{ id: "${id}" \\}, \\{ deleted: true \\}\\)`),
  };
  const { schedules } = duly;
  await assert.rejects(schedules.get('nightly'), gone);
  await assert.rejects(schedules.get({ id }, { deleted: false }), gone);
  await assert.rejects(schedules.trigger('nightly'), gone);
  await assert.rejects(schedules.pause(id), gone);
  await assert.rejects(schedules.delete('nightly'), gone);
  await assert.rejects(schedules.get('nightly', { deleted: 1 } as never), { code: 'invalid_option' });
  await assert.rejects(schedules.get('never', { deleted: true }), {
    code: 'schedule_not_found',
    message: 'There is no schedule "never".',
  });
  for (const reference of ['nightly', id, { id }, { name: 'nightly', app: null }]) {
    const shown = await schedules.get(reference, { deleted: true });
    assert.deepEqual(
      [shown.id, shown.status, shown.nextSlot, shown.nextRunAt, shown.counts.fired],
      [id, 'deleted', null, null, 1],
    );
    assert.deepEqual(
      [shown.deleted?.at.toISOString(), shown.deleted?.note],
      ['2027-01-15T11:30:00.000Z', 'moved'],
    );
    assert.equal(shown.createdAt.toISOString(), '2027-01-15T10:00:00.000Z');
    assert.equal(shown.lastRun?.status, 'COMPLETED');
  }
  assert.deepEqual((await schedules.list()).schedules, []);

  await every('30 * * * *');
  const again = await schedules.get('nightly', { deleted: true });
  assert.deepEqual([again.status, again.deleted, again.generation], ['active', null, 2]);
});

test('why: a schedule that was paused when it was disabled is disabled since then, and held since the pause', async (t) => {
  const duly = createTestDuly({ app: 'shop', release: '1' });
  t.after(() => duly.stop({ drain: 0 }));
  duly.task({ name: 'report', run: () => {} });
  const declared = { type: 'report', name: 'nightly', cron: '0 * * * *' };
  // Started first: a node applies what its own tasks declare.
  await duly.advance('1m');
  await duly.schedules.apply([declared]);
  await duly.advance('89m');
  await duly.schedules.pause('nightly', { note: 'audit' });
  await duly.advance('90m');
  await duly.schedules.apply([]);
  await duly.advance('1h');
  assert.equal((await duly.schedules.get('nightly')).disabled?.at.toISOString(), '2027-01-15T13:00:00.000Z');
  for (const [slot, disabledAt] of [
    ['12:00', '13:00'],
    ['14:00', '13:00'],
  ]) {
    const why = await duly.why('nightly', `2027-01-15T${slot}`);
    assert.equal(why.status, 'held');
    assert.match(
      why.sentence,
      new RegExp(
        `^The schedule is disabled since ${disabledAt} by .+, after a pause since 11:30, and the slot is held\\.`,
      ),
    );
  }
});

test('a slot from before the schedule was created, which a backfill ran', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.advance('2h');
  await duly.schedules.backfill('nightly', { from: '2027-01-15T08:00:00Z', to: '2027-01-15T09:00:00Z' });
  const created = await duly.why('nightly', '2027-01-15T09:00:00Z');
  assert.equal(created.status, 'enqueued');
  assert.match(
    created.sentence,
    /^The schedule "nightly" was created at 10:00, after this slot, and decides nothing before that\. It was backfilled: its run "job_\w+" is BLOCKED and has not started\.$/,
  );
  await duly.runDue();
  const ran = await duly.why('nightly', '2027-01-15T09:00:00Z');
  assert.deepEqual([ran.status, ran.decision, ran.runs.length], ['completed', null, 1]);
  assert.match(ran.sentence, /It was backfilled: it ran at 12:00, .*, and completed after 0 ms\.$/);
  const before = await duly.schedules.slots('nightly', { to: '2027-01-15T10:00:00Z' });
  assert.deepEqual(
    before.map(({ slot, status, decision, runs }) => [
      slot.toISOString().slice(11, 16),
      status,
      decision,
      runs.map(({ origin }) => origin).join(),
    ]),
    [
      ['09:00', 'completed', null, 'backfill'],
      ['08:00', 'completed', null, 'backfill'],
    ],
  );
  // A page that is full ends with its last row: what lies before it is on the next.
  const [newest] = await duly.schedules.slots('nightly', {
    from: '2027-01-15T00:00:00Z',
    to: '2027-01-15T13:00:00Z',
    limit: 1,
  });
  assert.equal(newest?.slot.toISOString(), '2027-01-15T12:00:00.000Z');
});

test('a schedule whose maxRuns have fired is over at once, and why says so', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *', { maxRuns: 1 });
  await duly.advance('1h');
  const { status, nextRunAt } = await duly.schedules.get('nightly');
  assert.deepEqual([status, nextRunAt], ['ended', null]);
  assert.equal((await duly.schedules.list({ status: 'ended' })).schedules.length, 1);
  assert.deepEqual(
    (await duly.schedules.slots('nightly')).map((line) => line.status),
    ['completed'],
  );
  for (const slot of ['2027-01-15T12:00', '2027-01-15T15:00']) {
    const why = await duly.why('nightly', slot);
    assert.deepEqual([why.status, why.decision], ['ended', null]);
    assert.equal(
      why.sentence,
      'It will not run: the schedule "nightly" is over before this slot: one slot has fired, and "maxRuns" allows no more.',
    );
  }
  await duly.advance('1h');
  assert.equal((await duly.why('nightly', '2027-01-15T12:00')).decision, 'ended');
  assert.equal((await duly.schedules.edit('nightly', { maxRuns: 2 })).status, 'active');
});

test('a schedule whose last slot before endAt has fired is over at once', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *', { endAt: '2027-01-15T11:30:00Z' });
  assert.equal((await duly.schedules.get('nightly')).status, 'active');
  await duly.advance('1h');
  assert.equal((await duly.schedules.get('nightly')).status, 'ended');
});

test('the other one of a time that comes twice is no slot, by dst.repeat', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-11-06T12:00:00Z' });
  await every('30 1 * * *', newYork);
  await duly.advance('1 day');
  const why = await duly.why('nightly', '2027-11-07T01:30-05:00');
  assert.equal(why.status, 'none');
  assert.equal(
    why.sentence,
    '01:30 came twice on 7 November 2027 in America/New_York; this is the second of them, and the slot is the first, by dst.repeat: "first".',
  );
});

test('a slot between two lives of a schedule is told both', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *');
  await duly.advance('2h');
  await duly.schedules.delete('nightly');
  await duly.advance('3h');
  await every('0 * * * *');
  await duly.advance('1h');
  const { sentence } = await duly.why('nightly', '2027-01-15T14:00');
  assert.match(
    sentence,
    /^The schedule "nightly" was created at 15:00, after this slot, and decides nothing before that\. An earlier one of this name was deleted at 12:00 by .*, before this slot\.$/,
  );
});

test('a time in a gap that is one slot with others is told by the time that was asked for', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-03-14T00:00:00Z' });
  await every({ cron: '15,45 0 * * *', timezone: 'America/Havana' });
  await duly.advance('1 day');
  const why = async (time: string) => (await duly.why('nightly', `2027-03-14T${time}`)).sentence;
  assert.match(
    await why('00:15'),
    /^00:15 did not exist on 14 March 2027 in America\/Havana, so its slot is the first instant after the gap, 01:00\. /,
  );
  assert.match(
    await why('00:45'),
    /^00:45 did not exist .*, so its slot is the first instant after the gap, 01:00: one slot with 00:15, which did not exist either\. /,
  );
  assert.match(
    await why('00:20'),
    /^00:20 did not exist .*, and the rule does not name it; the first instant after the gap, 01:00, is the slot of 00:15, /,
  );
});

test('a time in a gap of a rule that follows real time has no slot', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-03-14T00:00:00Z' });
  await every({ cron: '30 2-2 * * *', timezone: 'America/New_York' });
  await duly.advance('1 day');
  const { sentence, status } = await duly.why('nightly', '2027-03-14T02:30');
  assert.equal(status, 'none');
  assert.match(
    sentence,
    /^02:30 did not exist on .*follows real time, so it has no slot\. The one before is /,
  );
});

test('a run that expired names its deadline, and one that another took the place of names the policy', async (t) => {
  const busy = scene(t, { concurrency: 1, run: (_context, { clock }) => clock.sleep(1_800_000) });
  await busy.every('0,10 * * * *', { overlap: 'bufferAll', startDeadline: '15m' });
  await busy.t.advance('1h 45m');
  const expired = await busy.t.why('nightly', '2027-01-15T11:10');
  assert.match(
    expired.sentence,
    /never started: it is EXPIRED, for its "startDeadline" of 15 min had passed before a worker could start it\.$/,
  );

  for (const overlap of ['terminateOther', 'cancelOther'] as const) {
    const { t: duly, every } = scene(t, {
      run: async ({ signal }, { clock }) => {
        await clock.sleep(2_700_000, signal);
        signal.throwIfAborted();
      },
    });
    await every('0,30 * * * *', { overlap });
    await duly.advance('1h 35m');
    const ended = await duly.why('nightly', '2027-01-15T11:00');
    assert.equal(ended.runs[0]?.status, 'CANCELLED');
    assert.match(
      ended.sentence,
      new RegExp(`is CANCELLED: a later run took its place, by overlap: "${overlap}"`),
    );
  }
});

test('a backfilled run is neither on time nor late, and one run that waits is one', async (t) => {
  const { t: duly, every } = scene(t, { run: (_context, { clock }) => clock.sleep(2_700_000) });
  await every('0,10,20 * * * *', { overlap: 'bufferAll', bufferLimit: 1 });
  await duly.advance('1h 21m');
  assert.match(
    (await duly.why('nightly', '2027-01-15T11:20')).sentence,
    /^It was skipped: one run waited already, /,
  );
  await duly.schedules.backfill('nightly', { from: '2027-01-15T09:00', to: '2027-01-15T09:05', allow: true });
  await duly.advance('1h');
  assert.match(
    (await duly.why('nightly', '2027-01-15T09:00')).sentence,
    /It was backfilled: it ran at 11:21, on node /,
  );
});
