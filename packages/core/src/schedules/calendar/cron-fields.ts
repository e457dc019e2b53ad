/** Sixty bits in two halves, for seconds and minutes: bit `n` of `low` is the value `n`, bit `n` of `high` is `32 + n`. */
export interface SixtyBits {
  readonly low: number;
  readonly high: number;
}

/** What a day-of-month field names. In masks, bit `n` is the day `n + 1`. */
export interface DayOfMonthField {
  /** Starts with `*` or is `?`: it does not make the day match by itself. */
  readonly isFree: boolean;
  /** Plain days. */
  readonly days: number;
  /** `15W`: the weekday nearest to the day. */
  readonly nearestWeekdays: number;
  /** `L` is bit 0, `L-3` is bit 3. */
  readonly fromLast: number;
  /** `LW`: the last weekday of the month. */
  readonly lastWeekday: boolean;
}

/** What a weekday field names. In masks, bit 0 is Sunday. */
export interface WeekdayField {
  readonly isFree: boolean;
  readonly weekdays: number;
  /** `MON#2` sets bit 1 (Monday) of item 1 (the second); five items. */
  readonly nth: readonly number[];
  /** `FRIL`: the last of its kind in the month. */
  readonly last: number;
}

/** The years a cron may name. */
export const yearMin = 1_970;
/** The last year there is. */
export const yearMax = 9_999;

/** A cron expression as masks. */
export interface CronFields {
  /** The text, trimmed, with single blanks. */
  readonly text: string;
  readonly seconds: SixtyBits;
  readonly minutes: SixtyBits;
  /** Bit `n` is the hour `n`. */
  readonly hours: number;
  readonly dayOfMonth: DayOfMonthField;
  /** Bit 0 is January. */
  readonly months: number;
  readonly weekday: WeekdayField;
  /** Sorted, without repeats; null is every year. */
  readonly years: readonly number[] | null;
  /** The hour field is a number or a list of numbers: such times are fixed, and a changed clock moves them by the `dst` policy. */
  readonly isFixed: boolean;
  /** It has a field for seconds. Without one, it means whole minutes where it excludes, and second 0 where it fires. */
  readonly hasSeconds: boolean;
  /** The fields as written, in capitals; a field that is not there is null. */
  readonly written: Readonly<Record<CronFieldName, string | null>>;
}

/** The fields of a cron in the order in which seven are written. */
export const cronFieldNames = ['second', 'minute', 'hour', 'dayOfMonth', 'month', 'weekday', 'year'] as const;

/** The name of a cron field, as errors give it. */
export type CronFieldName = (typeof cronFieldNames)[number];

/** The months as a cron writes them; January is first. */
export const monthNames: readonly string[] = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ');
/** The weekdays as a cron writes them; Sunday is first. */
export const weekdayNames: readonly string[] = 'SUN MON TUE WED THU FRI SAT'.split(' ');

/** Whether a value is among sixty bits. */
export function hasBit({ low, high }: SixtyBits, value: number): boolean {
  return ((value < 32 ? low >>> value : high >>> (value - 32)) & 1) === 1;
}
