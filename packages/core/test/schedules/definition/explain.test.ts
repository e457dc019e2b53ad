import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import { resolveRule } from '../../../src/schedules/calendar/rule.ts';
import type { RuleInput } from '../../../src/schedules/calendar/rule-input.ts';
import { explain } from '../../../src/schedules/definition/explain.ts';

const now = Date.UTC(2027, 0, 1);

const sentences: [string | RuleInput, string][] = [
  [{ cron: '30 2 * * MON-FRI', timezone: 'Asia/Kolkata' }, 'At 02:30 on weekdays, in Asia/Kolkata.'],
  ['* * * * *', 'Every minute, in UTC.'],
  ['*/15 * * * *', 'Every 15 minutes, in UTC.'],
  ['0/15 * * * *', 'Every 15 minutes, in UTC.'],
  ['5/10 * * * *', 'Every 10 minutes from minute 5 on, in UTC.'],
  ['*/59 * * * *', 'At minutes 0 and 59 of every hour, in UTC.'],
  ['*/40 * * * *', 'At minutes 0 and 40 of every hour, in UTC.'],
  ['*/7 * * * *', 'At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour, in UTC.'],
  ['10/50 * * * *', 'At minute 10 of every hour, in UTC.'],
  ['7/4 * * * *', 'Every 4 minutes from minute 7 through 59, in UTC.'],
  ['10-50/20 * * * *', 'Every 20 minutes from minute 10 through 50, in UTC.'],
  ['*/20,5 * * * *', 'At minutes 0, 5, 20 and 40 of every hour, in UTC.'],
  ['*,1 * * * *', 'Every minute, in UTC.'],
  ['*/25 */7 * * *', 'At minutes 0, 25 and 50 of every 7th hour, counted from midnight, in UTC.'],
  ['*/40 * * * * *', 'At seconds 0 and 40 of every minute, in UTC.'],
  ['0 0 10-20/5 * *', 'At 00:00 on the 10th, the 15th and the 20th, in UTC.'],
  ['0 0 */31 * *', 'At 00:00 on the 1st, in UTC.'],
  ['0 0 1-31 * *', 'At 00:00 every day, in UTC.'],
  ['0 0 1-31 * MON', 'At 00:00 every day, in UTC.'],
  ['0 0 13 * 0-7', 'At 00:00 every day, in UTC.'],
  ['0 0 * * 0-7', 'At 00:00 every day, in UTC.'],
  ['0 0 * * MON-FRI/2', 'At 00:00 on Monday, Wednesday and Friday, in UTC.'],
  ['0 0 1 */5 *', 'At 00:00 on the 1st of January, June and November, in UTC.'],
  ['0 0 * */12 *', 'At 00:00 every day in January, in UTC.'],
  ['0 * * * *', 'Every hour, in UTC.'],
  ['5 * * * *', 'At minute 5 of every hour, in UTC.'],
  ['0,30 * * * *', 'At minutes 0 and 30 of every hour, in UTC.'],
  ['0 */2 * * *', 'Every 2 hours, counted from midnight, in UTC.'],
  ['30 */2 * * *', 'At minute 30 of every 2nd hour, in UTC.'],
  ['0 9-17 * * *', 'Every hour from 09:00 through 17:00, in UTC.'],
  ['0 8-20/4 * * *', 'Every 4 hours from 08:00 through 20:00, in UTC.'],
  ['*/15 9-17 * * MON-FRI', 'Every 15 minutes from 09:00 through 17:59 on weekdays, in UTC.'],
  ['* 2 * * *', 'Every minute from 02:00 through 02:59, in UTC.'],
  ['0 9,17 * * *', 'At 09:00 and 17:00 every day, in UTC.'],
  ['15 30 9 * * *', 'At 09:30:15 every day, in UTC.'],
  ['* * * * * *', 'Every second, in UTC.'],
  ['*/10 * * * * *', 'Every 10 seconds, in UTC.'],
  ['@weekly', 'At 00:00 on Sunday, in UTC.'],
  ['0 0 1 1 *', 'At 00:00 on the 1st of January, in UTC.'],
  ['0 8 * 6-8 *', 'At 08:00 every day in June through August, in UTC.'],
  ['0 0 1 */3 *', 'At 00:00 on the 1st of every 3rd month, in UTC.'],
  ['0 0 L * ?', 'At 00:00 on the last day of the month, in UTC.'],
  ['0 0 L-3 * ?', 'At 00:00 on the day 3 before the last of the month, in UTC.'],
  ['0 0 LW * ?', 'At 00:00 on the last weekday of the month, in UTC.'],
  ['0 0 15W * ?', 'At 00:00 on the weekday nearest the 15th of the month, in UTC.'],
  ['0 0 ? * MON#2', 'At 00:00 on the 2nd Monday of the month, in UTC.'],
  ['0 0 ? * 5L', 'At 00:00 on the last Friday of the month, in UTC.'],
  ['0 0 13 * FRI', 'At 00:00 on the 13th or on Friday, in UTC.'],
  ['5 4 * * SUN,7', 'At 04:05 on Sunday, in UTC.'],
  ['0 0 1 * */2', 'At 00:00 on the 1st, if that is Sunday, Tuesday, Thursday or Saturday, in UTC.'],
  ['0 0 */2 * MON-FRI', 'At 00:00 on every 2nd day of the month, if that is a weekday, in UTC.'],
  ['0 0 */2 * MON', 'At 00:00 on every 2nd day of the month, if that is Monday, in UTC.'],
  ['0 0 * * SAT,SUN', 'At 00:00 on weekends, in UTC.'],
  ['0 0 * * MON,WED,FRI', 'At 00:00 on Monday, Wednesday and Friday, in UTC.'],
  ['0 0 0 1 1 ? 2030', 'At 00:00 on the 1st of January in 2030, in UTC.'],
  [{ rate: '90m' }, 'Every 1 hour 30 minutes, counted from its creation.'],
  [{ rate: '1h', anchor: 'epoch' }, 'Every hour, counted from 1970-01-01T00:00Z.'],
  [
    { rate: '1d', startAt: '2027-01-01T09:00:00Z' },
    'Every day, counted from its start, from 2027-01-01 09:00 (UTC).',
  ],
  [
    { rrule: 'FREQ=MONTHLY', startAt: '2027-01-31T09:00:00Z' },
    'Every month on the 31st, where there is one, at 09:00, in UTC, from 2027-01-31 09:00.',
  ],
  [
    { rrule: 'FREQ=YEARLY', startAt: '2027-01-31T09:00:00Z' },
    'Every year on 31 January at 09:00, in UTC, from 2027-01-31 09:00.',
  ],
  [
    { rrule: 'DTSTART:20280229T090000\nRRULE:FREQ=YEARLY', startAt: '2030-01-01T00:00:00Z' },
    'Every year on 29 February, where there is one, at 09:00, in UTC, counted from 2028-02-29 09:00, from 2030-01-01 00:00.',
  ],
  [
    { rrule: 'FREQ=WEEKLY', startAt: '2027-01-31T09:00:00Z' },
    'Every week on Sunday at 09:00, in UTC, from 2027-01-31 09:00.',
  ],
  [
    {
      rrule:
        'DTSTART:20270101T090000\nRRULE:FREQ=DAILY\nRDATE:20270105T120000,20270106T120000Z\nEXDATE:20270102T090000',
      exclude: '2027-12-25',
    },
    'Every day at 09:00, in UTC, from 2027-01-01 09:00, and also on 2027-01-05 12:00 and 2027-01-06 12:00, except on 2027-01-02 09:00 and on 2027-12-25.',
  ],
  [{ delay: '10m' }, '10 minutes after the previous run has ended.'],
  [
    { rrule: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR', startAt: '2027-01-01T09:00:00Z' },
    'Every 2 weeks on Monday and Friday at 09:00, in UTC, from 2027-01-01 09:00.',
  ],
  [
    { rrule: 'DTSTART;TZID=Asia/Kolkata:20270101T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=10' },
    'Every month on the last Friday at 09:00 (10 times), in Asia/Kolkata, from 2027-01-01 09:00.',
  ],
  [
    {
      cron: '0 9 * * *',
      timezone: 'Asia/Kolkata',
      exclude: ['2027-12-25', '* * 24 12 *'],
      endAt: '2028-01-01T00:00:00Z',
    },
    'At 09:00 every day, in Asia/Kolkata, until 2028-01-01 05:30, except on 2027-12-25 and when the cron "* * 24 12 *" matches.',
  ],
];

for (const [rule, sentence] of sentences) {
  test(`${JSON.stringify(rule)} in words`, () => {
    assert.equal(explain(rule, { now }), sentence);
  });
}

test('a coming change of the clock is told if it falls on a fixed time', () => {
  const timezone = 'America/New_York';
  assert.equal(
    explain({ cron: '30 2 * * *', timezone }, { now }),
    'At 02:30 every day, in America/New_York. 02:30 does not exist on 2027-03-14: it runs once at the first instant after the gap.',
  );
  assert.equal(
    explain({ cron: '30 1 * * *', timezone, dst: { repeat: 'both' } }, { now }),
    'At 01:30 every day, in America/New_York. 01:30 comes twice on 2027-11-07: it runs both times.',
  );
  assert.equal(
    explain({ cron: '30 2 * * MON', timezone }, { now }),
    'At 02:30 on Monday, in America/New_York.',
  );
  assert.equal(
    explain({ cron: '30 4 * * *', timezone }, { now }),
    'At 04:30 every day, in America/New_York.',
  );
  assert.equal(
    explain({ cron: '*/30 * * * *', timezone }, { now }),
    'Every 30 minutes, in America/New_York.',
  );
});

test('a resolved rule is explained, and a wrong one refused', () => {
  assert.equal(explain(resolveRule('@daily'), { now }), 'At 00:00 every day, in UTC.');
  assert.throws(
    () => explain('0 25 * * *'),
    (error) => isDulyError(error, 'invalid_cron'),
  );
});

test('what contradicts itself is refused, as it is by preview', () => {
  for (const rule of [{ rate: '10m' }, { delay: '10m' }]) {
    assert.throws(() => explain({ ...rule, dst: { gap: 'skip' } }), { code: 'policy_conflict' });
  }
});
