import { dulyError } from './errors.ts';
import { shown } from './option-reader.ts';

/** A length of time: milliseconds, or a text such as `'15m'`, `'3 days'`, `'1h30m'` or `'PT15M'`. A day is 24 hours. */
export type Duration = number | string;

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;

/** The longest duration there is: 100 years of 365.25 days. More is a mistake in a unit, not a plan. */
export const durationMsMax = 36_525 * dayMs;

// No duration needs more; a longer text is not worth a pattern match.
const textLengthMax = 100;

const unitMs: Record<string, number> = Object.assign(Object.create(null), {
  ...unitsOf(1, 'ms', 'msec', 'msecs', 'millisecond', 'milliseconds'),
  ...unitsOf(secondMs, 's', 'sec', 'secs', 'second', 'seconds'),
  ...unitsOf(minuteMs, 'm', 'min', 'mins', 'minute', 'minutes'),
  ...unitsOf(hourMs, 'h', 'hr', 'hrs', 'hour', 'hours'),
  ...unitsOf(dayMs, 'd', 'day', 'days'),
  ...unitsOf(weekMs, 'w', 'week', 'weeks'),
});

function unitsOf(ms: number, ...names: string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, ms]));
}

/**
 * Reads a duration and returns whole milliseconds, from 0 (or `minMs`) to `durationMsMax`.
 * Throws `invalid_duration`, which names the field and the value. Months and years are refused, because their length
 * depends on where one begins to count.
 */
export function parseDuration(
  value: Duration,
  field = 'duration',
  { minMs = 0 }: { minMs?: number } = {},
): number {
  const ms = typeof value === 'string' ? readText(value, field) : readNumber(value, field);
  if (ms < 0 || Object.is(ms, -0)) refuse(value, field, 'to be 0 or more');
  if (ms < minMs) refuse(value, field, `to be at least ${formatDuration(minMs)}`);
  if (ms > durationMsMax) refuse(value, field, 'to be at most 100 years (36525 days)');
  return Math.round(ms);
}

function readNumber(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
  return refuse(value, field, 'to be milliseconds as a finite number, or a text like "15m"');
}

function readText(value: string, field: string): number {
  const text = value.trim();
  if (text.length > textLengthMax) refuse(value, field, `to have at most ${textLengthMax} characters`);
  if (text.startsWith('-')) refuse(value, field, 'to be 0 or more');
  if (/^p/i.test(text)) return readIso(value, text, field);
  return readUnits(value, text, field);
}

/** `1h30m`, `3 days`, `1.5 h`: numbers with units, larger units first, each at most once. */
function readUnits(value: string, text: string, field: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    return refuse(
      value,
      field,
      `to have a unit, like "${text}ms" or "${text}s"`,
      'Milliseconds can be given as a number.',
    );
  }
  if (/\de[+-]?\d/i.test(text)) {
    return refuse(
      value,
      field,
      'to be written without an exponent, and to be at most 100 years (36525 days)',
    );
  }
  if (!/^(?:(?:\d+(?:\.\d+)?|\.\d+)\s*[a-z]+[\s,]*)+$/i.test(text)) {
    return refuse(value, field, 'to be a duration like "15m", "3 days", "1h30m" or "PT15M"');
  }
  let totalMs = 0;
  let previousMs = Number.POSITIVE_INFINITY;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?|\.\d+)\s*([a-z]+)/gi) as Iterable<
    [string, string, string]
  >) {
    // A lone capital M means months in ISO 8601 and in date patterns, so it is not taken for minutes.
    if (unit === 'M') refuse(value, field, 'to say "m" or "min" for minutes; "M" could mean months');
    const ms = unitMs[unit.toLowerCase()];
    if (ms === undefined) {
      if (/^(?:mo|mos|mth|mths|months?|y|yr|yrs|years?)$/i.test(unit)) refuseCalendar(value, field);
      return refuse(value, field, `to use units from "ms" to "weeks", not "${unit.slice(0, 20)}"`);
    }
    if (ms >= previousMs) refuse(value, field, 'to name each unit once, the largest first');
    previousMs = ms;
    totalMs += Number(amount) * ms;
  }
  return totalMs;
}

/** `PT15M`, `P3DT4H`, `P2W`. */
function readIso(value: string, text: string, field: string): number {
  const number = '(\\d+(?:[.,]\\d+)?)';
  const pattern = new RegExp(
    `^P(?:${number}Y)?(?:${number}M)?(?:${number}W)?(?:${number}D)?(?:T(?=\\d)(?:${number}H)?(?:${number}M)?(?:${number}S)?)?$`,
    'i',
  );
  const match = pattern.exec(text);
  if (match === null || text.length < 3) {
    return refuse(value, field, 'to be an ISO 8601 duration like "PT15M", "P3DT4H" or "P2W"');
  }
  const [years, months, weeks, days, hours, minutes, seconds] = match
    .slice(1)
    .map((part: string | undefined) => (part === undefined ? 0 : Number(part.replace(',', '.')))) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (match[1] !== undefined || match[2] !== undefined || years + months > 0) refuseCalendar(value, field);
  return weeks * weekMs + days * dayMs + hours * hourMs + minutes * minuteMs + seconds * secondMs;
}

function refuseCalendar(value: unknown, field: string): never {
  return refuse(
    value,
    field,
    'to have no months or years: their length depends on the date',
    'Write days ("30 days"; in ISO 8601 "PT1M" is a minute), or give the instant itself with at().',
  );
}

function refuse(value: unknown, field: string, expected: string, hint?: string): never {
  throw dulyError('invalid_duration', {
    message: `Expected "${field}" ${expected}, got ${shown(value)}.`,
    hint: hint ?? 'Durations are milliseconds, or texts like "250ms", "15m", "1h30m", "3 days" and "PT15M".',
    details: { field, value: shown(value) },
  });
}

/** A short form for people, with the two largest units at most: `3 d 4 h`, `2 min 5 s`, `1.2 s`, `90 ms`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return String(ms);
  if (ms < 0) {
    const positive = formatDuration(-ms);
    return positive === '0 ms' ? positive : `-${positive}`;
  }
  // Each step rounds to the smaller unit it shows before it decides, so that 59.96 s is "1 min", not "60 s".
  const wholeMs = Math.round(ms);
  if (wholeMs < secondMs) return `${wholeMs} ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${tenths / 10} s`;
  const seconds = Math.round(ms / secondMs);
  if (seconds < 3_600) return twoUnits(seconds, 60, 'min', 's');
  const minutes = Math.round(ms / minuteMs);
  if (minutes < 1_440) return twoUnits(minutes, 60, 'h', 'min');
  return twoUnits(Math.round(ms / hourMs), 24, 'd', 'h');
}

function twoUnits(amount: number, size: number, large: string, small: string): string {
  const rest = amount % size;
  const whole = `${Math.floor(amount / size)} ${large}`;
  return rest === 0 ? whole : `${whole} ${rest} ${small}`;
}
