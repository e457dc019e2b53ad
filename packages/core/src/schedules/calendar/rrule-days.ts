import {
  dayOfDate,
  daySeconds,
  firstDayOfMonth,
  isLeapYear,
  lengthOfMonth,
  monthOfDay,
  weekdayOfDay,
} from './civil.ts';
import { isWallRule, type RruleText } from './rrule-text.ts';

const weekdayCodes = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

// The calendar repeats itself after 400 years, so what does not come in so many months does not come at all.
const monthCountMax = 4_800;

/** The wall times of a recurrence rule, by arithmetic. Seconds in and out, infinities for none. */
export interface RruleTimes {
  /** The first that is not before this one. */
  next(wall: number): number;
  /** The last that is not after this one and not before the rule's start. */
  previous(wall: number): number;
  /** The days of a month: bit `n` is the day `n + 1`. */
  daysOfMonth(month: number): number;
  /** How many months were looked at so far: what an answer costs. */
  spentCount(): number;
}

/** The days that a rule names, by arithmetic. */
export interface NamedDays {
  /** The first named day that is not before this one; `Infinity` if there is none. */
  next(day: number): number;
  /** The last named day that is not after this one and, by its month, not before the start; `-Infinity` if there is none. */
  previous(day: number): number;
  daysOfMonth(month: number): number;
  spentCount(): number;
}

/** The days that meet the conditions of a rule. */
export function createNamedDays(text: Pick<RruleText, 'frequency' | 'parts'>, startDay: number): NamedDays {
  const monthDays = createMonthDays(text, startDay);
  const periods = createPeriods(text, startDay);
  const firstMonth = monthOfDay(startDay);
  const alike = new Map<number, number>();
  let spentCount = 0;
  let knownMonth = Number.NaN;
  let knownDays = 0;
  const findDays = (month: number): number => {
    const kind = periods.kindOf(month);
    if (kind === 0) return 0;
    if (kind === unlike) return monthDays(month);
    const key = kind * 512 + kindOfMonth(month);
    const known = alike.get(key);
    if (known !== undefined) return known;
    const days = monthDays(month);
    alike.set(key, days);
    return days;
  };
  const daysOfMonth = (month: number): number => {
    if (month === knownMonth) return knownDays;
    spentCount += 1;
    knownMonth = month;
    knownDays = findDays(month);
    return knownDays;
  };
  return {
    next(from) {
      const start = monthOfDay(from);
      let month = start;
      let mask = daysOfMonth(month) & (-1 << (from - firstDayOfMonth(month)));
      while (mask === 0) {
        month = periods.next(month + 1);
        if (month - start > monthCountMax) return Number.POSITIVE_INFINITY;
        mask = daysOfMonth(month);
      }
      return firstDayOfMonth(month) + 31 - Math.clz32(mask & -mask);
    },
    previous(to) {
      const start = monthOfDay(to);
      let month = start;
      // All bits up to that of the day; a shift by 32 would be one by 0.
      let mask = daysOfMonth(month) & ~(-2 << (to - firstDayOfMonth(month)));
      while (mask === 0) {
        month = periods.previous(month - 1);
        if (start - month > monthCountMax || month < firstMonth) return Number.NEGATIVE_INFINITY;
        mask = daysOfMonth(month);
      }
      return firstDayOfMonth(month) + 31 - Math.clz32(mask);
    },
    daysOfMonth,
    spentCount: () => spentCount,
  };
}

/** Months whose days are like those of no other. */
const unlike = -1;

/** Which months INTERVAL leaves. Without it a year of every 400, asked for again and again, costs as much as all of them. */
interface Periods {
  /** 0: the month has no day of the rule; `unlike`; or what months share, besides `kindOfMonth`, that have the same days. */
  kindOf(month: number): number;
  /** The first month, not before this one, of which `kindOf` may be other than 0. */
  next(month: number): number;
  /** The last month, not after this one, of which `kindOf` may be other than 0. */
  previous(month: number): number;
}

function createPeriods(
  { frequency, parts }: Pick<RruleText, 'frequency' | 'parts'>,
  startDay: number,
): Periods {
  const interval = Number(parts.get('INTERVAL') ?? '1');
  if (interval === 1) return { kindOf: () => 1, next: (month) => month, previous: (month) => month };
  const startMonth = monthOfDay(startDay);
  const next = (from: number, start: number): number => from + positiveModulo(start - from, interval);
  const previous = (to: number, start: number): number => to - positiveModulo(to - start, interval);
  if (frequency === 'MONTHLY') {
    return {
      kindOf: (month) => ((month - startMonth) % interval === 0 ? 1 : 0),
      next: (month) => next(month, startMonth),
      previous: (month) => previous(month, startMonth),
    };
  }
  if (frequency === 'YEARLY') {
    const startYear = Math.floor(startMonth / 12);
    const isEvery = (year: number): boolean => (year - startYear) % interval === 0;
    // The first and the last week of a year may reach into the years beside it.
    const reach = parts.has('BYWEEKNO') ? 1 : 0;
    return {
      kindOf(month) {
        const year = Math.floor(month / 12);
        let kind = isEvery(year) ? 1 : 0;
        if (reach === 0) return kind;
        if (month % 12 === 0 && isEvery(year - 1)) kind |= 2;
        if (month % 12 === 11 && isEvery(year + 1)) kind |= 4;
        return kind;
      },
      next(month) {
        // The last year that may reach into this month.
        const year = next(Math.floor((month - reach) / 12), startYear);
        return Math.max(month, year * 12 - reach);
      },
      previous(month) {
        const year = previous(Math.floor((month + reach) / 12), startYear);
        return Math.min(month, year * 12 + 11 + reach);
      },
    };
  }
  const length = frequency === 'WEEKLY' ? 7 : 1;
  const weekStart = weekdayCodes.indexOf(parts.get('WKST') ?? 'MO');
  const periodOf = (day: number): number => (length === 1 ? day : Math.floor((day - weekStart + 4) / 7));
  const firstDayOf = (period: number): number => (length === 1 ? period : period * 7 + weekStart - 4);
  const startPeriod = periodOf(startDay);
  const periods: Periods = {
    kindOf: (month) => (periods.next(month) === month ? unlike : 0),
    next(month) {
      const period = next(periodOf(firstDayOfMonth(month)), startPeriod);
      return Math.max(month, monthOfDay(firstDayOf(period)));
    },
    previous(month) {
      const period = previous(periodOf(firstDayOfMonth(month + 1) - 1), startPeriod);
      return Math.min(month, monthOfDay(firstDayOf(period) + length - 1));
    },
  };
  return periods;
}

function positiveModulo(number: number, divisor: number): number {
  return ((number % divisor) + divisor) % divisor;
}

/** Less than 512. Months of one kind have the same weekdays and lie in the same weeks: of their own year, the one before or the one after. */
function kindOfMonth(month: number): number {
  const year = Math.floor(month / 12);
  const leap = isLeapYear(year) ? 1 : isLeapYear(year - 1) ? 2 : isLeapYear(year + 1) ? 3 : 0;
  return weekdayOfDay(firstDayOfMonth(month)) * 48 + leap * 12 + (month % 12);
}

/**
 * The times of a rule that is DAILY or coarser and has no BYSETPOS: the parts of such a rule are conditions that a day meets or does not (RFC
 * 5545, 3.3.10), so no period has to be expanded. null for any other rule, which is left to the library.
 */
export function createRruleTimes(text: RruleText, startWall: number): RruleTimes | null {
  const { parts } = text;
  if (!isWallRule(text) || parts.has('BYSETPOS')) return null;
  const startDay = Math.floor(startWall / daySeconds);
  const days = createNamedDays(text, startDay);
  const { next: nextDay, previous: previousDay, daysOfMonth, spentCount } = days;
  const times = timesOfDay(text, startWall - startDay * daySeconds);
  const [firstTime, lastTime] = [times[0] as number, times.at(-1) as number];
  return {
    next(wall) {
      const from = Math.max(wall, startWall);
      const day = Math.floor(from / daySeconds);
      const named = nextDay(day);
      if (named === Number.POSITIVE_INFINITY) return named;
      if (named > day) return named * daySeconds + firstTime;
      const time = times.find((one) => one >= from - day * daySeconds);
      if (time !== undefined) return day * daySeconds + time;
      return nextDay(day + 1) * daySeconds + firstTime;
    },
    previous(wall) {
      if (wall < startWall) return Number.NEGATIVE_INFINITY;
      const day = Math.floor(wall / daySeconds);
      const named = previousDay(day);
      const time = named === day ? times.findLast((one) => one <= wall - day * daySeconds) : lastTime;
      const found =
        time === undefined ? previousDay(day - 1) * daySeconds + lastTime : named * daySeconds + time;
      return found >= startWall ? found : Number.NEGATIVE_INFINITY;
    },
    daysOfMonth,
    spentCount,
  };
}

/** The times of day, in order: those that are named, for what is not named that of the start. */
function timesOfDay({ parts }: RruleText, startTime: number): number[] {
  const named = (part: string, own: number): number[] => numbersOf(parts.get(part)) ?? [own];
  const hours = named('BYHOUR', Math.floor(startTime / 3_600));
  const minutes = named('BYMINUTE', Math.floor(startTime / 60) % 60);
  const seconds = named('BYSECOND', startTime % 60);
  const times = hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => hour * 3_600 + minute * 60 + second)),
  );
  return [...new Set(times)].sort((a, b) => a - b);
}

/** The numbers of a part; null: it is not there. */
export function numbersOf(list: string | undefined): number[] | null {
  return list === undefined ? null : list.split(',').map(Number);
}

/** Whether a number, or the same counted from the end, is among those named; nothing named: any. */
type Named = (number: number, fromEnd: number) => boolean;

function namedIn(list: string | undefined): Named | null {
  const numbers = numbersOf(list);
  if (numbers === null) return null;
  const set = new Set(numbers);
  return (number, fromEnd) => set.has(number) || set.has(fromEnd);
}

function createMonthDays(
  text: Pick<RruleText, 'frequency' | 'parts'>,
  startDay: number,
): (month: number) => number {
  const { frequency, parts } = text;
  const interval = Number(parts.get('INTERVAL') ?? '1');
  const startMonth = monthOfDay(startDay);
  const months = namedIn(parts.get('BYMONTH'));
  const monthDays = namedIn(parts.get('BYMONTHDAY'));
  const yearDays = namedIn(parts.get('BYYEARDAY'));
  const weeks = namedIn(parts.get('BYWEEKNO'));
  const weekStart = weekdayCodes.indexOf(parts.get('WKST') ?? 'MO');
  const namesDays = monthDays !== null || yearDays !== null || parts.has('BYDAY');
  const inMonth = frequency === 'MONTHLY' || months !== null;
  const weekdays = parts.has('BYDAY') ? readWeekdays(parts.get('BYDAY') as string) : null;
  const ownWeekday = weekdayOfDay(startDay);
  const ownMonthDay = startDay - firstDayOfMonth(startMonth) + 1;
  const weekOf = (day: number): number => Math.floor((day - weekStart + 4) / 7);
  const isEvery = (distance: number): boolean => distance % interval === 0;

  const isNamed = (day: number, place: Place): boolean => {
    const { dayOfMonth, monthLength, dayOfYear, yearLength } = place;
    if (frequency === 'DAILY' && !isEvery(day - startDay)) return false;
    if (frequency === 'WEEKLY' && !isEvery(weekOf(day) - weekOf(startDay))) return false;
    if (monthDays !== null && !monthDays(dayOfMonth, dayOfMonth - monthLength - 1)) return false;
    if (yearDays !== null && !yearDays(dayOfYear, dayOfYear - yearLength - 1)) return false;
    if (weeks !== null) {
      const { year, week, weekCount } = weekOfYear(day, weekStart);
      if (!weeks(week, week - weekCount - 1) || !isEvery(year - Math.floor(startMonth / 12))) return false;
    }
    if (weekdays !== null) {
      const weekday = weekdayOfDay(day);
      const [nth, nthLast] = inMonth
        ? [Math.ceil(dayOfMonth / 7), Math.ceil((monthLength - dayOfMonth + 1) / 7)]
        : [Math.ceil(dayOfYear / 7), Math.ceil((yearLength - dayOfYear + 1) / 7)];
      return weekdays.some(
        (one) => one.weekday === weekday && (one.nth === 0 || one.nth === nth || one.nth === -nthLast),
      );
    }
    if (namesDays || frequency === 'DAILY') return true;
    // What a rule does not say is that of its beginning (RFC 5545, 3.3.10): of a week its weekday.
    const isByWeek = frequency === 'WEEKLY' || weeks !== null;
    return isByWeek ? weekdayOfDay(day) === ownWeekday : dayOfMonth === ownMonthDay;
  };

  return (month) => {
    const year = Math.floor(month / 12);
    if (months !== null && !months((month % 12) + 1, 0)) return 0;
    if (frequency === 'MONTHLY' && !isEvery(month - startMonth)) return 0;
    if (frequency === 'YEARLY' && weeks === null) {
      if (!isEvery(year - Math.floor(startMonth / 12))) return 0;
      if (!namesDays && months === null && month % 12 !== startMonth % 12) return 0;
    }
    const first = firstDayOfMonth(month);
    const place: Place = {
      dayOfMonth: 0,
      monthLength: lengthOfMonth(month),
      dayOfYear: first - firstDayOfMonth(year * 12),
      yearLength: isLeapYear(year) ? 366 : 365,
    };
    let mask = 0;
    for (let index = 0; index < place.monthLength; index++) {
      place.dayOfMonth += 1;
      place.dayOfYear += 1;
      if (isNamed(first + index, place)) mask |= 1 << index;
    }
    return mask;
  };
}

interface Place {
  dayOfMonth: number;
  monthLength: number;
  dayOfYear: number;
  yearLength: number;
}

/** `MO,2TU,-1FR`: weekdays (Sunday is 0) and which of them; 0: every. */
function readWeekdays(list: string): { weekday: number; nth: number }[] {
  return list.split(',').map((item) => {
    const weekday = weekdayCodes.indexOf(item.slice(-2));
    return { weekday, nth: Number(item.slice(0, -2) || 0) };
  });
}

/** The week of a day: the first week of a year is the first with four days in it. */
function weekOfYear(day: number, weekStart: number): { year: number; week: number; weekCount: number } {
  const calendarYear = Math.floor(monthOfDay(day) / 12);
  for (const year of [calendarYear + 1, calendarYear, calendarYear - 1]) {
    const first = firstWeekDay(year, weekStart);
    if (day < first) continue;
    const weekCount = (firstWeekDay(year + 1, weekStart) - first) / 7;
    return { year, week: Math.floor((day - first) / 7) + 1, weekCount };
  }
  return { year: calendarYear, week: 0, weekCount: 0 };
}

/** The day on which the first week of a year begins: the one that holds 4 January. */
function firstWeekDay(year: number, weekStart: number): number {
  const fourth = dayOfDate(year, 1, 4);
  return fourth - ((weekdayOfDay(fourth) - weekStart + 7) % 7);
}

/**
 * Whether BYSETPOS names places that no period of the rule has: `WEEKLY;BYDAY=MO;BYSETPOS=2`. The library would look for them in each
 * period of its search.
 */
export function hasNoPlace({ frequency, parts }: RruleText): boolean {
  const places = numbersOf(parts.get('BYSETPOS'));
  if (places === null) return false;
  const lengthOf = (part: string): number => parts.get(part)?.split(',').length ?? 1;
  const timeCount = lengthOf('BYHOUR') * lengthOf('BYMINUTE') * lengthOf('BYSECOND');
  return Math.min(...places.map(Math.abs)) > timeCount * dayCountMax(frequency, parts);
}

function dayCountMax(frequency: RruleText['frequency'], parts: RruleText['parts']): number {
  const weekdays = parts.has('BYDAY') ? readWeekdays(parts.get('BYDAY') as string) : null;
  switch (frequency) {
    case 'DAILY':
      return 1;
    case 'WEEKLY':
      return weekdays?.length ?? 1;
    case 'MONTHLY': {
      const named = parts.get('BYMONTHDAY')?.split(',').length ?? null;
      const byWeekday = weekdays?.reduce((sum, { nth }) => sum + (nth === 0 ? 5 : 1), 0) ?? null;
      return Math.min(named ?? 31, byWeekday ?? 31, named === null && byWeekday === null ? 1 : 31);
    }
    default:
      return Number.POSITIVE_INFINITY;
  }
}
