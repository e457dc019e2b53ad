// Wall times without what is left out.

import { daySeconds } from './civil.ts';
import { hasBit } from './cron-fields.ts';
import type { CronTimes, TimesOfDay } from './cron-next.ts';
import { type Excludes, searchStepCountMax } from './exclude.ts';
import { allSeconds } from './exclude-calendar.ts';
import type { WallTimes } from './zoned-times.ts';

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
