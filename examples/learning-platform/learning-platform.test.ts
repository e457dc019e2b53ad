import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineSchool } from './learning-platform.ts';

function createSchool() {
  const t = createTestDuly({ start: '2027-01-15T00:00:00Z' });
  const [reminded, reports]: [string[], string[]] = [[], []];
  let cleanUps = 0;
  const school = defineSchool(t, {
    remind: async (id) => void reminded.push(`${id} ${t.now.toISOString()}`),
    report: async (day) => void reports.push(day),
    cleanUp: async () => ++cleanUps,
  });
  return { t, school, reminded, reports, cleanUps: () => cleanUps };
}

test('a reminder comes 24 hours before the class, and moves with it', async () => {
  const { t, school, reminded } = createSchool();
  await school.plan('algebra', new Date('2027-01-18T10:00:00Z'));
  await school.plan('botany', new Date('2027-01-18T11:00:00Z'));
  await school.plan('chess', new Date('2027-01-18T12:00:00Z'));
  await t.advance('1 day');
  await school.plan('algebra', new Date('2027-01-20T09:00:00Z'));
  await school.callOff('chess');
  await t.advanceTo('2027-01-21T00:00:00Z');
  assert.deepEqual(reminded, ['botany 2027-01-17T11:00:00.000Z', 'algebra 2027-01-19T09:00:00.000Z']);
  await t.stop();
});

test('every night has its report, and an outage has one clean-up', async () => {
  const { t, reports, cleanUps } = createSchool();
  await t.advanceTo('2027-01-17T00:00:00Z');
  assert.deepEqual(reports, ['2027-01-16', '2027-01-17'], 'at 20:30 UTC of the day before');
  const before = cleanUps();
  await t.outage('3 days');
  await t.advance('5m');
  assert.deepEqual(
    reports,
    ['16', '17', '18', '19', '20'].map((day) => `2027-01-${day}`),
  );
  assert.equal(cleanUps() - before, 1, 'one for 288 slots');
  await t.stop();
});
