import { formatDuration } from '@duly/core';

/** An instant as people read it in a list: `12 s ago`, `in 3 min`. */
export function relative(instant: Date, now: number): string {
  const ms = instant.getTime() - now;
  if (Math.abs(ms) < 1_000) return 'now';
  // Below a minute tenths of a second only make a list restless.
  const rounded = Math.abs(ms) < 60_000 ? Math.round(Math.abs(ms) / 1_000) * 1_000 : Math.abs(ms);
  const text = formatDuration(rounded);
  // The larger unit is enough in a list.
  const short = text.split(' ').slice(0, 2).join(' ');
  return ms < 0 ? `${short} ago` : `in ${short}`;
}

/** An instant in full, with how far it is. */
export function absolute(instant: Date, now: number): string {
  return `${instant.toISOString()} (${relative(instant, now)})`;
}

/** The time of day on this machine: `18:03:22`. */
export function timeOfDay(instant: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${two(instant.getHours())}:${two(instant.getMinutes())}:${two(instant.getSeconds())}`;
}
