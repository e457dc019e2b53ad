// Reads the fields of a cron.

import { dulyError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { shown } from '../../base/option-reader.ts';
import {
  type CronFieldName,
  type CronFields,
  cronFieldNames,
  type DayOfMonthField,
  monthNames,
  type SixtyBits,
  type WeekdayField,
  weekdayNames,
  yearMax,
  yearMin,
} from './cron-fields.ts';

interface FieldText {
  name: CronFieldName;
  text: string;
  /** Where it begins in the whole expression. */
  position: number;
}

interface FieldKind {
  /** How messages call it. */
  title: string;
  min: number;
  max: number;
  /** How many different values there are; a larger step is a mistake. */
  size: number;
  /** Words for the values from `min` up. */
  names?: readonly string[];
}

/** What each field of a cron may hold. */
export const kinds: Readonly<Record<CronFieldName, FieldKind>> = {
  second: { title: 'second', min: 0, max: 59, size: 60 },
  minute: { title: 'minute', min: 0, max: 59, size: 60 },
  hour: { title: 'hour', min: 0, max: 23, size: 24 },
  dayOfMonth: { title: 'day of month', min: 1, max: 31, size: 31 },
  month: { title: 'month', min: 1, max: 12, size: 12, names: monthNames },
  weekday: { title: 'weekday', min: 0, max: 7, size: 7, names: weekdayNames },
  year: { title: 'year', min: yearMin, max: yearMax, size: yearMax - yearMin + 1 },
};

// Sunday may be written as 7, but is kept as 0.
const weekdays = { min: 0, max: 6, size: 7 };

/** An item of a list that is neither a special day nor a whole field. */
interface Item {
  from: number;
  to: number;
  step: number;
  /** A lone number, without `*`, range or step. */
  isNumber: boolean;
}

/** Reads the fields of one cron. */
export class CronReader {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  read(): CronFields {
    const fields = this.#split();
    const find = (name: CronFieldName): FieldText | undefined => fields.find((one) => one.name === name);
    const need = (name: CronFieldName): FieldText => find(name) as FieldText;

    // In the order they are written: of several mistakes the first is told.
    const second = find('second');
    const seconds = second === undefined ? { low: 1, high: 0 } : sixtyBits(this.#readItems(second));
    const minutes = sixtyBits(this.#readItems(need('minute')));
    const hourItems = this.#readItems(need('hour'));
    const year = find('year');
    const written = Object.fromEntries(
      cronFieldNames.map((name) => [name, find(name)?.text.toUpperCase() ?? null]),
    ) as Record<CronFieldName, string | null>;
    return {
      text: fields.map((one) => one.text).join(' '),
      seconds,
      minutes,
      hours: bits(hourItems, kinds.hour),
      dayOfMonth: this.#readDayOfMonth(need('dayOfMonth')),
      months: bits(this.#readItems(need('month')), kinds.month),
      weekday: this.#readWeekday(need('weekday')),
      years: year === undefined || year.text === '*' ? null : values(this.#readItems(year), kinds.year),
      isFixed: hourItems.every((item) => item.isNumber),
      hasSeconds: second !== undefined,
      written,
    };
  }

  #split(): FieldText[] {
    const found = [...this.#text.matchAll(/\S+/g)].map((match) => ({
      text: match[0],
      position: match.index,
    }));
    const names = this.#namesOf(found);
    return found.map((one, index) => ({ ...one, name: names[index] as CronFieldName }));
  }

  #namesOf(found: { text: string; position: number }[]): readonly CronFieldName[] {
    if (found.length === 5) return cronFieldNames.slice(1, 6);
    if (found.length === 7) return cronFieldNames;
    if (found.length === 6) {
      // Four digits can only be a year; otherwise the sixth field is the seconds, which come first.
      return /\d{4}/.test((found[5] as { text: string }).text)
        ? cronFieldNames.slice(1)
        : cronFieldNames.slice(0, 6);
    }
    const position = found.length > 7 ? (found[7] as { position: number }).position : this.#text.length;
    throw dulyError('invalid_cron', {
      message: `Expected a cron to have 5, 6 or 7 fields, got ${found.length} in ${shown(this.#text)}.`,
      hint:
        this.#hintForShape() ??
        'Five fields are minute, hour, day of month, month and weekday, like "30 2 * * MON-FRI".',
      details: { field: 'cron', position, cron: this.#text },
    });
  }

  /** Other things that people write where a cron belongs. */
  #hintForShape(): string | null {
    const text = this.#text.trim();
    if (/^(?:every\s+)?\d+\s*[a-z]+$/i.test(text) || /^PT?\d/i.test(text)) {
      return `For a fixed rate write { "rate": "${text.replace(/^every\s+/i, '')}" }.`;
    }
    if (/FREQ=/i.test(text)) return 'For a recurrence rule write { "rrule": "FREQ=…", "startAt": … }.';
    if (/^(?:CRON_)?TZ=/i.test(text))
      return 'Give the zone beside the cron: { "cron": "…", "timezone": "…" }.';
    return null;
  }

  #readDayOfMonth(field: FieldText): DayOfMonthField {
    const found = { days: 0, nearestWeekdays: 0, fromLast: 0, lastWeekday: false };
    if (field.text === '?') return { ...found, isFree: true, days: 0x7fff_ffff };
    for (const { text, position } of this.#splitList(field)) {
      const upper = text.toUpperCase();
      const fromLast = /^L(?:-(\d{1,4}))?$/.exec(upper);
      const nearestWeekday = /^(\d{1,4})W$/.exec(upper);
      if (fromLast !== null) {
        const back = Number(fromLast[1] ?? 0);
        if (back > 30) this.#refuse(field, position + 2, text, 'counts back from the last day by 1 to 30');
        found.fromLast |= 1 << back;
      } else if (upper === 'LW') found.lastWeekday = true;
      else if (nearestWeekday !== null) {
        found.nearestWeekdays |= 1 << (this.#readNumber(field, nearestWeekday[1] as string, position) - 1);
      } else if (/[LW]/.test(upper)) {
        this.#refuse(
          field,
          position,
          text,
          'can be "L", "L-3", "LW" or "15W", alone or in a list, without range or step',
        );
      } else found.days |= bits([this.#readItem(field, text, position)], kinds.dayOfMonth);
    }
    return { ...found, isFree: field.text.startsWith('*') };
  }

  #readWeekday(field: FieldText): WeekdayField {
    const found = { weekdays: 0, nth: [0, 0, 0, 0, 0], last: 0 };
    if (field.text === '?') return { ...found, isFree: true, weekdays: 0x7f };
    for (const { text, position } of this.#splitList(field)) {
      const upper = text.toUpperCase();
      const last = /^([0-9]{1,4}|[A-Z]{2,})L$/.exec(upper);
      if (upper === 'L') {
        this.#refuse(
          field,
          position,
          text,
          'needs a day before the "L"',
          'Write "FRIL" for the last Friday of the month, or "SAT" for Saturday.',
        );
      } else if (text.includes('#')) {
        const [day = '', number = ''] = text.split('#', 2);
        const weekday = this.#readValue(field, day, position) % 7;
        if (!/^[1-5]$/.test(number) || text.split('#').length > 2) {
          this.#refuse(field, position + day.length + 1, text, 'counts from "#1" to "#5" within a month');
        }
        const index = Number(number) - 1;
        found.nth[index] = (found.nth[index] as number) | (1 << weekday);
      } else if (last !== null) {
        found.last |= 1 << (this.#readValue(field, last[1] as string, position) % 7);
      } else found.weekdays |= bits([this.#readItem(field, text, position)], weekdays);
    }
    return { ...found, isFree: field.text.startsWith('*') };
  }

  #readItems(field: FieldText): Item[] {
    return this.#splitList(field).map(({ text, position }) => this.#readItem(field, text, position));
  }

  #splitList(field: FieldText): { text: string; position: number }[] {
    let position = field.position;
    return field.text.split(',').map((text) => {
      const item = { text, position };
      if (text === '') this.#refuse(field, position, field.text, 'has an empty item beside a comma');
      position += text.length + 1;
      return item;
    });
  }

  #readItem(field: FieldText, text: string, position: number): Item {
    const kind = kinds[field.name];
    if (text.includes('?')) {
      const where = field.name === 'dayOfMonth' || field.name === 'weekday';
      this.#refuse(
        field,
        position + text.indexOf('?'),
        text,
        where ? 'must be alone if it is "?"' : 'cannot be "?", which is for the day fields',
        where ? undefined : 'Write "*".',
      );
    }
    const slash = text.indexOf('/');
    const range = slash === -1 ? text : text.slice(0, slash);
    const step = slash === -1 ? 1 : this.#readStep(field, text, slash, position);
    // The end of the weekday field is Saturday: from Sunday on again it would be another week.
    const end = field.name === 'weekday' ? 6 : kind.max;
    if (range === '*') return { from: kind.min, to: end, step, isNumber: false };

    const dash = range.indexOf('-');
    if (dash === -1) {
      const value = this.#readValue(field, range, position);
      if (slash === -1) return { from: value, to: value, step, isNumber: true };
      const from = field.name === 'weekday' ? value % 7 : value;
      return { from, to: end, step, isNumber: false };
    }
    const [first, second] = [range.slice(0, dash), range.slice(dash + 1)];
    if (first === '') {
      const { title, min, max } = kind;
      this.#refuse(field, position, text, `is not a valid ${title}: expected ${min} to ${max}`);
    }
    const from = this.#readValue(field, first, position);
    let to = this.#readValue(field, second, position + dash + 1);
    if (to < from) {
      const isNamed = /^[a-z]+$/i.test(second);
      // "FRI-SUN" and "FRI-MON" can mean only one thing, and so can "NOV-FEB".
      if (field.name === 'weekday' && isNamed && to === 0) to = 7;
      else if (isNamed && /^[a-z]+$/i.test(first)) to += kind.size;
      else {
        this.#refuse(
          field,
          position,
          text,
          'is a range that runs backwards',
          hintForBackwards(field.name, { from, to, first, second, end }),
        );
      }
    }
    return { from, to, step, isNumber: false };
  }

  #readStep(field: FieldText, text: string, slash: number, position: number): number {
    const digits = text.slice(slash + 1);
    const { size } = kinds[field.name];
    if (!/^\d{1,4}$/.test(digits)) {
      this.#refuse(field, position + slash + 1, text, 'needs a whole number after the "/"');
    }
    const step = Number(digits);
    if (step === 0)
      this.#refuse(field, position + slash + 1, text, 'has a step of 0', 'The smallest step is 1.');
    if (step > size) {
      this.#refuse(
        field,
        position + slash + 1,
        text,
        `has a step of ${step}, but there are only ${size} values`,
        'A step counts within its field and begins anew with it. For a fixed rate write { "rate": "90m" }.',
      );
    }
    return step;
  }

  /** A number or a name. */
  #readValue(field: FieldText, text: string, position: number): number {
    if (/^\d+$/.test(text)) return this.#readNumber(field, text, position);
    const { title, names, min, max } = kinds[field.name];
    const index = names?.indexOf(text.toUpperCase()) ?? -1;
    if (index !== -1) return index + min;
    const near = names === undefined || text === '' ? undefined : nearest(text.slice(0, 10), names);
    const expected =
      names === undefined ? `${min} to ${max}` : `${min} to ${max} or ${names[0]} to ${names.at(-1)}`;
    return this.#refuse(
      field,
      position,
      text,
      text === '' ? `lacks a value: expected ${expected}` : `is not a valid ${title}: expected ${expected}`,
      near === undefined ? undefined : `Did you mean "${near}"?`,
    );
  }

  #readNumber(field: FieldText, digits: string, position: number): number {
    const { min, max } = kinds[field.name];
    const value = Number(digits);
    if (value < min || value > max) {
      this.#refuse(field, position, digits, `is out of range: expected ${min} to ${max}`);
    }
    return value;
  }

  #refuse(field: FieldText, position: number, value: string, problem: string, hint?: string): never {
    throw dulyError('invalid_cron', {
      message: `The ${kinds[field.name].title} ${shown(value)} at position ${position} of the cron ${shown(this.#text)} ${problem}.`,
      hint: hint ?? this.#hintForShape() ?? undefined,
      details: { field: field.name, position, value: value.slice(0, 100), cron: this.#text },
    });
  }
}

/** The values of a field's items, sorted. What runs past the end of the field comes round again: `NOV-FEB`, Sunday as 7. */
function values(items: Item[], { max, size }: { max: number; size: number }): number[] {
  const found = new Set<number>();
  for (const { from, to, step } of items) {
    for (let value = from; value <= to; value += step) found.add(value > max ? value - size : value);
  }
  return [...found].sort((a, b) => a - b);
}

/** A mask whose bit 0 is the smallest value of the field. */
function bits(items: Item[], kind: { min: number; max: number; size: number }): number {
  return values(items, kind).reduce((mask, value) => mask | (1 << (value - kind.min)), 0);
}

function sixtyBits(items: Item[]): SixtyBits {
  let low = 0;
  let high = 0;
  for (const value of values(items, kinds.minute)) {
    if (value < 32) low |= 1 << value;
    else high |= 1 << (value - 32);
  }
  return { low, high };
}

/** How a range that runs backwards can be written. */
function hintForBackwards(
  name: CronFieldName,
  { from, to, first, second, end }: { from: number; to: number; first: string; second: string; end: number },
): string {
  if (name === 'weekday' && to === 0) return `Sunday is also 7: write "${first}-7".`;
  if (name === 'weekday' && from === 7) return `Sunday is also 0: write "0-${second}".`;
  const { min } = kinds[name];
  const [before, after] = [
    from === end ? first : `${first}-${end}`,
    to === min ? second : `${min}-${second}`,
  ];
  return `Write it as two, "${before},${after}".`;
}
