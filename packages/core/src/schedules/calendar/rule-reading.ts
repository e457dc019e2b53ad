// What the clock of a rule's zone shows at its slots, and where that clock changes.

import { instantAtMax } from '../../base/instant.ts';
import { daySeconds, formatDay, formatTimeOfDay } from './civil.ts';
import type { Parts } from './rule-parts.ts';
import type { Zone } from './zone.ts';

/** What the clock of a rule's zone shows at a slot. */
export interface SlotReading {
  /** `2027-03-14` */
  date: string;
  /** `03:00`, or `03:00:30` */
  time: string;
  /** In milliseconds: wall time minus UTC. */
  offsetMs: number;
  /** The time that the rule names did not exist, so it fired at the first instant after the gap: what it named first. */
  gap: { date: string; time: string } | null;
  /** With a gap: whether the rule names the instant after it too, so that the two are one slot. */
  isNamedToo: boolean;
  /** The time comes twice that day: which of the two this is. */
  repeat: 'first' | 'last' | null;
}

/** A change of the clock that falls on a time which the rule names. */
export interface ClockChange {
  /** When the clock changes. */
  at: number;
  /** The time is left out, or comes twice. */
  kind: 'gap' | 'repeat';
  /** The first such time: `2027-03-14`, `02:30`. */
  date: string;
  time: string;
}

/** One slot has one date: where a time in a gap and one that exists are one, that of the time that exists. */
export function slotDate({ date, gap, isNamedToo }: SlotReading): string {
  return gap === null || isNamedToo ? date : gap.date;
}

/** What the clock shows at a slot, and what a change of the clock did to it. */
export function readSlot(parts: Parts, slotAt: number): SlotReading {
  const { zone, spec } = parts;
  const second = Math.floor(slotAt / 1_000);
  const span = zone.spanAt(second);
  const wall = second + span.offset;
  const isAfterGap = second === span.start && span.offset > span.offsetBefore;
  let named = Number.POSITIVE_INFINITY;
  let isNamedToo = false;
  if (isAfterGap && spec.dst.gap === 'next') {
    // A slot that is left out was named by what is left out.
    const isOut = parts.remaining !== null && parts.isExcluded(slotAt);
    const times = isOut ? parts.namedTimes : parts.fixedTimes;
    named = times?.next(second + span.offsetBefore) ?? named;
    isNamedToo = named < wall && times?.next(wall) === wall;
  }
  let repeat: SlotReading['repeat'] = null;
  if (second - span.start < span.offsetBefore - span.offset) repeat = 'last';
  else if (span.end - second <= span.offset - span.offsetAfter) repeat = 'first';
  return {
    ...readWall(wall),
    offsetMs: span.offset * 1_000,
    gap: named < wall ? readWall(named) : null,
    isNamedToo,
    repeat,
  };
}

/** The changes of the clock in a span, with the times that they move. */
export function findClockChanges({ zone, fixedTimes }: Parts, fromAt: number, toAt: number): ClockChange[] {
  if (fixedTimes === null) return [];
  const changes: ClockChange[] = [];
  const end = Math.floor(Math.min(toAt, instantAtMax) / 1_000);
  for (let span = zone.spanAt(Math.ceil(fromAt / 1_000)); span.end <= end; span = zone.spanAt(span.end)) {
    const before = span.end + span.offset;
    const after = span.end + span.offsetAfter;
    const named = fixedTimes.next(Math.min(before, after));
    if (named >= Math.max(before, after)) continue;
    changes.push({ at: span.end * 1_000, kind: after > before ? 'gap' : 'repeat', ...readWall(named) });
  }
  return changes;
}

/** What the clock of a zone shows at an instant. */
export function readInstant(zone: Zone, at: number): { date: string; time: string } {
  const second = Math.floor(at / 1_000);
  return readWall(second + zone.spanAt(second).offset);
}

function readWall(wall: number): { date: string; time: string } {
  const day = Math.floor(wall / daySeconds);
  return { date: formatDay(day), time: formatTimeOfDay(wall - day * daySeconds) };
}
