// Recurrence rules finer than DAILY by arithmetic, judged by the library that reads RFC 5545 in full, and by walking.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RRuleTemporal } from 'rrule-temporal';
import { propertySeed, runFactor } from '../../../../../test/property.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import { preview, previous } from '../../../src/index.ts';
import { createFineTimes } from '../../../src/schedules/calendar/rrule-clock.ts';
import { parseRrule } from '../../../src/schedules/calendar/rrule-text.ts';
import { drawPossible } from './possible-rrule.ts';

const at = (text: string): number => Date.parse(text) / 1_000;
const days = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

function timesOf(rrule: string, start: number) {
  const times = createFineTimes(parseRrule(rrule), start);
  assert.ok(times, rrule);
  return times;
}

function randomRule(random: Random): string {
  const below = (count: number): number => Math.floor(random.next() * count);
  const some = (min: number, max: number, most: number): string =>
    [...new Set(Array.from({ length: 1 + below(most) }, () => min + below(max - min + 1)))].join(',');
  const frequency = ['HOURLY', 'MINUTELY', 'SECONDLY'][below(3)] as string;
  const parts = [`FREQ=${frequency}`];
  if (below(2) === 0) parts.push(`INTERVAL=${1 + below([30, 200, 3_000][below(3)] as number)}`);
  if (below(4) === 0) parts.push(`BYMONTH=${some(1, 12, 4)}`);
  if (below(4) === 0) parts.push(`BYMONTHDAY=${below(2) === 0 ? some(1, 31, 6) : some(-31, -1, 6)}`);
  if (below(4) === 0) parts.push(`BYDAY=${days.filter(() => below(2) === 0).join(',') || 'MO'}`);
  if (below(3) === 0) parts.push(`BYHOUR=${some(0, 23, 5)}`);
  if (below(3) === 0) parts.push(`BYMINUTE=${some(0, 59, 5)}`);
  if (below(3) === 0) parts.push(`BYSECOND=${some(0, 59, 5)}`);
  return parts.join(';');
}

/** The first time from one on, found by looking at every hour, minute or second; null: none in so many. */
function walk(rrule: string, start: number, from: number, most: number): number | null {
  const { frequency, parts } = parseRrule(rrule);
  const unit = { HOURLY: 3_600, MINUTELY: 60, SECONDLY: 1 }[frequency as 'HOURLY'];
  const numbers = (part: string): number[] | null => parts.get(part)?.split(',').map(Number) ?? null;
  const interval = Number(parts.get('INTERVAL') ?? 1);
  const [months, monthDays, hours, minutes, seconds] = [
    'BYMONTH',
    'BYMONTHDAY',
    'BYHOUR',
    'BYMINUTE',
    'BYSECOND',
  ].map(numbers);
  const weekdays = parts.get('BYDAY')?.split(',') ?? null;
  const own = new Date(start * 1_000);
  const low = Math.max(from, start);
  const startUnit = Math.floor(start / unit);
  for (let index = Math.floor(low / unit); index < Math.floor(low / unit) + most; index++) {
    if ((index - startUnit) % interval !== 0) continue;
    for (let second = index * unit; second < (index + 1) * unit; second++) {
      if (second < low) continue;
      const date = new Date(second * 1_000);
      const [hour, minute] = [date.getUTCHours(), date.getUTCMinutes()];
      const day = date.getUTCDate();
      const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
      const isNamed =
        (months?.includes(date.getUTCMonth() + 1) ?? true) &&
        (monthDays === null ||
          monthDays === undefined ||
          monthDays.includes(day) ||
          monthDays.includes(day - length - 1)) &&
        (weekdays?.includes(days[date.getUTCDay()] as string) ?? true) &&
        (hours?.includes(hour) ?? true);
      if (!isNamed) break;
      const isMinute = minutes?.includes(minute) ?? (unit < 3_600 || minute === own.getUTCMinutes());
      const isSecond = seconds?.includes(second % 60) ?? (unit === 1 || second % 60 === own.getUTCSeconds());
      if (isMinute && isSecond) return second;
    }
  }
  return null;
}

const seed = propertySeed;

test('fine times by arithmetic are those that walking finds', () => {
  const random = seededRandom(seed);
  let compared = 0;
  for (let i = 0; i < 600 * runFactor; i++) {
    const rrule = drawPossible(random, randomRule);
    const start = at('2024-01-01T00:00:00Z') + Math.floor(random.next() * 366 * 86_400);
    const own = timesOf(rrule, start);
    let from = start + Math.floor(random.next() * 40 * 86_400);
    const message = `${rrule} from ${new Date(start * 1_000).toISOString()} (rule ${i} of seed ${seed})`;
    for (let count = 0; count < 3; count++) {
      const walked = walk(rrule, start, from, 20_000);
      const found = own.next(from);
      if (walked === null) {
        assert.ok(found > from + (rrule.includes('SECONDLY') ? 18_000 : 1_000_000), `${message}: ${found}`);
        break;
      }
      assert.equal(found, walked, message);
      assert.equal(own.previous(found), found, message);
      const before = own.previous(found - 1);
      assert.ok(before < from, `${message}: ${before}`);
      if (before !== Number.NEGATIVE_INFINITY) assert.equal(own.next(before + 1), found, message);
      compared += 1;
      from = found + 1;
    }
  }
  assert.ok(compared > 800 * runFactor, `${compared}`);
});

test('fine times by arithmetic are those that the library names', () => {
  const random = seededRandom(seed + 1);
  let compared = 0;
  for (let i = 0; i < 150 * runFactor; i++) {
    const rrule = drawPossible(random, randomRule);
    const start = at('2024-01-01T00:00:00Z') + Math.floor(random.next() * 366 * 86_400);
    const text = new Date(start * 1_000).toISOString().replace(/\.\d+|[-:]/g, '');
    const judge = new RRuleTemporal({ rruleString: `DTSTART:${text}\nRRULE:${rrule}`, maxIterations: 200 });
    const own = timesOf(rrule, start);
    let from = start;
    for (let count = 0; count < 3; count++) {
      let judged: number | null;
      try {
        judged = (judge.next(new Date(from * 1_000), true)?.epochMilliseconds ?? Number.NaN) / 1_000;
      } catch {
        // It gives up where there is nothing for long.
        break;
      }
      if (Number.isNaN(judged)) break;
      assert.equal(own.next(from), judged, `${rrule} from ${text} (rule ${i} of seed ${seed + 1})`);
      compared += 1;
      from = judged + 1;
    }
  }
  assert.ok(compared > 200 * runFactor, `${compared}`);
});

test('days of the year, and what comes once in decades', () => {
  const start = at('2027-01-01T09:00:00Z');
  assert.equal(timesOf('FREQ=HOURLY;BYYEARDAY=-1;BYHOUR=3', start).next(0), at('2027-12-31T03:00:00Z'));
  const leap = 'FREQ=SECONDLY;INTERVAL=13;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=3;BYMINUTE=7;BYSECOND=59';
  const found = timesOf(leap, start).next(start);
  const date = new Date(found * 1_000);
  assert.equal(date.toISOString().slice(4), '-02-29T03:07:59.000Z');
  assert.equal(date.getUTCDay(), 1);
  assert.equal((found - start) % 13, 0);
});

test('an interval that never meets its times is known soon', () => {
  const start = at('2027-01-01T09:00:00Z');
  for (const rrule of [
    'FREQ=HOURLY;INTERVAL=24;BYHOUR=3',
    'FREQ=SECONDLY;INTERVAL=2;BYSECOND=1,3,5',
    'FREQ=MINUTELY;INTERVAL=1440;BYHOUR=10',
    'FREQ=HOURLY;BYYEARDAY=366;BYMONTH=2',
  ]) {
    const times = timesOf(rrule, start);
    assert.equal(times.next(start), Number.POSITIVE_INFINITY, rrule);
    assert.equal(times.previous(start + 4 * 366 * 86_400), Number.NEGATIVE_INFINITY, rrule);
  }
});

// Far from what it costs to walk, and the figures of a quiet machine are a tenth of it. One that is busy with other tests interrupts and slows
// every try, so it is asked up to sixty times, and may take six times as long.
const warmMsMax = 5;
const busyFactor = 6;

for (const rrule of [
  'FREQ=MINUTELY;INTERVAL=1441;BYHOUR=3;BYMINUTE=1;BYMONTH=2;BYMONTHDAY=29',
  'FREQ=SECONDLY;COUNT=1000;BYSECOND=59',
  'FREQ=SECONDLY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=3;BYMINUTE=7;BYSECOND=59',
  'FREQ=SECONDLY;INTERVAL=86399;BYSECOND=3;BYMINUTE=7;BYMONTH=2;BYMONTHDAY=29',
  'FREQ=MINUTELY;INTERVAL=1439;BYHOUR=3;BYMINUTE=1;BYMONTHDAY=31;BYDAY=FR',
  'FREQ=SECONDLY;INTERVAL=2;BYSECOND=1',
  'FREQ=SECONDLY;INTERVAL=9973;BYHOUR=3;BYMINUTE=7;BYSECOND=59;BYDAY=MO',
]) {
  test(`answered within ${warmMsMax} ms: ${rrule}`, () => {
    for (const timezone of ['UTC', 'America/New_York']) {
      const rule = { rrule, timezone, startAt: '2027-01-01T09:00:00Z' };
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 60 && best >= warmMsMax; i++) {
        const before = process.cpuUsage();
        try {
          preview(rule, { after: '2027-01-01T00:00:00Z', count: 1 });
          previous(rule, { before: '2035-01-01T00:00:00Z', count: 1 });
        } catch (error) {
          // It never fires, or gives up: both are answers.
          assert.match((error as { code: string }).code, /^(rule_never_fires|invalid_rrule)$/);
        }
        const { user, system } = process.cpuUsage(before);
        best = Math.min(best, (user + system) / 1_000);
      }
      assert.ok(best < busyFactor * warmMsMax, `${timezone}: ${best} ms`);
    }
  });
}
