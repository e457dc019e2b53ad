import type { Clock } from '../base/clock.ts';

/** How many attempts a worker finished recently, and how many it could have finished: how much it can claim. */
export interface ThroughputEstimate {
  /** The worker has something to run from now on. */
  begin(): void;
  /** An attempt ended now. */
  count(): void;
  /** The worker has nothing left to run. */
  rest(): void;
  /** How many ended in the last 50 ms. */
  recentCount(): number;
  /** How many would end in 50 ms if enough were claimed, by the latest attempts; 0: too few ran, or too long ago. */
  possibleCount(): number;
}

// Long enough to span several exchanges with a near store, so that the amount can grow from one to the next; short enough that
// jobs claimed at an outdated rate do not wait long.
const windowMs = 50;
const sliceMs = 5;
// This much busy time counts in full; older attempts count half.
const busyMsMax = 200;
// A few quick attempts do not predict many.
const possibleMin = 16;
// After this long the next jobs may be of another kind.
const knownMs = 1_000;

/** Creates an estimate. It counts in slices of 5 ms, so that its cost does not depend on how many attempts ended. */
export function createThroughputEstimate(clock: Pick<Clock, 'elapsed'>): ThroughputEstimate {
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
