import type { Clock } from '../clock.ts';

/** How many attempts ended in the last moment: what a worker can surely take again. */
export interface Pace {
  /** An attempt ended now. */
  count(): void;
  /** How many ended in the last 50 ms. */
  recentCount(): number;
}

// Long enough to span several exchanges with a near store, so that the amount can grow from one to the next; short enough that
// jobs taken at a pace that has just changed do not wait long.
const windowMs = 50;
const sliceMs = 5;

/** Makes a pace. Counted in slices of 5 ms, so that neither counting nor asking depends on how many ended. */
export function createPace(clock: Pick<Clock, 'elapsed'>): Pace {
  const slices: { slice: number; count: number }[] = [];

  return {
    count() {
      const slice = Math.floor(clock.elapsed() / sliceMs);
      const last = slices.at(-1);
      if (last?.slice === slice) last.count++;
      else slices.push({ slice, count: 1 });
    },
    recentCount() {
      const oldest = Math.floor((clock.elapsed() - windowMs) / sliceMs);
      while (slices.length > 0 && (slices[0] as { slice: number }).slice < oldest) slices.shift();
      return slices.reduce((sum, { count }) => sum + count, 0);
    },
  };
}
