import { daySeconds } from './civil.ts';
import type { Excludes } from './exclude.ts';
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
  tryCount: number;
  /** Whether the slots of an excluded day may be passed over. Not for a delay, where each slot follows from the one before. */
  skipsDays: boolean;
}

/**
 * The slots that the clock of the zone does not show as excluded. Gives up after `tryCount` excluded slots in a row, where a
 * whole excluded day counts as one, and then says that there are no more.
 */
export function excludeInstants(
  slots: SlotTimes,
  { zone, excludes, tryCount, skipsDays }: ExcludeInstantsOptions,
): SlotTimes {
  const times: SlotTimes = {
    next(at) {
      let from = at;
      for (let tried = 0; tried < tryCount; tried++) {
        const slotAt = slots.next(from);
        if (slotAt === Number.POSITIVE_INFINITY) return slotAt;
        const second = Math.floor(slotAt / 1_000);
        const span = zone.spanAt(second);
        const wall = second + span.offset;
        const day = Math.floor(wall / daySeconds);
        const state = excludes.stateOf(day);
        if (state === 0) return slotAt;
        if (state === -1 && skipsDays) {
          // To the next midnight, or to the next change of the clock if that comes first; many days at once up to a day before.
          const openDay = excludes.nextOpenDay(day + 1);
          if (openDay === Number.POSITIVE_INFINITY) return openDay;
          const midnight = Math.min((day + 1) * daySeconds - span.offset, span.end);
          from = Math.max(midnight * 1_000, (openDay - 2) * daySeconds * 1_000, slotAt + 1);
        } else if (state === -1 || excludes.coversTime(state, wall - day * daySeconds)) from = slotAt + 1;
        else return slotAt;
      }
      return Number.POSITIVE_INFINITY;
    },
    previous(at) {
      let to = at;
      for (let tried = 0; tried < tryCount; tried++) {
        const slotAt = slots.previous(to);
        if (slotAt === Number.NEGATIVE_INFINITY || slotAt < 0) return Number.NEGATIVE_INFINITY;
        const second = Math.floor(slotAt / 1_000);
        const span = zone.spanAt(second);
        const wall = second + span.offset;
        const day = Math.floor(wall / daySeconds);
        const state = excludes.stateOf(day);
        if (state === 0) return slotAt;
        if (state === -1) {
          const openDay = excludes.previousOpenDay(day - 1);
          if (openDay === Number.NEGATIVE_INFINITY) return openDay;
          const midnight = Math.max(day * daySeconds - span.offset, span.start);
          to = Math.min(midnight * 1_000 - 1, (openDay + 3) * daySeconds * 1_000, slotAt - 1);
        } else if (excludes.coversTime(state, wall - day * daySeconds)) to = slotAt - 1;
        else return slotAt;
      }
      return Number.NEGATIVE_INFINITY;
    },
    count: (fromAt, toAt) => countByNext(times, fromAt, toAt),
  };
  return times;
}

/** Whether the clock of the zone shows an instant as excluded. */
export function coversInstant(
  at: number,
  { zone, excludes }: Pick<ExcludeInstantsOptions, 'zone' | 'excludes'>,
): boolean {
  const second = Math.floor(at / 1_000);
  const wall = second + zone.spanAt(second).offset;
  const day = Math.floor(wall / daySeconds);
  const state = excludes.stateOf(day);
  return state === -1 || (state !== 0 && excludes.coversTime(state, wall - day * daySeconds));
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
