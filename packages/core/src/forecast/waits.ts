import type { ForecastRuns } from './forecast-runs.ts';
import { secondMs } from './seconds.ts';

/** Runs that fall due in one second and last as long as each other. */
interface Arrival {
  dueAt: number;
  durationMs: number;
  count: number;
}

/** Concurrency slots that become free at one instant. */
interface FreeSlots {
  at: number;
  count: number;
}

/** How long runs wait for a concurrency slot. */
export interface Waits {
  maxMs: number;
  p50Ms: number;
  p95Ms: number;
  /** How many wait longer than a second. */
  lateCount: number;
  /** When the last run is over. */
  endAt: number;
}

/** The runs in the order in which they fall due, those alike together: durations to about one part in twenty. */
export function arrivalsOf(runs: ForecastRuns): Arrival[] {
  const groups = new Map<number, Arrival>();
  for (let run = 0; run < runs.count; run++) {
    const dueAt = Math.floor(runs.dueAt(run) / secondMs) * secondMs;
    const durationMs = roundUp(runs.durationMs(run));
    // Seconds since 1970 and a duration of up to 2^20 steps fit into a number together.
    const key = (dueAt / secondMs) * 1_048_576 + Math.min(1_048_575, stepOf(durationMs));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { dueAt, durationMs, count: 1 });
    else group.count += 1;
  }
  return [...groups.entries()].sort(([one], [other]) => one - other).map(([, group]) => group);
}

const stepBase = Math.log(1.05);

function stepOf(durationMs: number): number {
  return durationMs <= 1 ? 0 : Math.ceil(Math.log(durationMs) / stepBase - 1e-9);
}

function roundUp(durationMs: number): number {
  return durationMs <= 1 ? durationMs : Math.round(Math.exp(stepOf(durationMs) * stepBase));
}

/**
 * Runs the arrivals with this concurrency, in the order in which they fall due. `onTaken` receives how long some of them waited
 * and when they are over, and ends it all by answering false.
 */
function serve(
  arrivals: readonly Arrival[],
  concurrency: number,
  onTaken: (waitMs: number, count: number, endAt: number) => boolean,
): boolean {
  const free: FreeSlots[] = [{ at: Number.NEGATIVE_INFINITY, count: concurrency }];
  for (const { dueAt, durationMs, count } of arrivals) {
    for (let left = count; left > 0; ) {
      const next = free[0] as FreeSlots;
      const taken = Math.min(left, next.count);
      const startAt = Math.max(dueAt, next.at);
      if (taken === next.count) takeFirst(free);
      else next.count -= taken;
      const endAt = startAt + durationMs;
      push(free, { at: endAt, count: taken });
      if (!onTaken(startAt - dueAt, taken, endAt)) return false;
      left -= taken;
    }
  }
  return true;
}

/** How long the runs wait with this concurrency. */
export function waitsWith(arrivals: readonly Arrival[], concurrency: number): Waits {
  const waits: { ms: number; count: number }[] = [];
  let [maxMs, lateCount, lastEndAt, total] = [0, 0, 0, 0];
  serve(arrivals, concurrency, (waitMs, count, endAt) => {
    total += count;
    if (waitMs > 0) waits.push({ ms: waitMs, count });
    if (waitMs > maxMs) maxMs = waitMs;
    if (waitMs > secondMs) lateCount += count;
    if (endAt > lastEndAt) lastEndAt = endAt;
    return true;
  });
  waits.sort((one, other) => one.ms - other.ms);
  return {
    maxMs,
    p50Ms: rank(waits, total, 0.5),
    p95Ms: rank(waits, total, 0.95),
    lateCount,
    endAt: lastEndAt,
  };
}

/** The value below which a part of all lies; those that are not listed waited not at all. */
function rank(waits: readonly { ms: number; count: number }[], total: number, part: number): number {
  let left = total - Math.ceil(total * part);
  for (let i = waits.length - 1; i >= 0; i--) {
    const { ms, count } = waits[i] as { ms: number; count: number };
    if (count > left) return ms;
    left -= count;
  }
  return 0;
}

/** The lowest concurrency with which no run waits longer than this. With `peakCount`, no run waits. */
export function concurrencyFor(arrivals: readonly Arrival[], latenessMs: number, peakCount: number): number {
  if (arrivals.length === 0) return 0;
  let [low, high] = [1, Math.max(1, peakCount)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (serve(arrivals, middle, (waitMs) => waitMs <= latenessMs)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// ------------------------------------------------------------------------------------- a heap, earliest first

function push(heap: FreeSlots[], one: FreeSlots): void {
  let i = heap.push(one) - 1;
  while (i > 0) {
    const parent = (i - 1) >> 1;
    if ((heap[parent] as FreeSlots).at <= one.at) break;
    heap[i] = heap[parent] as FreeSlots;
    i = parent;
  }
  heap[i] = one;
}

function takeFirst(heap: FreeSlots[]): void {
  const last = heap.pop() as FreeSlots;
  if (heap.length === 0) return;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && (heap[child + 1] as FreeSlots).at < (heap[child] as FreeSlots).at)
      child += 1;
    if ((heap[child] as FreeSlots).at >= last.at) break;
    heap[i] = heap[child] as FreeSlots;
    i = child;
  }
  heap[i] = last;
}
