import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calendarCells, datesBetween } from '../src/charts/calendar-cells.ts';

test('a cell of the calendar has the worst of its slots, in the zone of the schedule', () => {
  const slot = (at: string, tone: 'good' | 'bad' | 'quiet', count = 1) => ({ slot: at, to: at, count, tone });
  const slots = [
    slot('2027-01-15T23:30:00Z', 'good'),
    slot('2027-01-16T01:30:00Z', 'bad'),
    slot('2027-01-16T02:30:00Z', 'quiet', 5),
  ];
  const cells = calendarCells(slots, 'Asia/Kolkata', 'day');
  assert.deepEqual(
    [...cells],
    [['2027-01-16', { tone: 'bad', slotCount: 7, counts: { good: 1, bad: 1, quiet: 5 } }]],
  );
  assert.deepEqual(
    [...calendarCells(slots, 'UTC', 'hour').keys()],
    ['2027-01-15 23', '2027-01-16 1', '2027-01-16 2'],
  );
  assert.deepEqual(datesBetween('2027-02-27', '2027-03-01'), ['2027-02-27', '2027-02-28', '2027-03-01']);
});
