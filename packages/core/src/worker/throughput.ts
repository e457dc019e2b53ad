import type { Clock } from '../base/clock.ts';

/** How many attempts ended in the last moment, and how many could have: what a worker can take again. */
export interface Pace {
  /** From now on it has something to run, until it rests. */
  begin(): void;
  /** An attempt ended now. */
  count(): void;
  /** It has nothing to run any more. */
  rest(): void;
  /** How many ended in the last 50 ms. */
  recentCount(): number;
  /** How many would end in 50 ms if there were enough of them, by the latest that ran; 0: too few of them ran, or too long ago. */
  possibleCount(): number;
}

// Long enough to span several exchanges with a near store, so that the amount can grow from one to the next; short enough that
// jobs taken at a pace that has just changed do not wait long.
const windowMs = 50;
const sliceMs = 5;
// So much of the past counts, in time that was spent running something; then what is older counts half.
const busyMsMax = 200;
// A few that happened to be quick say nothing of many.
const possibleMin = 16;
// What runs next may be of another kind than what ran then.
const knownMs = 1_000;

/** Makes a pace. Counted in slices of 5 ms, so that neither counting nor asking depends on how many ended. */
export function createPace(clock: Pick<Clock, 'elapsed'>): Pace {
  const slices: { slice: number; count: number }[] = [];
  let busyMs = 0;
  let busyCount = 0;
  let busySinceElapsed: number | null = null;
  let lastElapsed = 0;

  return {
    begin() {
      busySinceElapsed ??= clock.elapsed();
    },
    rest() {
      if (busySinceElapsed === null) return;
      busyMs += clock.elapsed() - busySinceElapsed;
      busySinceElapsed = null;
      if (busyMs <= busyMsMax) return;
      busyMs /= 2;
      busyCount /= 2;
    },
    possibleCount() {
      const now = clock.elapsed();
      if (busyCount < possibleMin || now - lastElapsed > knownMs) return 0;
      const tookMs = busyMs + (busySinceElapsed === null ? 0 : now - busySinceElapsed);
      return Math.floor((busyCount * windowMs) / Math.max(1, tookMs));
    },
    count() {
      busyCount++;
      lastElapsed = clock.elapsed();
      const slice = Math.floor(lastElapsed / sliceMs);
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
