// Random crons for property tests, each with a plain predicate that says what it means. Shares no code with the parser.
import fc from 'fast-check';

/** A random cron: its text, and what it means for a time and for a date. */
export interface RandomCron {
  text: string;
  seconds: number[];
  minutes: number[];
  hours: number[];
  isFixed: boolean;
  hasDate(year: number, month: number, day: number): boolean;
  /** Whether croner and cron-parser mean the same by it. */
  judges: { croner: boolean; cronParser: boolean };
}

interface Field {
  text: string;
  values: number[];
  isNumbers: boolean;
}

const range = (from: number, to: number, step = 1): number[] => {
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
};

function item(min: number, max: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min, max });
  const step = fc.integer({ min: 1, max: max - min });
  return fc.oneof(
    { weight: 4, arbitrary: value.map((one) => ({ text: `${one}`, values: [one], isNumbers: true })) },
    fc.tuple(value, value).map(([a, b]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      return { text: `${from}-${to}`, values: range(from, to), isNumbers: false };
    }),
    fc.tuple(value, value, step).map(([a, b, by]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      return { text: `${from}-${to}/${by}`, values: range(from, to, by), isNumbers: false };
    }),
    fc
      .tuple(value, step)
      .map(([from, by]) => ({ text: `${from}/${by}`, values: range(from, max, by), isNumbers: false })),
  );
}

function field(min: number, max: number): fc.Arbitrary<Field> {
  return fc.oneof(
    fc.constant({ text: '*', values: range(min, max), isNumbers: false }),
    fc
      .integer({ min: 1, max: max - min })
      .map((by) => ({ text: `*/${by}`, values: range(min, max, by), isNumbers: false })),
    fc.array(item(min, max), { minLength: 1, maxLength: 3 }).map((items) => ({
      text: items.map((one) => one.text).join(','),
      values: [...new Set(items.flatMap((one) => one.values))].sort((a, b) => a - b),
      isNumbers: items.every((one) => one.isNumbers),
    })),
  );
}

type HasDay = (year: number, month: number, day: number) => boolean;
interface Days {
  text: string;
  isFree: boolean;
  has: HasDay;
  judges: { croner: boolean; cronParser: boolean };
}

const both = { croner: true, cronParser: true };
const lastDay = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate();
const weekdayOf = (year: number, month: number, day: number): number =>
  new Date(Date.UTC(year, month - 1, day)).getUTCDay();
const isWorkday = (year: number, month: number, day: number): boolean =>
  ![0, 6].includes(weekdayOf(year, month, day));

/** The weekday nearest to a day: tries the day, then one beside it, then two, within the month. */
function nearestWorkday(year: number, month: number, day: number): number {
  for (const near of [day, day - 1, day + 1, day + 2, day - 2]) {
    if (near >= 1 && near <= lastDay(year, month) && isWorkday(year, month, near)) return near;
  }
  throw new Error('unreachable');
}

const dayOfMonthItem: fc.Arbitrary<{ text: string; has: HasDay; judges: Days['judges'] }> = fc.oneof(
  {
    weight: 4,
    arbitrary: item(1, 31).map(({ text, values }) => ({
      text,
      has: (_: number, __: number, day: number) => values.includes(day),
      // From a day that a month lacks, croner (11.0.0) passes over the first days of the next: "1,30" leaves out 1 March.
      judges: { croner: values.every((day) => day <= 28), cronParser: true },
    })),
  },
  fc.constant({
    text: 'L',
    has: (year: number, month: number, day: number) => day === lastDay(year, month),
    judges: both,
  }),
  fc.integer({ min: 1, max: 30 }).map((back) => ({
    text: `L-${back}`,
    has: (year: number, month: number, day: number) => day === lastDay(year, month) - back,
    judges: { croner: false, cronParser: false },
  })),
  fc.constant({
    text: 'LW',
    has: (year: number, month: number, day: number) => {
      let last = lastDay(year, month);
      while (!isWorkday(year, month, last)) last--;
      return day === last;
    },
    judges: { croner: false, cronParser: false },
  }),
  fc.integer({ min: 1, max: 31 }).map((target) => ({
    text: `${target}W`,
    has: (year: number, month: number, day: number) =>
      target <= lastDay(year, month) && day === nearestWorkday(year, month, target),
    judges: { croner: target < 29, cronParser: false },
  })),
);

const weekdayItem: fc.Arbitrary<{ text: string; has: HasDay; judges: Days['judges'] }> = fc.oneof(
  {
    weight: 4,
    arbitrary: item(0, 6).map(({ text, values }) => ({
      text,
      has: (year: number, month: number, day: number) => values.includes(weekdayOf(year, month, day)),
      // To cron-parser "1/2" ends with 7, so it has Monday and Sunday, too.
      judges: { croner: true, cronParser: !/^\d+\//.test(text) },
    })),
  },
  fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 1, max: 5 })).map(([weekday, nth]) => ({
    text: `${weekday}#${nth}`,
    has: (year: number, month: number, day: number) =>
      weekdayOf(year, month, day) === weekday % 7 && Math.ceil(day / 7) === nth,
    judges: { croner: weekday < 7, cronParser: false },
  })),
  fc.integer({ min: 0, max: 7 }).map((weekday) => ({
    text: `${weekday}L`,
    has: (year: number, month: number, day: number) =>
      weekdayOf(year, month, day) === weekday % 7 && day + 7 > lastDay(year, month),
    judges: { croner: false, cronParser: false },
  })),
);

function days(
  one: typeof dayOfMonthItem,
  min: number,
  max: number,
  dayIndex: (year: number, month: number, day: number) => number,
): fc.Arbitrary<Days> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant({ text: '*', isFree: true, has: () => true, judges: both }) },
    fc.constant({ text: '?', isFree: true, has: () => true, judges: { croner: false, cronParser: false } }),
    fc.integer({ min: 1, max: max - min }).map((by) => ({
      text: `*/${by}`,
      isFree: true,
      has: (year: number, month: number, day: number) => (dayIndex(year, month, day) - min) % by === 0,
      // They take a step for a restriction.
      judges: { croner: false, cronParser: false },
    })),
    {
      weight: 3,
      arbitrary: fc.array(one, { minLength: 1, maxLength: 2 }).map((items) => ({
        text: items.map((each) => each.text).join(','),
        isFree: false,
        has: (year: number, month: number, day: number) => items.some((each) => each.has(year, month, day)),
        judges: {
          croner: items.every((each) => each.judges.croner),
          cronParser: items.every((each) => each.judges.cronParser),
        },
      })),
    },
  );
}

/** Any cron of five or six fields. Some never fire; the parser refuses those. */
export const randomCron: fc.Arbitrary<RandomCron> = fc
  .record({
    second: fc.option(field(0, 59), { freq: 2 }),
    minute: field(0, 59),
    hour: field(0, 23),
    dayOfMonth: days(dayOfMonthItem, 1, 31, (_, __, day) => day),
    month: field(1, 12),
    weekday: days(weekdayItem, 0, 6, weekdayOf),
  })
  .map(({ second, minute, hour, dayOfMonth, month, weekday }) => ({
    text: [
      ...(second === null ? [] : [second.text]),
      minute.text,
      hour.text,
      dayOfMonth.text,
      month.text,
      weekday.text,
    ].join(' '),
    seconds: second?.values ?? [0],
    minutes: minute.values,
    hours: hour.values,
    isFixed: hour.isNumbers,
    hasDate: (year, monthNumber, day) => {
      if (!month.values.includes(monthNumber)) return false;
      const byMonth = dayOfMonth.has(year, monthNumber, day);
      const byWeekday = weekday.has(year, monthNumber, day);
      return dayOfMonth.isFree || weekday.isFree ? byMonth && byWeekday : byMonth || byWeekday;
    },
    judges: {
      croner: dayOfMonth.judges.croner && weekday.judges.croner,
      cronParser: dayOfMonth.judges.cronParser && weekday.judges.cronParser,
    },
  }));

const dayMs = 86_400_000;

/** The first instant after another that a cron names in UTC, looking at day after day; undefined if there is none in 41 years. */
export function slowNext(cron: RandomCron, afterAt: number): number | undefined {
  const first = Math.floor(afterAt / dayMs) * dayMs;
  for (let dayAt = first; dayAt < first + 41 * 366 * dayMs; dayAt += dayMs) {
    const date = new Date(dayAt);
    if (!cron.hasDate(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())) continue;
    for (const hour of cron.hours) {
      if (dayAt + (hour + 1) * 3_600_000 <= afterAt) continue;
      for (const minute of cron.minutes) {
        for (const second of cron.seconds) {
          const at = dayAt + ((hour * 60 + minute) * 60 + second) * 1_000;
          if (at > afterAt) return at;
        }
      }
    }
  }
  return undefined;
}
