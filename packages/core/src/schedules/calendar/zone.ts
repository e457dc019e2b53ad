import { dulyError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { shown } from '../../base/option-reader.ts';
import { daySeconds, firstDayOfMonth, isLeapYear, monthOfDay, weekdayOfDay } from './civil.ts';

/**
 * A stretch of time in which a zone keeps one offset. Spans also end with each UTC year, so that a zone is read year by year;
 * there the offsets on both sides are mostly equal. All values are seconds; `wall = instant + offset`.
 */
export interface Span {
  /** The first second of the span, since 1970 in UTC. */
  readonly start: number;
  /** The first second after it. */
  readonly end: number;
  readonly offset: number;
  /** The offset in the second before `start`: smaller means that wall times were left out, larger that some come again. */
  readonly offsetBefore: number;
  /** The offset at `end`. */
  readonly offsetAfter: number;
}

/** A time zone, answering from what it has read before; it reads a year from `Intl` when it first needs it. */
export interface Zone {
  /** The name as it was given, in its usual spelling. */
  readonly name: string;
  /** The span that holds a second (since 1970, in UTC). */
  spanAt(second: number): Span;
}

// Zones are few, and every schedule of a zone should find the same one warm.
const zones = new Map<string, Zone>();

/**
 * The zone of this name: an IANA name in any case, or an offset like `+05:30`. Throws `invalid_timezone` with the nearest
 * name. The abbreviations that `Intl` takes from Java (`IST`, `PST`, `ACT`) are refused: most mean several zones.
 */
export function findZone(name: string, field = 'timezone'): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  if (typeof name !== 'string') {
    throw dulyError('invalid_timezone', {
      message: `Expected "${field}" to be the name of a time zone like "Europe/Rome", got ${shown(name)}.`,
      details: { field },
    });
  }
  const zone = readOffset(name) ?? readName(name, field);
  const same = zones.get(zone.name) ?? zone;
  zones.set(same.name, same);
  return same;
}

/** The offset of a zone at a second, in seconds. */
export function offsetAt(zone: Zone, second: number): number {
  return zone.spanAt(second).offset;
}

// ------------------------------------------------------------------------------------------------ names

// Names of the IANA database without a slash. `Intl` also knows abbreviations from old Java versions, which are none.
const singleNames = new Set(
  (
    'UTC UCT GMT GMT0 GMT+0 GMT-0 Greenwich Universal Zulu EST MST HST EST5EDT CST6CDT MST7MDT PST8PDT WET CET MET EET ' +
    'Cuba Egypt Eire GB GB-Eire Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya NZ NZ-CHAT Navajo PRC Poland ' +
    'Portugal ROC ROK Singapore Turkey W-SU'
  ).split(' '),
);

const upperSingleNames = new Map([...singleNames].map((name) => [name.toUpperCase(), name]));

function readOffset(name: string): Zone | null {
  const match = /^([+-])(\d{2}):(\d{2})$/.exec(name);
  if (match === null) return null;
  const seconds = (Number(match[2]) * 60 + Number(match[3])) * 60;
  if (Number(match[3]) > 59 || seconds > 18 * 3_600) return null;
  return createFixedZone(name, seconds === 0 || match[1] === '+' ? seconds : -seconds);
}

function readName(name: string, field: string): Zone {
  const single = upperSingleNames.get(name.toUpperCase());
  if (single === undefined && !/^(?!systemv\/)[a-z][a-z_]*(?:\/[a-z0-9_+-]+){1,2}$/i.test(name)) {
    return refuseName(name, field);
  }
  // The zone of who names none. The first format of a process takes 14 ms to build, and a node would build it with its first schedules in hand.
  if (single === 'UTC') return createFixedZone(single, 0);
  let format: Intl.DateTimeFormat;
  try {
    format = createFormat(name);
  } catch {
    return refuseName(name, field);
  }
  const canonical = format.resolvedOptions().timeZone;
  if (canonical === 'UTC') return createFixedZone(single ?? spellOut(name, canonical), 0);
  return createIntlZone(single ?? spellOut(name, canonical), format);
}

/** The usual spelling. `Intl` gives it only for names that are no links: for `asia/kolkata` it says `Asia/Calcutta`. */
function spellOut(name: string, canonical: string): string {
  if (canonical.toLowerCase() === name.toLowerCase()) return canonical;
  if (name !== name.toLowerCase() && name !== name.toUpperCase()) return name;
  return name.toLowerCase().replace(/(^|[/_-])([a-z])/g, (_, before: string, letter: string) => {
    return before + letter.toUpperCase();
  });
}

// What abbreviations mean most often. They are no names: IST is India, Ireland and Israel.
const abbreviations: Record<string, string> = {
  IST: 'Asia/Kolkata',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  MDT: 'America/Denver',
  CST: 'America/Chicago',
  CDT: 'America/Chicago',
  EDT: 'America/New_York',
  BST: 'Europe/London',
  CEST: 'Europe/Berlin',
  EEST: 'Europe/Athens',
  MSK: 'Europe/Moscow',
  JST: 'Asia/Tokyo',
  KST: 'Asia/Seoul',
  SGT: 'Asia/Singapore',
  AEST: 'Australia/Sydney',
  AEDT: 'Australia/Sydney',
  NZST: 'Pacific/Auckland',
  NZDT: 'Pacific/Auckland',
};

/** A hint for a name that is written often and is none: an abbreviation, or an offset as people write it. */
function commonHint(name: string): { hint: string; nearest: string } | null {
  const meant = abbreviations[name.toUpperCase()];
  if (meant !== undefined) {
    return { hint: `An abbreviation means several zones. Did you mean "${meant}"?`, nearest: meant };
  }
  const offset = /^(?:GMT|UTC)\s?([+-])(\d{1,2})(?::?(\d{2}))?$/i.exec(name);
  if (offset === null) return null;
  const [, sign, hours = '', minutes = '00'] = offset;
  const nearest = `${sign}${hours.padStart(2, '0')}:${minutes}`;
  const etc = `Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}`;
  const other =
    minutes === '00' && Number(hours) <= 12 ? ` or "${etc}", whose sign is the other way round` : '';
  return { hint: `Did you mean "${nearest}"${other}?`, nearest };
}

function refuseName(name: string, field: string): never {
  const common = commonHint(name);
  const near = common?.nearest ?? nearestName(name);
  throw dulyError('invalid_timezone', {
    message: `There is no time zone ${shown(name)} ("${field}").`,
    hint:
      common !== null
        ? common.hint
        : near === undefined
          ? 'Give an IANA name like "Europe/Rome" or "Asia/Kolkata", "UTC", or an offset like "+05:30".'
          : `Did you mean "${near}"?`,
    details: { field, value: name.slice(0, 100), ...(near === undefined ? {} : { nearest: near }) },
  });
}

// Links that people know better than the names `Intl` lists.
const wellKnownLinks = [
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Ho_Chi_Minh',
  'Asia/Yangon',
  'Europe/Kyiv',
  'US/Eastern',
  'US/Central',
  'US/Mountain',
  'US/Pacific',
  'America/Nuuk',
  'America/Buenos_Aires',
  'Africa/Asmara',
  'Atlantic/Faroe',
  'Pacific/Kanton',
];

function nearestName(name: string): string | undefined {
  // The abbreviation nearest to another is a different zone, not a slip.
  if (/^[A-Z]{1,5}$/.test(name)) return undefined;
  const names = [...singleNames, ...wellKnownLinks, ...Intl.supportedValuesOf('timeZone')];
  const wanted = name.trim().replace(/\s+/g, '_').toLowerCase();
  // The city alone, or blanks for underscores: an edit distance would not find those.
  const whole = names.find((one) => one.toLowerCase() === wanted || one.toLowerCase().endsWith(`/${wanted}`));
  return whole ?? nearest(wanted, names);
}

// ----------------------------------------------------------------------------------------- reading spans

function createFixedZone(name: string, offset: number): Zone {
  const span: Span = Object.freeze({
    start: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
    offset,
    offsetBefore: offset,
    offsetAfter: offset,
  });
  return { name, spanAt: () => span };
}

// `Intl` answers for any year, but slowly. From here on every zone follows a rule like "second Sunday of March", so a year's changes
// are those of another year with the same weekdays and length; the 28 years after this one hold all fourteen kinds. (Checked by a
// test for every zone. The last tables written out year by year, those of Morocco and Palestine, end in 2087.)
const yearReadMax = 2_100;

// The shortest time between two changes that cancel each other is 6 days 23 hours (America/Recife in 2000). A scan of every zone, day by
// day from 1969 to 2100, found none shorter; a test repeats it for the years around now.
const probeSeconds = 3 * daySeconds;

function createIntlZone(name: string, format: Intl.DateTimeFormat): Zone {
  const years = new Map<number, readonly Span[]>();
  let last: Span | null = null;

  const spansOfYear = (year: number): readonly Span[] => {
    const known = years.get(year);
    if (known !== undefined) return known;
    // Far years are made when asked for and not kept: there are thousands, and making one is cheap.
    if (year > yearReadMax + 28) return shiftYear(spansOfYear(likeYear(year)), likeYear(year), year);
    const spans = readYear(format, year);
    years.set(year, spans);
    return spans;
  };

  return {
    name,
    spanAt(second) {
      if (last !== null && second >= last.start && second < last.end) return last;
      const year = (monthOfDay(Math.floor(second / daySeconds)) / 12) | 0;
      const spans = spansOfYear(year);
      let index = 0;
      while (second >= (spans[index] as Span).end) index++;
      last = spans[index] as Span;
      return last;
    },
  };
}

function readYear(format: Intl.DateTimeFormat, year: number): readonly Span[] {
  const yearStart = startOfYear(year);
  const yearEnd = startOfYear(year + 1);
  const changes: { at: number; offset: number }[] = [
    { at: yearStart, offset: readOffsetAt(format, yearStart) },
  ];
  let known = yearStart;
  let knownOffset = (changes[0] as { offset: number }).offset;
  while (known < yearEnd) {
    const probe = Math.min(known + probeSeconds, yearEnd);
    const offset = readOffsetAt(format, probe);
    if (offset !== knownOffset) {
      let before = known;
      let after = probe;
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        if (readOffsetAt(format, middle) === knownOffset) before = middle;
        else after = middle;
      }
      knownOffset = readOffsetAt(format, after);
      // A change in the first second of the next year belongs to that one.
      if (after < yearEnd) changes.push({ at: after, offset: knownOffset });
      known = after;
    } else known = probe;
  }
  const offsetBefore = readOffsetAt(format, yearStart - 1);
  const offsetAfter = readOffsetAt(format, yearEnd);
  return changes.map(({ at, offset }, index) =>
    Object.freeze({
      start: at,
      end: changes[index + 1]?.at ?? yearEnd,
      offset,
      offsetBefore: changes[index - 1]?.offset ?? offsetBefore,
      offsetAfter: changes[index + 1]?.offset ?? offsetAfter,
    }),
  );
}

function likeYear(year: number): number {
  const firstWeekday = weekdayOfDay(firstDayOfMonth(year * 12));
  let like = yearReadMax + 1;
  while (isLeapYear(like) !== isLeapYear(year) || weekdayOfDay(firstDayOfMonth(like * 12)) !== firstWeekday) {
    like++;
  }
  return like;
}

function shiftYear(spans: readonly Span[], from: number, to: number): readonly Span[] {
  const shift = startOfYear(to) - startOfYear(from);
  return spans.map((span) => ({ ...span, start: span.start + shift, end: span.end + shift }));
}

function startOfYear(year: number): number {
  return firstDayOfMonth(year * 12) * daySeconds;
}

/** Only what an offset needs: each further field makes the first format of a process slower to build. */
function createFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}

/** The offset that `Intl` shows at a second: the wall clock reads day of month and time, like `31, 19:00:00`. */
function readOffsetAt(format: Intl.DateTimeFormat, second: number): number {
  const [dayOfMonth, hour, minute, seconds] = (format.format(second * 1_000).match(/\d+/g) ?? []).map(
    Number,
  ) as [number, number, number, number];
  const day = Math.floor(second / daySeconds);
  const difference = dayOfMonth - (day - firstDayOfMonth(monthOfDay(day)) + 1);
  // Offsets are shorter than a day, so a larger difference means that the two dates lie in different months.
  const days = difference > 1 ? -1 : difference < -1 ? 1 : difference;
  return days * daySeconds + hour * 3_600 + minute * 60 + seconds - (second - day * daySeconds);
}
