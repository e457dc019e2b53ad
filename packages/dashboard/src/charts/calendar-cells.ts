/** A stretch of slots with one decision, as far as a calendar looks at it. */
export interface CalendarSlot {
  slot: string;
  to: string;
  count: number | null;
  /** How it looks: `good`, `bad`, `warn`, `run` or nothing special. */
  tone: CalendarTone;
}

/** From best to worst; a cell has the worst of its slots. */
export const calendarTones = ['quiet', 'good', 'run', 'warn', 'bad'] as const;

/** One of them. */
export type CalendarTone = (typeof calendarTones)[number];

/** A day, or an hour of a day. */
export interface CalendarCell {
  tone: CalendarTone;
  slotCount: number;
  /** How many slots had which tone. */
  counts: Partial<Record<CalendarTone, number>>;
}

/** A date and an hour in a zone. */
export function placeIn(zone: string): (at: number) => { date: string; hour: number } {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  });
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return { date: `${parts['year']}-${parts['month']}-${parts['day']}`, hour: Number(parts['hour']) };
  };
}

/** The cells that slots fall into, by date, or by date and hour. A run of slots belongs to the cell of its first. */
export function calendarCells(
  slots: readonly CalendarSlot[],
  zone: string,
  by: 'day' | 'hour',
): Map<string, CalendarCell> {
  const place = placeIn(zone);
  const cells = new Map<string, CalendarCell>();
  for (const { slot, count, tone } of slots) {
    const { date, hour } = place(Date.parse(slot));
    const key = by === 'day' ? date : `${date} ${hour}`;
    const cell = cells.get(key) ?? { tone: 'quiet', slotCount: 0, counts: {} };
    const added = count ?? 1;
    cell.slotCount += added;
    cell.counts[tone] = (cell.counts[tone] ?? 0) + added;
    if (calendarTones.indexOf(tone) > calendarTones.indexOf(cell.tone)) cell.tone = tone;
    cells.set(key, cell);
  }
  return cells;
}

/** The dates from one to another, both included: `2027-01-15`. */
export function datesBetween(first: string, last: string): string[] {
  const dates: string[] = [];
  for (let at = Date.parse(`${first}T00:00:00Z`); ; at += 86_400_000) {
    const date = new Date(at).toISOString().slice(0, 10);
    if (date > last) return dates;
    dates.push(date);
  }
}
