const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let created = formats.get(key);
  if (created === undefined) {
    created = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone });
    formats.set(key, created);
  }
  return created;
}

/** `15 Jan 2027, 10:00:05 GMT+1`: an instant whole, with its zone. */
export function fullInstant(at: number, zone: string): string {
  return format(zone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  }).format(at);
}

/** `10:00:05`. */
export function clockTime(at: number, zone: string, { seconds = true } = {}): string {
  return format(zone, {
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds ? { second: '2-digit' } : {}),
  }).format(at);
}

/** `Fri 15 Jan`. */
export function dayName(at: number, zone: string): string {
  return format(zone, { weekday: 'short', day: 'numeric', month: 'short' }).format(at);
}

const units: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** `1.2 s`, `3 min 12 s`, `2 h 5 min`, `4 d`: a length of time in at most two units. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const length = Math.abs(ms);
  // Axes have steps of half a millisecond.
  if (length < 10 && !Number.isInteger(length)) return `${length.toFixed(1)} ms`;
  if (length < 1_000) return `${Math.round(length)} ms`;
  if (length < 10_000) return `${(length / 1_000).toFixed(1)} s`;
  const first = units.findIndex(([, size]) => length >= size);
  const [name, size] = units[first] as [string, number];
  const whole = Math.floor(length / size);
  const next = units[first + 1];
  const rest = next === undefined ? 0 : Math.floor((length % size) / next[1]);
  return rest === 0 || next === undefined ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next[0]}`;
}

/** `1 h 30 min`, `90 ms`: a length of time with nothing left out, as it can be typed again. */
export function exactDuration(ms: number): string {
  const parts: string[] = [];
  let rest = Math.round(ms);
  for (const [name, size] of [...units, ['ms', 1]] as const) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(' ') || '0 ms';
}

/** `in 5 min`, `3 s ago`, `now`: where an instant lies from here. */
export function relative(at: number, now: number): string {
  const distance = at - now;
  if (Math.abs(distance) < 1_000) return 'now';
  const length = Math.abs(distance);
  const [name, size] = units.find(([, one]) => length >= one) as [string, number];
  const text = `${Math.floor(length / size)} ${name}`;
  return distance > 0 ? `in ${text}` : `${text} ago`;
}
