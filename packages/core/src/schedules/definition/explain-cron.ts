// A cron in a sentence.

import { formatTimeOfDay } from '../calendar/civil.ts';
import { type CronFields, hasBit, type SixtyBits } from '../calendar/cron-fields.ts';
import { join, monthName, monthWords, ordinal, two, weekdayName, weekdayWords } from './explain-words.ts';

/** A cron in words. */
export function explainCron(fields: CronFields): string {
  const days = explainDays(fields);
  const listed = listTimes(fields);
  if (listed !== null)
    return `at ${join(listed)} ${/^(?:in |$)/.test(days) ? `every day ${days}`.trim() : days}`;
  return `${explainPattern(fields)}${days === '' ? '' : ` ${days}`}`;
}

// More times than this are easier to understand as a pattern.
const timesMax = 6;

/** The times of day one by one, if they are few and written as numbers. */
function listTimes(fields: CronFields): string[] | null {
  const { written } = fields;
  const isList = [written.second ?? '0', written.minute, written.hour].every((text) =>
    /^[\d,]+$/.test(text ?? ''),
  );
  if (!isList) return null;
  const times: string[] = [];
  for (const hour of valuesOf(written.hour as string)) {
    for (const minute of valuesOf(written.minute as string)) {
      for (const second of valuesOf(written.second ?? '0'))
        times.push(formatTimeOfDay(hour * 3_600 + minute * 60 + second));
    }
  }
  return times.length > timesMax ? null : [...new Set(times)].sort();
}

function valuesOf(list: string): number[] {
  return list.split(',').map(Number);
}

function explainPattern({ written, seconds, minutes }: CronFields): string {
  const second = written.second ?? '0';
  const minute = written.minute as string;
  const hour = written.hour as string;
  const parts: string[] = [];
  const isSecondZero =
    written.second === null || (seconds.low === 1 && !hasBit(seconds, 32) && seconds.high === 0);
  if (!isSecondZero) parts.push(explainUnit(second, 'second', numbersIn(seconds)));

  const isMinuteFree = numbersIn(minutes).length === 60;
  if (isSecondZero && /^0+$/.test(minute)) {
    const hourly = explainHourly(hour);
    if (hourly !== null) return hourly;
  }
  if (isSecondZero || !isMinuteFree) parts.push(explainUnit(minute, 'minute', numbersIn(minutes)));
  const hours = explainHours(hour);
  if (hours !== '') return `${parts.join(', ')} ${hours}`;
  return /^at /.test(parts.at(-1) as string)
    ? `${parts.join(', ')} of every ${parts.length > 1 || isSecondZero ? 'hour' : 'minute'}`
    : parts.join(', ');
}

/** Full hours; null if they are more than one range or step. */
function explainHourly(hour: string): string | null {
  const step = /^(?:\*|0(?=\/))(?:\/(\d+))?$/.exec(hour);
  if (step !== null) {
    const count = Number(step[1] ?? 1);
    return count === 1 ? 'every hour' : `every ${count} hours, counted from midnight`;
  }
  const range = /^(\d+)-(\d+)(?:\/(\d+))?$/.exec(hour);
  if (range === null) return null;
  const [, from = '', to = '', every = '1'] = range;
  return `every ${every === '1' ? 'hour' : `${every} hours`} from ${two(from)}:00 through ${two(to)}:00`;
}

function numbersIn(bits: SixtyBits): number[] {
  return Array.from({ length: 60 }, (_, value) => value).filter((value) => hasBit(bits, value));
}

// More values than this are easier to understand as a step with its bounds.
const valuesMax = 10;

function explainUnit(text: string, unit: 'second' | 'minute', values: readonly number[]): string {
  if (values.length === 60) return `every ${unit}`;
  const [first = 0, second = first] = values;
  const last = values.at(-1) ?? first;
  if (values.length === 1) return `at ${unit} ${first}`;
  const [, from, to] = /^(?:\*|(\d+)(?:-(\d+))?)\/\d+$/.exec(text) ?? [];
  const every = `every ${second - first} ${unit}s`;
  // A step that does not divide the hour (the minute) begins anew with each of them.
  const isEven = 60 - last + first === second - first;
  if (text.includes('/') && (text.includes(',') || !isEven) && values.length <= valuesMax) {
    return `at ${unit}s ${join(values.map(String))}`;
  }
  if (/^[^,]*\/\d+$/.test(text)) {
    if (first === 0 && isEven) return every;
    return `${every} from ${unit} ${Number(from ?? 0)} ${to === undefined && isEven ? 'on' : `through ${Number(to ?? last)}`}`;
  }
  const items = text.split(',').map((item) => explainItem(item, (value) => value, unit));
  return `at ${items.length === 1 && /^\d+$/.test(text) ? unit : `${unit}s`} ${join(items)}`;
}

function explainHours(text: string): string {
  if (text === '*' || text === '*/1') return '';
  const step = /^(?:\*|0)\/(\d+)$/.exec(text);
  if (step !== null) {
    const counted = 24 % Number(step[1]) === 0 ? '' : ', counted from midnight';
    return `of every ${ordinal(Number(step[1]))} hour${counted}`;
  }
  const items = text.split(',');
  return join(
    items.map((item) => {
      const [range = '', every] = item.split('/');
      const [from = '', to = every === undefined ? from : '23'] =
        range === '*' ? ['0', '23'] : range.split('-');
      const phrase = `from ${two(from)}:00 through ${two(to)}:59`;
      return every === undefined || every === '1'
        ? phrase
        : `of every ${ordinal(Number(every))} hour ${phrase}`;
    }),
  );
}

/** An item of a field: a value, a range or a step, with a word for its values. */
function explainItem(item: string, name: (value: string) => string, unit: string): string {
  const [range = '', step] = item.split('/');
  const [from = '', to] = range.split('-');
  let phrase: string;
  if (range === '*') phrase = '';
  else if (to !== undefined) phrase = `${name(from)} through ${name(to)}`;
  else phrase = step === undefined ? name(from) : `from ${name(from)} on`;
  if (step === undefined || step === '1') return phrase === '' ? `every ${unit}` : phrase;
  return `every ${ordinal(Number(step))} ${unit}${phrase === '' ? '' : ` ${phrase}`}`;
}

function explainDays(fields: CronFields): string {
  const { written } = fields;
  const [days, weekdays] = [bitsOf(fields.dayOfMonth.days, 31), bitsOf(fields.weekday.weekdays, 7)];
  const isEither = !fields.dayOfMonth.isFree && !fields.weekday.isFree;
  // A day that matches by either of them does so by one that names every day.
  const isEvery = isEither && (days.length === 31 || weekdays.length === 7);
  const byMonth = isEvery ? '' : explainDayOfMonth(written.dayOfMonth as string, days);
  const byWeekday = isEvery ? '' : explainWeekday(written.weekday as string, weekdays);
  const parts: string[] = [];
  if (byMonth !== '' && byWeekday !== '') {
    parts.push(isEither ? `${byMonth} or ${byWeekday}` : `${byMonth}, if that is ${oneOf(byWeekday)}`);
  } else if (byMonth !== '' || byWeekday !== '') parts.push(byMonth || byWeekday);
  const month = written.month as string;
  const months = bitsOf(fields.months, 12);
  if (months.length < 12) {
    const [, step = '12'] = /^\*\/(\d+)$/.exec(month) ?? [];
    const isEven = 12 % Number(step) === 0 && months.length > 1;
    const items =
      month.includes('/') && !isEven
        ? months.map((index) => monthWords[index] as string)
        : month.split(',').map((item) => explainItem(item, monthName, 'month'));
    // "on the 1st of January", but "on Monday in January".
    const isPlain = byWeekday === '' && byMonth !== '' && !byMonth.endsWith('of the month');
    parts.push(`${isPlain ? 'of' : 'in'} ${join(items)}`);
  }
  if (written.year !== null && !isAny(written.year)) {
    parts.push(
      `in ${join(written.year.split(',').map((item) => explainItem(item, (value) => value, 'year')))}`,
    );
  }
  return parts.join(' ');
}

/** Of `on Monday and Friday` what a single day can be: `Monday or Friday`. */
function oneOf(byWeekday: string): string {
  if (byWeekday === 'on weekdays') return 'a weekday';
  if (byWeekday === 'on weekends') return 'Saturday or Sunday';
  return byWeekday.replace(/^on /, '').replace(/ and (?!.* and )/, ' or ');
}

function isAny(text: string): boolean {
  return text === '*' || text === '?' || text === '*/1';
}

/** The bits that are set, from 0 up. */
function bitsOf(mask: number, count: number): number[] {
  return Array.from({ length: count }, (_, bit) => bit).filter((bit) => (mask >>> bit) & 1);
}

// A step that names fewer days than this is told by its days.
const stepDaysMax = 8;

function explainDayOfMonth(text: string, days: readonly number[]): string {
  if (isAny(text) || days.length === 31) return '';
  if (/^[\d*,/-]+$/.test(text) && text.includes('/') && days.length <= stepDaysMax) {
    return `on ${join(days.map((day) => `the ${ordinal(day + 1)}`))}`;
  }
  let isWhole = false;
  const items = text.split(',').map((item) => {
    const special = /^(?:(L)(?:-(\d+))?|(LW)|(\d+)W)$/.exec(item);
    if (special === null) {
      const phrase = explainItem(item, (value) => `the ${ordinal(Number(value))}`, 'day');
      isWhole ||= item.includes('/');
      return phrase;
    }
    const [, last, back, lastWeekday, near] = special;
    isWhole = true;
    if (lastWeekday !== undefined) return 'the last weekday';
    if (near !== undefined) return `the weekday nearest the ${ordinal(Number(near))}`;
    if (last !== undefined && (back === undefined || Number(back) === 0)) return 'the last day';
    return `the day ${Number(back)} before the last`;
  });
  return `on ${join(items)}${isWhole ? ' of the month' : ''}`;
}

function explainWeekday(text: string, days: readonly number[]): string {
  if (isAny(text) || days.length === 7) return '';
  if (/^(?:1-5|MON-FRI)$/.test(text)) return 'on weekdays';
  if (/^(?:6,0|0,6|6,7|6-7|SAT,SUN|SUN,SAT|SAT-SUN)$/.test(text)) return 'on weekends';
  if (text.includes('/') && !/[#L]/.test(text)) {
    return `on ${join(days.map((day) => weekdayWords[day] as string))}`;
  }
  const items = text.split(',').map((item) => {
    const nth = /^(\w+)#(\d)$/.exec(item);
    if (nth !== null) return `the ${ordinal(Number(nth[2]))} ${weekdayName(nth[1] as string)} of the month`;
    const last = /^(\w+)L$/.exec(item);
    if (last !== null) return `the last ${weekdayName(last[1] as string)} of the month`;
    return explainItem(item, weekdayName, 'day of the week');
  });
  // Sunday has two numbers and a name.
  return `on ${join([...new Set(items)])}`;
}
