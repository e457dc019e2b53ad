// Dates, instants and durations in the words of an answer to "why" about a slot.

import { formatDuration } from '../base/duration.ts';
import type { SlotFacts } from './slot-why-facts.ts';

/** Who asked for a slot to be skipped. */
export function byWhom({ skippedBy }: SlotFacts): string {
  if (skippedBy === null) return ' by skipNext';
  return ` by ${skippedBy.actor}${skippedBy.note === null ? '' : ` ("${skippedBy.note}")`}`;
}

/** The names of the months. */
export const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** A date as people write it: `14 March 2027`. */
export function longDate(date: string): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  return `${day} ${months[month - 1]} ${year}`;
}

/** An instant on the schedule's clock; the date only when it is not that of the slot. */
export function clockOf({ loaded, slotAt }: SlotFacts, at: number): string {
  const { rule } = loaded.parsed;
  const [reading, own] = [rule.read(at), rule.read(slotAt)];
  const isOwnDay = reading.date === own.date && at !== slotAt;
  return isOwnDay ? reading.time : `${reading.date} ${reading.time} (${rule.timezone})`;
}

/** How late a run started. */
export function lateText(ms: number): string {
  // Shorter than this is what every hand-over through a store takes.
  return ms < 50 ? 'on time' : `${short(ms)} late`;
}

/** A duration with a tenth of a second below a minute. */
export function short(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return rough(ms);
}

/** A duration without what nobody reads: seconds only below an hour. */
export function rough(ms: number): string {
  const step = ms < 1_000 ? 1 : ms < 3_600_000 ? 1_000 : 60_000;
  return formatDuration(Math.max(0, Math.round(ms / step) * step));
}

/** A text with a capital letter at its beginning. */
export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
