import { dulyError, isDulyError } from '../../base/errors.ts';
import { readOptions, refuseOption } from '../../base/option-reader.ts';
import { daySeconds, firstDayOfMonth, monthOfDay, parseDay } from './civil.ts';
import { hasBit, type SixtyBits } from './cron-fields.ts';
import { type CronTimes, createCronTimes, type TimesOfDay } from './cron-next.ts';
import { parseCron } from './cron-parse.ts';
import { createRruleDays } from './rrule.ts';
import type { WallTimes } from './zoned-times.ts';

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
  /** What a month that was not asked for yet costs, in steps. */
  monthStepCount: number;
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
  /** What its answers cost so far, in steps of less than a microsecond: a search reads it to know when to give up. */
  spentCount(): number;
  /** The first day, not before this one, that is not left out whole; `Infinity` if none is found within the search's bound. */
  nextOpenDay(day: number): number;
  /** The last day, not after this one, that is not left out whole; `-Infinity` if none is found within the search's bound. */
  previousOpenDay(day: number): number;
  /**
   * The first time of a day with this mark that is this one or some strides after it and is not left out; 86,400 if there is none. A
   * stride divides the day.
   */
  nextOpenTime(state: number, timeOfDay: number, stride: number): number;
  /** The last such time that is this one or some strides before it; -1 if there is none. */
  previousOpenTime(state: number, timeOfDay: number, stride: number): number;
  /** The seconds that are left out of the minute that begins at this time, on a day with this mark. */
  secondsAt(state: number, minuteStart: number): SixtyBits;
}

/** A rule may leave out this many calendars, and that many of them may be crons that cover only parts of a day. */
const calendarCountMax = 100;
const partCountMax = 30;
const dateCountMax = 10_000;
const rangeDaysMax = 36_525;
/**
 * A search gives up after so many steps, which takes some milliseconds. A day that is looked at is one step, and a month one for each calendar
 * and some more: enough for about thirty years of days that are left out in parts, and for two centuries of months that are left out whole.
 */
export const searchStepCountMax = 12_000;
const monthStepCount = 4;
// What the library takes to name the days of a month.
const rruleMonthStepCount = 100;

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
      for (const [place, date] of spec.dates.entries()) {
        checkDates(date, typeof one === 'string' ? field : `${field}.dates[${place}]`);
      }
      dates.push(...spec.dates);
    } else {
      checkCalendar(spec, typeof one === 'string' ? field : `${field}.${Object.keys(spec)[0]}`);
      calendars.push(spec);
    }
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
    field,
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

/** Reads a calendar once, where it is known which one it is; the error names it. */
function checkCalendar(spec: ExcludeSpec, field: string): void {
  try {
    if ('cron' in spec) parseCron(spec.cron);
    else if ('rrule' in spec) createRruleDays(spec.rrule);
  } catch (error) {
    if (!isDulyError(error, 'invalid_cron') && !isDulyError(error, 'invalid_rrule')) throw error;
    const { field: part, ...details } = error.details;
    throw dulyError(error.code, {
      message: `In "${field}": ${error.message}`,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      details: { ...(part === 'rrule' || part === 'cron' ? {} : { part }), ...details, field },
      cause: error,
    });
  }
}

function checkDates(date: unknown, field: string): void {
  const days = typeof date === 'string' ? readDays(date) : null;
  if (days !== null && days.last < days.first) {
    refuse(field, date, 'to be a range whose first date comes before its last');
  }
  if (days !== null && days.last - days.first > rangeDaysMax) {
    refuse(field, date, 'to be a range of at most a hundred years', 'End the rule instead, with "endAt".');
  }
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
  let spentCount = 0;
  const enterStepCount = calendars.reduce((sum, one) => sum + one.monthStepCount, monthStepCount);
  // The next minute of a day that has an open time, by the mark of the day and the times that are asked for. Few of them ever occur.
  const tables = new Map<string, OpenMinutes>();
  const tableOf = (state: number, stride: number, phase: number): OpenMinutes => {
    const key = `${state} ${stride} ${phase}`;
    const known = tables.get(key);
    if (known !== undefined) return known;
    if (tables.size >= tableCountMax) tables.clear();
    spentCount += 100 * (1 + parts.length);
    const table = createOpenMinutes((minute) => {
      const seconds = excludes.secondsAt(state, minute * 60);
      for (let second = firstInMinute(minute, stride, phase); second < 60; second += stride) {
        if (!hasBit(seconds, second)) return true;
      }
      return false;
    });
    tables.set(key, table);
    return table;
  };
  const enterMonthOf = (day: number): void => {
    if (day >= monthStart && day < monthEnd) return;
    month = monthOfDay(day);
    monthStart = firstDayOfMonth(month);
    monthEnd = firstDayOfMonth(month + 1);
    spentCount += enterStepCount;
    wholeDays = whole.reduce((mask, one) => mask | one.daysOfMonth(month), 0);
    partDays = parts.map((one) => one.daysOfMonth(month));
  };
  const excludes: Excludes = {
    stateOf(day) {
      enterMonthOf(day);
      const index = day - monthStart;
      if ((wholeDays >>> index) & 1) return -1;
      let state = 0;
      // Thirty crons take longer to look at than one.
      spentCount += parts.length >> 3;
      for (let part = 0; part < partDays.length; part++) {
        state |= (((partDays[part] as number) >>> index) & 1) << part;
      }
      return state;
    },
    spentCount: () => spentCount,
    nextOpenDay(from) {
      const spentMax = spentCount + searchStepCountMax;
      for (let day = from; spentCount <= spentMax; ) {
        enterMonthOf(day);
        while (day < monthEnd && (wholeDays >>> (day - monthStart)) & 1) day++;
        if (day < monthEnd) return day;
      }
      return Number.POSITIVE_INFINITY;
    },
    previousOpenDay(to) {
      const spentMax = spentCount + searchStepCountMax;
      for (let day = to; spentCount <= spentMax && day >= 0; ) {
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
    nextOpenTime(state, timeOfDay, stride) {
      const { next } = tableOf(state, stride, timeOfDay % stride);
      let time = timeOfDay;
      while (time < daySeconds) {
        const minute = Math.floor(time / 60);
        const open = next[minute] as number;
        if (open >= minutesOfDay) break;
        if (open > minute) time = open * 60 + firstInMinute(open, stride, timeOfDay % stride);
        const seconds = excludes.secondsAt(state, open * 60);
        for (; time < open * 60 + 60; time += stride) if (!hasBit(seconds, time - open * 60)) return time;
      }
      return daySeconds;
    },
    previousOpenTime(state, timeOfDay, stride) {
      const { previous } = tableOf(state, stride, timeOfDay % stride);
      let time = timeOfDay;
      while (time >= 0) {
        const minute = Math.floor(time / 60);
        const open = previous[minute] as number;
        if (open < 0) break;
        if (open < minute) time = lastInMinute(open, stride, timeOfDay % stride);
        const seconds = excludes.secondsAt(state, open * 60);
        for (; time >= open * 60; time -= stride) if (!hasBit(seconds, time - open * 60)) return time;
      }
      return -1;
    },
  };
  return excludes;
}

const minutesOfDay = 1_440;
const tableCountMax = 64;

/** The minutes of a day that hold an open time. */
interface OpenMinutes {
  /** The first such minute that is not before this one; 1,440 if there is none. */
  readonly next: Int16Array;
  /** The last such minute that is not after this one; -1 if there is none. */
  readonly previous: Int16Array;
}

function createOpenMinutes(isOpen: (minute: number) => boolean): OpenMinutes {
  const next = new Int16Array(minutesOfDay);
  const previous = new Int16Array(minutesOfDay);
  let last = -1;
  for (let minute = 0; minute < minutesOfDay; minute++) {
    if (isOpen(minute)) last = minute;
    previous[minute] = last;
  }
  let first = minutesOfDay;
  for (let minute = minutesOfDay - 1; minute >= 0; minute--) {
    if (previous[minute] === minute) first = minute;
    next[minute] = first;
  }
  return { next, previous };
}

/** The first second of a minute that is `phase` and some strides after midnight; 60 or more if it has none. */
function firstInMinute(minute: number, stride: number, phase: number): number {
  const start = (phase - minute * 60) % stride;
  return start < 0 ? start + stride : start;
}

/** The last time of day in such a minute; it has one. */
function lastInMinute(minute: number, stride: number, phase: number): number {
  const first = firstInMinute(minute, stride, phase);
  return minute * 60 + first + Math.floor((59 - first) / stride) * stride;
}

function createCalendar(spec: ExcludeSpec): Calendar {
  if ('dates' in spec) return createDates(spec.dates);
  if ('cron' in spec) return createCronCalendar(spec.cron);
  const { daysOfMonth, isCheap } = createRruleDays(spec.rrule);
  return { daysOfMonth, monthStepCount: isCheap ? 1 : rruleMonthStepCount, part: null };
}

function createDates(dates: readonly string[]): Calendar {
  const sorted = dates.map((text) => readDays(text) as DayRange).sort((a, b) => a.first - b.first);
  const ranges: DayRange[] = [];
  for (const { first, last } of sorted) {
    const before = ranges.at(-1);
    if (before !== undefined && first <= before.last + 1) before.last = Math.max(before.last, last);
    else ranges.push({ first, last });
  }
  const months = new Map<number, number>();
  return {
    daysOfMonth(month) {
      const known = months.get(month);
      if (known !== undefined) return known;
      const start = firstDayOfMonth(month);
      const length = firstDayOfMonth(month + 1) - start;
      let mask = 0;
      for (let index = firstEndingFrom(ranges, start); index < ranges.length; index++) {
        const { first, last } = ranges[index] as DayRange;
        const from = Math.max(0, first - start);
        if (from >= length) break;
        const to = Math.min(length - 1, last - start);
        for (let day = from; day <= to; day++) mask |= 1 << day;
      }
      months.set(month, mask);
      return mask;
    },
    monthStepCount: 1,
    part: null,
  };
}

/** The index of the first of some ranges, in order and apart from each other, that does not end before a day. */
function firstEndingFrom(ranges: readonly DayRange[], day: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle] as DayRange).last < day) low = middle + 1;
    else high = middle;
  }
  return low;
}

function createCronCalendar(cron: string): Calendar {
  const fields = parseCron(cron);
  const { daysOfMonth, times } = createCronTimes(fields);
  // Without a field for seconds it names second 0 and means the minute.
  const isWhole = times.count === (fields.hasSeconds ? daySeconds : daySeconds / 60);
  if (isWhole) return { daysOfMonth, monthStepCount: 1, part: null };
  const covered = fields.hasSeconds ? fields.seconds : allSeconds;
  return {
    daysOfMonth,
    monthStepCount: 1,
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

// Counting goes from day to day; more than a century of them is left to whoever reads.
const dayCountMax = 40_000;
// Lists of what is left on a day, by its mark. Few marks ever occur; a list has up to 86,400 times.
const listCountMax = 16;

/**
 * The wall times of a cron without what is left out. Whole days are passed over at once, and so are days of which the rest covers
 * every time of the cron; gives up after `searchStepCountMax` steps.
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
      const spentMax = excludes.spentCount() + searchStepCountMax;
      for (let tried = 0; tried + excludes.spentCount() < spentMax; tried++) {
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
      const spentMax = excludes.spentCount() + searchStepCountMax;
      for (let tried = 0; tried + excludes.spentCount() < spentMax; tried++) {
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
export function rankIn(list: Int32Array, time: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Any wall times without what is left out, asking for one after the other; gives up when each step counts `stepCount` times. */
export function excludeFromWallTimes(wallTimes: WallTimes, excludes: Excludes, stepCount: number): WallTimes {
  return {
    next(from) {
      let wall = from;
      const spentMax = excludes.spentCount() + searchStepCountMax;
      for (let spent = 0; spent + excludes.spentCount() < spentMax; spent += stepCount) {
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
      const spentMax = excludes.spentCount() + searchStepCountMax;
      for (let spent = 0; spent + excludes.spentCount() < spentMax; spent += stepCount) {
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

/**
 * The wall time itself if it is not left out, else one after it before which everything is, or all that is some strides after it. A
 * stride divides the day, and what it passes over is on the same day.
 */
export function nextOpenWall(excludes: Excludes, wall: number, stride = 1): number {
  const day = Math.floor(wall / daySeconds);
  const state = excludes.stateOf(day);
  if (state === 0) return wall;
  if (state === -1) return excludes.nextOpenDay(day + 1) * daySeconds;
  return day * daySeconds + excludes.nextOpenTime(state, wall - day * daySeconds, stride);
}

/** The wall time itself if it is not left out, else one before it after which everything is, or all that is some strides before it. */
export function previousOpenWall(excludes: Excludes, wall: number, stride = 1): number {
  const day = Math.floor(wall / daySeconds);
  const state = excludes.stateOf(day);
  if (state === 0) return wall;
  if (state === -1) return excludes.previousOpenDay(day - 1) * daySeconds + daySeconds - 1;
  return day * daySeconds + excludes.previousOpenTime(state, wall - day * daySeconds, stride);
}

function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  return refuseOption(field, value, expected, hint, 'invalid_rule');
}
