import { instantAtMax } from '../../base/instant.ts';
import { daySeconds } from './civil.ts';
import { hasBit } from './cron-fields.ts';
import { type Excludes, searchStepCountMax } from './exclude.ts';
import { nextOpenWall, previousOpenWall, rankIn } from './exclude-times.ts';
import type { Zone } from './zone.ts';
import type { ZonedTimes } from './zoned-times.ts';

/** A set of instants in epoch milliseconds: the slots of a rule, without its bounds. */
export interface SlotTimes {
  /** The first slot that is not before this instant; `Infinity` if there is none. */
  next(at: number): number;
  /** The last slot that is not after this instant; `-Infinity` if there is none. */
  previous(at: number): number;
  /** How many slots there are from `fromAt` to `toAt`, both included; null if counting would take too long. */
  count(fromAt: number, toAt: number): number | null;
}

/** Instants in seconds as instants in milliseconds. */
export function toSlotTimes(times: ZonedTimes): SlotTimes {
  return {
    next: (at) => times.next(Math.ceil(at / 1_000)) * 1_000,
    previous: (at) => times.previous(Math.floor(at / 1_000)) * 1_000,
    count: (fromAt, toAt) => times.count(Math.ceil(fromAt / 1_000), Math.floor(toAt / 1_000)),
  };
}

/** How slots are excluded one by one. */
export interface ExcludeInstantsOptions {
  zone: Zone;
  excludes: Excludes;
  /** What it costs to ask for a slot, in the steps of `searchStepCountMax`. */
  stepCount: number;
  /** The distance of the slots, where it is always the same; null where it is not. */
  stepMs: number | null;
  /** Each slot follows from the one before, so a jump must keep the step: a delay. */
  isChain: boolean;
}

/** The slots that the clock of the zone does not show as excluded. */
export function excludeInstants(slots: SlotTimes, options: ExcludeInstantsOptions): SlotTimes {
  const { zone, excludes, stepCount, stepMs, isChain } = options;
  // While the clock is not changed, slots at an even step are at times of day that are this far apart, so the open times between are none.
  const stride = stepMs === null || stepMs % 1_000 !== 0 ? 1 : divisorOfBoth(stepMs / 1_000, daySeconds);

  const isEven = !isChain && stepMs !== null && stepMs % 1_000 === 0 && daySeconds % (stepMs / 1_000) === 0;
  const days: OpenTimes = { zone, excludes, step: (stepMs ?? 0) / 1_000, known: new Map() };

  const times: SlotTimes = {
    next(at) {
      let from = at;
      const spentMax = excludes.spentCount() + searchStepCountMax;
      for (let spent = 0; spent + excludes.spentCount() < spentMax; spent += stepCount) {
        const slotAt = slots.next(from);
        if (slotAt > instantAtMax) return Number.POSITIVE_INFINITY;
        const second = Math.floor(slotAt / 1_000);
        const { offset, end } = zone.spanAt(second);
        const wall = second + offset;
        const openWall = nextOpenWall(excludes, wall, stride);
        if (openWall === wall) return slotAt;
        if (openWall === Number.POSITIVE_INFINITY) break;
        // Up to a change of the clock the wall time is right; past it, only nearly, so it is approached from a day before.
        const openSecond = openWall - offset;
        const jumpAt = (openSecond <= end ? openSecond : Math.max(end, openSecond - daySeconds)) * 1_000;
        from = Math.max(jumpAt, slotAt + 1);
        if (isChain && stepMs !== null) {
          // A chain's next slot is one step after the instant before `from`.
          from = slotAt + (Math.ceil((from - slotAt) / stepMs) - 1) * stepMs + 1;
        }
      }
      return Number.POSITIVE_INFINITY;
    },
    previous(at) {
      let to = at;
      const spentMax = excludes.spentCount() + searchStepCountMax;
      for (let spent = 0; spent + excludes.spentCount() < spentMax; spent += stepCount) {
        const slotAt = slots.previous(to);
        if (slotAt === Number.NEGATIVE_INFINITY || slotAt < 0) return Number.NEGATIVE_INFINITY;
        const second = Math.floor(slotAt / 1_000);
        const { offset, start } = zone.spanAt(second);
        const openWall = previousOpenWall(excludes, second + offset, stride);
        if (openWall === second + offset) return slotAt;
        if (openWall === Number.NEGATIVE_INFINITY) return openWall;
        const openSecond = openWall - offset;
        const jumpAt =
          (openSecond >= start ? openSecond : Math.min(start - 1, openSecond + daySeconds)) * 1_000 + 999;
        to = Math.min(jumpAt, slotAt - 1);
      }
      return Number.NEGATIVE_INFINITY;
    },
    count: (fromAt, toAt) =>
      isEven ? countByDay(slots, days, fromAt, toAt) : countByNext(times, fromAt, toAt),
  };
  return times;
}

// More than a century of days is left to whoever reads.
const dayCountMax = 40_000;
// What is open on a day with one mark, as many as ever occur at a time.
const openCountMax = 16;

/** The times of day of slots at an even step that are open, by the mark of the day. */
interface OpenTimes {
  zone: Zone;
  excludes: Excludes;
  /** In seconds; divides the day. */
  step: number;
  known: Map<string, Int32Array>;
}

/** Counts slots at an even step day by day, so that a year of seconds is counted as fast as a year of hours. */
function countByDay(slots: SlotTimes, days: OpenTimes, fromAt: number, toAt: number): number | null {
  const { zone, excludes } = days;
  let count = 0;
  let at = slots.next(fromAt);
  for (let counted = 0; at <= toAt; counted++) {
    if (counted > dayCountMax) return null;
    const second = Math.floor(at / 1_000);
    const { offset, end } = zone.spanAt(second);
    const day = Math.floor((second + offset) / daySeconds);
    const lastAt = Math.min(Math.min((day + 1) * daySeconds - offset, end) * 1_000 - 1, toAt);
    const state = excludes.stateOf(day);
    if (state === 0) count += slots.count(at, lastAt) ?? 0;
    else if (state !== -1) {
      const time = second + offset - day * daySeconds;
      const lastSecond = Math.floor(slots.previous(lastAt) / 1_000);
      const open = openTimes(days, state, time % days.step);
      count += rankIn(open, lastSecond + offset - day * daySeconds + 1) - rankIn(open, time);
    }
    at = slots.next(lastAt + 1);
  }
  return count;
}

function openTimes({ excludes, step, known }: OpenTimes, state: number, phase: number): Int32Array {
  const key = `${state} ${phase}`;
  const list = known.get(key);
  if (list !== undefined) return list;
  const open: number[] = [];
  let minute = -1;
  let left = excludes.secondsAt(state, 0);
  for (let time = phase; time < daySeconds; time += step) {
    if (Math.floor(time / 60) !== minute) {
      minute = Math.floor(time / 60);
      left = excludes.secondsAt(state, minute * 60);
    }
    if (!hasBit(left, time - minute * 60)) open.push(time);
  }
  if (known.size >= openCountMax) known.clear();
  const created = Int32Array.from(open);
  known.set(key, created);
  return created;
}

function divisorOfBoth(a: number, b: number): number {
  return b === 0 ? a : divisorOfBoth(b, a % b);
}

/**
 * The same slots, but where a search found none, whoever asks from there within a day is not kept waiting again. Not for ever: as time goes
 * by, what a search reaches moves with it.
 */
export function rememberNone(times: SlotTimes): SlotTimes {
  let noneFrom = Number.POSITIVE_INFINITY;
  return {
    ...times,
    next(at) {
      if (at >= noneFrom && at < noneFrom + daySeconds * 1_000) return Number.POSITIVE_INFINITY;
      const slotAt = times.next(at);
      if (slotAt === Number.POSITIVE_INFINITY) noneFrom = at;
      return slotAt;
    },
  };
}

/** Whether the clock of the zone shows an instant as excluded. */
export function coversInstant(
  at: number,
  { zone, excludes }: Pick<ExcludeInstantsOptions, 'zone' | 'excludes'>,
): boolean {
  const second = Math.floor(at / 1_000);
  const wall = second + zone.spanAt(second).offset;
  return nextOpenWall(excludes, wall) !== wall;
}

// Counting one by one is for short ranges; more is left to whoever reads.
const countMax = 10_000;

/** Counts by asking for one slot after the other; null if there are more than ten thousand. */
export function countByNext(times: Pick<SlotTimes, 'next'>, fromAt: number, toAt: number): number | null {
  let count = 0;
  for (let at = times.next(fromAt); at <= toAt; at = times.next(at + 1)) {
    count++;
    if (count > countMax) return null;
  }
  return count;
}
