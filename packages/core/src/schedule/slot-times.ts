import { daySeconds } from './civil.ts';
import { type Excludes, nextOpenWall, previousOpenWall } from './exclude.ts';
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
  /** After so many excluded slots in a row, each followed by a jump over what is excluded with it, there are no more. */
  tryCount: number;
  /** The distance of the slots, where it is always the same; null where it is not. */
  stepMs: number | null;
  /** Each slot follows from the one before, so a jump must keep the step: a delay. */
  isChain: boolean;
}

/** The slots that the clock of the zone does not show as excluded. */
export function excludeInstants(slots: SlotTimes, options: ExcludeInstantsOptions): SlotTimes {
  const { zone, excludes, tryCount, stepMs, isChain } = options;
  // Days that hold no open slot, by their mark and by the time of their first slot: with an even step those are all alike.
  const emptyDays = new Set<string>();

  const times: SlotTimes = {
    next(at) {
      let from = at;
      let scanned: { key: string; day: number } | null = null;
      for (let tried = 0; tried < tryCount; tried++) {
        const slotAt = slots.next(from);
        if (slotAt === Number.POSITIVE_INFINITY) return slotAt;
        const second = Math.floor(slotAt / 1_000);
        const { offset, start, end } = zone.spanAt(second);
        const wall = second + offset;
        const day = Math.floor(wall / daySeconds);
        if (scanned !== null && scanned.day !== day) {
          emptyDays.add(scanned.key);
          scanned = null;
        }
        let openWall = nextOpenWall(excludes, wall);
        if (openWall === wall) return slotAt;
        if (openWall === Number.POSITIVE_INFINITY) return openWall;

        const dayStart = day * daySeconds - offset;
        const isFirst = stepMs !== null && slotAt - stepMs < dayStart * 1_000;
        if (isFirst && dayStart >= start && dayStart + daySeconds <= end) {
          const key: string = `${excludes.stateOf(day)} ${slotAt - dayStart * 1_000}`;
          if (emptyDays.has(key)) openWall = Math.max(openWall, (day + 1) * daySeconds);
          else if (emptyDays.size < emptyDayCountMax) scanned = { key, day };
        }
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
      for (let tried = 0; tried < tryCount; tried++) {
        const slotAt = slots.previous(to);
        if (slotAt === Number.NEGATIVE_INFINITY || slotAt < 0) return Number.NEGATIVE_INFINITY;
        const second = Math.floor(slotAt / 1_000);
        const { offset, start } = zone.spanAt(second);
        const openWall = previousOpenWall(excludes, second + offset);
        if (openWall === second + offset) return slotAt;
        if (openWall === Number.NEGATIVE_INFINITY) return openWall;
        const openSecond = openWall - offset;
        const jumpAt =
          (openSecond >= start ? openSecond : Math.min(start - 1, openSecond + daySeconds)) * 1_000 + 999;
        to = Math.min(jumpAt, slotAt - 1);
      }
      return Number.NEGATIVE_INFINITY;
    },
    count: (fromAt, toAt) => countByNext(times, fromAt, toAt),
  };
  return times;
}

// Few kinds of days occur for an even step that divides a day; for others each day is of its own kind.
const emptyDayCountMax = 1_000;

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
