import { parseInstant } from '../../base/instant.ts';
import { refuseOption } from '../../base/option-reader.ts';
import { daySeconds, parseDay } from './civil.ts';
import { findZone, offsetAt, type Zone } from './zone.ts';

/** What a wall time means in a zone. */
export interface WallMoment {
  /** The instants at which the clock shows it: none in a gap, two when the hour comes again. Ascending. */
  instants: number[];
  /** In a gap: the first instant after it; else null. */
  afterGapAt: number | null;
  /** As it was read: `2027-03-14`, `02:30` or `02:30:15`. */
  date: string;
  time: string;
}

const wallPattern = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** Reads `2027-03-14T02:30` or `2027-03-14`, without an offset, in a zone; null for anything else. */
export function readWallMoment(text: string, timezone: string): WallMoment | null {
  const match = wallPattern.exec(text.trim());
  if (match === null) return null;
  const [, date, hour = '00', minute = '00', second = '00'] = match as unknown as string[];
  const day = parseDay(date as string);
  if (day === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const wall = day * daySeconds + Number(hour) * 3_600 + Number(minute) * 60 + Number(second);
  const time = second === '00' ? `${hour}:${minute}` : `${hour}:${minute}:${second}`;
  return { ...wallMoment(findZone(timezone), wall), date: date as string, time };
}

function wallMoment(zone: Zone, wall: number): Pick<WallMoment, 'instants' | 'afterGapAt'> {
  // No clock is changed twice within a day, so one of the two offsets around the wall time is the right one, if any is.
  const [before, after] = [offsetAt(zone, wall - daySeconds), offsetAt(zone, wall + daySeconds)];
  const instants = [...new Set([wall - before, wall - after])]
    .filter((second) => second + offsetAt(zone, second) === wall)
    .sort((a, b) => a - b)
    .map((second) => second * 1_000);
  if (instants.length > 0) return { instants, afterGapAt: null };
  // Read by the offset before the gap, the time lies just behind it.
  return { instants, afterGapAt: zone.spanAt(wall - before).start * 1_000 };
}

/**
 * Reads an instant: a `Date`, epoch milliseconds, ISO 8601 with an offset, or a date or wall time in the schedule's zone. Of a time that
 * comes twice the first is meant, and one that does not exist means the first instant after the gap. Throws `invalid_instant`.
 */
export function readMoment(value: Date | number | string, field: string, timezone: string): number {
  if (typeof value !== 'string') return parseInstant(value, field);
  const moment = readWallMoment(value, timezone);
  if (moment === null) {
    if (/^\s*\d{4}-\d{2}-\d{2}/.test(value)) return parseInstant(value, field);
    return refuseOption(
      field,
      value,
      `to be an instant like "2027-01-15T10:00:00Z", or a date or time in ${timezone} like "2027-01-15" or "2027-01-15T10:00"`,
      undefined,
      'invalid_instant',
    );
  }
  const at = moment.instants[0] ?? moment.afterGapAt;
  return at ?? refuseOption(field, value, 'to be an instant', undefined, 'invalid_instant');
}

/** Reads where a rule begins or ends: as `readMoment` where a zone was written beside it; without one a text must have an offset. */
export function readBound(value: Date | number | string, field: string, timezone: string | null): number {
  return timezone === null ? parseInstant(value, field) : readMoment(value, field, timezone);
}
