// The minutes of a day of which something is left.

/** How many minutes a day has. */
export const minutesOfDay = 1_440;

/** The minutes of a day that hold an open time. */
export interface OpenMinutes {
  /** The first such minute that is not before this one; 1,440 if there is none. */
  readonly next: Int16Array;
  /** The last such minute that is not after this one; -1 if there is none. */
  readonly previous: Int16Array;
}

/** Lists the open minutes of a day. */
export function createOpenMinutes(isOpen: (minute: number) => boolean): OpenMinutes {
  const next = new Int16Array(minutesOfDay);
  const previous = new Int16Array(minutesOfDay);
  let last = -1;
  for (let minute = 0; minute < minutesOfDay; minute++) {
    if (isOpen(minute)) last = minute;
    previous[minute] = last;
  }
  let first = minutesOfDay;
  for (let minute = minutesOfDay - 1; minute >= 0; minute--) {
    if (previous[minute] === minute) first = minute;
    next[minute] = first;
  }
  return { next, previous };
}

/** The first second of a minute that is `phase` and some strides after midnight; 60 or more if it has none. */
export function firstInMinute(minute: number, stride: number, phase: number): number {
  const start = (phase - minute * 60) % stride;
  return start < 0 ? start + stride : start;
}

/** The last time of day in such a minute; it has one. */
export function lastInMinute(minute: number, stride: number, phase: number): number {
  const first = firstInMinute(minute, stride, phase);
  return minute * 60 + first + Math.floor((59 - first) / stride) * stride;
}
