import { daySeconds } from './civil.ts';
import { createNamedDays, numbersOf } from './rrule-days.ts';
import { isWallRule, type RruleText } from './rrule-text.ts';

/** The wall times of a recurrence rule that is finer than DAILY, by arithmetic. Seconds in and out, infinities for none. */
export interface FineTimes {
  /** The first that is not before this one. */
  next(wall: number): number;
  /** The last that is not after this one and not before the rule's start. */
  previous(wall: number): number;
}

const unitSeconds: Partial<Record<RruleText['frequency'], number>> = {
  HOURLY: 3_600,
  MINUTELY: 60,
  SECONDLY: 1,
};

// How many days that the rule names are looked at, and how far ahead, until its interval meets its times: the calendar repeats itself after 400
// years, and a millisecond is enough for this.
const dayCountMax = 5_000;
const dayDistanceMax = 146_097;

/**
 * The times of a rule that is HOURLY or finer and has no BYSETPOS: its parts are conditions for the day and for the time of day, and its
 * interval is a remainder, so days are passed over by the calendar and times by division. null for any other rule, which is left to the
 * library.
 */
export function createFineTimes(text: RruleText, startWall: number): FineTimes | null {
  const { frequency, parts } = text;
  const unit = unitSeconds[frequency];
  // A week or an nth weekday means nothing here (RFC 5545, 3.3.10); what it means all the same the library says.
  const isUnclear = parts.has('BYWEEKNO') || /\d/.test(parts.get('BYDAY') ?? '');
  if (unit === undefined || isWallRule(text) || parts.has('BYSETPOS') || isUnclear) return null;
  const startDay = Math.floor(startWall / daySeconds);
  const dayParts = new Map([...parts].filter(([name]) => name !== 'INTERVAL'));
  const days = createNamedDays({ frequency: 'DAILY', parts: dayParts }, startDay);
  const units = createUnits(text, unit, Math.floor(startWall / unit));
  const within = timesWithin(text, unit, startWall);
  const [firstWithin, lastWithin] = [within[0] as number, within.at(-1) as number];
  const unitsPerDay = daySeconds / unit;

  /** The first unit (an hour, a minute, a second since 1970) that the rule names, from one on. */
  const nextUnit = (from: number): number => {
    let day = Math.floor(from / unitsPerDay);
    let first = from - day * unitsPerDay;
    const lastDay = day + dayDistanceMax;
    for (let count = 0; count < dayCountMax; count++) {
      const named = days.next(day);
      if (named > lastDay || units.isNever(count)) break;
      if (named > day) first = 0;
      const found = units.next(named, first);
      if (found !== none) return named * unitsPerDay + found;
      day = named + 1;
      first = 0;
    }
    return Number.POSITIVE_INFINITY;
  };
  const previousUnit = (to: number): number => {
    let day = Math.floor(to / unitsPerDay);
    let last = to - day * unitsPerDay;
    for (let count = 0; count < dayCountMax && day >= startDay; count++) {
      const named = days.previous(day);
      if (named < startDay || units.isNever(count)) break;
      if (named < day) last = unitsPerDay - 1;
      const found = units.previous(named, last);
      if (found !== none) return named * unitsPerDay + found;
      day = named - 1;
      last = unitsPerDay - 1;
    }
    return Number.NEGATIVE_INFINITY;
  };

  return {
    next(wall) {
      const from = Math.max(wall, startWall);
      const own = Math.floor(from / unit);
      const found = nextUnit(own);
      if (found > own) return found * unit + firstWithin;
      const time = within.find((one) => one >= from - own * unit);
      return time === undefined ? nextUnit(own + 1) * unit + firstWithin : own * unit + time;
    },
    previous(wall) {
      if (wall < startWall) return Number.NEGATIVE_INFINITY;
      const own = Math.floor(wall / unit);
      let found = previousUnit(own);
      let time: number | undefined = lastWithin;
      if (found === own) {
        time = within.findLast((one) => one <= wall - own * unit);
        if (time === undefined) found = previousUnit(own - 1);
      }
      const at = found * unit + (time ?? lastWithin);
      return at >= startWall ? at : Number.NEGATIVE_INFINITY;
    },
  };
}

/** The times within an hour or a minute, in order: those that are named, for what is not named those of the start. */
function timesWithin({ parts }: RruleText, unit: number, startWall: number): number[] {
  const named = (part: string, own: number): number[] => numbersOf(parts.get(part)) ?? [own];
  if (unit === 1) return [0];
  const minutes = unit === 60 ? [0] : named('BYMINUTE', Math.floor(startWall / 60) % 60);
  const seconds = named('BYSECOND', startWall % 60);
  const times = minutes.flatMap((minute) => seconds.map((second) => minute * 60 + second));
  return [...new Set(times)].sort((a, b) => a - b);
}

/** The units of a day (its hours, minutes or seconds) that the times and the interval of a rule name. */
interface Units {
  /** The first of a day that is not before this one, or `none`. */
  next(day: number, from: number): number;
  /** The last of a day that is not after this one, or `none`. */
  previous(day: number, to: number): number;
  /** Whether no day has any; looked into only after some days without. */
  isNever(emptyCount: number): boolean;
}

// So many days without a match are looked at before it is asked whether there can be one at all.
const doubtCount = 400;

function createUnits({ parts }: RruleText, unit: number, startUnit: number): Units {
  const interval = Number(parts.get('INTERVAL') ?? '1');
  const unitsPerDay = daySeconds / unit;
  // How far the first unit of a day is past one that the interval names: days of one remainder are alike.
  const remainderOf = (day: number): number => modulo(day * unitsPerDay - startUnit, interval);
  const limits = limitsOf(parts, unit);
  const namedCount = limits.reduce((product, { named }) => product * named.length, 1);
  // Whatever is fewer is looked at: the units that the times name, or those that the interval does.
  const { search, searchBack } =
    namedCount <= Math.max(8, unitsPerDay / interval / 4)
      ? createUnitList(limits, interval)
      : createUnitSteps(limits, interval, unitsPerDay);
  const firstBy = new Int32Array(interval).fill(unknown);
  const firstOf = (remainder: number): number => {
    if (firstBy[remainder] === unknown) firstBy[remainder] = search(remainder, 0);
    return firstBy[remainder] as number;
  };
  let never: boolean | null = null;

  return {
    next(day, from) {
      const remainder = remainderOf(day);
      const first = firstOf(remainder);
      return first === none || first >= from ? first : search(remainder, from);
    },
    previous(day, to) {
      const remainder = remainderOf(day);
      const first = firstOf(remainder);
      return first === none || first > to ? none : searchBack(remainder, to);
    },
    isNever(emptyCount) {
      if (never !== null || emptyCount < doubtCount) return never ?? false;
      const seen = new Set<number>();
      never = true;
      for (let day = 0; never && !seen.has(remainderOf(day)); day++) {
        seen.add(remainderOf(day));
        if (firstOf(remainderOf(day)) !== none) never = false;
      }
      return never;
    },
  };
}

const none = -1;
const unknown = -2;

/** A part that limits units, with what it names. */
interface Limit {
  /** How many units one of it is: an hour in seconds. */
  length: number;
  count: number;
  named: number[];
}

/** Hours always, minutes of minutes and seconds, seconds of seconds; the coarsest first. */
function limitsOf(parts: RruleText['parts'], unit: number): Limit[] {
  const limit = (part: string, count: number, seconds: number): Limit[] => {
    if (seconds < unit) return [];
    const numbers = numbersOf(parts.get(part)) ?? Array.from({ length: count }, (_, number) => number);
    return [{ length: seconds / unit, count, named: [...new Set(numbers)].sort((a, b) => a - b) }];
  };
  return [...limit('BYHOUR', 24, 3_600), ...limit('BYMINUTE', 60, 60), ...limit('BYSECOND', 60, 1)];
}

/** Finds units of a day whose distance from its beginning, and the remainder, are a multiple of the interval; `none` if there is none. */
interface UnitSearch {
  search(remainder: number, from: number): number;
  searchBack(remainder: number, to: number): number;
}

function createUnitList(limits: Limit[], interval: number): UnitSearch {
  const units = limits.reduce<number[]>(
    (all, { length, named }) => all.flatMap((base) => named.map((number) => base + number * length)),
    [0],
  );
  const isMet = (at: number, remainder: number): boolean => (at + remainder) % interval === 0;
  return {
    search: (remainder, from) => units.find((at) => at >= from && isMet(at, remainder)) ?? none,
    searchBack: (remainder, to) => units.findLast((at) => at <= to && isMet(at, remainder)) ?? none,
  };
}

function createUnitSteps(limits: Limit[], interval: number, unitsPerDay: number): UnitSearch {
  // For each hour, minute and second the nearest that is named, up and down; its own end where there is none left.
  const steps = limits.map(({ length, count, named }) => ({
    length,
    count,
    up: Array.from({ length: count }, (_, index) => named.find((one) => one >= index) ?? count),
    down: Array.from({ length: count }, (_, index) => named.findLast((one) => one <= index) ?? -1),
  }));
  return {
    search(remainder, from) {
      const align = (at: number): number => at + modulo(-(at + remainder), interval);
      let at = align(from);
      search: while (at < unitsPerDay) {
        for (const { length, count, up } of steps) {
          const index = Math.floor(at / length);
          const own = index % count;
          const named = up[own] as number;
          if (named === own) continue;
          at = align((index - own + named) * length);
          continue search;
        }
        return at;
      }
      return none;
    },
    searchBack(remainder, to) {
      const align = (at: number): number => at - modulo(at + remainder, interval);
      let at = align(to);
      search: while (at >= 0) {
        for (const { length, count, down } of steps) {
          const index = Math.floor(at / length);
          const own = index % count;
          const named = down[own] as number;
          if (named === own) continue;
          at = align((index - own + named + 1) * length - 1);
          continue search;
        }
        return at;
      }
      return none;
    },
  };
}

function modulo(number: number, divisor: number): number {
  return ((number % divisor) + divisor) % divisor;
}
