import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scene, short, startsOf } from './setup.ts';

test('a cron fires at its slots, and the handler is told which one it is', async (t) => {
  const { t: duly, every, reported, ledger } = scene(t);
  await every('0 */6 * * *', { timezone: 'Asia/Kolkata' });
  const ran = await duly.advance('12h');
  assert.deepEqual(startsOf(ran), ['01-15T12:30', '01-15T18:30']);
  assert.deepEqual(reported[1], {
    slot: '2027-01-15T18:30:00.000Z',
    date: '2027-01-16',
    previous: '2027-01-15T12:30:00.000Z',
    next: '2027-01-16T00:30:00.000Z',
    covers: null,
    isCatchUp: false,
    lateness: 0,
    origin: 'schedule',
    input: null,
  });
  assert.deepEqual(await ledger(), ['01-15T12:30 completed', '01-15T18:30 completed']);
});

test('a job of a schedule knows where it came from', async (t) => {
  const { t: duly, every } = scene(t);
  const { id } = await every('0 * * * *', { tenant: 'acme', queue: 'reports', priority: 3 });
  const [ran] = await duly.advance('1h');
  const job = await duly.job(ran?.id ?? '').get();
  assert.deepEqual(
    [job.origin, job.schedule, job.slot && short(job.slot), job.fireId, job.tenant, job.queue, job.priority],
    ['schedule', 'nightly', '01-15T11:00', `${id}/1/2027-01-15T11:00:00.000Z`, 'acme', 'reports', 3],
  );
});

test('a fixed rate counts from when it was created and never drifts', async (t) => {
  const { t: duly, every } = scene(t);
  await duly.advance('90s');
  await every({ rate: '10m' });
  assert.deepEqual(startsOf(await duly.advance('35m')), [
    '01-15T10:11:30',
    '01-15T10:21:30',
    '01-15T10:31:30',
  ]);
});

test('a fixed delay counts from the end of the run before', async (t) => {
  const { t: duly, every, ledger } = scene(t, { run: async (_, on) => on.clock.sleep(5 * 60_000) });
  await every({ delay: '10m' });
  const ran = await duly.advance('50m');
  assert.deepEqual(startsOf(ran), ['01-15T10:00', '01-15T10:15', '01-15T10:30', '01-15T10:45']);
  assert.equal((await duly.schedules.get('nightly')).nextRunAt?.toISOString(), '2027-01-15T11:00:00.000Z');
  assert.equal((await ledger()).length, 4);
});

for (const [missed, runs, rows] of [
  ['skip', [], ['01-15T11:00 completed', '01-15T12:00..01-15T15:00 ×4 missed (late)']],
  [
    'latest',
    ['15:00 covers 3'],
    [
      '01-15T11:00 completed',
      '01-15T12:00..01-15T14:00 ×3 missed (late, not the latest)',
      '01-15T15:00 completed (caught up)',
    ],
  ],
  [
    'all',
    ['12:00', '13:00', '14:00', '15:00'],
    [
      '01-15T11:00 completed',
      '01-15T12:00 completed (caught up)',
      '01-15T13:00 completed (caught up)',
      '01-15T14:00 completed (caught up)',
      '01-15T15:00 completed (caught up)',
    ],
  ],
] as const) {
  test(`after an outage: missed '${missed}'`, async (t) => {
    const { t: duly, every, reported, ledger } = scene(t);
    await every('0 * * * *', { missed });
    await duly.advance('1h');
    reported.length = 0;
    await duly.outage('4h 30m');
    await duly.runDue();
    assert.deepEqual(
      reported.map(
        ({ slot, covers }) => `${slot?.slice(11, 16)}${covers === null ? '' : ` covers ${covers.count}`}`,
      ),
      runs,
    );
    for (const run of reported) assert.equal(run.isCatchUp, true);
    assert.deepEqual(await ledger(), rows);
    // And it goes on.
    assert.deepEqual(startsOf(await duly.advance('30m')), ['01-15T16:00']);
  });
}

test('a per-second schedule that was away for a month costs a handful of calls', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every({ rate: '1s' }, { missed: 'skip' });
  await duly.runDue();
  const before = duly.calls();
  await duly.outage('30 days');
  await duly.runDue();
  const after = duly.calls();
  assert.ok((after?.fire ?? 0) - (before?.fire ?? 0) <= 3);
  const rows = await ledger();
  assert.match(rows[0] as string, /×2591995 missed \(late\)$|×25919\d\d missed \(late\)$/);
  assert.ok(rows.length <= 10, rows.join('\n'));
});

test('catch-up runs stand behind live ones, and a node makes a thousand of them a second', async (t) => {
  const { t: duly, every, reported } = scene(t, { concurrency: 1 });
  const live = duly.task({ name: 'live', run: () => 'live' });
  await every(
    { rate: '1m' },
    { missed: 'all', catchUpWindow: '2 days', catchUpLimit: 1_500, overlap: 'allow' },
  );
  await duly.runDue();
  await duly.outage('2 days');
  await live.now();
  const first = await duly.runDue();
  assert.equal(first[0]?.type, 'live');
  // Those within their grace are not caught up on: they are judged in time.
  assert.ok(reported.filter(({ isCatchUp }) => isCatchUp).length <= 1_000, `${reported.length}`);
  await duly.advance('2s');
  assert.equal(reported.filter(({ isCatchUp }) => isCatchUp).length, 1_500);
  const slots = reported.filter(({ isCatchUp }) => isCatchUp).map(({ slot }) => slot as string);
  assert.deepEqual(slots, [...slots].sort(), 'oldest first');
});

test('jitter moves the due instant, the same way for every slot', async (t) => {
  const { t: duly, every, reported } = scene(t);
  const schedule = await every('0 * * * *', { jitter: '10m' });
  const offset = Number(schedule.nextRunAt) - Number(schedule.nextSlot);
  assert.ok(offset > 0 && offset <= 600_000);
  const ran = await duly.advance('3h');
  assert.deepEqual(
    ran.map(({ at }) => at.getTime() % 3_600_000),
    [offset, offset, offset].slice(0, ran.length),
  );
  assert.equal(reported[0]?.slot, '2027-01-15T11:00:00.000Z');
  assert.equal(reported[0]?.lateness, 0, 'lateness counts from the due instant');
});

test('the start deadline of a schedule: a late slot creates no job, and a job that waits too long expires', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every('0 * * * *', { startDeadline: '10m', missed: 'all' });
  await duly.outage('2h 5m');
  await duly.runDue();
  assert.deepEqual(await ledger(), [
    '01-15T11:00 expired (start deadline)',
    '01-15T12:00 completed (caught up)',
  ]);
  await duly.pause({ type: 'report' });
  await duly.advance('56m');
  const [newest] = await duly.schedules.slots('nightly', { to: duly.now });
  const waiting = duly.job(newest?.runs[0]?.id ?? '');
  assert.equal((await waiting.get()).status, 'PENDING');
  await duly.advance('10m');
  assert.equal((await waiting.get()).status, 'EXPIRED');
});

test('endAt and maxRuns end a schedule', async (t) => {
  const { t: duly, every, task } = scene(t);
  await every('0 * * * *', { maxRuns: 2 });
  await task.every({ rate: '1h' }, undefined, { name: 'until', endAt: '2027-01-15T13:30:00Z' });
  const ended: string[] = [];
  duly.on('schedule.ended', ({ name }) => ended.push(name));
  assert.equal((await duly.advance('10h')).length, 5);
  assert.deepEqual(ended.sort(), ['nightly', 'until']);
  const schedule = await duly.schedules.get('nightly');
  assert.deepEqual([schedule.status, schedule.nextRunAt, schedule.counts.fired], ['ended', null, 2]);
});

test('what exclude names is not run, and the ledger says so', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every('0 12 * * *', { exclude: ['2027-01-16', { cron: '* * * * SUN' }] });
  const ran = await duly.advance('4 days');
  assert.deepEqual(startsOf(ran), ['01-15T12:00', '01-18T12:00']);
  assert.deepEqual(await ledger(), [
    '01-15T12:00 completed',
    '01-16T12:00..01-17T12:00 ×2 excluded (exclude)',
    '01-18T12:00 completed',
  ]);
});

test('deleting any job never stops its schedule', async (t) => {
  for (const overlap of ['skip', 'bufferOne', 'bufferAll', 'cancelOther'] as const) {
    const { t: duly, every } = scene(t, { run: ({ input }) => input });
    await duly.pause({ type: 'report' });
    await every({ rate: '1m' }, { overlap, pauseAfterFailures: 3 });
    await duly.advance('5m');
    const { changed } = await duly.jobs({}).delete();
    assert.ok(changed > 0, overlap);
    await duly.resume({ type: 'report' });
    assert.ok((await duly.advance('5m')).length >= 4, overlap);
  }
  const { t: duly, task } = scene(t);
  await duly.pause({ type: 'report' });
  await task.every({ delay: '1m' }, undefined, { name: 'delay' });
  await duly.advance('5m');
  assert.equal((await duly.jobs({}).delete()).changed, 1);
  await duly.resume({ type: 'report' });
  assert.equal((await duly.advance('5m')).length, 5);
});

test('a node without the code of a task fires its schedules', async (t) => {
  const { t: duly } = scene(t);
  await duly.schedules.put({ type: 'elsewhere', rate: '1h', input: { a: 1 }, queue: 'far' });
  await duly.advance('1h');
  const [job] = (await duly.jobs({ type: 'elsewhere' }).page()).jobs;
  assert.deepEqual([job?.status, job?.input, job?.queue], ['PENDING', { a: 1 }, 'far']);
});

test('a year of an hourly schedule is played in seconds', async (t) => {
  const { t: duly, every, reported } = scene(t);
  await every('0 * * * *');
  assert.equal((await duly.advance('365 days')).length, 8_760);
  assert.equal(reported.length, 8_760);
  assert.equal((await duly.schedules.get('nightly')).counts.fired, 8_760);
});
