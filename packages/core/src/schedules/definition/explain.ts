import { systemClock } from '../../base/clock.ts';
import { formatDay, formatTimeOfDay } from '../calendar/civil.ts';
import {
  type CronFields,
  hasBit,
  monthNames,
  type SixtyBits,
  weekdayNames,
} from '../calendar/cron-fields.ts';
import type { ExcludeSpec } from '../calendar/exclude-input.ts';
import type { RruleMoment, RruleText } from '../calendar/rrule-text.ts';
import { isRule, type Rule, resolveRule } from '../calendar/rule.ts';
import type { RuleInput } from '../calendar/rule-input.ts';
import { asWritten } from './policies.ts';

/** How a rule is explained. */
export interface ExplainOptions {
  /** When it is explained: only changes of the clock in the two years after this instant are mentioned. Now unless given. */
  now?: number;
}

const yearMs = 366 * 86_400_000;

/**
 * A rule in words: "At 02:30 on weekdays, in America/New_York." A second sentence follows if a coming change of the clock falls on
 * a time that the rule fixes. Throws what `resolveRule` throws.
 */
export function explain(
  rule: string | RuleInput | Rule,
  { now = systemClock.now() }: ExplainOptions = {},
): string {
  const resolved = isRule(rule) ? rule : resolveRule(asWritten(rule), { now });
  return [explainRule(resolved), ...explainClockChanges(resolved, now)].join(' ');
}

/** The first sentence of `explain`: without changes of the clock, which take longer to find than all the rest. */
export function explainRule(rule: Rule): string {
  const sentence = [explainTimes(rule), explainZone(rule), ...explainBounds(rule)].join('');
  return `${capitalize(sentence)}${explainExclude(rule, rule.spec.exclude)}.`;
}

function explainTimes(rule: Rule): string {
  if (rule.cron !== null) return explainCron(rule.cron);
  if (rule.rrule !== null) return explainRrule(rule, rule.rrule);
  if (rule.kind === 'delay') return `${inWords(rule.spec.delay as number)} after the previous run has ended`;
  const period = inWords(rule.spec.rate as number).replace(/^1 (\w+)$/, '$1');
  if (rule.spec.anchor === 'epoch') return `every ${period}, counted from 1970-01-01T00:00Z`;
  return `every ${period}, counted from ${rule.startAt === null ? 'its creation' : 'its start'}`;
}

function explainZone(rule: Rule): string {
  // A rate and a delay are real time; the zone is theirs only for what they exclude.
  return rule.kind === 'rate' || rule.kind === 'delay' ? '' : `, in ${rule.timezone}`;
}

function explainBounds(rule: Rule): string[] {
  const at = (instantAt: number): string => {
    const { date, time } = rule.read(instantAt);
    return `${date} ${time}${rule.kind === 'rate' || rule.kind === 'delay' ? ` (${rule.timezone})` : ''}`;
  };
  const start = rule.rrule?.start ?? null;
  const counted = rule.startAt === null ? 'from' : 'counted from';
  const extra = rule.rrule?.extra ?? [];
  return [
    ...(start === null ? [] : [`, ${counted} ${momentText(rule, start)}`]),
    ...(rule.startAt === null ? [] : [`, from ${at(rule.startAt)}`]),
    ...(rule.endAt === null ? [] : [`, until ${at(rule.endAt)}`]),
    ...(extra.length === 0 ? [] : [`, and also ${momentsText(rule, extra)}`]),
  ];
}

/** A moment of iCalendar text as the rule's clock shows it. */
function momentText(rule: Rule, { seconds, isUtc, isDate }: RruleMoment): string {
  if (isUtc) {
    const { date, time } = rule.read(seconds * 1_000);
    return `${date} ${time}`;
  }
  const day = Math.floor(seconds / 86_400);
  return isDate ? formatDay(day) : `${formatDay(day)} ${formatTimeOfDay(seconds - day * 86_400)}`;
}

function momentsText(rule: Rule, moments: readonly RruleMoment[]): string {
  if (moments.length > listedMax) return `at ${moments.length} other times`;
  return `on ${join(moments.map((moment) => momentText(rule, moment)))}`;
}

const listedMax = 3;

function explainExclude(rule: Rule, exclude: readonly ExcludeSpec[]): string {
  const phrases = exclude.flatMap((one) => {
    if ('cron' in one) return [`when the cron "${one.cron}" matches`];
    if ('rrule' in one) return [`on the days of "${one.rrule.replaceAll(/\r?\n/g, ' ')}"`];
    if (one.dates.length > listedMax) return [`on ${one.dates.length} dates`];
    return [`on ${join(one.dates.map((date) => date.replace('/', ' through ')))}`];
  });
  const out = rule.rrule?.excluded ?? [];
  if (out.length > 0) phrases.unshift(momentsText(rule, out).replace('other times', 'times'));
  return phrases.length === 0 ? '' : `, except ${join(phrases)}`;
}

function explainClockChanges(rule: Rule, now: number): string[] {
  const { dst } = rule.spec;
  const changes = rule.clockChanges(now, now + 2 * yearMs);
  const gap = changes.find((one) => one.kind === 'gap');
  const repeat = changes.find((one) => one.kind === 'repeat');
  const notes: string[] = [];
  if (gap !== undefined) {
    const outcome =
      dst.gap === 'next' ? 'it runs once at the first instant after the gap' : 'it does not run';
    notes.push(`${gap.time} does not exist on ${gap.date}: ${outcome}.`);
  }
  if (repeat !== undefined) {
    const outcome = { first: 'the first time', last: 'the second time', both: 'both times' }[dst.repeat];
    notes.push(`${repeat.time} comes twice on ${repeat.date}: it runs ${outcome}.`);
  }
  return notes;
}

// ------------------------------------------------------------------------------------------------- cron

function explainCron(fields: CronFields): string {
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

const weekdayWords = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const monthWords =
  'January February March April May June July August September October November December'.split(' ');

function weekdayName(text: string): string {
  const index = /^\d+$/.test(text) ? Number(text) % 7 : weekdayNames.indexOf(text);
  return weekdayWords[index] as string;
}

function monthName(text: string): string {
  const index = /^\d+$/.test(text) ? Number(text) - 1 : monthNames.indexOf(text);
  return monthWords[index] as string;
}

// ------------------------------------------------------------------------------------------------ RRULE

const rruleWeekdays: Record<string, string> = {
  SU: 'Sunday',
  MO: 'Monday',
  TU: 'Tuesday',
  WE: 'Wednesday',
  TH: 'Thursday',
  FR: 'Friday',
  SA: 'Saturday',
};
const periods = {
  YEARLY: 'year',
  MONTHLY: 'month',
  WEEKLY: 'week',
  DAILY: 'day',
  HOURLY: 'hour',
  MINUTELY: 'minute',
  SECONDLY: 'second',
};
const explained = ['FREQ', 'INTERVAL', 'BYDAY', 'BYMONTH', 'BYMONTHDAY', 'COUNT', 'UNTIL', 'WKST'];

function explainRrule(rule: Rule, text: RruleText): string {
  const { parts, frequency } = text;
  const interval = Number(parts.get('INTERVAL') ?? 1);
  const list = (name: string): string[] => parts.get(name)?.split(',') ?? [];
  const phrases = [
    interval === 1 ? `every ${periods[frequency]}` : `every ${interval} ${periods[frequency]}s`,
  ];
  const days = list('BYDAY').map((item) => {
    const [, nth, day = ''] = /^([+-]?\d+)?([A-Z]{2})$/.exec(item) ?? [];
    const name = rruleWeekdays[day] as string;
    if (nth === undefined) return name;
    const number = Number(nth);
    return `the ${number < 0 ? `${number === -1 ? '' : `${ordinal(-number)} to `}last` : ordinal(number)} ${name}`;
  });
  if (days.length > 0) phrases.push(`on ${join(days)}`);
  const monthDays = list('BYMONTHDAY')
    .map(Number)
    .map((day) => {
      if (day > 0) return `the ${ordinal(day)}`;
      return day === -1 ? 'the last day of the month' : `the ${ordinal(-day)} to last day of the month`;
    });
  if (monthDays.length > 0) phrases.push(`on ${join(monthDays)}`);
  const months = list('BYMONTH').map(monthName);
  const own = ownDay(rule, text);
  if (own !== null) phrases.push(own);
  if (months.length > 0) phrases.push(`in ${join(months)}`);
  const time = explainRruleTime(rule, text);
  if (time !== null) phrases.push(`at ${time}`);
  const rest = [...parts].filter(
    ([name]) => !explained.includes(name) && !(time !== null && name.startsWith('BYHOUR')),
  );
  if (rest.length > 0) phrases.push(`(${rest.map(([name, value]) => `${name}=${value}`).join(', ')})`);
  if (text.count !== null) phrases.push(text.count === 1 ? '(once)' : `(${text.count} times)`);
  if (text.until !== null) phrases.push(`until ${formatDay(Math.floor(text.until.seconds / 86_400))}`);
  return phrases.join(' ');
}

/** The day that a rule takes from its beginning; null if its parts name days, or it is not of days. */
function ownDay(rule: Rule, { parts, frequency, start }: RruleText): string | null {
  if (['BYDAY', 'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO'].some((name) => parts.has(name))) return null;
  if (!['YEARLY', 'MONTHLY', 'WEEKLY'].includes(frequency)) return null;
  const date =
    start !== null
      ? momentText(rule, start).slice(0, 10)
      : rule.startAt === null
        ? null
        : rule.read(rule.startAt).date;
  if (date === null) return null;
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  if (frequency === 'WEEKLY')
    return `on ${weekdayWords[new Date(Date.UTC(year, month - 1, day)).getUTCDay()]}`;
  if (frequency === 'MONTHLY' || parts.has('BYMONTH')) {
    return `on the ${ordinal(day)}${day > 28 ? ', where there is one,' : ''}`;
  }
  return `on ${day} ${monthWords[month - 1]}${month === 2 && day === 29 ? ', where there is one,' : ''}`;
}

/** The time of day of a rule that has one, from DTSTART; null if parts of the rule say more. */
function explainRruleTime(rule: Rule, { parts, frequency }: RruleText): string | null {
  if (['HOURLY', 'MINUTELY', 'SECONDLY'].includes(frequency)) return null;
  if (['BYHOUR', 'BYMINUTE', 'BYSECOND'].some((name) => parts.has(name))) return null;
  const firstAt = rule.all.next(-1);
  if (firstAt === null) return null;
  const { gap, time } = rule.read(firstAt);
  return gap?.time ?? time;
}

// ------------------------------------------------------------------------------------------------ words

const units: [string, number][] = [
  ['week', 7 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
];

/** A duration in full words, exact: `1 hour 30 minutes`. */
function inWords(ms: number): string {
  const words: string[] = [];
  let rest = ms;
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) words.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return words.join(' ');
}

function join(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

function ordinal(number: number): string {
  const isTeen = number % 100 >= 11 && number % 100 <= 13;
  const suffix = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
  return `${number}${suffix}`;
}

function two(text: string): string {
  return text.padStart(2, '0');
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
