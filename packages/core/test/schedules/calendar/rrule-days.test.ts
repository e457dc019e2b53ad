// The days of recurrence rules by arithmetic, judged by the library that reads RFC 5545 in full.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RRuleTemporal } from 'rrule-temporal';
import { propertySeed, runFactor } from '../../../../../test/property.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import { createRruleTimes, hasNoPlace } from '../../../src/schedules/calendar/rrule-days.ts';
import { parseRrule } from '../../../src/schedules/calendar/rrule-text.ts';
import { preview } from '../../../src/schedules/definition/preview.ts';
import { drawPossible } from './possible-rrule.ts';

const at = (text: string): number => Date.parse(text) / 1_000;

function timesOf(rrule: string, start: number) {
  const times = createRruleTimes(parseRrule(rrule), start);
  assert.ok(times, rrule);
  return times;
}

function randomRule(random: Random): string {
  const below = (count: number): number => Math.floor(random.next() * count);
  const some = <Item>(items: Item[], most: number): string =>
    [...new Set(Array.from({ length: 1 + below(most) }, () => items[below(items.length)]))].join(',');
  const numbers = (max: number, min = 1): number[] =>
    Array.from({ length: max - min + 1 }, (_, i) => i + min);
  const signed = (max: number): number[] => [...numbers(max), ...numbers(max).map((one) => -one)];
  const days = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
  const frequency = (['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY'] as const)[below(4)] as string;
  const parts = [`FREQ=${frequency}`];
  if (below(2) === 0) parts.push(`INTERVAL=${1 + below(frequency === 'DAILY' ? 40 : 6)}`);
  if (below(3) === 0) parts.push(`BYMONTH=${some(numbers(12), 3)}`);
  const isByWeek = frequency === 'YEARLY' && below(4) === 0;
  if (isByWeek) parts.push(`BYWEEKNO=${some(signed(53), 4)}`);
  else if (frequency === 'YEARLY' && below(4) === 0) parts.push(`BYYEARDAY=${some(signed(366), 4)}`);
  else if (frequency !== 'WEEKLY' && below(3) === 0) parts.push(`BYMONTHDAY=${some(signed(31), 4)}`);
  // Beside BYYEARDAY the library does not look at BYDAY, which RFC 5545 says limits it; and the 53rd Tuesday of a year that has 52 it finds in
  // the next year.
  if (!parts.some((part) => part.startsWith('BYYEARDAY')) && (isByWeek || below(2) === 0)) {
    const hasNth = !isByWeek && (frequency === 'MONTHLY' || frequency === 'YEARLY') && below(2) === 0;
    const hasDays = parts.some((part) => part.startsWith('BYMONTHDAY'));
    const nth =
      hasNth && !hasDays
        ? ['1', '2', '5', '-1', '-5', ...(frequency === 'YEARLY' ? ['20', '-30'] : [])]
        : [''];
    parts.push(
      `BYDAY=${some(
        nth.flatMap((one) => days.map((day) => `${one}${day}`)),
        4,
      )}`,
    );
  }
  if (below(4) === 0) parts.push(`BYHOUR=${some(numbers(23, 0), 3)}`);
  if (below(4) === 0) parts.push(`BYMINUTE=${some(numbers(59, 0), 3)}`);
  if (below(4) === 0) parts.push(`WKST=${days[below(7)]}`);
  return parts.join(';');
}

test('days by arithmetic are those that the library names', () => {
  const seed = propertySeed;
  const random = seededRandom(seed);
  let compared = 0;
  for (let i = 0; i < 400 * runFactor; i++) {
    const rrule = drawPossible(random, randomRule);
    const start = at('2020-01-01T00:00:00Z') + Math.floor(random.next() * 4 * 366 * 86_400);
    const text = new Date(start * 1_000).toISOString().replace(/\.\d+|[-:]/g, '');
    const judge = new RRuleTemporal({ rruleString: `DTSTART:${text}\nRRULE:${rrule}`, maxIterations: 1_000 });
    const own = timesOf(rrule, start);
    let from = start + Math.floor(random.next() * 3 * 366 * 86_400);
    const message = `${rrule} from ${text} (rule ${i} of seed ${seed})`;
    for (let count = 0; count < 5; count++) {
      let judged: number | null;
      try {
        const found = judge.next(new Date(from * 1_000), true);
        judged = found === null ? null : found.epochMilliseconds / 1_000;
      } catch {
        // It gives up where there is nothing for long.
        judged = null;
      }
      const found = own.next(from);
      if (judged === null) {
        const never = found === Number.POSITIVE_INFINITY || found > from + 300 * 86_400;
        assert.ok(never, `${message}: ${found}`);
        break;
      }
      assert.equal(found, judged, `${message}: ${new Date(found * 1_000).toISOString()}`);
      assert.equal(own.previous(found), found, message);
      assert.ok(own.previous(found - 1) < from || own.next(own.previous(found - 1) + 1) === found, message);
      compared += 1;
      from = found + 1;
    }
  }
  assert.ok(compared > 1_000 * runFactor, `${compared}`);
});

test('BYDAY limits BYYEARDAY', () => {
  const times = timesOf('FREQ=YEARLY;BYYEARDAY=366;BYDAY=MO', at('2027-01-01T09:00:00Z'));
  assert.equal(times.next(0), at('2040-12-31T09:00:00Z'));
});

test('what never comes is known after one round of the calendar', () => {
  const start = at('2027-01-01T09:00:00Z');
  for (const rrule of [
    'FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=6',
    'FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1',
    'FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29',
    'FREQ=MONTHLY;INTERVAL=12;BYMONTH=2',
    'FREQ=DAILY;INTERVAL=7;BYDAY=MO',
    'FREQ=YEARLY;BYDAY=53MO;BYMONTH=3',
  ]) {
    const times = timesOf(rrule, start);
    assert.equal(times.next(start), Number.POSITIVE_INFINITY, rrule);
    assert.ok(times.spentCount() <= 4_801, `${rrule}: ${times.spentCount()} months`);
    assert.equal(times.previous(start + 40 * 366 * 86_400), Number.NEGATIVE_INFINITY, rrule);
    assert.ok(times.spentCount() <= 5_400, `${rrule}: ${times.spentCount()} months`);
  }
  const leap = timesOf('FREQ=DAILY;INTERVAL=2;BYMONTHDAY=29;BYMONTH=2;BYDAY=MO', start);
  assert.equal(leap.next(start), at('2044-02-29T09:00:00Z'));
  assert.ok(leap.spentCount() <= 18 * 12);
});

test('places that no period has are known without looking', () => {
  for (const [rrule, isEmpty] of [
    ['FREQ=WEEKLY;BYDAY=MO;BYSETPOS=6', true],
    ['FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=-2', false],
    ['FREQ=DAILY;BYSETPOS=2', true],
    ['FREQ=DAILY;BYHOUR=1,2;BYSETPOS=2', false],
    ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6', true],
    ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=5,6', false],
    ['FREQ=MONTHLY;BYMONTHDAY=1,2;BYSETPOS=3', true],
    ['FREQ=MONTHLY;BYSETPOS=2', true],
    ['FREQ=YEARLY;BYDAY=MO;BYSETPOS=52', false],
    ['FREQ=YEARLY;BYDAY=MO', false],
  ] as const) {
    assert.equal(hasNoPlace(parseRrule(rrule)), isEmpty, rrule);
  }
});

test('weeks without weekdays are the weekday of the beginning, and whole weeks where they exclude', () => {
  const days = (rrule: string, startAt: string): string[] =>
    preview({ rrule, startAt }, { after: '2026-12-01T00:00:00Z', count: 4 }).map((at) =>
      at.toISOString().slice(0, 10),
    );
  // Week 53 of 2026 is 28 December to 3 January; 1970 began with a Thursday.
  assert.deepEqual(days('FREQ=YEARLY;BYWEEKNO=1,53', '1970-01-01T00:00:00Z'), [
    '2026-12-31',
    '2027-01-07',
    '2028-01-06',
    '2029-01-04',
  ]);
  assert.deepEqual(days('FREQ=YEARLY;BYWEEKNO=1,53', '1970-01-06T00:00:00Z').slice(0, 2), [
    '2026-12-29',
    '2027-01-05',
  ]);
  const open = (exclude: string): string[] =>
    preview(
      { cron: '0 0 * * *', exclude: { rrule: exclude } },
      { after: '2026-12-26T00:00:00Z', count: 3 },
    ).map((at) => at.toISOString().slice(0, 10));
  assert.deepEqual(open('FREQ=YEARLY;BYWEEKNO=53'), ['2026-12-27', '2027-01-04', '2027-01-05']);
  assert.deepEqual(open('DTSTART:19700101\nRRULE:FREQ=YEARLY;BYWEEKNO=53').slice(1), [
    '2026-12-28',
    '2026-12-29',
  ]);
});
