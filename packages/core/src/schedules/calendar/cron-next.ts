import { daySeconds, firstDayOfMonth, monthOfDay } from './civil.ts';
import { createCronDays } from './cron-days.ts';
import { type CronFields, hasBit, yearMax, yearMin } from './cron-fields.ts';
import type { WallTimes } from './zoned-times.ts';

/** The wall times of a cron, with its days and its times of day apart, for those who skip whole days. */
export interface CronTimes extends WallTimes {
  readonly times: TimesOfDay;
  /** The first day that it names, not before this one; `Infinity` if there is none. */
  nextDay(day: number): number;
  /** The last day that it names, not after this one; `-Infinity` if there is none. */
  previousDay(day: number): number;
  /** The days it names in a month (year × 12 + 0 to 11): bit `n` is the day `n + 1`. */
  daysOfMonth(month: number): number;
}

/** The times of a day that a cron names, in seconds since midnight; the same for each of its days. */
export interface TimesOfDay {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** The first that is not before this one; -1 if there is none. */
  next(timeOfDay: number): number;
  /** The last that is not after this one; -1 if there is none. */
  previous(timeOfDay: number): number;
  has(timeOfDay: number): boolean;
  /** How many there are before this one. */
  countBefore(timeOfDay: number): number;
}

/** Makes the evaluator of a cron: answers by arithmetic on masks, without trying one second after the other. */
export function createCronTimes(fields: CronFields): CronTimes {
  const times = createTimesOfDay(fields);
  const days = createCronDays(fields);
  const years = fields.years === null ? null : createYears(fields.years);

  // The month asked for last, always a named one: most questions are about the same.
  let month = -1;
  let monthStart = 0;
  let monthEnd = 0;
  let mask = 0;

  const enterMonth = (number: number): void => {
    month = number;
    monthStart = firstDayOfMonth(number);
    monthEnd = firstDayOfMonth(number + 1);
    mask = days.maskOf(number);
  };

  const isMonthNamed = (number: number): boolean => {
    const year = (number / 12) | 0;
    return ((fields.months >>> (number - year * 12)) & 1) === 1 && (years === null || years.has(year));
  };

  const nextMonth = (from: number): number => {
    let year = (from / 12) | 0;
    let number = from - year * 12;
    for (;;) {
      if (years !== null && !years.has(year)) {
        year = years.next(year);
        number = 0;
      }
      if (year > yearMax) return -1;
      const rest = fields.months >>> number;
      if (rest !== 0) return year * 12 + number + trailingZeros(rest);
      year++;
      number = 0;
    }
  };

  const previousMonth = (from: number): number => {
    let year = (from / 12) | 0;
    let number = from - year * 12;
    for (;;) {
      if (years !== null && !years.has(year)) {
        year = years.previous(year);
        number = 11;
      }
      // The last hours of 1969 are 1970 in the east.
      if (year < yearMin - 1) return -1;
      const rest = fields.months & (2 ** (number + 1) - 1);
      if (rest !== 0) return year * 12 + 31 - Math.clz32(rest);
      year--;
      number = 11;
    }
  };

  const nextDay = (day: number): number => {
    if (day < monthStart || day >= monthEnd) {
      const named = nextMonth(monthOfDay(day));
      if (named === -1) return Number.POSITIVE_INFINITY;
      enterMonth(named);
    }
    for (;;) {
      const rest = day > monthStart ? mask >>> (day - monthStart) : mask;
      if (rest !== 0) return (day > monthStart ? day : monthStart) + trailingZeros(rest);
      const named = nextMonth(month + 1);
      if (named === -1) return Number.POSITIVE_INFINITY;
      enterMonth(named);
    }
  };

  const previousDay = (day: number): number => {
    const wanted = day >= monthStart && day < monthEnd ? month : monthOfDay(day);
    let named = previousMonth(wanted);
    for (;;) {
      if (named === -1) return Number.NEGATIVE_INFINITY;
      if (named !== month) enterMonth(named);
      const rest = day >= monthEnd - 1 ? mask : mask & (2 ** (day - monthStart + 1) - 1);
      if (rest !== 0) return monthStart + 31 - Math.clz32(rest);
      named = previousMonth(month - 1);
    }
  };

  return {
    times,
    nextDay,
    previousDay,
    daysOfMonth: (number) => (isMonthNamed(number) ? days.maskOf(number) : 0),
    next(wall) {
      const day = Math.floor(wall / daySeconds);
      const named = nextDay(day);
      if (named !== day) return named * daySeconds + times.first;
      const time = times.next(wall - day * daySeconds);
      if (time !== -1) return day * daySeconds + time;
      return nextDay(day + 1) * daySeconds + times.first;
    },
    previous(wall) {
      const day = Math.floor(wall / daySeconds);
      const named = previousDay(day);
      if (named !== day) return named * daySeconds + times.last;
      const time = times.previous(wall - day * daySeconds);
      if (time !== -1) return day * daySeconds + time;
      return previousDay(day - 1) * daySeconds + times.last;
    },
    count(from, to) {
      if (to <= from) return 0;
      const firstDay = Math.floor(from / daySeconds);
      const lastDay = Math.floor(to / daySeconds);
      const isDay = (day: number): boolean => nextDay(day) === day;
      let count = countDays(firstDay, lastDay) * times.count;
      if (isDay(firstDay)) count -= times.countBefore(from - firstDay * daySeconds);
      if (isDay(lastDay)) count += times.countBefore(to - lastDay * daySeconds);
      return count;
    },
  };

  /** Named days from `from` up to, but not including, `to`: month by month. */
  function countDays(from: number, to: number): number {
    let count = 0;
    let number = nextMonth(monthOfDay(from));
    while (number !== -1) {
      const start = firstDayOfMonth(number);
      if (start >= to) break;
      let named = days.maskOf(number);
      if (from > start) named = (named >>> (from - start)) << (from - start);
      if (to - start < 31) named &= 2 ** (to - start) - 1;
      count += bitCount(named);
      number = nextMonth(number + 1);
    }
    return count;
  }
}

function createTimesOfDay(fields: CronFields): TimesOfDay {
  const hours = createScale(24, (hour) => ((fields.hours >>> hour) & 1) === 1);
  const minutes = createScale(60, (minute) => hasBit(fields.minutes, minute));
  const seconds = createScale(60, (second) => hasBit(fields.seconds, second));
  const perHour = minutes.count * seconds.count;
  const { next: nextHours, previous: previousHours } = hours;
  const { next: nextMinutes, previous: previousMinutes } = minutes;
  const { next: nextSeconds, previous: previousSeconds } = seconds;
  const firstInHour = minutes.first * 60 + seconds.first;
  const lastInHour = minutes.last * 60 + seconds.last;

  return {
    count: hours.count * perHour,
    first: hours.first * 3_600 + firstInHour,
    last: hours.last * 3_600 + lastInHour,
    next(timeOfDay) {
      const hour = (timeOfDay / 3_600) | 0;
      const inHour = timeOfDay - hour * 3_600;
      const named = nextHours[hour] as number;
      if (named === hour) {
        const minute = (inHour / 60) | 0;
        let found = nextMinutes[minute] as number;
        if (found === minute) {
          const second = nextSeconds[inHour - minute * 60] as number;
          if (second !== -1) return hour * 3_600 + minute * 60 + second;
          found = nextMinutes[minute + 1] as number;
        }
        if (found !== -1) return hour * 3_600 + found * 60 + seconds.first;
        const later = nextHours[hour + 1] as number;
        return later === -1 ? -1 : later * 3_600 + firstInHour;
      }
      return named === -1 ? -1 : named * 3_600 + firstInHour;
    },
    previous(timeOfDay) {
      const hour = (timeOfDay / 3_600) | 0;
      const inHour = timeOfDay - hour * 3_600;
      const named = previousHours[hour + 1] as number;
      if (named === hour) {
        const minute = (inHour / 60) | 0;
        let found = previousMinutes[minute + 1] as number;
        if (found === minute) {
          const second = previousSeconds[inHour - minute * 60 + 1] as number;
          if (second !== -1) return hour * 3_600 + minute * 60 + second;
          found = previousMinutes[minute] as number;
        }
        if (found !== -1) return hour * 3_600 + found * 60 + seconds.last;
        const earlier = previousHours[hour] as number;
        return earlier === -1 ? -1 : earlier * 3_600 + lastInHour;
      }
      return named === -1 ? -1 : named * 3_600 + lastInHour;
    },
    has(timeOfDay) {
      const hour = (timeOfDay / 3_600) | 0;
      const minute = ((timeOfDay / 60) | 0) % 60;
      const second = timeOfDay % 60;
      return nextHours[hour] === hour && nextMinutes[minute] === minute && nextSeconds[second] === second;
    },
    countBefore(timeOfDay) {
      const hour = (timeOfDay / 3_600) | 0;
      const minute = ((timeOfDay / 60) | 0) % 60;
      let count = hours.countBefore(hour) * perHour;
      if (nextHours[hour] !== hour) return count;
      count += minutes.countBefore(minute) * seconds.count;
      return nextMinutes[minute] === minute ? count + seconds.countBefore(timeOfDay % 60) : count;
    },
  };
}

/** The set values of one field as tables: a look-up is faster than finding a bit. */
interface Scale {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** `next[v]` is the first set value from `v` on, or -1; has one more item than there are values. */
  readonly next: Int8Array;
  /** `previous[v]` is the last set value before `v`, or -1; has one more item than there are values. */
  readonly previous: Int8Array;
  countBefore(value: number): number;
}

function createScale(size: number, isSet: (value: number) => boolean): Scale {
  const next = new Int8Array(size + 1).fill(-1);
  const previous = new Int8Array(size + 1).fill(-1);
  const before = new Int8Array(size + 1);
  for (let value = size - 1; value >= 0; value--) {
    next[value] = isSet(value) ? value : (next[value + 1] as number);
  }
  for (let value = 0; value < size; value++) {
    previous[value + 1] = isSet(value) ? value : (previous[value] as number);
    before[value + 1] = (before[value] as number) + (isSet(value) ? 1 : 0);
  }
  return {
    count: before[size] as number,
    first: next[0] as number,
    last: previous[size] as number,
    next,
    previous,
    countBefore: (value) => before[value] as number,
  };
}

interface Years {
  has(year: number): boolean;
  /** The first named year after this one; past `yearMax` if there is none. */
  next(year: number): number;
  /** The last named year before this one; before `yearMin - 1` if there is none. */
  previous(year: number): number;
}

function createYears(years: readonly number[]): Years {
  const set = new Set(years);
  /** How many named years are before this one. */
  const rank = (year: number): number => {
    let low = 0;
    let high = years.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((years[middle] as number) < year) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    has: (year) => set.has(year),
    next: (year) => years[rank(year + 1)] ?? yearMax + 1,
    previous: (year) => years[rank(year) - 1] ?? yearMin - 2,
  };
}

function trailingZeros(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

function bitCount(bits: number): number {
  let rest = bits - ((bits >>> 1) & 0x5555_5555);
  rest = (rest & 0x3333_3333) + ((rest >>> 2) & 0x3333_3333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
