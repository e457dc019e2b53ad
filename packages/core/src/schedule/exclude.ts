import { readOptions, refuseOption } from '../option-reader.ts';
import { daySeconds, firstDayOfMonth, monthOfDay, parseDay } from './civil.ts';
import { type CronTimes, createCronTimes } from './cron-next.ts';
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
  /** Whether it covers a time of such a day; null if it covers them all. */
  coversTime: ((timeOfDay: number) => boolean) | null;
}

/** All that a rule leaves out. */
export interface Excludes {
  /** What it does to a day: 0 nothing, -1 all of it is left out, else a mark of what is, for `coversTime`. */
  stateOf(day: number): number;
  /** Whether a time of a day with this mark is left out. */
  coversTime(state: number, timeOfDay: number): boolean;
}

/** A rule may leave out this many calendars, and that many of them may be crons that cover only parts of a day. */
const calendarCountMax = 100;
const partCountMax = 30;
const dateCountMax = 10_000;
// A range of dates is kept day by day.
const rangeDaysMax = 36_525;

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

function readDays(text: string): { first: number; last: number } | null {
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
  const whole = calendars.filter((one) => one.coversTime === null);
  const parts = calendars.filter((one) => one.coversTime !== null);
  if (parts.length > partCountMax) {
    refuse('exclude', parts.length, `to have at most ${partCountMax} crons that cover parts of a day`);
  }
  let month = -1;
  let monthStart = 0;
  let monthEnd = 0;
  let wholeDays = 0;
  let partDays: number[] = [];
  return {
    stateOf(day) {
      if (day < monthStart || day >= monthEnd) {
        month = monthOfDay(day);
        monthStart = firstDayOfMonth(month);
        monthEnd = firstDayOfMonth(month + 1);
        wholeDays = whole.reduce((mask, one) => mask | one.daysOfMonth(month), 0);
        partDays = parts.map((one) => one.daysOfMonth(month));
      }
      const index = day - monthStart;
      if ((wholeDays >>> index) & 1) return -1;
      let state = 0;
      for (let part = 0; part < partDays.length; part++) {
        state |= (((partDays[part] as number) >>> index) & 1) << part;
      }
      return state;
    },
    coversTime(state, timeOfDay) {
      for (let part = 0; part < parts.length; part++) {
        if ((state >>> part) & 1 && parts[part]?.coversTime?.(timeOfDay)) return true;
      }
      return false;
    },
  };
}

function createCalendar(spec: ExcludeSpec): Calendar {
  if ('dates' in spec) return createDates(spec.dates);
  if ('cron' in spec) return createCronCalendar(spec.cron);
  return { daysOfMonth: createRruleDays(spec.rrule), coversTime: null };
}

function createDates(dates: readonly string[]): Calendar {
  const months = new Map<number, number>();
  for (const text of dates) {
    const { first, last } = readDays(text) as { first: number; last: number };
    for (let day = first; day <= last; day++) {
      const month = monthOfDay(day);
      months.set(month, (months.get(month) ?? 0) | (1 << (day - firstDayOfMonth(month))));
    }
  }
  return { daysOfMonth: (month) => months.get(month) ?? 0, coversTime: null };
}

function createCronCalendar(cron: string): Calendar {
  const fields = parseCron(cron);
  const { daysOfMonth, times } = createCronTimes(fields);
  if (fields.hasSeconds) {
    return { daysOfMonth, coversTime: times.count === daySeconds ? null : (time) => times.has(time) };
  }
  const isWhole = times.count === daySeconds / 60;
  return { daysOfMonth, coversTime: isWhole ? null : (time) => times.has(time - (time % 60)) };
}

// A rule of which more named days than this in a row (a century and more) are left out whole has no slot that anybody waits for.
const dayCountMax = 40_000;

/**
 * The wall times of a cron without what is left out. Whole days are passed over at once, and so are days of which the rest covers
 * every time of the cron; gives up after 40,000 such days in a row.
 */
export function excludeFromCron(cron: CronTimes, excludes: Excludes): WallTimes {
  const { times } = cron;
  // How many times of the cron are left on a day, by the day's mark.
  const remaining = new Map<number, number>();
  const remainingOn = (state: number): number => {
    if (state === 0) return times.count;
    if (state === -1) return 0;
    const known = remaining.get(state);
    if (known !== undefined) return known;
    const count = countTimes(state, 0, daySeconds);
    remaining.set(state, count);
    return count;
  };
  const countTimes = (state: number, from: number, to: number): number => {
    let count = 0;
    for (let time = times.next(from); time !== -1 && time < to; time = times.next(time + 1)) {
      if (!excludes.coversTime(state, time)) count++;
    }
    return count;
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
        if (remainingOn(state) > 0) {
          for (let time = times.next(from); time !== -1; time = times.next(time + 1)) {
            if (state === 0 || !excludes.coversTime(state, time)) return day * daySeconds + time;
          }
        }
        day++;
        from = 0;
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
        if (remainingOn(state) > 0) {
          for (
            let time = times.previous(to);
            time !== -1;
            time = time === 0 ? -1 : times.previous(time - 1)
          ) {
            if (state === 0 || !excludes.coversTime(state, time)) return day * daySeconds + time;
          }
        }
        day--;
        to = daySeconds - 1;
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
        const start = day * daySeconds;
        if (from <= start && start + daySeconds <= to) count += remainingOn(state);
        else if (state !== -1)
          count += countTimes(state, Math.max(0, from - start), Math.min(daySeconds, to - start));
        day = cron.nextDay(day + 1);
      }
      return count;
    },
  };
}

/** Any wall times without what is left out, asking for one after the other; gives up after `tryCount` in a row. */
export function excludeFromWallTimes(wallTimes: WallTimes, excludes: Excludes, tryCount: number): WallTimes {
  const stateAt = (wall: number): { day: number; isOut: boolean; isWhole: boolean } => {
    const day = Math.floor(wall / daySeconds);
    const state = excludes.stateOf(day);
    const isWhole = state === -1;
    return {
      day,
      isWhole,
      isOut: isWhole || (state !== 0 && excludes.coversTime(state, wall - day * daySeconds)),
    };
  };
  return {
    next(from) {
      let wall = from;
      for (let tried = 0; tried < tryCount; tried++) {
        wall = wallTimes.next(wall);
        if (wall === Number.POSITIVE_INFINITY) return wall;
        const { day, isOut, isWhole } = stateAt(wall);
        if (!isOut) return wall;
        wall = isWhole ? (day + 1) * daySeconds : wall + 1;
      }
      return Number.POSITIVE_INFINITY;
    },
    previous(to) {
      let wall = to;
      for (let tried = 0; tried < tryCount; tried++) {
        wall = wallTimes.previous(wall);
        if (wall === Number.NEGATIVE_INFINITY) return wall;
        const { day, isOut, isWhole } = stateAt(wall);
        if (!isOut) return wall;
        wall = isWhole ? day * daySeconds - 1 : wall - 1;
      }
      return Number.NEGATIVE_INFINITY;
    },
    count: () => null,
  };
}

function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  return refuseOption(field, value, expected, hint, 'invalid_rule');
}
