const dayMs = 86_400_000;

/** How far a zone's clocks are from UTC at an instant. */
function offsetMs(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const wall = Date.UTC(
    value('year'),
    value('month') - 1,
    value('day'),
    value('hour'),
    value('minute'),
    value('second'),
  );
  return wall - Math.floor(at / 1_000) * 1_000;
}

/** The first instant of a date (`2027-03-14`) in a zone. */
function startOf(date: string, zone: string): number {
  const wall = Date.parse(`${date}T00:00:00Z`);
  // The offset of the instant itself is wanted, and that is known only once the instant is: twice is enough.
  const first = wall - offsetMs(wall, zone);
  return wall - offsetMs(first, zone);
}

/** A change of a zone's clocks. */
export interface ClockChange {
  at: number;
  /** How far the clocks move; above zero: an hour is missing, below: one happens twice. */
  byMs: number;
}

/** A day of a zone: 23, 24 or 25 hours, with the change of the clocks in it. */
export interface DaySpan {
  from: number;
  to: number;
  change: ClockChange | null;
}

/** The date that an instant has in a zone. */
export function dateOf(at: number, zone: string): string {
  return new Date(at + offsetMs(at, zone)).toISOString().slice(0, 10);
}

/** Whether a text is a date, as `2027-03-14`. */
export function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));
}

/** The date so many days later. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10);
}

/** The day of a date in a zone. */
export function daySpan(date: string, zone: string): DaySpan {
  const from = startOf(date, zone);
  const to = startOf(addDays(date, 1), zone);
  const before = offsetMs(from, zone);
  const byMs = offsetMs(to - 1, zone) - before;
  if (byMs === 0) return { from, to, change: null };
  let low = from;
  let high = to - 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(middle, zone) === before) low = middle;
    else high = middle;
  }
  return { from, to, change: { at: high, byMs } };
}
