import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Duly, Schedule } from '@duly/core';
import { createTestDuly } from '@duly/core/testing';
import { deadlineSlotAt, isSettledBy, overdueOf } from '../../src/alerts/overdue.ts';

function setup(t: TestContext) {
  const duly = createTestDuly({ start: '2027-01-15T10:00:00Z' });
  t.after(() => duly.stop());
  const outcome = { fails: false };
  const task = duly.task({
    name: 'report',
    retry: 1,
    run: () => {
      if (outcome.fails) throw new Error('no');
    },
  });
  return { duly, task, outcome };
}

/** What is overdue now, found in the way that facts are gathered. */
async function overdueNow(duly: Duly & { clock: { now(): number } }, name: string) {
  const schedule: Schedule = await duly.schedules.get(name);
  const slotAt = deadlineSlotAt(schedule, duly.clock.now());
  if (slotAt === null || isSettledBy(schedule, slotAt) === true) return null;
  const last = await duly.jobs({ schedule: schedule.id, status: 'COMPLETED' }).first();
  const success =
    last === null
      ? null
      : { slotAt: last.slot?.getTime() ?? null, finishedAt: last.finishedAt?.getTime() ?? 0 };
  const overdue = overdueOf(schedule, slotAt, success);
  return overdue && { slot: new Date(overdue.slotAt).toISOString().slice(11, 16), run: overdue.runStatus };
}

for (const rule of [
  { cron: '0 * * * *' },
  { rate: '1h' },
  { rrule: 'FREQ=HOURLY', startAt: '2027-01-15T10:00:00Z' },
] as const) {
  test(`a schedule (${Object.keys(rule)[0]}) that never ran is overdue after its first deadline`, async (t) => {
    const { duly, task } = setup(t);
    await task.every(rule, undefined, { name: 'hourly', finishDeadline: '10m' });
    await duly.outage('59m');
    assert.equal(await overdueNow(duly, 'hourly'), null);
    await duly.outage('10m');
    assert.equal(await overdueNow(duly, 'hourly'), null);
    await duly.outage('2m');
    assert.deepEqual(await overdueNow(duly, 'hourly'), { slot: '11:00', run: null });
  });
}

test('a success settles it, a failure does not, a later success does', async (t) => {
  const { duly, task, outcome } = setup(t);
  await task.every('0 * * * *', undefined, { name: 'hourly', finishDeadline: '10m' });
  await duly.advance('75m');
  assert.equal(await overdueNow(duly, 'hourly'), null);
  outcome.fails = true;
  await duly.advance('60m');
  assert.deepEqual(await overdueNow(duly, 'hourly'), { slot: '12:00', run: 'FAILED' });
  outcome.fails = false;
  await duly.schedules.trigger('hourly');
  await duly.runDue();
  assert.equal(await overdueNow(duly, 'hourly'), null);
});

test('one that is paused, has no deadline or is past its end is not overdue', async (t) => {
  const { duly, task } = setup(t);
  await task.every('0 * * * *', undefined, { name: 'free' });
  await task.every('0 * * * *', undefined, { name: 'paused', finishDeadline: '10m' });
  await duly.schedules.pause('paused');
  await task.every('0 * * * *', undefined, {
    name: 'ends',
    finishDeadline: '10m',
    endAt: '2027-01-15T11:30:00Z',
  });
  await duly.advance('61m');
  await duly.outage('5h');
  for (const name of ['free', 'paused', 'ends']) assert.equal(await overdueNow(duly, name), null, name);
});

test('a run whose job is past its retention is judged by what the schedule remembers', async (t) => {
  const { duly, task } = setup(t);
  await task.every('0 0 1 * *', undefined, { name: 'monthly', finishDeadline: '1h' });
  await duly.advance('27 days');
  const schedule = await duly.schedules.get('monthly');
  assert.equal(schedule.lastRun?.status, null);
  assert.equal(await overdueNow(duly, 'monthly'), null);
});
