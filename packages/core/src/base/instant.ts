import { isDate } from 'node:util/types';
import { dulyError } from './errors.ts';
import { shown } from './option-reader.ts';

/** The last instant there is: the end of the year 9999, the last that ISO 8601 writes with four digits. */
export const instantAtMax = 253_402_300_799_999;

const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$/;

/**
 * Reads an instant and returns epoch milliseconds, from 1970 to 9999. A text must be ISO 8601 with an offset or `Z`: without
 * one it would mean a different instant on every machine. Throws `invalid_instant`, also for dates that do not exist, which
 * JavaScript would roll over into the next month.
 */
export function parseInstant(value: Date | number | string, field = 'at'): number {
  let instantAt: number;
  if (typeof value === 'string') instantAt = readText(value, field);
  else if (typeof value === 'number') instantAt = value;
  else if (isDate(value)) instantAt = value.getTime();
  else return refuse(value, field, 'to be a Date, epoch milliseconds or an ISO 8601 text');

  if (Number.isNaN(instantAt)) return refuse(value, field, 'to be a valid instant');
  if (instantAt < 0 || instantAt > instantAtMax) return refuse(value, field, 'to be from 1970 to 9999');
  // Up to the next whole millisecond: nothing may start before its time. Adding 0 turns -0 into 0.
  return Math.ceil(instantAt) + 0;
}

const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
let lastDayAt = Number.NaN;
let lastDay = '';

/** ISO 8601 in UTC with milliseconds: `2027-01-15T10:00:00.000Z`. */
export function formatInstant(instantAt: number): string {
  // Every fired slot is written so, one after the other on the same day: a tenth of what a Date takes.
  const inDayMs = instantAt % dayMs;
  if (!(inDayMs >= 0) || inDayMs % 1_000 !== 0) return new Date(instantAt).toISOString();
  if (instantAt - inDayMs !== lastDayAt) {
    const text = new Date(instantAt).toISOString();
    lastDayAt = instantAt - inDayMs;
    lastDay = text.slice(0, text.indexOf('T') + 1);
  }
  const seconds = inDayMs / 1_000;
  const minutes = Math.floor(seconds / 60);
  return `${lastDay}${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.000Z`;
}

function readText(value: string, field: string): number {
  const match = isoPattern.exec(value.trim());
  if (match === null)
    return refuse(value, field, 'to be ISO 8601 with an offset, like "2027-01-15T10:00:00Z"');
  const [, year, month, day, hour, minute, second = '0', fraction = '', offset] =
    match as unknown as string[];

  const dayCount = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (!isBetween(month, 1, 12) || !isBetween(day, 1, dayCount)) {
    return refuse(value, field, 'to be a date that exists');
  }
  if (hour === undefined)
    return refuseWithoutOffset(value, field, 'a time and an offset', `${value.trim()}T00:00:00Z`);
  if (!isBetween(hour, 0, 23) || !isBetween(minute, 0, 59) || !isBetween(second, 0, 59)) {
    return refuse(value, field, 'to have a time from 00:00:00 to 23:59:59');
  }
  if (offset === undefined) return refuseWithoutOffset(value, field, 'an offset', `${value.trim()}Z`);

  const offsetMinutes = readOffset(offset);
  if (offsetMinutes === null) return refuse(value, field, 'to have an offset from -18:00 to +18:00');
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; those are refused as before 1970.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second), milliseconds);
  return date.getTime() - offsetMinutes * 60_000;
}

function readOffset(offset: string): number | null {
  if (offset === 'Z' || offset === 'z') return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', '') || '0');
  if (minutes > 59 || hours * 60 + minutes > 18 * 60) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

function isBetween(digits: string | undefined, min: number, max: number): boolean {
  const number = Number(digits);
  return number >= min && number <= max;
}

function refuseWithoutOffset(value: string, field: string, missing: string, example: string): never {
  return refuse(
    value,
    field,
    `to have ${missing}: without one it means another instant on every machine`,
    `Write "${example}" if you mean UTC, or add the offset, like "+05:30".`,
  );
}

const examples = '"2027-01-15T10:00:00Z" or "2027-01-15T10:00:00+01:00"';

// Whoever writes a text may do so in a form, on a command line or in JSON, where there is no Date.
function refuse(value: unknown, field: string, expected: string, hint?: string): never {
  throw dulyError('invalid_instant', {
    message: `Expected "${field}" ${expected}, got ${shown(value)}.`,
    hint:
      hint ??
      (typeof value === 'string'
        ? `Write it like ${examples}.`
        : `Give a Date, epoch milliseconds, or a text like ${examples}.`),
    details: { field, value: shown(value) },
  });
}
