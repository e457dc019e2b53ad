import { instantAtMax } from '../../base/instant.ts';
import type { Span, Zone } from './zone.ts';

/**
 * A set of wall times, before any zone: seconds since 1970-01-01T00:00 on a clock that is never changed. What asks for more than
 * there is gets an infinity, so that comparisons need no special case.
 */
export interface WallTimes {
  /** The first wall time of the set that is not before this one; `Infinity` if there is none. */
  next(wall: number): number;
  /** The last wall time of the set that is not after this one; `-Infinity` if there is none. */
  previous(wall: number): number;
  /** How many there are from `from` up to, but not including, `to`; null if counting would take too long. */
  count(from: number, to: number): number | null;
}

/** What a changed clock does to a fixed time. */
export interface Dst {
  /** The wall time does not exist: fire once at the first instant after the gap, or not at all. */
  readonly gap: 'next' | 'skip';
  /** The wall time comes twice: fire at the first, at the last, or at both. */
  readonly repeat: 'first' | 'last' | 'both';
}

/** How wall times become instants: by the policy for fixed times, or as the clock shows them, which is real time. */
export type Reading = Dst | 'real';

/** A set of instants, in seconds since 1970. */
export interface ZonedTimes {
  /** The first instant of the set that is not before this one; `Infinity` if there is none. */
  next(second: number): number;
  /** The last instant of the set that is not after this one; `-Infinity` if there is none. */
  previous(second: number): number;
  /** How many there are from `from` to `to`, both included; null if counting would take too long. */
  count(from: number, to: number): number | null;
}

// Offsets are less than 26 hours, so an instant and its wall time are less than that apart.
const offsetMax = 26 * 3_600;
// A rule whose times fell into the gap this often in a row, a year each, names the gap itself and has no slot outside.
const gapCountMax = 60;
const secondMax = Math.floor(instantAtMax / 1_000);

/**
 * Turns wall times into instants of a zone. Each span of the zone takes the wall times from `lower` up to `upper`: where the
 * clock is put forward, the span after it takes the times that were left out (they all fire at its first second) or nobody does; where
 * it is put back, the repeated times go to the span before, to the one after, or to both. Taken in order the spans' shares give
 * instants in order, so one search in wall time and at most a few steps along the spans answer every question.
 */
export function createZonedTimes(wallTimes: WallTimes, zone: Zone, reading: Reading): ZonedTimes {
  const firesAfterGap = reading !== 'real' && reading.gap === 'next';
  const isFirstOnly = reading !== 'real' && reading.repeat === 'first';
  const isLastOnly = reading !== 'real' && reading.repeat === 'last';

  const lowerOf = (span: Span): number => {
    const change = span.offset - span.offsetBefore;
    const takesBefore = change > 0 ? firesAfterGap : change < 0 && isFirstOnly;
    return span.start + (takesBefore ? span.offsetBefore : span.offset);
  };
  const upperOf = (span: Span): number =>
    span.end + (isLastOnly && span.offsetAfter < span.offset ? span.offsetAfter : span.offset);

  /** A wall time out of the gap before a span is earlier than the span, and fires with its first second. */
  const instantOf = (span: Span, wall: number): number => {
    const second = wall - span.offset;
    return second < span.start ? span.start : second;
  };

  return {
    next(second) {
      let span = zone.spanAt(second);
      let from = second + span.offset;
      const lower = lowerOf(span);
      if (second === span.start || from < lower) from = lower;
      for (let gapCount = 0; gapCount < gapCountMax; ) {
        const wall = wallTimes.next(from);
        if (wall < upperOf(span)) return instantOf(span, wall);
        if (span.end > secondMax) return Number.POSITIVE_INFINITY;
        span = zone.spanAt(span.end);
        if (lowerOf(span) < from) {
          // The clock was put back to before where the search began: those wall times come again.
          from = lowerOf(span);
          continue;
        }
        if (wall === Number.POSITIVE_INFINITY) return wall;
        // Nothing until `wall`, so whatever lies between can be passed over.
        if (wall - offsetMax >= span.end) span = zone.spanAt(wall - offsetMax);
        while (upperOf(span) <= wall) span = zone.spanAt(span.end);
        if (lowerOf(span) <= wall) return instantOf(span, wall);
        from = lowerOf(span);
        gapCount++;
      }
      return Number.POSITIVE_INFINITY;
    },
    previous(second) {
      let span = zone.spanAt(second);
      let upTo = Math.min(second + span.offset, upperOf(span) - 1);
      for (let gapCount = 0; gapCount < gapCountMax; ) {
        const wall = wallTimes.previous(upTo);
        if (wall >= lowerOf(span)) return instantOf(span, wall);
        if (span.start <= 0) return Number.NEGATIVE_INFINITY;
        span = zone.spanAt(span.start - 1);
        if (upperOf(span) - 1 > upTo) {
          upTo = upperOf(span) - 1;
          continue;
        }
        if (wall === Number.NEGATIVE_INFINITY) return wall;
        if (wall + offsetMax < span.start) span = zone.spanAt(wall + offsetMax);
        while (lowerOf(span) > wall) span = zone.spanAt(span.start - 1);
        if (wall < upperOf(span)) return instantOf(span, wall);
        upTo = upperOf(span) - 1;
        gapCount++;
      }
      return Number.NEGATIVE_INFINITY;
    },
    count(from, to) {
      if (to < from) return 0;
      let total = 0;
      let span = zone.spanAt(from);
      let first = from === span.start ? lowerOf(span) : Math.max(lowerOf(span), from + span.offset);
      for (;;) {
        const end = Math.min(upperOf(span), to + span.offset + 1);
        // Everything named in the gap and the first second after it are one instant.
        const afterGap = span.start + span.offset + 1;
        if (first < span.start + span.offset && span.offset > span.offsetBefore) {
          if (wallTimes.next(first) < afterGap) total++;
          first = afterGap;
        }
        const count = first < end ? wallTimes.count(first, end) : 0;
        if (count === null) return null;
        total += count;
        if (span.end > to) return total;
        span = zone.spanAt(span.end);
        first = lowerOf(span);
      }
    },
  };
}
