import { dulyError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { shown } from '../../base/option-reader.ts';
import { dayOfDate, daySeconds, formatDay, formatTimeOfDay, lengthOfMonth } from './civil.ts';

/** How often a recurrence rule comes, as RFC 5545 names it, the coarsest first. */
export const rruleFrequencies = [
  'YEARLY',
  'MONTHLY',
  'WEEKLY',
  'DAILY',
  'HOURLY',
  'MINUTELY',
  'SECONDLY',
] as const;

/** A frequency of a recurrence rule. */
export type RruleFrequency = (typeof rruleFrequencies)[number];

/** A date and time in iCalendar text: on the rule's wall clock, or in UTC if it ended with `Z`. */
export interface RruleMoment {
  /** Seconds since 1970 on that clock. */
  readonly seconds: number;
  readonly isUtc: boolean;
  /** It had no time: the whole day is meant. */
  readonly isDate: boolean;
}

/** A recurrence rule as written. */
export interface RruleText {
  readonly frequency: RruleFrequency;
  /** The parts but for COUNT and UNTIL, in capitals, as the library reads them. */
  readonly pattern: string;
  readonly parts: ReadonlyMap<string, string>;
  readonly count: number | null;
  readonly until: RruleMoment | null;
  readonly start: RruleMoment | null;
  /** The zone of DTSTART. */
  readonly timezone: string | null;
  readonly extra: readonly RruleMoment[];
  readonly excluded: readonly RruleMoment[];
}

/** Whether a rule names times of day, which a changed clock moves, and not real hours, minutes or seconds. */
export function isWallRule({ frequency }: Pick<RruleText, 'frequency'>): boolean {
  return rruleFrequencies.indexOf(frequency) <= rruleFrequencies.indexOf('DAILY');
}

const textLengthMax = 20_000;
const dateCountMax = 1_000;
// The end of a rule with COUNT is found by counting, which the library does slower for hours and less.
const countMax = 10_000;
const fineCountMax = 1_000;

const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

/** Parts with numbers: the largest value, whether it may count from the end, and whether it may be zero. */
const numberParts: Record<string, { max: number; canCountBack: boolean; min: number }> = {
  BYSECOND: { min: 0, max: 59, canCountBack: false },
  BYMINUTE: { min: 0, max: 59, canCountBack: false },
  BYHOUR: { min: 0, max: 23, canCountBack: false },
  BYMONTHDAY: { min: 1, max: 31, canCountBack: true },
  BYYEARDAY: { min: 1, max: 366, canCountBack: true },
  BYWEEKNO: { min: 1, max: 53, canCountBack: true },
  BYMONTH: { min: 1, max: 12, canCountBack: false },
  BYSETPOS: { min: 1, max: 366, canCountBack: true },
  INTERVAL: { min: 1, max: 10_000, canCountBack: false },
  COUNT: { min: 1, max: countMax, canCountBack: false },
};
const partNames = ['FREQ', 'UNTIL', 'BYDAY', 'WKST', ...Object.keys(numberParts)];
const propertyNames = ['RRULE', 'DTSTART', 'RDATE', 'EXDATE'];

/** Reads a recurrence rule, alone (`FREQ=…`) or as iCalendar text. Throws `invalid_rrule`, which names the part. */
export function parseRrule(text: string): RruleText {
  if (typeof text !== 'string') refuse('rrule', text, 'to be a text like "FREQ=WEEKLY;BYDAY=MO"');
  if (text.length > textLengthMax) refuse('rrule', text, `to have at most ${textLengthMax} characters`);
  // A line that begins with a blank goes on where the one before it ended (RFC 5545, 3.1).
  const lines = text
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  let rule: string | null = null;
  let start: RruleMoment | null = null;
  let timezone: string | null = null;
  const extra: RruleMoment[] = [];
  const excluded: RruleMoment[] = [];
  for (const line of lines) {
    const { name, parameters, value } = readLine(line);
    if (name === 'RRULE') {
      if (rule !== null) refuse('RRULE', line, 'to be given once');
      rule = value;
      continue;
    }
    const zone = parameters.get('TZID') ?? null;
    const moments = value.split(',').map((one) => readMoment(name, one));
    if (name === 'DTSTART') {
      if (start !== null || moments.length !== 1) refuse('DTSTART', line, 'to be one moment, given once');
      start = moments[0] as RruleMoment;
      timezone = zone;
      continue;
    }
    if (zone !== null && zone !== timezone)
      refuse(name, zone, 'to have the TZID of DTSTART, which stands before it');
    (name === 'RDATE' ? extra : excluded).push(...moments);
  }
  if (rule === null) return refuse('rrule', text, 'to hold a rule like "FREQ=WEEKLY;BYDAY=MO"');
  if (extra.length > dateCountMax || excluded.length > dateCountMax) {
    refuse('rrule', text, `to have at most ${dateCountMax} dates in RDATE and in EXDATE`);
  }
  const wholeDay = extra.find((one) => one.isDate);
  if (wholeDay !== undefined && start?.isDate !== true) {
    refuse('RDATE', formatMoment(wholeDay), 'to have a time, like "20270115T090000"');
  }
  return { ...readParts(rule), start, timezone, extra, excluded };
}

function readLine(line: string): { name: string; parameters: Map<string, string>; value: string } {
  if (/^FREQ=/i.test(line)) return { name: 'RRULE', parameters: new Map(), value: line };
  const match = /^([A-Za-z-]+)((?:;[A-Za-z-]+=(?:"[^"]*"|[^;:"]*))*):(.*)$/.exec(line);
  const name = match?.[1]?.toUpperCase() ?? '';
  if (match === null || !propertyNames.includes(name)) {
    const near = nearest(name === '' ? line.slice(0, 10) : name, propertyNames);
    return refuse(
      'rrule',
      line,
      'to have lines of RRULE, DTSTART, RDATE and EXDATE only',
      near === undefined ? undefined : `Did you mean "${near}"?`,
    );
  }
  const parameters = new Map<string, string>();
  for (const one of (match[2] ?? '').split(';').slice(1)) {
    const [key = '', value = ''] = one.split('=', 2);
    parameters.set(key.toUpperCase(), value.replaceAll('"', ''));
  }
  const kind = parameters.get('VALUE')?.toUpperCase();
  if (kind !== undefined && kind !== 'DATE' && kind !== 'DATE-TIME') {
    refuse(name, kind, 'to hold DATE or DATE-TIME values');
  }
  return { name, parameters, value: match[3] ?? '' };
}

function readMoment(name: string, text: string): RruleMoment {
  const match = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z?))?$/i.exec(text.trim());
  if (match === null) return refuse(name, text, 'to be written like "20270115T090000", with a "Z" for UTC');
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= lengthOfMonth(year * 12 + month - 1);
  if (!isDate || year < 1_970 || hour > 23 || minute > 59 || second > 59) {
    return refuse(name, text, 'to be a date and time that exist, from 1970 on');
  }
  return {
    seconds: dayOfDate(year, month, day) * daySeconds + hour * 3_600 + minute * 60 + second,
    isUtc: match[7] === 'Z' || match[7] === 'z',
    isDate: match[4] === undefined,
  };
}

function formatMoment({ seconds }: RruleMoment): string {
  const day = Math.floor(seconds / daySeconds);
  return `${formatDay(day)} ${formatTimeOfDay(seconds - day * daySeconds)}`;
}

function readParts(text: string): Pick<RruleText, 'frequency' | 'pattern' | 'parts' | 'count' | 'until'> {
  const parts = new Map<string, string>();
  for (const part of text.replace(/;$/, '').split(';')) {
    const equals = part.indexOf('=');
    const name = part.slice(0, equals === -1 ? undefined : equals).toUpperCase();
    if (equals === -1 || !partNames.includes(name)) {
      const near = nearest(name.slice(0, 20), partNames);
      refuse(
        name.slice(0, 20),
        part,
        'to be a part like "BYDAY=MO"',
        near === undefined ? `The parts are ${partNames.join(', ')}.` : `Did you mean "${near}"?`,
      );
    }
    if (parts.has(name)) refuse(name, part, 'to be given once');
    parts.set(name, part.slice(equals + 1).toUpperCase());
  }
  const frequency = readFrequency(parts.get('FREQ'));
  for (const [name, value] of parts) checkPart(name, value, frequency);
  const count = parts.get('COUNT');
  const until = parts.get('UNTIL');
  if (count !== undefined && until !== undefined)
    refuse('UNTIL', until, 'not to stand beside COUNT: a rule has one end');
  refuseImpossibleDays(parts);
  const rest = [...parts].filter(([name]) => name !== 'COUNT' && name !== 'UNTIL');
  return {
    frequency,
    parts,
    pattern: rest.map(([name, value]) => `${name}=${value}`).join(';'),
    count: count === undefined ? null : Number(count),
    until: until === undefined ? null : readMoment('UNTIL', until),
  };
}

function readFrequency(value: string | undefined): RruleFrequency {
  if (value !== undefined && (rruleFrequencies as readonly string[]).includes(value))
    return value as RruleFrequency;
  const near = value === undefined ? undefined : nearest(value, rruleFrequencies);
  return refuse(
    'FREQ',
    value,
    `to be one of ${rruleFrequencies.join(', ')}`,
    near === undefined ? undefined : `Did you mean "${near}"?`,
  );
}

function checkPart(name: string, value: string, frequency: RruleFrequency): void {
  const numbers = numberParts[name];
  const isList = name.startsWith('BY');
  if (!isList && value.includes(',')) refuse(name, value, 'to be one value');
  const items = value.split(',');
  if (numbers !== undefined) {
    for (const item of items) checkNumber(name, item, numbers);
  } else if (name === 'BYDAY') {
    for (const item of items) checkWeekday(item, frequency);
  } else if (name === 'WKST' && !weekdays.includes(value))
    refuse(name, value, `to be one of ${weekdays.join(', ')}`);
  // What RFC 5545 forbids, since it has no meaning.
  const isFine = isHourlyOrFiner(frequency) || frequency === 'YEARLY';
  if (name === 'COUNT' && isHourlyOrFiner(frequency) && Number(value) > fineCountMax) {
    refuse(name, value, `to be at most ${fineCountMax} beside FREQ=${frequency}`, 'Give an UNTIL instead.');
  }
  if (name === 'BYWEEKNO' && frequency !== 'YEARLY') refuse(name, value, 'to stand beside FREQ=YEARLY only');
  if (name === 'BYYEARDAY' && !isFine) refuse(name, value, `not to stand beside FREQ=${frequency}`);
  if (name === 'BYMONTHDAY' && frequency === 'WEEKLY') refuse(name, value, 'not to stand beside FREQ=WEEKLY');
}

function isHourlyOrFiner(frequency: RruleFrequency): boolean {
  return rruleFrequencies.indexOf(frequency) > rruleFrequencies.indexOf('DAILY');
}

function checkNumber(
  name: string,
  item: string,
  { min, max, canCountBack }: { min: number; max: number; canCountBack: boolean },
): void {
  const digits = canCountBack ? item.replace(/^[+-]/, '') : item;
  const value = /^\d{1,6}$/.test(digits) ? Number(digits) : Number.NaN;
  if (value >= min && value <= max) return;
  const range = canCountBack ? `${min} to ${max} or -${max} to -${min}` : `${min} to ${max}`;
  refuse(name, item, `to be a number from ${range}`);
}

function checkWeekday(item: string, frequency: RruleFrequency): void {
  const match = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item);
  const nth = match?.[1];
  if (match === null || !weekdays.includes(match[2] as string)) {
    const near = nearest(item.slice(0, 2), weekdays);
    refuse(
      'BYDAY',
      item,
      `to be one of ${weekdays.join(', ')}`,
      near === undefined ? undefined : `Did you mean "${near}"?`,
    );
  }
  if (nth === undefined) return;
  if (frequency !== 'MONTHLY' && frequency !== 'YEARLY') {
    refuse('BYDAY', item, 'to have a number only beside FREQ=MONTHLY and FREQ=YEARLY');
  }
  const number = Math.abs(Number(nth));
  if (number < 1 || number > 53) refuse('BYDAY', item, 'to count from 1 to 53');
}

/** The library would look for 30 February through thousands of years. */
function refuseImpossibleDays(parts: ReadonlyMap<string, string>): void {
  const months = parts.get('BYMONTH')?.split(',').map(Number);
  const days = parts
    .get('BYMONTHDAY')
    ?.split(',')
    .map((day) => Math.abs(Number(day)));
  if (months === undefined || days === undefined) return;
  const longest = Math.max(...months.map((month) => lengthOfMonth(2_000 * 12 + month - 1)));
  if (Math.min(...days) <= longest) return;
  throw dulyError('rule_never_fires', {
    message: `The recurrence rule never fires: no month of BYMONTH=${parts.get('BYMONTH')} has a day BYMONTHDAY=${parts.get('BYMONTHDAY')}.`,
    details: { field: 'rrule', part: 'BYMONTHDAY' },
  });
}

/** Refuses a part of a recurrence rule. */
export function refuse(part: string, value: unknown, expected: string, hint?: string): never {
  throw dulyError('invalid_rrule', {
    message: `Expected ${part === 'rrule' ? '"rrule"' : `${part} of the recurrence rule`} ${expected}, got ${value === undefined ? 'nothing' : shown(value)}.`,
    hint,
    details: { field: 'rrule', part },
  });
}
