import { firstDayOfMonth, isLeapYear, lengthOfMonth, weekdayOfDay } from './civil.ts';
import type { CronFields, DayOfMonthField, WeekdayField } from './cron-fields.ts';

/** Says which days of a month a cron names: bit `n` is the day `n + 1`, and bit 31 is never set. */
export interface CronDays {
  /** The days of a month (year × 12 + 0 to 11), by the day fields alone: the month and year fields are not asked. */
  maskOf(month: number): number;
}

// Marks a mask as worked out; day 31 is bit 30.
const isKnown = 1 << 31;

/**
 * Works out day masks and keeps them. There are no more than 7 × 24 kinds of months: by number, leap year and first weekday.
 */
export function createCronDays(fields: CronFields): CronDays {
  const masks = new Int32Array(168);
  return {
    maskOf(month) {
      const year = (month / 12) | 0;
      const number = month - year * 12;
      const firstWeekday = weekdayOfDay(firstDayOfMonth(month));
      const kind = (number * 2 + (isLeapYear(year) ? 1 : 0)) * 7 + firstWeekday;
      const known = masks[kind] as number;
      if (known !== 0) return known & ~isKnown;
      const mask = dayMask(fields, lengthOfMonth(month), firstWeekday);
      masks[kind] = mask | isKnown;
      return mask;
    },
  };
}

/** The days a cron names in a month of this length that begins on this weekday. */
export function dayMask(fields: CronFields, length: number, firstWeekday: number): number {
  const byMonth = daysByMonth(fields.dayOfMonth, length, firstWeekday);
  const byWeekday = daysByWeekday(fields.weekday, length, firstWeekday);
  // The rule of the first crons: two restricted fields widen each other, a free one narrows nothing or, with a step, narrows both.
  if (fields.dayOfMonth.isFree || fields.weekday.isFree) return byMonth & byWeekday;
  return byMonth | byWeekday;
}

function daysByMonth(field: DayOfMonthField, length: number, firstWeekday: number): number {
  const whole = 2 ** length - 1;
  let mask = field.days & whole;
  for (let back = 0; back < length; back++) {
    if ((field.fromLast >>> back) & 1) mask |= 1 << (length - 1 - back);
  }
  const isWeekend = (day: number): boolean => {
    const weekday = (firstWeekday + day - 1) % 7;
    return weekday === 0 || weekday === 6;
  };
  if (field.lastWeekday) {
    let day = length;
    while (isWeekend(day)) day--;
    mask |= 1 << (day - 1);
  }
  for (let day = 1; day <= length; day++) {
    if (((field.nearestWeekdays >>> (day - 1)) & 1) === 0) continue;
    let nearest = day;
    const weekday = (firstWeekday + day - 1) % 7;
    // It stays within the month: Saturday the 1st goes to Monday the 3rd, a Sunday at the end back to Friday.
    if (weekday === 6) nearest = day === 1 ? 3 : day - 1;
    else if (weekday === 0) nearest = day === length ? day - 2 : day + 1;
    mask |= 1 << (nearest - 1);
  }
  return mask;
}

function daysByWeekday(field: WeekdayField, length: number, firstWeekday: number): number {
  let mask = 0;
  for (let day = 1; day <= length; day++) {
    const bit = 1 << ((firstWeekday + day - 1) % 7);
    const nth = field.nth[((day - 1) / 7) | 0] as number;
    const isNamed = (field.weekdays & bit) | (nth & bit) | (day + 7 > length ? field.last & bit : 0);
    if (isNamed !== 0) mask |= 1 << (day - 1);
  }
  return mask;
}
