import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EveryOptions, RuleInput } from '../../src/index.ts';
import { scene, short } from './setup.ts';

/** What is to come, as the schedule says and as its preview says. */
async function coming(
  duly: ReturnType<typeof scene>['t'],
): Promise<{ next: string; at: string; preview: string[] }> {
  const { nextSlot, nextRunAt } = await duly.schedules.get('nightly');
  return {
    next: nextSlot === null ? '–' : short(nextSlot),
    at: nextRunAt === null ? '–' : short(nextRunAt),
    preview: (await duly.schedules.preview('nightly', { count: 3 })).map(short),
  };
}

test('a preview begins with the slot that has come and is not due yet', async (t) => {
  const { t: duly, every } = scene(t);
  await every('0 * * * *', { jitter: '50m' });
  await duly.advance('1h 1s');
  const { nextSlot } = await duly.schedules.get('nightly');
  assert.equal(nextSlot && short(nextSlot), '01-15T11:00');
  assert.deepEqual((await coming(duly)).preview, ['01-15T11:00', '01-15T12:00', '01-15T13:00']);
  await duly.advance('50m');
  assert.deepEqual((await coming(duly)).preview, ['01-15T12:00', '01-15T13:00', '01-15T14:00']);
});

for (const [what, rule, options, next, at, preview] of [
  ['skip', '0 * * * *', {}, '13:00', '13:00', ['13:00', '14:00', '15:00']],
  ['latest', '0 * * * *', { onResume: 'latest' }, '12:00', '12:30', ['12:00', '13:00', '14:00']],
  ['all', '0 * * * *', { onResume: 'all' }, '11:00', '12:30', ['11:00', '12:00', '13:00']],
  [
    'all, one of them',
    '0 * * * *',
    { onResume: 'all', catchUpLimit: 1 },
    '12:00',
    '12:30',
    ['12:00', '13:00', '14:00'],
  ],
  [
    'all, a window',
    '0 * * * *',
    { onResume: 'all', catchUpWindow: '1h' },
    '12:00',
    '12:30',
    ['12:00', '13:00', '14:00'],
  ],
  [
    'latest, too late to start',
    '0 * * * *',
    { onResume: 'latest', startDeadline: '10m' },
    '13:00',
    '13:00',
    ['13:00', '14:00', '15:00'],
  ],
  ['skip, of a delay', { delay: '2h' }, {}, '14:30', '14:30', ['14:30', '16:30', '18:30']],
  [
    'latest, of a delay',
    { delay: '2h' },
    { onResume: 'latest' },
    '12:00',
    '12:30',
    ['12:00', '14:30', '16:30'],
  ],
] as [string, string | RuleInput, EveryOptions, string, string, string[]][]) {
  test(`what is to come after a pause with an end: onResume ${what}`, async (t) => {
    const { t: duly, every, reported } = scene(t);
    await every(rule, options);
    await duly.advance('1m');
    await duly.schedules.pause('nightly', { until: '2027-01-15T12:30:00Z' });
    assert.deepEqual(await coming(duly), {
      next: `01-15T${next}`,
      at: `01-15T${at}`,
      preview: preview.map((time) => `01-15T${time}`),
    });
    // And so it comes.
    const before = reported.length;
    await duly.advance('9h');
    assert.deepEqual(
      reported.slice(before, before + 3).map(({ slot }) => slot?.slice(11, 16)),
      preview,
    );
  });
}

test('a slot of a fixed delay that fell due before a pause is decided when that ends', async (t) => {
  const { t: duly, every, reported } = scene(t);
  await every({ delay: '47m' }, { startAt: '2027-01-15T10:30:00Z', missed: 'skip' });
  await duly.outage('1h');
  await duly.schedules.pause('nightly', { until: '2027-01-15T12:00:00Z' });
  assert.deepEqual((await coming(duly)).next, '01-15T12:47');
  await duly.advance('2h');
  assert.equal(reported[0]?.slot, '2027-01-15T12:47:00.000Z');
});

test('what every() was refused was not given, and a name belongs to one task', async (t) => {
  const { t: duly, task } = scene(t);
  const over = { rrule: 'FREQ=DAILY;COUNT=2', startAt: '2026-01-01T00:00:00Z' };
  await assert.rejects(task.every(over, null, { name: 'nightly' }), { code: 'rule_never_fires' });
  await task.every('0 2 * * *', null, { name: 'nightly' });
  await assert.rejects(task.every('0 3 * * *', null, { name: 'nightly' }), { code: 'schedule_conflict' });
  const other = duly.task({ name: 'other', run: () => undefined });
  await assert.rejects(other.every('0 2 * * *', null, { name: 'nightly' }), {
    code: 'schedule_conflict',
    message: 'The schedule "nightly" was given to the task "report" by this process before.',
  });
  assert.equal((await duly.schedules.get('nightly')).type, 'report');
  await duly.schedules.delete('nightly');
  assert.equal((await other.every('0 3 * * *', null, { name: 'nightly' })).type, 'other');
});

test('a slot is not merged into a trigger with an input of its own, nor such a trigger into a run that waits', async (t) => {
  const {
    t: duly,
    task,
    reported,
  } = scene(t, {
    run: async (_, { clock }) => {
      await clock.sleep(150 * 60_000);
    },
  });
  await task.every('0 * * * *', 'plain', { name: 'nightly', overlap: 'bufferOne' });
  await duly.advance('1h 1m');
  const first = await duly.schedules.trigger('nightly', { input: 'first' });
  await duly.advance('1h');
  const second = await duly.schedules.trigger('nightly', { input: 'second' });
  const same = await duly.schedules.trigger('nightly', { input: 'plain' });
  assert.deepEqual([first.result, second.result, same.result], ['created', 'created', 'merged']);
  await duly.schedules.pause('nightly');
  await duly.advance('12h');
  assert.deepEqual(
    reported.map(({ input }) => input),
    ['plain', 'first', 'plain', 'second'],
  );
});
