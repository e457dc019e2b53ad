// One calendar of what is left out: dates, a cron or a recurrence rule.

import { daySeconds, firstDayOfMonth } from './civil.ts';
import type { SixtyBits } from './cron-fields.ts';
import { createCronTimes } from './cron-next.ts';
import { parseCron } from './cron-parse.ts';
import { type DayRange, type ExcludeSpec, readDays } from './exclude-input.ts';
import { createRruleDays } from './rrule-day-masks.ts';

/** A calendar of what is left out. */
export interface Calendar {
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

// What the library takes to name the days of a month.
const rruleMonthStepCount = 100;

/** Creates the calendar of one entry. */
export function createCalendar(spec: ExcludeSpec): Calendar {
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

/** Every second of a minute. */
export const allSeconds: SixtyBits = { low: -1, high: 0x0fff_ffff };
const noSeconds: SixtyBits = { low: 0, high: 0 };
