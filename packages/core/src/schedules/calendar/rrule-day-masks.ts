// The days of a recurrence rule, month by month.

import { daySeconds, firstDayOfMonth } from './civil.ts';
import { createRruleWallTimes } from './rrule.ts';
import { isWallRule, parseRrule, type RruleText, refuse } from './rrule-text.ts';
import type { Zone } from './zone.ts';

/** The days of a recurrence rule. */
export interface RruleDays {
  /** Those of a month: bit `n` is the day `n + 1`. */
  daysOfMonth(month: number): number;
  /** Whether that is arithmetic, and not a question to the library. */
  isCheap: boolean;
}

/**
 * The days of a recurrence rule, month by month, for what a rule leaves out. It names whole days, so it is DAILY or coarser and
 * has no times; without a DTSTART it must say by itself which days it means.
 */
export function createRruleDays(rrule: string): RruleDays {
  const text = withWholeWeeks(parseRrule(rrule));
  const { parts } = text;
  const timePart = ['BYHOUR', 'BYMINUTE', 'BYSECOND'].find((name) => parts.has(name));
  if (!isWallRule(text) || timePart !== undefined) {
    const part = timePart ?? 'FREQ';
    refuse(
      part,
      parts.get(part),
      'to name whole days where it excludes',
      'For parts of a day exclude a cron like "* 9-17 * * *".',
    );
  }
  const namesDays =
    text.frequency === 'DAILY' ||
    ['BYDAY', 'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO'].some((name) => parts.has(name));
  const isCounted = text.count !== null || (parts.get('INTERVAL') ?? '1') !== '1';
  if (text.start === null && (!namesDays || isCounted)) {
    refuse('rrule', rrule, 'to have a DTSTART, from which its days are counted');
  }
  const start = text.start === null ? 0 : Math.floor(text.start.seconds / daySeconds) * daySeconds;
  const weekdays = everyWeekOf(text);
  if (weekdays !== null) return { daysOfMonth: (month) => weekdaysOfMonth(month, weekdays), isCheap: true };
  const days: RruleText = {
    ...text,
    start: { seconds: start, isUtc: false, isDate: true },
    until: text.until === null ? null : { ...text.until, isUtc: false },
    extra: text.extra.map((one) => ({ ...one, seconds: Math.floor(one.seconds / daySeconds) * daySeconds })),
    excluded: text.excluded.map((one) => ({
      ...one,
      seconds: Math.floor(one.seconds / daySeconds) * daySeconds,
      isDate: true,
    })),
  };
  const utc: Zone = { name: 'UTC', spanAt: () => utcSpan };
  const wallTimes = createRruleWallTimes(days, { zone: utc, startSecond: null });
  const months = new Map<number, number>();
  const daysOfMonth = (month: number): number => {
    const known = months.get(month);
    if (known !== undefined) return known;
    const first = firstDayOfMonth(month);
    const end = firstDayOfMonth(month + 1) * daySeconds;
    let mask = 0;
    for (let wall = wallTimes.next(first * daySeconds); wall < end; wall = wallTimes.next(wall + 1)) {
      mask |= 1 << (Math.floor(wall / daySeconds) - first);
    }
    months.set(month, mask);
    return mask;
  };
  return { daysOfMonth, isCheap: false };
}

/** Weeks without a beginning, from which a weekday would follow, are all of their days. */
function withWholeWeeks(text: RruleText): RruleText {
  const { parts, pattern, start } = text;
  const namesDays = ['BYDAY', 'BYMONTHDAY', 'BYYEARDAY'].some((name) => parts.has(name));
  if (start !== null || namesDays || !parts.has('BYWEEKNO')) return text;
  const days = weekdayCodes.join(',');
  return { ...text, pattern: `${pattern};BYDAY=${days}`, parts: new Map([...parts, ['BYDAY', days]]) };
}

const weekdayCodes = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/** The weekdays (bit 0 is Sunday) of a rule that names nothing else, without begin or end; null for any other. */
function everyWeekOf({ parts, frequency, start, count, until, extra, excluded }: RruleText): number | null {
  if (frequency !== 'DAILY' && frequency !== 'WEEKLY') return null;
  if (start !== null || count !== null || until !== null || extra.length + excluded.length > 0) return null;
  if ([...parts.keys()].some((name) => !['FREQ', 'BYDAY', 'WKST'].includes(name))) return null;
  const codes = parts.get('BYDAY')?.toUpperCase().split(',') ?? weekdayCodes;
  if (codes.some((code) => !weekdayCodes.includes(code))) return null;
  return codes.reduce((mask, code) => mask | (1 << weekdayCodes.indexOf(code)), 0);
}

function weekdaysOfMonth(month: number, weekdays: number): number {
  const first = firstDayOfMonth(month);
  const length = firstDayOfMonth(month + 1) - first;
  let mask = 0;
  for (let day = 0; day < length; day++) {
    // 1 January 1970 was a Thursday.
    if ((weekdays >>> ((((first + day + 4) % 7) + 7) % 7)) & 1) mask |= 1 << day;
  }
  return mask;
}

const utcSpan = {
  start: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
  offset: 0,
  offsetBefore: 0,
  offsetAfter: 0,
};
