/** The slots of crons in New York in 2027, found by trying: each named time of each day, at either of the two offsets. */

/** A cron of the form `S M H * * *`, in a zone. */
export interface ZonedCron {
  cron: string;
  dst: { gap: 'next' | 'skip'; repeat: 'first' | 'last' | 'both' };
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const summerFromAt = Date.UTC(2027, 2, 14, 7);
const winterFromAt = Date.UTC(2027, 10, 7, 6);

/** The zone that this page knows. */
export const zone = 'America/New_York';

/** What the clocks there are behind UTC. */
export function behindMs(at: number): number {
  return (at >= summerFromAt && at < winterFromAt ? 4 : 5) * hour;
}

/** All slots within some days of an instant, in order; null: a form that this page does not know. */
export function zonedSlots({ cron, dst }: ZonedCron, aroundAt: number, days: number): number[] | null {
  const fields = /^(\S+) (\S+) (\S+) \* \* \*$/.exec(cron);
  if (fields === null || fields[3] === '*') return null;
  const [seconds, minutes, hours] = [
    numbersOf(fields[1], 60),
    numbersOf(fields[2], 60),
    numbersOf(fields[3], 24),
  ];
  if (seconds === null || minutes === null || hours === null) return null;
  // A range follows real time, even of one hour; a number or a list is a time of the day.
  const isFixed = !(fields[3] as string).includes('-');
  const found = new Set<number>();
  const firstDay = Math.floor(aroundAt / day) - days;
  for (let one = firstDay; one <= firstDay + 2 * days; one++) {
    for (const h of hours) {
      for (const m of minutes) {
        for (const s of seconds) {
          const shown = one * day + h * hour + m * minute + s * second;
          for (const at of instantsOf(shown, isFixed, dst)) found.add(at);
        }
      }
    }
  }
  return [...found].sort((a, b) => a - b);
}

/** When the clocks show this, as far as the rule goes along. */
function instantsOf(shown: number, isFixed: boolean, { gap, repeat }: ZonedCron['dst']): number[] {
  const [early, late] = [shown + 4 * hour, shown + 5 * hour].filter((at) => at - behindMs(at) === shown);
  if (early === undefined) return isFixed && gap === 'next' ? [summerFromAt] : [];
  if (late === undefined || !isFixed || repeat === 'both')
    return late === undefined ? [early] : [early, late];
  return [repeat === 'first' ? early : late];
}

function numbersOf(field: string | undefined, count: number): number[] | null {
  if (field === undefined) return null;
  const every = /^\*\/(\d+)$/.exec(field)?.[1];
  if (every !== undefined)
    return Array.from({ length: Math.ceil(count / Number(every)) }, (_, n) => n * Number(every));
  const range = /^(\d+)-(\d+)$/.exec(field);
  if (range !== null) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  }
  return /^\d+(,\d+)*$/.test(field) ? field.split(',').map(Number) : null;
}
