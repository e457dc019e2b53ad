// What a rule leaves out, as a caller writes it, and how that is checked.

import { dulyError, isDulyError } from '../../base/errors.ts';
import { readOptions, refuseOption } from '../../base/option-reader.ts';
import { parseDay } from './civil.ts';
import { parseCron } from './cron-parse.ts';
import { createRruleDays } from './rrule-day-masks.ts';

/**
 * What a rule leaves out, in its own zone: a date (`'2027-12-25'`), the dates of a range (`'2027-12-24/2028-01-02'`, both
 * included), a cron (every minute that it matches, or every second if it has seconds: `'* * 25 12 *'` is a whole day), or
 * the days of a recurrence rule.
 */
export type ExcludeInput = string | { dates: readonly string[] } | { cron: string } | { rrule: string };

/** A rule may leave out this many calendars, and that many of them may be crons that cover only parts of a day. */
const calendarCountMax = 100;

const dateCountMax = 10_000;
const rangeDaysMax = 36_525;

/** What was written, as a list of objects that JSON can keep; the order stays. */
export type ExcludeSpec = { dates: string[] } | { cron: string } | { rrule: string };

/** Checks what is to be left out. Throws `invalid_rule`, `invalid_cron` or `invalid_rrule`. */
export function readExclude(given: ExcludeInput | readonly ExcludeInput[] | undefined): ExcludeSpec[] {
  if (given === undefined) return [];
  const list = Array.isArray(given) ? (given as readonly ExcludeInput[]) : [given as ExcludeInput];
  if (list.length > calendarCountMax * 10) {
    refuse('exclude', list.length, `to have at most ${calendarCountMax * 10} items`);
  }
  const dates: string[] = [];
  const calendars: ExcludeSpec[] = [];
  for (const [index, one] of list.entries()) {
    const field = Array.isArray(given) ? `exclude[${index}]` : 'exclude';
    const spec = typeof one === 'string' ? readText(one) : readObject(one, field);
    if ('dates' in spec) {
      for (const [place, date] of spec.dates.entries()) {
        checkDates(date, typeof one === 'string' ? field : `${field}.dates[${place}]`);
      }
      dates.push(...spec.dates);
    } else {
      checkCalendar(spec, typeof one === 'string' ? field : `${field}.${Object.keys(spec)[0]}`);
      calendars.push(spec);
    }
  }
  if (dates.length > dateCountMax) refuse('exclude', dates.length, `to name at most ${dateCountMax} dates`);
  if (calendars.length > calendarCountMax) {
    refuse('exclude', calendars.length, `to have at most ${calendarCountMax} crons and recurrence rules`);
  }
  return dates.length === 0 ? calendars : [{ dates }, ...calendars];
}

function readText(text: string): ExcludeSpec {
  const isCron = text.startsWith('@') || /\s/.test(text.trim());
  return isCron ? { cron: text } : { dates: [text] };
}

function readObject(one: object, field: string): ExcludeSpec {
  const { dates, cron, rrule } = readOptions<Partial<Record<'dates' | 'cron' | 'rrule', unknown>>>(
    one,
    `"${field}"`,
    { dates: true, cron: true, rrule: true },
    'invalid_rule',
    field,
  );
  const count = [dates, cron, rrule].filter((value) => value !== undefined).length;
  if (count !== 1) refuse(field, one, 'to have exactly one of "dates", "cron" and "rrule"');
  if (dates !== undefined) {
    if (!Array.isArray(dates))
      return refuse(`${field}.dates`, dates, 'to be a list of dates like "2027-12-25"');
    return { dates: dates as string[] };
  }
  if (cron !== undefined) {
    if (typeof cron !== 'string') return refuse(`${field}.cron`, cron, 'to be a cron like "* * 25 12 *"');
    return { cron };
  }
  if (typeof rrule !== 'string') return refuse(`${field}.rrule`, rrule, 'to be a text like "FREQ=YEARLY;…"');
  return { rrule };
}

/** Reads a calendar once, where it is known which one it is; the error names it. */
function checkCalendar(spec: ExcludeSpec, field: string): void {
  try {
    if ('cron' in spec) parseCron(spec.cron);
    else if ('rrule' in spec) createRruleDays(spec.rrule);
  } catch (error) {
    if (!isDulyError(error, 'invalid_cron') && !isDulyError(error, 'invalid_rrule')) throw error;
    const { field: part, ...details } = error.details;
    throw dulyError(error.code, {
      message: `In "${field}": ${error.message}`,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      details: { ...(part === 'rrule' || part === 'cron' ? {} : { part }), ...details, field },
      cause: error,
    });
  }
}

function checkDates(date: unknown, field: string): void {
  const days = typeof date === 'string' ? readDays(date) : null;
  if (days !== null && days.last < days.first) {
    refuse(field, date, 'to be a range whose first date comes before its last');
  }
  if (days !== null && days.last - days.first > rangeDaysMax) {
    refuse(field, date, 'to be a range of at most a hundred years', 'End the rule instead, with "endAt".');
  }
  if (days === null) {
    refuse(
      field,
      date,
      'to be a date that exists, like "2027-12-25", or a range of them, like "2027-12-24/2028-01-02"',
      'Dates are those of the rule’s time zone, without a time. A cron like "* * 25 12 *" leaves out a day of every year.',
    );
  }
}

/** Days from one to another, both included. */
export interface DayRange {
  first: number;
  last: number;
}

/** The days of a date or of a range of dates; null: the text is neither. */
export function readDays(text: string): DayRange | null {
  const [from = '', to = from, ...rest] = text.split('/');
  const first = parseDay(from);
  const last = parseDay(to);
  if (first === null || last === null || rest.length > 0) return null;
  return { first, last };
}

/** Refuses a field of what is left out with `invalid_rule`. */
export function refuse(field: string, value: unknown, expected: string, hint?: string): never {
  return refuseOption(field, value, expected, hint, 'invalid_rule');
}
