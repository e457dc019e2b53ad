// Arithmetic of the Gregorian calendar on whole numbers. A wall time is a count of seconds since 1970-01-01T00:00 on the clock of
// some zone, as if that clock were UTC; a day is a count of days since then; a month is year × 12 + (0 to 11).
// Everything here holds for the years 1600 and later: the intermediate values must not be negative.

/** Seconds of a day on a clock that is not changed. */
export const daySeconds = 86_400;

/** The month that holds a day. */
export function monthOfDay(day: number): number {
  // The year is counted from March, so that the leap day is its last (Howard Hinnant, "chrono-compatible low-level date algorithms").
  const shifted = day + 719_468;
  const era = (shifted / 146_097) | 0;
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra =
    ((dayOfEra - ((dayOfEra / 1_460) | 0) + ((dayOfEra / 36_524) | 0) - ((dayOfEra / 146_096) | 0)) / 365) |
    0;
  const dayOfYear = dayOfEra - (365 * yearOfEra + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0));
  const monthFromMarch = ((5 * dayOfYear + 2) / 153) | 0;
  return (era * 400 + yearOfEra) * 12 + monthFromMarch + 2;
}

/** The first day of a month. */
export function firstDayOfMonth(month: number): number {
  const fromMarch = month - 2;
  const year = (fromMarch / 12) | 0;
  const monthFromMarch = fromMarch - year * 12;
  const era = (year / 400) | 0;
  const yearOfEra = year - era * 400;
  const dayOfYear = ((153 * monthFromMarch + 2) / 5) | 0;
  const dayOfEra = yearOfEra * 365 + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The day of a date; the month is 1 to 12. */
export function dayOfDate(year: number, month: number, dayOfMonth: number): number {
  return firstDayOfMonth(year * 12 + month - 1) + dayOfMonth - 1;
}

/** The weekday of a day: 0 is Sunday. */
export function weekdayOfDay(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** Whether a year has a 29 February. */
export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** How many days a month has. */
export function lengthOfMonth(month: number): number {
  return firstDayOfMonth(month + 1) - firstDayOfMonth(month);
}

/** A day as `2027-01-15`. */
export function formatDay(day: number): string {
  const month = monthOfDay(day);
  const year = (month / 12) | 0;
  return `${String(year).padStart(4, '0')}-${two(month - year * 12 + 1)}-${two(day - firstDayOfMonth(month) + 1)}`;
}

/** A time of day in seconds as `08:30`, or `08:30:15` if it has seconds. */
export function formatTimeOfDay(timeOfDay: number): string {
  const second = timeOfDay % 60;
  const minute = ((timeOfDay / 60) | 0) % 60;
  const hour = (timeOfDay / 3_600) | 0;
  return `${two(hour)}:${two(minute)}${second === 0 ? '' : `:${two(second)}`}`;
}

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/;

/** Reads `2027-01-15`; null if it is not a date or does not exist. */
export function parseDay(text: string): number | null {
  const match = datePattern.exec(text);
  if (match === null) return null;
  const [year, month, dayOfMonth] = match.slice(1).map(Number) as [number, number, number];
  if (year < 1_970 || month < 1 || month > 12 || dayOfMonth < 1) return null;
  if (dayOfMonth > lengthOfMonth(year * 12 + month - 1)) return null;
  return dayOfDate(year, month, dayOfMonth);
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
