// Days, months, instants, numbers and lists in words.

import { formatDay, formatTimeOfDay } from '../calendar/civil.ts';
import { monthNames, weekdayNames } from '../calendar/cron-fields.ts';
import type { RruleMoment } from '../calendar/rrule-text.ts';
import type { Rule } from '../calendar/rule.ts';

/** A moment of iCalendar text as the rule's clock shows it. */
export function momentText(rule: Rule, { seconds, isUtc, isDate }: RruleMoment): string {
  if (isUtc) {
    const { date, time } = rule.read(seconds * 1_000);
    return `${date} ${time}`;
  }
  const day = Math.floor(seconds / 86_400);
  return isDate ? formatDay(day) : `${formatDay(day)} ${formatTimeOfDay(seconds - day * 86_400)}`;
}

/** Weekdays by their number in a cron. */
export const weekdayWords = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** Months by their number in a cron. */
export const monthWords =
  'January February March April May June July August September October November December'.split(' ');

/** A weekday by its number. */
export function weekdayName(text: string): string {
  const index = /^\d+$/.test(text) ? Number(text) % 7 : weekdayNames.indexOf(text);
  return weekdayWords[index] as string;
}

/** A month by its number. */
export function monthName(text: string): string {
  const index = /^\d+$/.test(text) ? Number(text) - 1 : monthNames.indexOf(text);
  return monthWords[index] as string;
}

const units: [string, number][] = [
  ['week', 7 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
];

/** A duration in full words, exact: `1 hour 30 minutes`. */
export function inWords(ms: number): string {
  const words: string[] = [];
  let rest = ms;
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) words.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return words.join(' ');
}

/** A list in words: `a, b and c`. */
export function join(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/** A number as a place: `2nd`. */
export function ordinal(number: number): string {
  const isTeen = number % 100 >= 11 && number % 100 <= 13;
  const suffix = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
  return `${number}${suffix}`;
}

/** A number with two digits. */
export function two(text: string): string {
  return text.padStart(2, '0');
}

/** A text with a capital letter at its beginning. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
