// A recurrence rule in a sentence.

import { formatDay } from '../calendar/civil.ts';
import type { RruleText } from '../calendar/rrule-text.ts';
import type { Rule } from '../calendar/rule.ts';
import { join, momentText, monthName, monthWords, ordinal, weekdayWords } from './explain-words.ts';

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

/** A recurrence rule in words. */
export function explainRrule(rule: Rule, text: RruleText): string {
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
