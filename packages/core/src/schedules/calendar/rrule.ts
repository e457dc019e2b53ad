import { createRequire } from 'node:module';
import { dulyError } from '../../base/errors.ts';
import { daySeconds, formatDay, formatTimeOfDay } from './civil.ts';
import { createFineTimes, type FineTimes } from './rrule-clock.ts';
import { createRruleTimes, hasNoPlace, type RruleTimes } from './rrule-days.ts';
import { type RruleFrequency, type RruleMoment, type RruleText, refuse } from './rrule-text.ts';
import type { Zone } from './zone.ts';
import { createZonedTimes, type WallTimes, type ZonedTimes } from './zoned-times.ts';

/** The slice of `rrule-temporal` that we use. */
interface RruleLibrary {
  RRuleTemporal: new (options: { rruleString: string; maxIterations: number }) => Recurrence;
}

interface Recurrence {
  next(after: Date, inclusive: boolean): { epochMilliseconds: number } | null;
  previous(before: Date, inclusive: boolean): { epochMilliseconds: number } | null;
}

let library: RruleLibrary | null = null;

/** Loaded when the first recurrence rule is made, and at once: a preview answers without a promise. */
function loadLibrary(): RruleLibrary {
  if (library !== null) return library;
  try {
    library = createRequire(import.meta.url)('rrule-temporal') as RruleLibrary;
    return library;
  } catch (error) {
    throw dulyError('rrule_library_missing', {
      message: 'A recurrence rule (RRULE) needs the package "rrule-temporal", which is not installed.',
      hint: 'Run: npm install rrule-temporal',
      details: { field: 'rrule', package: 'rrule-temporal' },
      cause: error,
    });
  }
}

// How many steps without a match the library takes before it gives up, each of some 20 µs. Coarse rules come to it only with BYSETPOS, and
// such a rule has its place in most of its periods; so do finer ones, of which the library passes over days that cannot match.
const stepCountMax: Record<RruleFrequency, number> = {
  YEARLY: 60,
  MONTHLY: 100,
  WEEKLY: 60,
  DAILY: 80,
  HOURLY: 1_000,
  MINUTELY: 1_000,
  SECONDLY: 1_000,
};

/** A recurrence on a clock that is never changed: the library is told that it is UTC. Seconds in and out, infinities for none. */
class Recurring {
  readonly #recurrence: Recurrence;
  /** The same by arithmetic, where that can be. */
  readonly #times: RruleTimes | null;
  /** The same for rules finer than DAILY. */
  readonly #fineTimes: FineTimes | null;
  readonly #isEmpty: boolean;
  // The last answers, which hold from what was asked up to what was found. Without them a rule that is searched span by span of a zone
  // would find the same far match, or nothing, hundreds of times.
  #nextFrom = Number.POSITIVE_INFINITY;
  #next = Number.NEGATIVE_INFINITY;
  #previousTo = Number.NEGATIVE_INFINITY;
  #previous = Number.POSITIVE_INFINITY;

  constructor(text: RruleText, startWall: number) {
    const { pattern, frequency } = text;
    const { RRuleTemporal } = loadLibrary();
    const rruleString = `DTSTART:${formatCompact(startWall)}Z\nRRULE:${pattern}`;
    try {
      this.#recurrence = new RRuleTemporal({ rruleString, maxIterations: stepCountMax[frequency] });
    } catch (error) {
      throw dulyError('invalid_rrule', {
        message: `The recurrence rule cannot be used: ${error instanceof Error ? error.message : 'unknown reason'}.`,
        details: { field: 'rrule' },
        cause: error,
      });
    }
    this.#times = createRruleTimes(text, startWall);
    this.#fineTimes = createFineTimes(text, startWall);
    this.#isEmpty = hasNoPlace(text);
  }

  /** The days of a month, where they are found by arithmetic. */
  get daysOfMonth(): RruleTimes['daysOfMonth'] | null {
    return this.#times?.daysOfMonth ?? null;
  }

  next(wall: number): number {
    if (wall > wallMax || this.#isEmpty) return Number.POSITIVE_INFINITY;
    if (wall < this.#nextFrom || wall > this.#next) {
      this.#nextFrom = wall;
      this.#next = this.#findNext(wall);
    }
    return this.#next;
  }

  #findNext(wall: number): number {
    if (this.#times !== null) {
      const found = this.#times.next(wall);
      return found > wallMax ? Number.POSITIVE_INFINITY : found;
    }
    return (
      this.#fineTimes?.next(wall) ??
      this.#ask(() => this.#recurrence.next(new Date(wall * 1_000), true)) ??
      Number.POSITIVE_INFINITY
    );
  }

  previous(wall: number): number {
    if (this.#isEmpty) return Number.NEGATIVE_INFINITY;
    if (wall > this.#previousTo || wall < this.#previous) {
      this.#previousTo = wall;
      this.#previous = this.#findPrevious(wall);
    }
    return this.#previous;
  }

  #findPrevious(wall: number): number {
    return (
      this.#times?.previous(wall) ??
      this.#fineTimes?.previous(wall) ??
      this.#ask(() => this.#recurrence.previous(new Date(wall * 1_000), true)) ??
      Number.NEGATIVE_INFINITY
    );
  }

  #ask(question: () => { epochMilliseconds: number } | null): number | null {
    try {
      const found = question();
      return found === null ? null : found.epochMilliseconds / 1_000;
    } catch (error) {
      // Its limits are its way to say that it finds no more.
      if (error instanceof Error && /Maximum|exceeded|limit/i.test(error.message)) return null;
      throw error;
    }
  }
}

// The library's dates end far later, but its texts do not.
const wallMax = 253_402_300_799;

function formatCompact(wall: number): string {
  const day = Math.floor(wall / daySeconds);
  const time = wall - day * daySeconds;
  const seconds = formatTimeOfDay(time).padEnd(8, ':00').replaceAll(':', '');
  return `${formatDay(day).replaceAll('-', '')}T${seconds}`;
}

/** Where a rule begins, and the zone it is in. */
export interface RrulePlace {
  zone: Zone;
  /** The instant in seconds that stands for DTSTART where the text has none; null if there is none either. */
  startSecond: number | null;
}

/**
 * The wall times of a rule that is DAILY or coarser. COUNT counts what the rule names, before EXDATE and without RDATE; UNTIL
 * and moments in UTC are taken as the zone's clock shows them.
 */
export function createRruleWallTimes(text: RruleText, place: RrulePlace): WallTimes {
  const toWall = (moment: RruleMoment): number =>
    moment.isUtc ? moment.seconds + place.zone.spanAt(moment.seconds).offset : moment.seconds;
  const start = startWall(text, place);
  const recurring = new Recurring(text, start);
  let last = text.until === null ? Number.POSITIVE_INFINITY : toWall(text.until);
  if (text.until?.isDate) last += daySeconds - 1;
  if (text.count !== null) last = lastOf(recurring, start, text.count);

  const out = new Set(text.excluded.filter((one) => !one.isDate).map(toWall));
  const outDays = new Set(text.excluded.filter((one) => one.isDate).map((one) => one.seconds / daySeconds));
  const isOut = (wall: number): boolean => out.has(wall) || outDays.has(Math.floor(wall / daySeconds));
  const extra = text.extra
    .map(toWall)
    .filter((wall) => !isOut(wall))
    .sort((a, b) => a - b);

  return {
    next(from) {
      let wall = recurring.next(Math.max(from, start));
      while (wall <= last && isOut(wall)) wall = recurring.next(wall + 1);
      if (wall > last) wall = Number.POSITIVE_INFINITY;
      return Math.min(wall, extra.find((one) => one >= from) ?? Number.POSITIVE_INFINITY);
    },
    previous(to) {
      const asked = Math.min(to, last);
      let wall = asked < start ? Number.NEGATIVE_INFINITY : recurring.previous(asked);
      while (wall >= start && isOut(wall)) wall = recurring.previous(wall - 1);
      if (wall < start) wall = Number.NEGATIVE_INFINITY;
      return Math.max(wall, extra.findLast((one) => one <= to) ?? Number.NEGATIVE_INFINITY);
    },
    count: () => null,
  };
}

function startWall(text: RruleText, { zone, startSecond }: RrulePlace): number {
  const { start } = text;
  if (start !== null) {
    return start.isUtc ? start.seconds + zone.spanAt(start.seconds).offset : start.seconds;
  }
  if (startSecond !== null) return startSecond + zone.spanAt(startSecond).offset;
  return refuse(
    'rrule',
    undefined,
    'to have a DTSTART, or "startAt" beside it: the time of day and the first interval come from there',
  );
}

function lastOf(recurring: { next(at: number): number }, start: number, count: number): number {
  let last = Number.NEGATIVE_INFINITY;
  let from = start;
  for (let counted = 0; counted < count; counted++) {
    const found = recurring.next(from);
    if (found === Number.POSITIVE_INFINITY) break;
    last = found;
    from = found + 1;
  }
  return last;
}

// Spans of a zone, about half a year each, that are searched for a match of a rule finer than DAILY.
const spanCountMax = 2_000;

/**
 * The instants of a rule that is finer than DAILY. Its interval is real time, and its parts (`BYHOUR=9`) are what the clock shows. While
 * a zone keeps its offset its clock is one that is never changed, so each offset has its own recurrence from the same first instant.
 */
export function createRruleInstants(text: RruleText, place: RrulePlace): ZonedTimes {
  const { zone } = place;
  const toInstant = (moment: RruleMoment): number =>
    moment.isUtc ? moment.seconds : instantOfWall(zone, moment.seconds);
  const start =
    text.start === null && place.startSecond !== null
      ? place.startSecond
      : instantOfWall(zone, startWall(text, place));
  const byOffset = new Map<number, Recurring>();
  const recurringAt = (offset: number): Recurring => {
    const known = byOffset.get(offset) ?? new Recurring(text, start + offset);
    byOffset.set(offset, known);
    return known;
  };
  // At once: a rule that cannot be read here is to say so when it is made, and not to the first who asks for a slot.
  recurringAt(zone.spanAt(start).offset);

  const nextMatch = (second: number): number => {
    let from = Math.max(second, start);
    for (let count = 0; count < spanCountMax; count++) {
      const span = zone.spanAt(from);
      const found = recurringAt(span.offset).next(from + span.offset) - span.offset;
      if (found < span.end) return found;
      if (span.end > wallMax) break;
      from = span.end;
    }
    return Number.POSITIVE_INFINITY;
  };
  const previousMatch = (second: number): number => {
    let to = second;
    for (let count = 0; count < spanCountMax && to >= start; count++) {
      const span = zone.spanAt(to);
      const found = recurringAt(span.offset).previous(to + span.offset) - span.offset;
      if (found >= span.start) return found >= start ? found : Number.NEGATIVE_INFINITY;
      to = span.start - 1;
    }
    return Number.NEGATIVE_INFINITY;
  };

  let last = text.until === null ? Number.POSITIVE_INFINITY : toInstant(text.until);
  if (text.until?.isDate) last = instantOfWall(zone, text.until.seconds + daySeconds) - 1;
  if (text.count !== null) last = lastOf({ next: nextMatch }, start, text.count);
  const out = new Set(text.excluded.filter((one) => !one.isDate).map(toInstant));
  const outDays = new Set(text.excluded.filter((one) => one.isDate).map((one) => one.seconds / daySeconds));
  const isOut = (second: number): boolean =>
    out.has(second) || outDays.has(Math.floor((second + zone.spanAt(second).offset) / daySeconds));
  const extra = text.extra
    .map(toInstant)
    .filter((second) => !isOut(second))
    .sort((a, b) => a - b);

  return {
    next(from) {
      let second = nextMatch(from);
      while (second <= last && second !== Number.POSITIVE_INFINITY && isOut(second)) {
        second = nextMatch(second + 1);
      }
      if (second > last) second = Number.POSITIVE_INFINITY;
      return Math.min(second, extra.find((one) => one >= from) ?? Number.POSITIVE_INFINITY);
    },
    previous(to) {
      let second = previousMatch(Math.min(to, last));
      while (second >= start && isOut(second)) second = previousMatch(second - 1);
      return Math.max(second, extra.findLast((one) => one <= to) ?? Number.NEGATIVE_INFINITY);
    },
    count: () => null,
  };
}

/** The instant of a wall time: the first of two, or the first after a gap. */
function instantOfWall(zone: Zone, wall: number): number {
  const only: WallTimes = {
    next: (from) => (from <= wall ? wall : Number.POSITIVE_INFINITY),
    previous: (to) => (to >= wall ? wall : Number.NEGATIVE_INFINITY),
    count: () => null,
  };
  return createZonedTimes(only, zone, { gap: 'next', repeat: 'first' }).next(
    Math.max(0, wall - 2 * daySeconds),
  );
}
