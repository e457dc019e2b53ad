import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../../test/property.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { type Rule, resolveRule } from '../../../src/schedules/calendar/rule.ts';
import type { RuleInput } from '../../../src/schedules/calendar/rule-input.ts';
import { readClock } from './brute-force.ts';

const now = Date.UTC(2026, 10, 15);
const at = (text: string): number => Date.parse(text);

function slots(rule: Rule, after: string, count: number): string[] {
  const found: string[] = [];
  for (let next = rule.next(at(after)); next !== null && found.length < count; next = rule.next(next)) {
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
  }
  return found;
}

function refusalOf(rule: unknown): { code: string; message: string; field: unknown } {
  try {
    resolveRule(rule as RuleInput, { now });
  } catch (error) {
    if (!isDulyError(error)) throw error;
    return { code: error.code, message: error.message, field: error.details.field };
  }
  return assert.fail(`${JSON.stringify(rule)} was not refused`);
}

test('dates are those of the zone, and ranges include both ends', () => {
  const rule = resolveRule({
    cron: '0 23 * * *',
    timezone: 'America/New_York',
    exclude: ['2027-01-02', '2027-01-04/2027-01-06'],
  });
  // 23:00 in New York is 04:00 of the next day in UTC.
  assert.deepEqual(slots(rule, '2027-01-01T12:00:00Z', 3), [
    '2027-01-02T04:00:00Z',
    '2027-01-04T04:00:00Z',
    '2027-01-08T04:00:00Z',
  ]);
});

test('a cron leaves out every minute that it matches', () => {
  const rule = resolveRule({ cron: '*/20 * * * *', exclude: '* 9-16 * * MON-FRI' });
  assert.deepEqual(slots(rule, '2027-01-04T08:30:00Z', 2), ['2027-01-04T08:40:00Z', '2027-01-04T17:00:00Z']);
  const minute = resolveRule({ cron: '*/20 * * * * *', exclude: '1 0 * * *' });
  assert.deepEqual(slots(minute, '2027-01-04T00:00:40Z', 1), ['2027-01-04T00:02:00Z']);
  const second = resolveRule({ cron: '*/20 * * * * *', exclude: '20 1 0 * * *' });
  assert.deepEqual(slots(second, '2027-01-04T00:01:00Z', 1), ['2027-01-04T00:01:40Z']);
});

test('a recurrence rule leaves out its days', () => {
  const rule = resolveRule({
    cron: '0 9 * * *',
    exclude: { rrule: 'FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24,25' },
  });
  assert.deepEqual(slots(rule, '2030-12-23T00:00:00Z', 2), ['2030-12-23T09:00:00Z', '2030-12-26T09:00:00Z']);
  const thanksgiving = resolveRule({
    cron: '0 9 * * THU',
    exclude: { rrule: 'FREQ=YEARLY;BYMONTH=11;BYDAY=4TH' },
  });
  assert.deepEqual(slots(thanksgiving, '2027-11-18T00:00:00Z', 2), [
    '2027-11-18T09:00:00Z',
    '2027-12-02T09:00:00Z',
  ]);
  const fortnight = resolveRule({
    rate: '1d',
    startAt: '2027-01-01T12:00:00Z',
    exclude: {
      rrule: 'DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY;INTERVAL=2;COUNT=2\nRDATE:20270104T000000Z',
    },
  });
  assert.deepEqual(slots(fortnight, '2026-01-01T00:00:00Z', 3), [
    '2027-01-02T12:00:00Z',
    '2027-01-05T12:00:00Z',
    '2027-01-06T12:00:00Z',
  ]);
});

test('a rate, a delay and a recurrence rule leave out the same', () => {
  const exclude = ['2027-01-02', '* 0-11 3 1 *'];
  const startAt = '2027-01-01T18:00:00Z';
  assert.deepEqual(slots(resolveRule({ rate: '6h', startAt, exclude }), startAt, 2), [
    '2027-01-03T12:00:00Z',
    '2027-01-03T18:00:00Z',
  ]);
  assert.deepEqual(slots(resolveRule({ delay: '6h', exclude }), startAt, 2), [
    '2027-01-03T12:00:00Z',
    '2027-01-03T18:00:00Z',
  ]);
  assert.deepEqual(slots(resolveRule({ rrule: 'FREQ=DAILY;BYHOUR=6,18', startAt, exclude }), startAt, 2), [
    '2027-01-03T18:00:00Z',
    '2027-01-04T06:00:00Z',
  ]);
  assert.deepEqual(slots(resolveRule({ rrule: 'FREQ=HOURLY;INTERVAL=6', startAt, exclude }), startAt, 2), [
    '2027-01-03T12:00:00Z',
    '2027-01-03T18:00:00Z',
  ]);
  const delay = resolveRule({ delay: '5h', exclude: '2027-01-02' });
  // Each slot that is left out restarts the delay: 23:00, then 04:00, 09:00, 14:00, 19:00, 00:00.
  assert.deepEqual(slots(delay, startAt, 2), ['2027-01-01T23:00:00Z', '2027-01-03T00:00:00Z']);
  assert.deepEqual(
    [delay.isExcluded(at('2027-01-02T04:00:00Z')), delay.isExcluded(at('2027-01-03T00:00:00Z'))],
    [true, false],
  );
});

test('what is left are the slots whose clock shows nothing excluded, forwards, backwards and counted', () => {
  const base = fc.constantFrom<RuleInput>(
    { cron: '*/30 * * * *' },
    { cron: '15 3,9,21 * * *' },
    { cron: '0 0 12 * * 1-5' },
    { rate: '50m', anchor: 'epoch' },
    { rate: '260s', anchor: 'epoch' },
  );
  const item = fc.oneof(
    fc.integer({ min: 1, max: 28 }).map((day) => `2027-03-${String(day).padStart(2, '0')}`),
    fc.integer({ min: 1, max: 20 }).map((day) => `2027-03-${String(day).padStart(2, '0')}/2027-03-28`),
    fc.constantFrom(
      '* 9-17 * * *',
      '*/2 * * * MON',
      '* * 14 * *',
      '30 * * * *',
      '* 0-11,20 10-20 3 *',
      '0,15 3,12 * * *',
    ),
  );
  const covers = (item: string, wall: number): boolean => {
    const date = new Date(wall);
    const [hour, minute, day, weekday] = [
      date.getUTCHours(),
      date.getUTCMinutes(),
      date.getUTCDate(),
      date.getUTCDay(),
    ];
    const known: Record<string, boolean> = {
      '* 9-17 * * *': hour >= 9 && hour <= 17,
      '*/2 * * * MON': minute % 2 === 0 && weekday === 1,
      '* * 14 * *': day === 14,
      '30 * * * *': minute === 30,
      '* 0-11,20 10-20 3 *':
        (hour <= 11 || hour === 20) && day >= 10 && day <= 20 && date.getUTCMonth() === 2,
      '0,15 3,12 * * *': [0, 15].includes(minute) && [3, 12].includes(hour),
    };
    if (item in known) return known[item] as boolean;
    const [from, to = from] = item.split('/') as [string, string?];
    const shown = date.toISOString().slice(0, 10);
    return shown >= from && shown <= (to as string);
  };
  const timezones = fc.constantFrom('UTC', 'Europe/Rome', 'Asia/Kolkata', 'America/St_Johns');
  fc.assert(
    fc.property(
      base,
      fc.array(item, { minLength: 1, maxLength: 3 }),
      timezones,
      (input, exclude, timezone) => {
        const rule = resolveRule({ ...input, timezone, exclude });
        // No change of the clock in these weeks but the one of St. John's, which follows real time here or at 02:00.
        const [from, to] = [at('2027-03-02T00:00:00Z'), at('2027-03-26T00:00:00Z')];
        const all: number[] = [];
        for (let next = rule.all.next(from - 1); next !== null && next <= to; next = rule.all.next(next))
          all.push(next);
        const expected = all.filter((slot) => !exclude.some((one) => covers(one, readClock(timezone, slot))));
        const forward: number[] = [];
        for (let next = rule.next(from - 1); next !== null && next <= to; next = rule.next(next))
          forward.push(next);
        assert.deepEqual(forward, expected);
        const backward: number[] = [];
        for (let last = rule.previous(to + 1); last !== null && last >= from; last = rule.previous(last))
          backward.push(last);
        assert.deepEqual(backward.reverse(), expected);
        assert.equal(rule.countBetween(from, to), expected.length);
        assert.deepEqual(
          all.filter((slot) => rule.isExcluded(slot)),
          all.filter((slot) => !expected.includes(slot)),
        );
      },
    ),
    cases(150),
  );
});

test('an exclude that leaves nothing is refused when the rule is created', () => {
  const rules: RuleInput[] = [
    { cron: '0 9 * * *', exclude: '* * * * *' },
    { cron: '0 9 * * *', exclude: '0 9 * * *' },
    { cron: '0 9 * * *', exclude: ['* 0-11 * * *', '* 9-23 * * *'] },
    { cron: '0 9 * * MON', exclude: '* * * * MON' },
    { cron: '* * * * * *', exclude: ['*/2 * * * * *', '1/2 * * * * *'] },
    { cron: '0 0 1 1 * 2030', exclude: '2030-01-01' },
    { cron: '0 9 * * *', endAt: '2027-01-31T00:00:00Z', exclude: '2026-01-01/2027-01-31' },
    { cron: '0 9 * * MON', exclude: { rrule: 'FREQ=WEEKLY;BYDAY=MO' } },
    { rate: '1h', exclude: '* * * * *' },
    { rate: '2s', anchor: 'epoch', exclude: '*/2 * * * * *' },
    { rate: '1d', startAt: '2027-01-01T09:00:00Z', exclude: '0 9 * * *' },
    { delay: '1h', exclude: '* * * * *' },
    { rrule: 'FREQ=DAILY', startAt: '2027-01-01T09:00:00Z', exclude: '* 9 * * *' },
    { rrule: 'FREQ=HOURLY', startAt: '2027-01-01T09:00:00Z', exclude: '0 * * * *' },
  ];
  for (const rule of rules) {
    assert.deepEqual(
      { ...refusalOf(rule), message: '' },
      { code: 'everything_excluded', message: '', field: 'exclude' },
      JSON.stringify(rule),
    );
  }
});

test('an exclude that leaves one slot in years is not refused', () => {
  const rules: [RuleInput, string][] = [
    [{ cron: '0 9 * * *', exclude: '* * * 1-11 *' }, '2026-12-01T09:00:00Z'],
    [{ cron: '0 9 * * *', exclude: ['* * * 1,3-12 *', '* * 1-28 2 *'] }, '2028-02-29T09:00:00Z'],
    [
      { cron: '* * * * * *', exclude: ['* 0-22 * * *', '* 0-58 23 * * *', '0-58 59 23 * * *'] },
      '2026-11-15T23:59:59Z',
    ],
    [{ cron: '0 9 * * *', exclude: '2020-01-01/2099-12-31' }, '2100-01-01T09:00:00Z'],
    [
      {
        cron: '0 9 1 * *',
        exclude: Array.from(
          { length: 960 },
          (_, i) => `${2020 + Math.floor(i / 12)}-${`${(i % 12) + 1}`.padStart(2, '0')}-01`,
        ),
      },
      '2100-01-01T09:00:00Z',
    ],
    [{ rate: '1h', anchor: 'epoch', exclude: '* * * 1-11 *' }, '2026-12-01T00:00:00Z'],
    // Millions of slots that are left out one by one.
    [{ rate: '2s', anchor: 'epoch', exclude: '*/2 * * 1-30 * *' }, '2026-12-31T00:00:00Z'],
    [{ rate: '1s', anchor: 'epoch', exclude: ['* 0-22 * * *', '* * * 11 *'] }, '2026-12-01T23:00:00Z'],
    [{ delay: '1s', exclude: '2026-11-15/2027-12-31' }, '2028-01-01T00:00:00Z'],
    [
      { rrule: 'FREQ=SECONDLY', startAt: '2026-01-01T00:00:00Z', exclude: '* 0-22 * * *' },
      '2026-11-15T23:00:00Z',
    ],
  ];
  for (const [rule, expected] of rules) {
    assert.deepEqual(
      slots(resolveRule(rule, { now }), '2026-11-15T00:00:00Z', 1),
      [expected],
      JSON.stringify(rule),
    );
  }
});

test('what cannot be excluded is refused by field', () => {
  const wrong: [unknown, string, string][] = [
    ['tomorrow', 'invalid_rule', 'exclude'],
    ['2027-02-29', 'invalid_rule', 'exclude'],
    ['2027-13-01', 'invalid_rule', 'exclude'],
    ['1969-12-31', 'invalid_rule', 'exclude'],
    ['2027-12-25T00:00:00Z', 'invalid_rule', 'exclude'],
    ['2027-12-25/2027-12-24', 'invalid_rule', 'exclude'],
    ['2027-12-25/2027-12-26/2027-12-27', 'invalid_rule', 'exclude'],
    [['2027-01-01', '2027-1-2'], 'invalid_rule', 'exclude[1]'],
    [[{ dates: ['2027-01-01', 5] }], 'invalid_rule', 'exclude[0].dates[1]'],
    [[{ dates: '2027-01-01' }], 'invalid_rule', 'exclude[0].dates'],
    [[{}], 'invalid_rule', 'exclude[0]'],
    [[{ cron: '* * * * *', dates: [] }], 'invalid_rule', 'exclude[0]'],
    [[{ cron: 5 }], 'invalid_rule', 'exclude[0].cron'],
    [[{ rrule: 5 }], 'invalid_rule', 'exclude[0].rrule'],
    [[{ holidays: 'IT' }], 'invalid_rule', 'exclude[0].holidays'],
    [[5], 'invalid_rule', 'exclude[0]'],
    [5, 'invalid_rule', 'exclude'],
    ['0 25 * * *', 'invalid_cron', 'exclude'],
    [['2027-01-05', '0 25 * * *'], 'invalid_cron', 'exclude[1]'],
    [['2027-01-05', { cron: 'bad cron' }], 'invalid_cron', 'exclude[1].cron'],
    [[{ rrule: 'FREQ=HOURLY' }], 'invalid_rrule', 'exclude[0].rrule'],
    [[{ rrule: 'FREQ=DAILY;BYHOUR=9' }], 'invalid_rrule', 'exclude[0].rrule'],
    [[{ rrule: 'FREQ=YEARLY' }], 'invalid_rrule', 'exclude[0].rrule'],
    [[{ rrule: 'FREQ=DAILY;INTERVAL=2' }], 'invalid_rrule', 'exclude[0].rrule'],
  ];
  for (const [exclude, code, field] of wrong) {
    const refusal = refusalOf({ cron: '0 9 * * *', exclude });
    assert.deepEqual([refusal.code, refusal.field], [code, field], JSON.stringify(exclude));
  }
});

test('a wrong cron in an exclude is named with its place, its field and its position', () => {
  assert.throws(
    () => resolveRule({ cron: '0 9 * * *', exclude: ['2027-01-05', '0 25 * * *'] }),
    (error) => {
      assert.ok(isDulyError(error, 'invalid_cron'));
      assert.match(
        error.message,
        /^In "exclude\[1\]": The hour "25" at position 2 of the cron "0 25 \* \* \*" /,
      );
      assert.deepEqual(error.details, {
        part: 'hour',
        position: 2,
        value: '25',
        cron: '0 25 * * *',
        field: 'exclude[1]',
      });
      return true;
    },
  );
});

test('an exclude may be long, but not without end', () => {
  const dates = Array.from({ length: 10_000 }, (_, index) =>
    new Date(now + index * 86_400_000).toISOString().slice(0, 10),
  );
  assert.doesNotThrow(() => resolveRule({ cron: '0 9 * * *', exclude: { dates } }, { now }));
  assert.equal(
    refusalOf({ cron: '0 9 * * *', exclude: { dates: [...dates, '2027-01-01'] } }).code,
    'invalid_rule',
  );
  const crons = Array.from({ length: 31 }, (_, minute) => `${minute} * * * *`);
  assert.equal(refusalOf({ cron: '59 9 * * *', exclude: crons }).code, 'invalid_rule');
  assert.doesNotThrow(() => resolveRule({ cron: '59 9 * * *', exclude: crons.slice(1) }, { now }));
});

test('a rate is counted past what is excluded, however many slots there are, and through changes of the clock', () => {
  const anchor = Date.parse('2026-12-31T23:17:05.250Z');
  for (const [rate, exclude] of [
    ['1m', ['* 9-16 * * MON-FRI', '2027-12-25']],
    ['30s', ['* 2 * * *', '15 */7 * * *']],
    ['90m', ['* 0-5 1 * *']],
    ['15m', ['0 0 * * SUN', { rrule: 'FREQ=WEEKLY;BYDAY=MO' }]],
  ] as const) {
    const rule = resolveRule({ rate, exclude: [...exclude], timezone: 'Europe/Rome' }, { anchorAt: anchor });
    const [from, to] = [Date.parse('2027-03-20T05:30:00Z'), Date.parse('2027-04-05T21:10:00Z')];
    let expected = 0;
    for (let next = rule.next(from - 1); next !== null && next <= to; next = rule.next(next)) expected += 1;
    assert.equal(rule.countBetween(from, to), expected, rate);
  }
  const seconds = resolveRule({ rate: '1s', exclude: '* 9 * * *', anchor: 'epoch' });
  const year = [Date.parse('2027-01-01T00:00:00Z'), Date.parse('2028-01-01T00:00:00Z') - 1] as const;
  assert.equal(seconds.countBetween(...year), 365 * 23 * 3_600);
});

test('a range that goes backward or on for too long says so', () => {
  const rule = (exclude: string) => () => resolveRule({ cron: '0 0 * * *', exclude });
  assert.throws(rule('2027-12-31/2027-12-24'), /to be a range whose first date comes before its last/);
  assert.throws(rule('2027-01-01/2427-01-01'), /to be a range of at most a hundred years/);
});
