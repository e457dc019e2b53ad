import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capacity, isDulyError } from '../../src/index.ts';
import { createTestDuly } from '../../src/testing/index.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Schedules of every kind whose runs last for a known time, as a real store would see them. */
function createWorld() {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
  const began: { name: string; at: number }[] = [];
  let [running, peak] = [0, 0];
  const lasting = (name: string, ms: number) =>
    t.task({
      name,
      timeout: '5h',
      run: async ({ signal }) => {
        began.push({ name, at: t.now.getTime() });
        running += 1;
        peak = Math.max(peak, running);
        await t.clock.sleep(ms, signal).catch(() => undefined);
        running -= 1;
        signal.throwIfAborted();
      },
    });
  const reset = (): void => {
    peak = 0;
    began.length = 0;
  };
  return { t, began, lasting, peakOf: () => peak, reset };
}

test('what a forecast says is what a real run on virtual time does', async () => {
  const { t, began, lasting, peakOf, reset } = createWorld();
  await lasting('hourly', 5 * minuteMs).every({ cron: '0 * * * *' }, undefined, { name: 'hourly' });
  await lasting('long-skip', 70 * minuteMs).every({ cron: '*/30 * * * *' }, undefined, { name: 'long-skip' });
  await lasting('long-one', 40 * minuteMs).every({ rate: '30m' }, undefined, {
    name: 'long-one',
    overlap: 'bufferOne',
  });
  await lasting('long-all', 40 * minuteMs).every({ cron: '5 * * * *' }, undefined, {
    name: 'long-all',
    overlap: 'bufferAll',
  });
  await lasting('beside', 45 * minuteMs).every({ cron: '*/20 * * * *' }, undefined, {
    name: 'beside',
    overlap: 'allow',
  });
  await lasting('replaced', 150 * minuteMs).every({ cron: '10 */2 * * *' }, undefined, {
    name: 'replaced',
    overlap: 'terminateOther',
  });
  await lasting('after', 10 * minuteMs).every({ delay: '20m' }, undefined, { name: 'after' });
  await lasting('jittered', minuteMs).every({ cron: '*/15 * * * *' }, undefined, {
    name: 'jittered',
    jitter: '5m',
  });
  await lasting('thrice', minuteMs).every({ cron: '*/10 * * * *' }, undefined, {
    name: 'thrice',
    maxRuns: 60,
  });
  await lasting('without', minuteMs).every(
    { cron: '@hourly', exclude: { cron: '* 9-17 * * *' } },
    undefined,
    { name: 'without' },
  );
  await lasting('never', minuteMs).every({ cron: '0 3 * * *' }, undefined, { name: 'never' });
  await t.schedules.pause({ name: 'never' });
  // History to draw from.
  await t.advance('8h');
  reset();
  const from = t.now.getTime();
  const forecast = await t.forecast({ hours: 8, takes: '150m' });
  await t.advance('8h');
  const ran = began.filter(({ at }) => at >= from && at < from + 8 * hourMs);
  const count = (name: string): number => ran.filter((one) => one.name === name).length;
  assert.equal(
    forecast.withoutHistory,
    1,
    'a run that is always ended by the next one has no usual duration',
  );
  assert.equal(forecast.schedules, 11);
  // A run that goes on when the forecast is made is taken to end just then.
  const slack = 6;
  assert.ok(
    Math.abs(forecast.runs - ran.length) <= slack,
    `forecast ${forecast.runs} runs, ${ran.length} began: ${JSON.stringify(Object.fromEntries([...new Set(ran.map(({ name }) => name))].map((name) => [name, count(name)])))}`,
  );
  assert.ok(Math.abs(forecast.load.peak - peakOf()) <= 1, `peak ${forecast.load.peak}, really ${peakOf()}`);
  const starts = forecast.load.steps.reduce((sum, step) => sum + step.starts, 0);
  assert.ok(Math.abs(starts - ran.length) <= slack);
  const skipping = forecast.overlaps.find(({ name }) => name === 'long-skip');
  assert.equal(skipping?.usualMs, 70 * minuteMs);
  assert.equal(skipping?.runs, count('long-skip'));
  await t.stop();
});

test('runs wait if the concurrency is too low, and do not with the concurrency that is needed', async () => {
  const { t, lasting } = createWorld();
  const report = lasting('report', 10 * minuteMs);
  for (let i = 0; i < 20; i++) await report.every({ cron: '0 2 * * *' }, undefined, { name: `report-${i}` });
  const first = await t.forecast({ takes: '10m' });
  assert.equal(first.withoutHistory, 20);
  assert.equal(first.load.peak, 20);
  assert.deepEqual(first.load.peakAt, new Date('2027-01-15T02:00:00Z'));
  assert.equal(first.load.concurrencyNeeded, 20, 'none may wait for a whole round');
  assert.deepEqual(
    first.collisions.map(({ at, runs }) => [at.toISOString(), runs]),
    [['2027-01-15T02:00:00.000Z', 20]],
  );
  const patient = await t.forecast({ takes: '10m', lateness: '35m', concurrency: 5 });
  assert.equal(patient.load.concurrencyNeeded, 5, 'four rounds of five, the last of them 30 minutes late');
  const waited = patient.withConcurrency;
  assert.ok(waited !== null && waited.waitMsMax >= 30 * minuteMs && waited.waitMsMax <= 32 * minuteMs);
  assert.equal(waited.late, 15);
  const short = await t.forecast({ takes: '2m' });
  // Spread over a quarter of an hour they need fewer, and the runs are moved as a node would move them.
  assert.ok(short.jitter !== null && short.jitter.load.peak <= 10, String(short.jitter?.load.peak));
  assert.equal(short.jitter.count, 20);
  assert.equal(short.jitter.schedules[0]?.jitterMs, 15 * minuteMs);
  const needed = short.jitter.load.peak;
  for (let i = 0; i < 20; i++) {
    await report.every({ cron: '0 2 * * *' }, undefined, { name: `report-${i}`, jitter: '15m' });
  }
  const spread = await t.forecast({ takes: '2m' });
  assert.equal(spread.load.peak, needed, 'the advice, taken, gives the load that was promised');
  await t.stop();
});

test('changes of the clock within the year are told', async () => {
  const { t, lasting } = createWorld();
  const task = lasting('nightly', 1_000);
  await task.every({ cron: '30 2 * * *', timezone: 'Europe/Rome' }, undefined, { name: 'rome' });
  await task.every({ cron: '30 2 * * *', timezone: 'Europe/Rome' }, undefined, { name: 'rome-too' });
  await task.every({ cron: '0 * * * *', timezone: 'Europe/Rome' }, undefined, { name: 'every-hour' });
  const { clockChanges } = await t.forecast();
  assert.deepEqual(
    clockChanges.map(({ kind, date, time, names, schedules }) => ({ kind, date, time, names, schedules })),
    [
      { kind: 'gap', date: '2027-03-28', time: '02:30', names: ['rome', 'rome-too'], schedules: 2 },
      { kind: 'repeat', date: '2027-10-31', time: '02:30', names: ['rome', 'rome-too'], schedules: 2 },
    ],
  );
  await t.stop();
});

test('so many runs that nobody could play them shorten the forecast, and it says so', async () => {
  const { t, lasting } = createWorld();
  const task = lasting('often', 10);
  for (let i = 0; i < 60; i++) await task.every({ rate: '1s' }, undefined, { name: `often-${i}` });
  const forecast = await t.forecast({ hours: 48, takes: 10 });
  assert.equal(forecast.isShortened, true);
  assert.ok(forecast.to.getTime() < forecast.from.getTime() + 48 * hourMs);
  assert.ok(forecast.runs > 4_900_000 && forecast.runs < 5_100_000, String(forecast.runs));
  assert.equal(forecast.load.peak, 60);
  await t.stop();
});

test('what a schedule usually takes is known however much was done since its last run', async () => {
  const { t, lasting } = createWorld();
  await lasting('nightly', 30 * minuteMs).every({ cron: '0 2 * * *' }, undefined, { name: 'nightly' });
  await t.advance('3 days');
  const busy = t.task({ name: 'busy', run: () => null });
  for (let i = 0; i < 21; i++) await busy.nowMany(Array.from({ length: 1_000 }, () => null));
  await t.advance('1m');
  const forecast = await t.forecast();
  assert.deepEqual([forecast.withoutHistory, forecast.runs], [0, 1]);
  assert.equal(forecast.workMs, 30 * minuteMs);
  await t.stop();
});

test('a duration that was only assumed is told as such', async () => {
  const { t, lasting } = createWorld();
  await lasting('never-ran', minuteMs).every({ rate: '5s' }, undefined, { name: 'never-ran' });
  const { overlaps } = await t.forecast({ hours: 1 });
  assert.deepEqual(
    overlaps.map(({ name, usualMs, withoutHistory }) => [name, usualMs, withoutHistory]),
    [['never-ran', 10_000, true]],
  );
  await t.advance('10m');
  const [known] = (await t.forecast({ hours: 1 })).overlaps;
  assert.deepEqual([known?.usualMs, known?.withoutHistory], [minuteMs, false]);
  await t.stop();
});

test('without history: the concurrency needed, and how long the jobs take', () => {
  const spread = capacity({ jobs: 100, every: '1h', takes: '5m' });
  assert.deepEqual([spread.spreadConcurrency, spread.atOnceConcurrency], [9, 100]);
  const long = capacity({ jobs: 10_000, concurrency: 20, takes: '5m' });
  assert.equal((long.withConcurrencyMs ?? 0) / hourMs, 2_500 / 60);
  assert.equal(capacity({ jobs: 10_000, concurrency: 20, takes: '5m', every: '1 day' }).keepsUp, false);
  // Two rounds of the nine do not end within the hour, but what waits does not grow: seven would do.
  const late = capacity({ jobs: 10, concurrency: 9, takes: '40m', every: '1h' });
  assert.deepEqual([late.spreadConcurrency, late.withConcurrencyMs, late.keepsUp], [7, 80 * minuteMs, true]);
  assert.equal(capacity({ jobs: 10, concurrency: 6, takes: '40m', every: '1h' }).keepsUp, false);
  // Those of the three comings before still go on.
  const lasting = capacity({ jobs: 5, takes: '6m', every: '90s' });
  assert.deepEqual([lasting.spreadConcurrency, lasting.atOnceConcurrency], [20, 20]);
  assert.throws(() => capacity({ jobs: 0, every: '1h', takes: '5m' }), isCode('invalid_option'));
  assert.throws(() => capacity({ jobs: 1, takes: '5m' }), isCode('invalid_option'));
  assert.throws(() => capacity({ jobs: 1, takes: 'soon', every: '1h' }), isCode('invalid_duration'));
});

test('wrong options are refused', async () => {
  const t = createTestDuly();
  await assert.rejects(t.forecast({ hours: 0 }), isCode('invalid_option'));
  await assert.rejects(t.forecast({ concurrency: 1.5 }), isCode('invalid_option'));
  await assert.rejects(t.forecast({ hour: 3 } as object), isCode('invalid_option'));
  const empty = await t.forecast();
  assert.equal(empty.runs, 0);
  assert.equal(empty.load.concurrencyNeeded, 0);
  assert.equal(empty.load.peakAt, null);
  await t.stop();
});

function isCode(code: Parameters<typeof isDulyError>[1]) {
  return (error: unknown) => isDulyError(error, code);
}
