import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Duly } from '@duly/core';
import { createTestDuly } from '@duly/core/testing';
import { overdueNow } from '../../src/alerts/schedule-facts.ts';

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

/** What is overdue now, in a few words. */
async function overdueOfName(duly: Duly & { clock: { now(): number } }, name: string) {
  const overdue = await overdueNow(duly, await duly.schedules.get(name), duly.clock.now());
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
    assert.equal(await overdueOfName(duly, 'hourly'), null);
    await duly.outage('10m');
    assert.equal(await overdueOfName(duly, 'hourly'), null);
    await duly.outage('2m');
    assert.deepEqual(await overdueOfName(duly, 'hourly'), { slot: '11:00', run: null });
  });
}

test('a success settles it, a failure does not, a later success does', async (t) => {
  const { duly, task, outcome } = setup(t);
  await task.every('0 * * * *', undefined, { name: 'hourly', finishDeadline: '10m' });
  await duly.advance('75m');
  assert.equal(await overdueOfName(duly, 'hourly'), null);
  outcome.fails = true;
  await duly.advance('60m');
  assert.deepEqual(await overdueOfName(duly, 'hourly'), { slot: '12:00', run: 'FAILED' });
  outcome.fails = false;
  await duly.schedules.trigger('hourly');
  await duly.runDue();
  assert.equal(await overdueOfName(duly, 'hourly'), null);
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
  for (const name of ['free', 'paused', 'ends']) assert.equal(await overdueOfName(duly, name), null, name);
});

test('a run whose job is past its retention is judged by what the schedule remembers', async (t) => {
  const { duly, task } = setup(t);
  await task.every('0 0 1 * *', undefined, { name: 'monthly', finishDeadline: '1h' });
  await duly.advance('27 days');
  const schedule = await duly.schedules.get('monthly');
  assert.equal(schedule.lastRun?.status, null);
  assert.equal(await overdueOfName(duly, 'monthly'), null);
});

test('slots of a new rule from before the edit were never promised, those after it are', async (t) => {
  const { duly, task } = setup(t);
  await task.every('0 * * * *', undefined, { name: 'edited', finishDeadline: '10m' });
  await duly.advance('65m');
  await duly.schedules.edit('edited', { cron: '30 * * * *' });
  // 10:30 of the new rule is past its deadline, and nobody had promised it.
  assert.equal(await overdueOfName(duly, 'edited'), null);
  await duly.advance('10m');
  assert.equal(await overdueOfName(duly, 'edited'), null);
  await duly.outage('26m');
  assert.deepEqual(await overdueOfName(duly, 'edited'), { slot: '11:30', run: null });
});

test('a run that failed under the old rule stays overdue after the edit', async (t) => {
  const { duly, task, outcome } = setup(t);
  await task.every('0 * * * *', undefined, { name: 'edited', finishDeadline: '10m' });
  outcome.fails = true;
  await duly.advance('75m');
  await duly.schedules.edit('edited', { cron: '12 * * * *' });
  assert.deepEqual(await overdueOfName(duly, 'edited'), { slot: '11:00', run: 'FAILED' });
});

for (const onResume of ['skip', 'latest'] as const) {
  test(`slots that fell in a pause are not overdue after it (onResume ${onResume})`, async (t) => {
    const { duly, task, outcome } = setup(t);
    await task.every('0 * * * *', undefined, { name: 'paused', finishDeadline: '10m', onResume });
    await duly.advance('65m');
    await duly.schedules.pause('paused');
    await duly.advance('3h');
    outcome.fails = true;
    await duly.schedules.resume('paused');
    await duly.runDue();
    await duly.advance('5m');
    assert.equal(await overdueOfName(duly, 'paused'), null);
    await duly.advance('10m');
    const held = { slot: '14:00', run: 'FAILED' };
    assert.deepEqual(await overdueOfName(duly, 'paused'), onResume === 'skip' ? null : held);
  });
}

test('a slot that was skipped by hand, or that a calendar excludes, is not overdue', async (t) => {
  const { duly, task } = setup(t);
  await task.every('0 * * * *', undefined, { name: 'skipped', finishDeadline: '10m' });
  await task.every({ cron: '0 * * * *', exclude: ['2027-01-16'] }, undefined, {
    name: 'excluded',
    finishDeadline: '10m',
  });
  await duly.advance('65m');
  await duly.schedules.skipNext('skipped');
  await duly.advance('1h');
  await duly.advance('10m');
  assert.equal(await overdueOfName(duly, 'skipped'), null);
  await duly.advance('12h');
  assert.equal(await overdueOfName(duly, 'excluded'), null);
});
