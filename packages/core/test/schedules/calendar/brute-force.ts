// A slow and obvious model of the calendar, for tests: reads the clock of a zone from `Intl` minute by minute and looks at every one.
// It shares no code with what it judges.

/** A cron as the model understands it: predicates instead of masks. */
export interface SlowCron {
  text: string;
  /** Whether the hour field is a number or a list of numbers. */
  isFixed: boolean;
  hasTime(hour: number, minute: number): boolean;
  hasDate(date: Date): boolean;
}

export interface SlowDst {
  gap: 'next' | 'skip';
  repeat: 'first' | 'last' | 'both';
}

/** The policies that a change tells apart: a shift forwards leaves times out, one backwards repeats them. */
export function policiesFor(shiftMs: number): SlowDst[] {
  if (shiftMs > 0) return (['next', 'skip'] as const).map((gap) => ({ gap, repeat: 'both' }));
  return (['first', 'last', 'both'] as const).map((repeat) => ({ gap: 'skip', repeat }));
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(timeZone, format);
  }
  return format;
}

/** What the clock of a zone shows at an instant, as if it were UTC, in epoch milliseconds. */
export function readClock(timeZone: string, at: number): number {
  // "3/14/2027, 03:00:00", digit by digit: a pattern would take most of the test's time.
  const text = formatOf(timeZone).format(at);
  const numbers = [0, 0, 0, 0, 0, 0];
  let index = -1;
  let isInNumber = false;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    const isDigit = digit >= 0 && digit <= 9;
    if (isDigit && !isInNumber) index++;
    if (isDigit) numbers[index] = (numbers[index] as number) * 10 + digit;
    isInNumber = isDigit;
  }
  const [month, day, year, hour, minute, second] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Where a zone changes its offset between two instants: looked for every third day (no change was ever taken back sooner), found by halving. */
export function findChanges(
  timeZone: string,
  fromAt: number,
  toAt: number,
): { at: number; shiftMs: number }[] {
  const stepMs = 72 * 3_600_000;
  const offsetAt = (at: number): number => readClock(timeZone, at) - at;
  const changes: { at: number; shiftMs: number }[] = [];
  let before = offsetAt(fromAt);
  for (let at = fromAt + stepMs; at <= toAt; at += stepMs) {
    const offset = offsetAt(at);
    if (offset === before) continue;
    let low = at - stepMs;
    let high = at;
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000;
      if (offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    changes.push({ at: high, shiftMs: offset - before });
    before = offset;
  }
  return changes;
}

/** The minutes of a window and what the clock shows at each. */
export interface Window {
  fromAt: number;
  /** Wall minutes, as if UTC. */
  walls: number[];
}

export function readWindow(timeZone: string, fromAt: number, toAt: number): Window {
  const walls: number[] = [];
  for (let at = fromAt; at <= toAt; at += 60_000) walls.push(readClock(timeZone, at) / 60_000);
  return { fromAt, walls };
}

/** Every slot of a cron in a window, by looking at every minute. */
export function slowSlots({ fromAt, walls }: Window, cron: SlowCron, dst: SlowDst): number[] {
  const slots = new Set<number>();
  const has = (wall: number): boolean => {
    const minuteOfDay = ((wall % 1_440) + 1_440) % 1_440;
    if (!cron.hasTime(Math.floor(minuteOfDay / 60), minuteOfDay % 60)) return false;
    return cron.hasDate(new Date(wall * 60_000));
  };
  const add = (index: number): unknown => slots.add(fromAt + index * 60_000);
  if (!cron.isFixed) {
    for (const [index, wall] of walls.entries()) if (has(wall)) add(index);
    return [...slots];
  }
  const shown = new Map<number, number[]>();
  for (const [index, wall] of walls.entries()) {
    const known = shown.get(wall);
    if (known === undefined) shown.set(wall, [index]);
    else known.push(index);
  }
  const last = Math.max(...walls);
  for (let wall = Math.min(...walls); wall <= last; wall++) {
    if (!has(wall)) continue;
    const indexes = shown.get(wall);
    if (indexes === undefined) {
      // The first minute at which the clock is past it.
      if (dst.gap === 'next') add(walls.findIndex((one) => one > wall));
    } else if (indexes.length === 1 || dst.repeat === 'first') add(indexes[0] as number);
    else if (dst.repeat === 'last') add(indexes[1] as number);
    else for (const index of indexes) add(index);
  }
  return [...slots].sort((a, b) => a - b);
}
