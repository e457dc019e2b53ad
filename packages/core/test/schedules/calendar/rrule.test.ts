import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import { type Rule, resolveRule } from '../../../src/schedules/calendar/rule.ts';
import type { RuleInput } from '../../../src/schedules/calendar/rule-input.ts';

const now = Date.UTC(2026, 10, 15);
const at = (text: string): number => Date.parse(text);

function slots(input: RuleInput, after: string, count: number): string[] {
  const rule = resolveRule(input);
  const found: string[] = [];
  for (let next = rule.next(at(after)); next !== null && found.length < count; next = rule.next(next)) {
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
  }
  return found;
}

function refusalOf(rule: unknown): {
  code: string;
  message: string;
  hint: string;
  part: unknown;
  field: unknown;
} {
  try {
    resolveRule(rule as RuleInput, { now });
  } catch (error) {
    if (!isDulyError(error)) throw error;
    const { part, field } = error.details;
    return { code: error.code, message: error.message, hint: error.hint ?? '', part, field };
  }
  return assert.fail(`${JSON.stringify(rule)} was not refused`);
}

const startAt = '2027-01-01T09:00:00+01:00';

test('a rule takes its time of day from startAt, on the clock of its zone', () => {
  assert.deepEqual(
    slots({ rrule: 'FREQ=WEEKLY;BYDAY=MO', startAt, timezone: 'Europe/Rome' }, '2027-03-20T00:00:00Z', 3),
    ['2027-03-22T08:00:00Z', '2027-03-29T07:00:00Z', '2027-04-05T07:00:00Z'],
  );
});

test('rules are those of RFC 5545', () => {
  const from2027 = (rrule: string, count: number): string[] =>
    slots({ rrule, startAt: '2027-01-01T09:00:00Z' }, '2026-01-01T00:00:00Z', count).map((slot) =>
      slot.slice(0, 10),
    );
  assert.deepEqual(from2027('FREQ=DAILY;INTERVAL=3', 3), ['2027-01-01', '2027-01-04', '2027-01-07']);
  assert.deepEqual(from2027('FREQ=MONTHLY;BYDAY=-1FR', 3), ['2027-01-29', '2027-02-26', '2027-03-26']);
  assert.deepEqual(from2027('FREQ=MONTHLY;BYMONTHDAY=31', 3), ['2027-01-31', '2027-03-31', '2027-05-31']);
  assert.deepEqual(from2027('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', 2), [
    '2027-01-29',
    '2027-02-26',
  ]);
  assert.deepEqual(from2027('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', 2), ['2028-02-29', '2032-02-29']);
  assert.deepEqual(from2027('FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SU', 2), ['2032-02-29', '2060-02-29']);
  assert.deepEqual(from2027('rrule:freq=daily;count=2', 5), ['2027-01-01', '2027-01-02']);
  assert.deepEqual(from2027('RRULE:FREQ=DAILY;UNTIL=20270102T090000Z', 5), ['2027-01-01', '2027-01-02']);
  assert.deepEqual(from2027('FREQ=DAILY;UNTIL=20270102T085959Z', 5), ['2027-01-01']);
  assert.deepEqual(from2027('FREQ=DAILY;UNTIL=20270102', 5), ['2027-01-01', '2027-01-02']);
});

test('iCalendar text has its own start, dates and exceptions', () => {
  const rrule = [
    'DTSTART;TZID=America/New_York:20270301T090000',
    'RRULE:FREQ=WEEKLY;BYDAY=MO;',
    ' COUNT=4',
    'EXDATE;TZID=America/New_York:20270308T090000',
    'EXDATE;VALUE=DATE:20270322',
    'RDATE;TZID=America/New_York:20270302T120000,20270303T120000',
    '',
  ].join('\r\n');
  const expected = [
    '2027-03-01T14:00:00Z',
    '2027-03-02T17:00:00Z',
    '2027-03-03T17:00:00Z',
    '2027-03-15T13:00:00Z',
  ];
  assert.deepEqual(slots({ rrule }, '2020-01-01T00:00:00Z', 9), expected);
  const rule = resolveRule({ rrule });
  assert.equal(rule.timezone, 'America/New_York');
  assert.equal(rule.countBetween(0, at('2030-01-01T00:00:00Z')), 4);
  const backward: (number | null)[] = [rule.previous(at('2030-01-01T00:00:00Z'))];
  for (let i = 0; i < 4; i++) backward.push(rule.previous(backward.at(-1) as number));
  assert.deepEqual(backward, [...expected.map(at).reverse(), null]);
  assert.equal(resolveRule({ rrule, timezone: 'America/New_York' }).timezone, 'America/New_York');
});

test('a start in UTC recurs in UTC, or in the zone that is given', () => {
  const rrule = 'DTSTART:20270301T140000Z\nRRULE:FREQ=WEEKLY';
  assert.deepEqual(slots({ rrule }, '2027-03-10T00:00:00Z', 1), ['2027-03-15T14:00:00Z']);
  assert.deepEqual(slots({ rrule, timezone: 'America/New_York' }, '2027-03-10T00:00:00Z', 1), [
    '2027-03-15T13:00:00Z',
  ]);
  const floating = 'DTSTART:20270301T090000\nRRULE:FREQ=WEEKLY';
  assert.deepEqual(slots({ rrule: floating, timezone: 'America/New_York' }, '2027-03-10T00:00:00Z', 1), [
    '2027-03-15T13:00:00Z',
  ]);
  const date = 'DTSTART;VALUE=DATE:20270301\nRRULE:FREQ=WEEKLY';
  assert.deepEqual(slots({ rrule: date, timezone: 'Asia/Kolkata' }, '2027-03-02T00:00:00Z', 1), [
    '2027-03-07T18:30:00Z',
  ]);
});

test('startAt bounds a rule that has its own start', () => {
  const rrule = 'DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY;INTERVAL=2';
  assert.deepEqual(slots({ rrule, startAt: '2027-01-04T00:00:00Z' }, '2026-01-01T00:00:00Z', 1), [
    '2027-01-05T09:00:00Z',
  ]);
});

test('a time of day that does not exist or comes twice follows the dst policy', () => {
  const timezone = 'America/New_York';
  const nights = (dst: RuleInput['dst'], time: string, after: string, count: number): string[] =>
    slots({ rrule: `DTSTART:20270101T${time}\nRRULE:FREQ=DAILY`, timezone, dst }, after, count);
  assert.deepEqual(nights({}, '023000', '2027-03-13T12:00:00Z', 2), [
    '2027-03-14T07:00:00Z',
    '2027-03-15T06:30:00Z',
  ]);
  assert.deepEqual(nights({ gap: 'skip' }, '023000', '2027-03-13T12:00:00Z', 1), ['2027-03-15T06:30:00Z']);
  assert.deepEqual(nights({}, '013000', '2027-11-06T12:00:00Z', 2), [
    '2027-11-07T05:30:00Z',
    '2027-11-08T06:30:00Z',
  ]);
  assert.deepEqual(nights({ repeat: 'last' }, '013000', '2027-11-06T12:00:00Z', 1), ['2027-11-07T06:30:00Z']);
  assert.deepEqual(nights({ repeat: 'both' }, '013000', '2027-11-06T12:00:00Z', 2), [
    '2027-11-07T05:30:00Z',
    '2027-11-07T06:30:00Z',
  ]);
});

test('hours, minutes and seconds are real ones, both repeated hours and none that does not exist', () => {
  const timezone = 'America/New_York';
  const hourly = (rrule: string, after: string, count: number): string[] =>
    slots({ rrule, timezone, startAt: '2027-01-01T05:00:00Z' }, after, count);
  assert.deepEqual(hourly('FREQ=HOURLY', '2027-11-07T04:30:00Z', 3), [
    '2027-11-07T05:00:00Z',
    '2027-11-07T06:00:00Z',
    '2027-11-07T07:00:00Z',
  ]);
  assert.deepEqual(hourly('FREQ=HOURLY', '2027-03-14T05:30:00Z', 3), [
    '2027-03-14T06:00:00Z',
    '2027-03-14T07:00:00Z',
    '2027-03-14T08:00:00Z',
  ]);
  assert.deepEqual(hourly('FREQ=HOURLY;BYHOUR=1,2', '2027-03-13T12:00:00Z', 3), [
    '2027-03-14T06:00:00Z',
    '2027-03-15T05:00:00Z',
    '2027-03-15T06:00:00Z',
  ]);
  assert.deepEqual(hourly('FREQ=MINUTELY;INTERVAL=30;BYHOUR=1', '2027-11-06T12:00:00Z', 5), [
    '2027-11-07T05:00:00Z',
    '2027-11-07T05:30:00Z',
    '2027-11-07T06:00:00Z',
    '2027-11-07T06:30:00Z',
    '2027-11-08T06:00:00Z',
  ]);
  // Every six real hours: the wall time moves with the clock.
  assert.deepEqual(hourly('FREQ=HOURLY;INTERVAL=6', '2027-03-14T00:00:00Z', 3), [
    '2027-03-14T05:00:00Z',
    '2027-03-14T11:00:00Z',
    '2027-03-14T17:00:00Z',
  ]);
  assert.deepEqual(hourly('FREQ=SECONDLY;INTERVAL=20;COUNT=3', '2026-01-01T00:00:00Z', 9), [
    '2027-01-01T05:00:00Z',
    '2027-01-01T05:00:20Z',
    '2027-01-01T05:00:40Z',
  ]);
  assert.deepEqual(hourly('FREQ=HOURLY;UNTIL=20270101T060000Z', '2026-01-01T00:00:00Z', 9), [
    '2027-01-01T05:00:00Z',
    '2027-01-01T06:00:00Z',
  ]);
});

test('next and previous are mirrors for every kind of rule', () => {
  const rules: RuleInput[] = [
    {
      rrule: 'FREQ=DAILY;BYHOUR=1,2;BYMINUTE=0,30',
      startAt,
      timezone: 'America/New_York',
      dst: { repeat: 'both' },
    },
    {
      rrule: 'FREQ=DAILY;BYHOUR=1,2;BYMINUTE=0,30',
      startAt,
      timezone: 'Europe/London',
      dst: { gap: 'skip', repeat: 'last' },
    },
    { rrule: 'FREQ=HOURLY;BYMINUTE=15,45', startAt, timezone: 'Australia/Lord_Howe' },
    { rrule: 'FREQ=MONTHLY;BYDAY=2SU', startAt, timezone: 'America/New_York' },
    {
      rrule: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,WE',
      startAt,
      timezone: 'Europe/Rome',
      exclude: '2027-03-28/2027-04-30',
    },
  ];
  for (const input of rules) {
    const rule: Rule = resolveRule(input);
    for (const around of [
      '2027-03-13T12:00:00Z',
      '2027-03-27T12:00:00Z',
      '2027-10-02T12:00:00Z',
      '2027-10-30T12:00:00Z',
      '2027-11-06T12:00:00Z',
    ]) {
      const forward: number[] = [];
      for (let next = rule.next(at(around)); next !== null && forward.length < 40; next = rule.next(next))
        forward.push(next);
      const backward: number[] = [];
      for (
        let last = rule.previous((forward.at(-1) as number) + 1);
        last !== null && last > at(around);
        last = rule.previous(last)
      )
        backward.push(last);
      assert.deepEqual(backward.reverse(), forward, `${input.rrule} around ${around}`);
      assert.equal(new Set(forward).size, 40);
      assert.equal(rule.countBetween(at(around) + 1, forward.at(-1) as number), 40);
    }
  }
});

const wrong: [string, string, string, RegExp, RegExp?][] = [
  ['', 'rrule', 'invalid_rrule', /to hold a rule/],
  ['DTSTART:20270101T090000Z', 'rrule', 'invalid_rrule', /to hold a rule/],
  ['EVERY DAY', 'rrule', 'invalid_rrule', /lines of RRULE/],
  ['RULE:FREQ=DAILY', 'rrule', 'invalid_rrule', /lines of RRULE/, /"RRULE"/],
  ['EXRULE:FREQ=DAILY', 'rrule', 'invalid_rrule', /lines of RRULE/],
  ['FREQ=DAILY\nFREQ=WEEKLY', 'RRULE', 'invalid_rrule', /once/],
  ['INTERVAL=2', 'rrule', 'invalid_rrule', /lines of RRULE/],
  ['RRULE:INTERVAL=2', 'FREQ', 'invalid_rrule', /got nothing/],
  ['FREQ=DAILLY', 'FREQ', 'invalid_rrule', /YEARLY/, /"DAILY"/],
  ['FREQ=DAILY;FREQ=DAILY', 'FREQ', 'invalid_rrule', /once/],
  ['FREQ=DAILY;BYDAYS=MO', 'BYDAYS', 'invalid_rrule', /part like/, /"BYDAY"/],
  ['FREQ=DAILY;RSCALE=HEBREW', 'RSCALE', 'invalid_rrule', /part like/],
  ['FREQ=DAILY;BYDAY', 'BYDAY', 'invalid_rrule', /part like/],
  ['FREQ=WEEKLY;BYDAY=XX', 'BYDAY', 'invalid_rrule', /MO, TU/],
  ['FREQ=WEEKLY;BYDAY=2MO', 'BYDAY', 'invalid_rrule', /MONTHLY/],
  ['FREQ=MONTHLY;BYDAY=0MO', 'BYDAY', 'invalid_rrule', /1 to 53/],
  ['FREQ=DAILY;BYHOUR=24', 'BYHOUR', 'invalid_rrule', /0 to 23/],
  ['FREQ=DAILY;BYMINUTE=-1', 'BYMINUTE', 'invalid_rrule', /0 to 59/],
  ['FREQ=DAILY;BYMONTH=13', 'BYMONTH', 'invalid_rrule', /1 to 12/],
  ['FREQ=MONTHLY;BYMONTHDAY=32', 'BYMONTHDAY', 'invalid_rrule', /1 to 31/],
  ['FREQ=MONTHLY;BYMONTHDAY=0', 'BYMONTHDAY', 'invalid_rrule', /1 to 31/],
  ['FREQ=WEEKLY;BYMONTHDAY=1', 'BYMONTHDAY', 'invalid_rrule', /WEEKLY/],
  ['FREQ=MONTHLY;BYYEARDAY=1', 'BYYEARDAY', 'invalid_rrule', /MONTHLY/],
  ['FREQ=MONTHLY;BYWEEKNO=1', 'BYWEEKNO', 'invalid_rrule', /YEARLY/],
  ['FREQ=DAILY;INTERVAL=0', 'INTERVAL', 'invalid_rrule', /1 to 10000/],
  ['FREQ=DAILY;INTERVAL=1.5', 'INTERVAL', 'invalid_rrule', /1 to 10000/],
  ['FREQ=DAILY;COUNT=0', 'COUNT', 'invalid_rrule', /1 to 10000/],
  ['FREQ=DAILY;COUNT=1000000', 'COUNT', 'invalid_rrule', /1 to 10000/],
  ['FREQ=HOURLY;COUNT=1001', 'COUNT', 'invalid_rrule', /1000/, /UNTIL/],
  ['FREQ=DAILY;COUNT=1,2', 'COUNT', 'invalid_rrule', /one value/],
  ['FREQ=DAILY;COUNT=2;UNTIL=20270101', 'UNTIL', 'invalid_rrule', /COUNT/],
  ['FREQ=DAILY;UNTIL=tomorrow', 'UNTIL', 'invalid_rrule', /20270115T090000/],
  ['FREQ=DAILY;UNTIL=20270230T000000Z', 'UNTIL', 'invalid_rrule', /exist/],
  ['FREQ=WEEKLY;WKST=MON', 'WKST', 'invalid_rrule', /MO, TU/],
  ['DTSTART:20270101T090000Z\nDTSTART:20270101T090000Z\nFREQ=DAILY', 'DTSTART', 'invalid_rrule', /once/],
  ['DTSTART:2027-01-01\nFREQ=DAILY', 'DTSTART', 'invalid_rrule', /20270115T090000/],
  ['DTSTART;VALUE=PERIOD:20270101T090000Z\nFREQ=DAILY', 'DTSTART', 'invalid_rrule', /DATE/],
  [
    'DTSTART;TZID=Europe/Rome:20270101T090000\nRRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Paris:20270102T090000',
    'EXDATE',
    'invalid_rrule',
    /TZID/,
  ],
  ['DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY\nRDATE;VALUE=DATE:20270102', 'RDATE', 'invalid_rrule', /time/],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 'BYMONTHDAY', 'rule_never_fires', /never fires/],
  ['FREQ=DAILY;BYMONTH=4,6;BYMONTHDAY=31', 'BYMONTHDAY', 'rule_never_fires', /never fires/],
];

for (const [rrule, part, code, message, hint] of wrong) {
  test(`the recurrence rule ${JSON.stringify(rrule)} is refused: ${part}`, () => {
    const refusal = refusalOf({ rrule, startAt });
    assert.deepEqual([refusal.code, refusal.field, refusal.part], [code, 'rrule', part]);
    assert.match(refusal.message, message);
    if (hint !== undefined) assert.match(refusal.hint, hint);
  });
}

test('a rule that runs out, or comes back after centuries, is answered all the same', () => {
  const timezone = 'America/New_York';
  // Once for each offset of the zone it was searched span by span, which took more than a minute.
  for (const rrule of [
    'FREQ=HOURLY;BYYEARDAY=366;BYMONTH=2',
    'FREQ=SECONDLY;BYYEARDAY=366;BYMONTH=2',
    'FREQ=HOURLY;BYSETPOS=5',
  ]) {
    assert.equal(refusalOf({ rrule, startAt, timezone }).code, 'rule_never_fires', rrule);
  }
  const excepted = {
    rrule: 'DTSTART:20270101T090000Z\nRRULE:FREQ=HOURLY;COUNT=2\nEXDATE;VALUE=DATE:20270102',
  };
  assert.equal(slots(excepted, '2026-01-01T00:00:00Z', 9).length, 2);
  // In winter its even hours never show 01:00 in New York; in summer they do.
  const summer = { rrule: 'FREQ=HOURLY;INTERVAL=2;BYHOUR=1', startAt: '2027-01-01T05:00:00Z', timezone };
  assert.deepEqual(slots(summer, '2027-01-01T05:00:00Z', 1), ['2027-03-15T05:00:00Z']);
});

test('a rule that never fires, ends before it begins or has no start is refused', () => {
  assert.equal(refusalOf({ rrule: 'FREQ=YEARLY;BYYEARDAY=366;BYMONTH=2', startAt }).code, 'rule_never_fires');
  assert.equal(refusalOf({ rrule: 'FREQ=DAILY;UNTIL=20260101T000000Z', startAt }).code, 'rule_never_fires');
  assert.equal(
    refusalOf({
      rrule: 'FREQ=DAILY',
      startAt,
      endAt: '2027-01-01T09:00:00+01:00',
      timezone: 'Europe/Rome',
      exclude: '2027-01-01',
    }).code,
    'everything_excluded',
  );
  assert.equal(
    refusalOf({ rrule: 'DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY;COUNT=1\nEXDATE:20270101T090000Z' }).code,
    'rule_never_fires',
  );
  assert.match(refusalOf({ rrule: 'FREQ=WEEKLY;BYDAY=MO' }).message, /DTSTART, or "startAt"/);
  assert.equal(refusalOf({ rrule: 5 }).code, 'invalid_rrule');
  assert.equal(
    refusalOf({ rrule: `FREQ=DAILY\n${'RDATE:20270101T090000Z\n'.repeat(2_000)}`, startAt }).code,
    'invalid_rrule',
  );
  assert.deepEqual(
    refusalOf({
      rrule: 'DTSTART;TZID=Europe/Rome:20270101T090000\nRRULE:FREQ=DAILY',
      timezone: 'Europe/Paris',
    }).field,
    'timezone',
  );
  assert.equal(
    refusalOf({ rrule: 'DTSTART;TZID=Europe/Romee:20270101T090000\nRRULE:FREQ=DAILY' }).code,
    'invalid_timezone',
  );
});

test('without the library the error says what to install, and other rules work', (t) => {
  // A copy of the source where Node finds no packages.
  const folder = mkdtempSync(join(tmpdir(), 'duly-rrule-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(import.meta.dirname, '../../../src'), join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'main.ts'),
    `import { preview } from './src/schedules/definition/preview.ts';
     preview('* * * * *');
     try { preview({ rrule: 'FREQ=DAILY', startAt: 0 }); } catch (error) { console.log(JSON.stringify([error.code, error.hint])); }`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, ['main.ts'], { cwd: folder, encoding: 'utf8' });
  assert.equal(stdout, '["rrule_library_missing","Run: npm install rrule-temporal"]\n', stderr);
});
