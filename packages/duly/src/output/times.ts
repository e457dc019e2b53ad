const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** An instant as people read it in a list: `12 s ago`, `in 5 min`; rounded to the nearest whole unit. */
export function relative(instant: Date, now: number): string {
  const ms = instant.getTime() - now;
  if (Math.abs(ms) < 1_000) return 'now';
  const text = rough(Math.abs(ms));
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** A length of time in one unit, the nearest whole number of it. */
export function rough(ms: number): string {
  // Each bound is where the rounded number would reach the next unit.
  if (Math.round(ms / 1_000) < 60) return `${Math.round(ms / 1_000)} s`;
  if (Math.round(ms / minuteMs) < 60) return `${Math.round(ms / minuteMs)} min`;
  if (Math.round(ms / hourMs) < 24) return `${Math.round(ms / hourMs)} h`;
  return `${Math.round(ms / dayMs)} d`;
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
