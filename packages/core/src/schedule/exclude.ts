import { readOptions, refuseOption } from '../option-reader.ts';
import { daySeconds, firstDayOfMonth, monthOfDay, parseDay } from './civil.ts';
import { hasBit, type SixtyBits } from './cron-fields.ts';
import { type CronTimes, createCronTimes, type TimesOfDay } from './cron-next.ts';
import { parseCron } from './cron-parse.ts';
import { createRruleDays } from './rrule.ts';
import type { WallTimes } from './wall-times.ts';

/**
 * What a rule leaves out, in its own zone: a date (`'2027-12-25'`), the dates of a range (`'2027-12-24/2028-01-02'`, both
 * included), a cron (every minute that it matches, or every second if it has seconds: `'* * 25 12 *'` is a whole day), or
 * the days of a recurrence rule.
 */
export type ExcludeInput = string | { dates: readonly string[] } | { cron: string } | { rrule: string };

/** A calendar of what is left out. */
interface Calendar {
  /** The days it touches: bit `n` is the day `n + 1`. */
  daysOfMonth(month: number): number;
  /** What it covers of such a day; null if that is all of it. */
  part: PartOfDay | null;
}

/** What a cron covers of a day. */
interface PartOfDay {
  /** The seconds that it covers of the minute that begins at this time. */
  secondsAt(minuteStart: number): SixtyBits;
}

/** All that a rule leaves out. */
export interface Excludes {
  /** What it does to a day: 0 nothing, -1 all of it is left out, else a mark of what is, for the questions below. */
  stateOf(day: number): number;
  /** The first day, not before this one, that is not left out whole; `Infinity` if there is none in five centuries. */
  nextOpenDay(day: number): number;
  /** The last day, not after this one, that is not left out whole; `-Infinity` if there is none in five centuries. */
  previousOpenDay(day: number): number;
  /** The first time of a day with this mark, not before this one, that is not left out; 86,400 if there is none. */
  nextOpenTime(state: number, timeOfDay: number): number;
  /** The last time of a day with this mark, not after this one, that is not left out; -1 if there is none. */
  previousOpenTime(state: number, timeOfDay: number): number;
  /** The seconds that are left out of the minute that begins at this time, on a day with this mark. */
  secondsAt(state: number, minuteStart: number): SixtyBits;
}

/** A rule may leave out this many calendars, and that many of them may be crons that cover only parts of a day. */
const calendarCountMax = 100;
const partCountMax = 30;
const dateCountMax = 10_000;
const rangeDaysMax = 36_525;
// Five centuries: longer than any range of dates, and than the calendar needs to come back to a weekday.
const monthCountMax = 6_000;

/** What was written, as a list of objects that JSON can keep; the order stays. */
export type ExcludeSpec = { dates: string[] } | { cron: string } | { rrule: string };

/** Checks what is to be left out. Throws `invalid_rule`, `invalid_cron` or `invalid_rrule`. */
export function readExclude(given: ExcludeInput | readonly ExcludeInput[] | undefined): ExcludeSpec[] {
  if (given === undefined) return [];
  const list = Array.isArray(given) ? (given as readonly ExcludeInput[]) : [given as ExcludeInput];
  if (list.length > calendarCountMax * 10) {
    refuse('exclude', list.length, `to have at most ${calendarCountMax * 10} items`);
  }
  const dates: string[] = [];
  const calendars: ExcludeSpec[] = [];
  for (const [index, one] of list.entries()) {
    const field = Array.isArray(given) ? `exclude[${index}]` : 'exclude';
    const spec = typeof one === 'string' ? readText(one) : readObject(one, field);
    if ('dates' in spec) {
      for (const date of spec.dates) checkDates(date, field);
      dates.push(...spec.dates);
    } else calendars.push(spec);
  }
  if (dates.length > dateCountMax) refuse('exclude', dates.length, `to name at most ${dateCountMax} dates`);
  if (calendars.length > calendarCountMax) {
    refuse('exclude', calendars.length, `to have at most ${calendarCountMax} crons and recurrence rules`);
  }
  return dates.length === 0 ? calendars : [{ dates }, ...calendars];
}

function readText(text: string): ExcludeSpec {
  const isCron = text.startsWith('@') || /\s/.test(text.trim());
  return isCron ? { cron: text } : { dates: [text] };
}

function readObject(one: object, field: string): ExcludeSpec {
  const { dates, cron, rrule } = readOptions<Partial<Record<'dates' | 'cron' | 'rrule', unknown>>>(
    one,
    `"${field}"`,
    { dates: true, cron: true, rrule: true },
    'invalid_rule',
  );
  const count = [dates, cron, rrule].filter((value) => value !== undefined).length;
  if (count !== 1) refuse(field, one, 'to have exactly one of "dates", "cron" and "rrule"');
  if (dates !== undefined) {
    if (!Array.isArray(dates))
      return refuse(`${field}.dates`, dates, 'to be a list of dates like "2027-12-25"');
    return { dates: dates as string[] };
  }
  if (cron !== undefined) {
    if (typeof cron !== 'string') return refuse(`${field}.cron`, cron, 'to be a cron like "* * 25 12 *"');
    return { cron };
  }
  if (typeof rrule !== 'string') return refuse(`${field}.rrule`, rrule, 'to be a text like "FREQ=YEARLY;…"');
  return { rrule };
}

function checkDates(date: unknown, field: string): void {
  const days = typeof date === 'string' ? readDays(date) : null;
  if (days === null) {
    refuse(
      field,
      date,
      'to be a date that exists, like "2027-12-25", or a range of them, like "2027-12-24/2028-01-02"',
      'Dates are those of the rule’s time zone, without a time. A cron like "* * 25 12 *" leaves out a day of every year.',
    );
  }
}

interface DayRange {
  first: number;
  last: number;
}

function readDays(text: string): DayRange | null {
  const [from = '', to = from, ...rest] = text.split('/');
  const first = parseDay(from);
  const last = parseDay(to);
  if (first === null || last === null || rest.length > 0) return null;
  if (last < first || last - first > rangeDaysMax) return null;
  return { first, last };
}

/** Makes the calendars of what is left out; null if that is nothing. */
export function createExcludes(specs: readonly ExcludeSpec[]): Excludes | null {
  if (specs.length === 0) return null;
  const calendars = specs.map(createCalendar);
  const whole = calendars.filter((one) => one.part === null);
  const parts = calendars.filter((one) => one.part !== null);
  if (parts.length > partCountMax) {
    refuse('exclude', parts.length, `to have at most ${partCountMax} crons that cover parts of a day`);
  }
  let month = -1;
  let monthStart = 0;
  let monthEnd = 0;
  let wholeDays = 0;
  let partDays: number[] = [];
  const enterMonthOf = (day: number): void => {
    if (day >= monthStart && day < monthEnd) return;
    month = monthOfDay(day);
    monthStart = firstDayOfMonth(month);
    monthEnd = firstDayOfMonth(month + 1);
    wholeDays = whole.reduce((mask, one) => mask | one.daysOfMonth(month), 0);
    partDays = parts.map((one) => one.daysOfMonth(month));
  };
  const excludes: Excludes = {
    stateOf(day) {
      enterMonthOf(day);
      const index = day - monthStart;
      if ((wholeDays >>> index) & 1) return -1;
      let state = 0;
      for (let part = 0; part < partDays.length; part++) {
        state |= (((partDays[part] as number) >>> index) & 1) << part;
      }
      return state;
    },
    nextOpenDay(from) {
      let day = from;
      for (let count = 0; count < monthCountMax; count++) {
        enterMonthOf(day);
        while (day < monthEnd && (wholeDays >>> (day - monthStart)) & 1) day++;
        if (day < monthEnd) return day;
      }
      return Number.POSITIVE_INFINITY;
    },
    previousOpenDay(to) {
      let day = to;
      for (let count = 0; count < monthCountMax && day >= 0; count++) {
        enterMonthOf(day);
        while (day >= monthStart && (wholeDays >>> (day - monthStart)) & 1) day--;
        if (day >= monthStart) return day;
      }
      return Number.NEGATIVE_INFINITY;
    },
    secondsAt(state, minuteStart) {
      let low = 0;
      let high = 0;
      for (let part = 0; part < parts.length; part++) {
        if (((state >>> part) & 1) === 0) continue;
        const seconds = (parts[part] as Calendar).part?.secondsAt(minuteStart) ?? allSeconds;
        low |= seconds.low;
        high |= seconds.high;
      }
      return { low, high };
    },
    nextOpenTime(state, timeOfDay) {
      for (let time = timeOfDay; time < daySeconds; ) {
        const minuteStart = time - (time % 60);
        const seconds = excludes.secondsAt(state, minuteStart);
        while (time < minuteStart + 60 && hasBit(seconds, time - minuteStart)) time++;
        if (time < minuteStart + 60) return time;
      }
      return daySeconds;
    },
    previousOpenTime(state, timeOfDay) {
      for (let time = timeOfDay; time >= 0; ) {
        const minuteStart = time - (time % 60);
        const seconds = excludes.secondsAt(state, minuteStart);
        while (time >= minuteStart && hasBit(seconds, time - minuteStart)) time--;
        if (time >= minuteStart) return time;
      }
      return -1;
    },
  };
  return excludes;
}

function createCalendar(spec: ExcludeSpec): Calendar {
  if ('dates' in spec) return createDates(spec.dates);
  if ('cron' in spec) return createCronCalendar(spec.cron);
  return { daysOfMonth: createRruleDays(spec.rrule), part: null };
}

function createDates(dates: readonly string[]): Calendar {
  const ranges = dates.map((text) => readDays(text) as DayRange).sort((a, b) => a.first - b.first);
  const months = new Map<number, number>();
  return {
    daysOfMonth(month) {
      const known = months.get(month);
      if (known !== undefined) return known;
      const start = firstDayOfMonth(month);
      const length = firstDayOfMonth(month + 1) - start;
      let mask = 0;
      for (const { first, last } of ranges) {
        const from = Math.max(0, first - start);
        if (from >= length) break;
        const to = Math.min(length - 1, last - start);
        for (let day = from; day <= to; day++) mask |= 1 << day;
      }
      // Few months are asked for again and again; with ten thousand dates each is a long look.
      months.set(month, mask);
      return mask;
    },
    part: null,
  };
}

function createCronCalendar(cron: string): Calendar {
  const fields = parseCron(cron);
  const { daysOfMonth, times } = createCronTimes(fields);
  // Without a field for seconds it names second 0 and means the minute.
  const isWhole = times.count === (fields.hasSeconds ? daySeconds : daySeconds / 60);
  if (isWhole) return { daysOfMonth, part: null };
  const covered = fields.hasSeconds ? fields.seconds : allSeconds;
  return {
    daysOfMonth,
    part: {
      secondsAt: (minuteStart) => {
        const next = times.next(minuteStart);
        return next === -1 || next >= minuteStart + 60 ? noSeconds : covered;
      },
    },
  };
}

const allSeconds: SixtyBits = { low: -1, high: 0x0fff_ffff };
const noSeconds: SixtyBits = { low: 0, high: 0 };

// A rule of which more named days than this in a row (a century and more) are left out whole has no slot that anybody waits for.
const dayCountMax = 40_000;
// Lists of what is left on a day, by its mark. Few marks ever occur; a list has up to 86,400 times.
const listCountMax = 16;

/**
 * The wall times of a cron without what is left out. Whole days are passed over at once, and so are days of which the rest covers
 * every time of the cron; gives up after 40,000 such days in a row.
 */
export function excludeFromCron(cron: CronTimes, excludes: Excludes): WallTimes {
  const { times } = cron;
  const lists = new Map<number, Int32Array>();
  const nothing = new Int32Array(0);
  /** The times of the cron that are left on a day with this mark; asked only if something of the day is left out. */
  const listOf = (state: number): Int32Array => {
    if (state === -1) return nothing;
    const known = lists.get(state);
    if (known !== undefined) return known;
    if (lists.size >= listCountMax) lists.clear();
    const list = listRemaining(times, excludes, state);
    lists.set(state, list);
    return list;
  };
  return {
    next(wall) {
      let day = Math.floor(wall / daySeconds);
      let from = wall - day * daySeconds;
      for (let tried = 0; tried < dayCountMax; tried++) {
        const named = cron.nextDay(day);
        if (named === Number.POSITIVE_INFINITY) return named;
        if (named !== day) from = 0;
        day = named;
        const state = excludes.stateOf(day);
        const list = state === 0 ? null : listOf(state);
        const time = list === null ? times.next(from) : (list[rankIn(list, from)] ?? -1);
        if (time !== -1) return day * daySeconds + time;
        day = excludes.nextOpenDay(day + 1);
        from = 0;
        if (day === Number.POSITIVE_INFINITY) return day;
      }
      return Number.POSITIVE_INFINITY;
    },
    previous(wall) {
      let day = Math.floor(wall / daySeconds);
      let to = wall - day * daySeconds;
      for (let tried = 0; tried < dayCountMax; tried++) {
        const named = cron.previousDay(day);
        if (named === Number.NEGATIVE_INFINITY) return named;
        if (named !== day) to = daySeconds - 1;
        day = named;
        const state = excludes.stateOf(day);
        const list = state === 0 ? null : listOf(state);
        const time = list === null ? times.previous(to) : (list[rankIn(list, to + 1) - 1] ?? -1);
        if (time !== -1) return day * daySeconds + time;
        day = excludes.previousOpenDay(day - 1);
        to = daySeconds - 1;
        if (day === Number.NEGATIVE_INFINITY) return day;
      }
      return Number.NEGATIVE_INFINITY;
    },
    count(from, to) {
      let count = 0;
      const lastDay = Math.floor((to - 1) / daySeconds);
      let day = cron.nextDay(Math.floor(from / daySeconds));
      for (let counted = 0; day <= lastDay; counted++) {
        if (counted > dayCountMax) return null;
        const state = excludes.stateOf(day);
        const start = Math.max(0, from - day * daySeconds);
        const end = Math.min(daySeconds, to - day * daySeconds);
        if (state === 0) count += times.countBefore(end) - times.countBefore(start);
        else if (state !== -1) count += rankIn(listOf(state), end) - rankIn(listOf(state), start);
        day = cron.nextDay(day + 1);
      }
      return count;
    },
  };
}

/** The times of a cron that are not left out on a day with this mark: minute by minute. */
function listRemaining(times: TimesOfDay, excludes: Excludes, state: number): Int32Array {
  const list = new Int32Array(times.count);
  let count = 0;
  let time = times.first;
  while (time !== -1) {
    const minuteStart = time - (time % 60);
    const seconds = excludes.secondsAt(state, minuteStart);
    const isAll = seconds.low === allSeconds.low && seconds.high === allSeconds.high;
    if (isAll) time = times.next(minuteStart + 60);
    for (; time !== -1 && time < minuteStart + 60; time = times.next(time + 1)) {
      if (!hasBit(seconds, time - minuteStart)) list[count++] = time;
    }
  }
  return list.slice(0, count);
}

/** How many times of a sorted list are before this one. */
function rankIn(list: Int32Array, time: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Any wall times without what is left out, asking for one after the other; gives up after `tryCount` in a row. */
export function excludeFromWallTimes(wallTimes: WallTimes, excludes: Excludes, tryCount: number): WallTimes {
  return {
    next(from) {
      let wall = from;
      for (let tried = 0; tried < tryCount; tried++) {
        wall = wallTimes.next(wall);
        if (wall === Number.POSITIVE_INFINITY) return wall;
        const openWall = nextOpenWall(excludes, wall);
        if (openWall === wall || openWall === Number.POSITIVE_INFINITY) return openWall;
        wall = openWall;
      }
      return Number.POSITIVE_INFINITY;
    },
    previous(to) {
      let wall = to;
      for (let tried = 0; tried < tryCount; tried++) {
        wall = wallTimes.previous(wall);
        if (wall === Number.NEGATIVE_INFINITY) return wall;
        const openWall = previousOpenWall(excludes, wall);
        if (openWall === wall || openWall === Number.NEGATIVE_INFINITY) return openWall;
        wall = openWall;
      }
      return Number.NEGATIVE_INFINITY;
    },
    count: () => null,
  };
}

/** The wall time itself if it is not left out, else one after it before which everything is. */
export function nextOpenWall(excludes: Excludes, wall: number): number {
  const day = Math.floor(wall / daySeconds);
  const state = excludes.stateOf(day);
  if (state === 0) return wall;
  if (state === -1) return excludes.nextOpenDay(day + 1) * daySeconds;
  return day * daySeconds + excludes.nextOpenTime(state, wall - day * daySeconds);
}

/** The wall time itself if it is not left out, else one before it after which everything is. */
export function previousOpenWall(excludes: Excludes, wall: number): number {
  const day = Math.floor(wall / daySeconds);
  const state = excludes.stateOf(day);
  if (state === 0) return wall;
  if (state === -1) return excludes.previousOpenDay(day - 1) * daySeconds + daySeconds - 1;
  return day * daySeconds + excludes.previousOpenTime(state, wall - day * daySeconds);
}

function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  return refuseOption(field, value, expected, hint, 'invalid_rule');
}
