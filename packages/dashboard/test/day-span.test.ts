import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDays, dateOf, daySpan } from '../src/time/day-span.ts';

const hours = ({ from, to }: { from: number; to: number }) => (to - from) / 3_600_000;

test('a day has 23, 24 or 25 hours, and the change of the clocks is found', () => {
  assert.deepEqual(daySpan('2027-01-15', 'UTC'), {
    from: Date.parse('2027-01-15T00:00Z'),
    to: Date.parse('2027-01-16T00:00Z'),
    change: null,
  });
  const spring = daySpan('2027-03-14', 'America/New_York');
  assert.equal(hours(spring), 23);
  assert.deepEqual(spring.change, { at: Date.parse('2027-03-14T07:00Z'), byMs: 3_600_000 });
  const autumn = daySpan('2027-10-31', 'Europe/Rome');
  assert.equal(hours(autumn), 25);
  assert.deepEqual(autumn.change, { at: Date.parse('2027-10-31T01:00Z'), byMs: -3_600_000 });
  assert.equal(daySpan('2027-06-01', 'Asia/Kolkata').from, Date.parse('2027-05-31T18:30Z'));
});

test('an instant has a date in a zone', () => {
  assert.equal(dateOf(Date.parse('2027-01-15T20:00Z'), 'Asia/Tokyo'), '2027-01-16');
  assert.equal(addDays('2027-02-28', 1), '2027-03-01');
});
