import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerSlot } from '../../src/index.ts';
import { scene } from './setup.ts';

const minutesOf = (days: number): number => days * 24 * 60;

interface Ledger {
  schedules: { slots(name: string): Promise<LedgerSlot[]> };
}

/** The one row of slots that were missed. */
async function missedRow(duly: Ledger): Promise<LedgerSlot> {
  const rows = (await duly.schedules.slots('nightly')).filter(({ decision }) => decision === 'missed');
  assert.equal(rows.length, 1);
  return rows[0] as LedgerSlot;
}

/** How many slots were decided in another way: the newest ones, which are caught up on or in time. */
async function otherCount(duly: Ledger): Promise<number> {
  const rows = (await duly.schedules.slots('nightly')).filter(
    ({ decision }) => decision !== null && decision !== 'missed',
  );
  return rows.reduce((sum, { count }) => sum + (count ?? Number.NaN), 0);
}

for (const rule of [{ cron: '* * * * *' }, { rate: '1m', anchor: 'epoch' as const }]) {
  test(`a long outage counts what was missed, without what is excluded: ${JSON.stringify(rule)}`, async (t) => {
    const { t: duly, every, reported } = scene(t);
    await every(rule, { exclude: ['* 3 * * *', '2027-01-20/2027-01-22'] });
    await duly.outage('30 days');
    await duly.runDue();
    const row = await missedRow(duly);
    // 27 of the 30 days are open, and of each of them 23 hours.
    const missedCount = minutesOf(27) - 27 * 60 - (await otherCount(duly));
    assert.equal(row.count, missedCount);
    assert.equal(reported[0]?.covers?.count, missedCount);
    for (const [slot, status] of [
      ['2027-01-16T02:59', 'missed'],
      ['2027-01-16T03:00', 'excluded'],
      ['2027-01-21T12:00', 'excluded'],
      ['2027-01-23T12:00', 'missed'],
    ] as const) {
      const why = await duly.why('nightly', slot);
      assert.deepEqual([why.status, why.decision], [status, status], slot);
      assert.equal(why.reason, status === 'excluded' ? 'exclude' : 'late, not the latest');
      assert.match(
        why.sentence,
        status === 'excluded' ? /a calendar of "exclude" names it/ : /It was missed/,
      );
    }
  });
}

test('what is late while nobody is there is counted without what is excluded', async (t) => {
  const { t: duly, every } = scene(t);
  await every('* * * * *', { exclude: '* 12 * * *' });
  await duly.outage('4h');
  const late = (await duly.schedules.slots('nightly')).find(({ status }) => status === 'late');
  assert.equal(late?.count, 3 * 60);
});

test('a later rule rewrites neither the count of a row nor what became of a slot in it', async (t) => {
  const { t: duly, every } = scene(t);
  await every('* * * * *', { exclude: '* 3 * * *' });
  await duly.outage('5 days');
  await duly.runDue();
  const { count, slot, to } = await missedRow(duly);
  assert.equal(count, minutesOf(5) - 5 * 60 - (await otherCount(duly)));
  for (const changes of [
    { cron: '0 0 * * *' },
    { cron: '* * * * *', exclude: '* 4 * * *' },
    { delay: '10m', exclude: null, missed: 'skip' as const },
  ]) {
    await duly.schedules.edit('nightly', changes);
    const row = await missedRow(duly);
    assert.deepEqual([row.count, row.slot, row.to], [count, slot, to]);
    const statuses = [];
    for (const at of ['2027-01-16T03:00', '2027-01-16T04:00', '2027-01-16T04:17']) {
      const why = await duly.why('nightly', `${at}:00Z`);
      statuses.push(why.status);
      if (why.status === 'missed') assert.match(why.sentence, /missed: "latest" runs only that one/);
    }
    assert.deepEqual(statuses, ['excluded', 'missed', 'missed']);
    const none = await duly.why('nightly', '2027-01-16T04:17:30Z');
    assert.equal(none.status, 'none');
  }
});

test('a rate that was edited is asked by the rhythm that it had', async (t) => {
  const { t: duly, every } = scene(t, { start: '2027-01-15T10:00:07Z' });
  await every({ rate: '10m' });
  await duly.outage('3 days');
  await duly.runDue();
  await duly.schedules.edit('nightly', { rate: '7m' });
  const [row, before] = [await missedRow(duly), await duly.why('nightly', '2027-01-16T10:20:07Z')];
  assert.equal(row.count, 3 * 24 * 6 - (await otherCount(duly)));
  assert.equal(before.status, 'missed');
});

test('a run of a slot that a row spans and does not hold has a line of its own', async (t) => {
  const { t: duly, every, ledger } = scene(t);
  await every('0 * * * *', { missed: 'skip' });
  await duly.outage('5h 15m');
  await duly.runDue();
  await duly.schedules.backfill('nightly', { from: '2027-01-15T12:00:00Z', to: '2027-01-15T12:00:00Z' });
  await duly.schedules.edit('nightly', { cron: '30 * * * *' });
  await duly.schedules.backfill('nightly', { from: '2027-01-15T12:30:00Z', to: '2027-01-15T12:30:00Z' });
  await duly.runDue();
  assert.deepEqual(await ledger(), ['01-15T11:00..01-15T15:00 ×5 missed (late)', '01-15T12:30 completed']);
  const lines = (await duly.schedules.slots('nightly')).reverse();
  assert.deepEqual(
    lines.map(({ runs }) => runs.map(({ slot }) => slot?.toISOString().slice(11, 16))),
    [['12:00'], ['12:30'], []],
  );
});

test('two lives of a schedule with a slot at one instant list each its own run', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ delay: '10m' });
  await duly.runDue();
  await duly.schedules.delete('nightly');
  await every({ delay: '10m' });
  await duly.runDue();
  const lines = await duly.schedules.slots('nightly', { to: '2027-01-15T10:05:00Z' });
  assert.deepEqual(
    lines.map(({ decision, runs }) => [decision, runs.length]),
    [
      ['fired', 1],
      ['fired', 1],
    ],
  );
  const ids = lines.map(({ runs }) => runs[0]?.id);
  assert.equal(new Set(ids).size, 2);
});

test('what a life of a schedule missed does not list what the next one ran', async (t) => {
  const { t: duly, every } = scene(t);
  await every({ delay: '10m' });
  await duly.schedules.delete('nightly');
  await every({ delay: '10m' });
  await duly.runDue();
  const lines = await duly.schedules.slots('nightly', { to: '2027-01-15T10:05:00Z' });
  assert.deepEqual(
    lines.map(({ status, reason, runs }) => [status, reason, runs.length]),
    [
      ['completed', null, 1],
      ['missed', 'deleted', 0],
    ],
  );
});
