import { daySeconds, firstDayOfMonth, monthOfDay } from './civil.ts';
import { hasBit, type SixtyBits } from './cron-fields.ts';
import { allSeconds, type Calendar, createCalendar } from './exclude-calendar.ts';
import { type ExcludeSpec, refuse } from './exclude-input.ts';
import {
  createOpenMinutes,
  firstInMinute,
  lastInMinute,
  minutesOfDay,
  type OpenMinutes,
} from './open-minutes.ts';

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

const partCountMax = 30;
/**
 * A search gives up after so many steps, which takes some milliseconds. A day that is looked at is one step, and a month one for each calendar
 * and some more: enough for about thirty years of days that are left out in parts, and for two centuries of months that are left out whole.
 */
export const searchStepCountMax = 12_000;
const monthStepCount = 4;

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

const tableCountMax = 64;
