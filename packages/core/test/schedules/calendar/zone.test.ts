import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { findZone, type Zone } from '../../../src/schedules/calendar/zone.ts';
import { readClock } from './brute-force.ts';

const allZones = Intl.supportedValuesOf('timeZone');

function offsetMs(zone: Zone, at: number): number {
  return zone.spanAt(Math.floor(at / 1_000)).offset * 1_000;
}

function refusalOf(name: unknown): { message: string; hint: string; nearest: unknown } {
  try {
    findZone(name as string);
  } catch (error) {
    if (!isDulyError(error, 'invalid_timezone')) throw error;
    return { message: error.message, hint: error.hint ?? '', nearest: error.details.nearest };
  }
  return assert.fail(`"${name}" was not refused`);
}

test('every zone agrees with Intl at random instants from 1970 to 9999', () => {
  const random = seededRandom(20_261_115);
  for (const name of allZones) {
    const zone = findZone(name);
    for (const yearMax of [2_000, 2_040, 2_100, 2_130, 9_999]) {
      for (let i = 0; i < 12; i++) {
        const at = Math.floor((random.next() * Date.UTC(yearMax, 11, 31)) / 1_000) * 1_000;
        assert.equal(
          offsetMs(zone, at),
          readClock(name, at) - at,
          `${name} at ${new Date(at).toISOString()}`,
        );
      }
    }
  }
});

test('far years change their clocks when Intl says so, to the second', () => {
  for (const name of [
    'America/New_York',
    'Europe/Rome',
    'Australia/Lord_Howe',
    'America/Santiago',
    'Asia/Gaza',
    'Africa/Casablanca',
    'Africa/Cairo',
    'Antarctica/Troll',
  ]) {
    const zone = findZone(name);
    for (const year of [2_087, 2_101, 2_128, 2_129, 2_400, 4_004, 9_998]) {
      const end = Date.UTC(year + 1, 0, 1) / 1_000;
      for (
        let span = zone.spanAt(Date.UTC(year, 0, 1) / 1_000);
        span.start < end;
        span = zone.spanAt(span.end)
      ) {
        for (const second of [span.start, span.end - 1]) {
          const at = second * 1_000;
          assert.equal(
            span.offset * 1_000,
            readClock(name, at) - at,
            `${name} at ${new Date(at).toISOString()}`,
          );
        }
        const at = span.end * 1_000;
        assert.equal(
          span.offsetAfter * 1_000,
          readClock(name, at) - at,
          `${name} after ${new Date(at).toISOString()}`,
        );
      }
    }
  }
});

test('spans follow each other without a hole, and know their neighbours', () => {
  for (const name of ['Pacific/Apia', 'Europe/Rome', 'Africa/Casablanca', 'Africa/Monrovia']) {
    const zone = findZone(name);
    let span = zone.spanAt(0);
    while (span.start < Date.UTC(2_200, 0, 1) / 1_000) {
      const next = zone.spanAt(span.end);
      assert.deepEqual(
        [next.start, next.offsetBefore, next.offset],
        [span.end, span.offset, span.offsetAfter],
      );
      span = next;
    }
  }
});

test('offsets that are no whole minutes are kept', () => {
  assert.equal(offsetMs(findZone('Africa/Monrovia'), Date.UTC(1971, 0, 1)), -(44 * 60 + 30) * 1_000);
});

test('a name is taken in any case, and a link keeps its name', () => {
  assert.equal(findZone('europe/rome').name, 'Europe/Rome');
  assert.equal(findZone('EUROPE/ROME').name, 'Europe/Rome');
  assert.equal(findZone('Asia/Kolkata').name, 'Asia/Kolkata');
  assert.equal(findZone('asia/kolkata').name, 'Asia/Kolkata');
  assert.equal(findZone('US/Eastern').name, 'US/Eastern');
  assert.equal(findZone('america/port-au-prince').name, 'America/Port-au-Prince');
  assert.equal(findZone('utc').name, 'UTC');
  assert.equal(findZone('gb-eire').name, 'GB-Eire');
  assert.equal(findZone('Europe/Rome'), findZone('europe/rome'));
});

test('UTC asks nothing of Intl, whose first format is slow', async (t) => {
  // A copy of the module that knows no zone yet.
  const copy = '../../../src/schedules/calendar/zone.ts?fresh';
  const fresh = (await import(copy)) as typeof import('../../../src/schedules/calendar/zone.ts');
  const formats = t.mock.method(Intl, 'DateTimeFormat');
  assert.equal(fresh.findZone('utc').spanAt(0).offset, 0);
  assert.equal(formats.mock.callCount(), 0);
  fresh.findZone('Europe/Rome');
  assert.equal(formats.mock.callCount(), 1);
});

test('UTC, GMT and offsets are zones that never change', () => {
  for (const [name, offset] of [
    ['UTC', 0],
    ['GMT', 0],
    ['Etc/UTC', 0],
    ['Etc/GMT+5', -5],
    ['+05:30', 5.5],
    ['-03:00', -3],
    ['+00:00', 0],
    ['-00:00', 0],
  ] as const) {
    const zone = findZone(name);
    for (const at of [0, Date.UTC(2027, 6, 1), Date.UTC(9000, 0, 1)])
      assert.equal(offsetMs(zone, at), offset * 3_600_000, name);
  }
});

test('a zone that does not exist is refused with the nearest name', () => {
  const nearest: [string, string][] = [
    ['Europe/Romee', 'Europe/Rome'],
    ['Europ/Rome', 'Europe/Rome'],
    ['America/New York', 'America/New_York'],
    ['New_York', 'America/New_York'],
    ['new york', 'America/New_York'],
    ['Kolkata', 'Asia/Kolkata'],
    ['Asia/Kolkatta', 'Asia/Kolkata'],
    ['Europe/Kiyv', 'Europe/Kyiv'],
  ];
  for (const [name, expected] of nearest) assert.equal(refusalOf(name).nearest, expected, name);
  for (const name of [
    '',
    ' ',
    'Mars/Olympus_Mons',
    'local',
    '../etc/passwd',
    'Europe/Rome\n',
    'x'.repeat(10_000),
    undefined,
    null,
    5,
    {},
  ]) {
    assert.match(refusalOf(name).message, /time zone|timezone/, String(name));
  }
});

test('abbreviations that mean several zones are refused, and so are odd offsets', () => {
  for (const name of [
    'IST',
    'PST',
    'CST',
    'ACT',
    'BST',
    'JST',
    'SystemV/PST8',
    'Z',
    '+5:30',
    '+0530',
    '+5',
    '5',
    '+05:60',
    '+19:00',
  ]) {
    assert.match(refusalOf(name).message, /no time zone/, name);
  }
  assert.match(refusalOf('ACT').hint, /IANA/);
});

test('an abbreviation and an offset as people write it get a hint', () => {
  for (const [name, hint] of [
    ['IST', /several zones\. Did you mean "Asia\/Kolkata"\?/],
    ['pst', /"America\/Los_Angeles"/],
    ['GMT+5', /Did you mean "\+05:00" or "Etc\/GMT-5", whose sign is the other way round\?/],
    ['UTC-03:30', /Did you mean "-03:30"\?/],
  ] as const) {
    assert.throws(
      () => findZone(name),
      (error: { code: string; hint: string }) => {
        assert.equal(error.code, 'invalid_timezone');
        assert.match(error.hint, hint);
        return true;
      },
    );
  }
});
