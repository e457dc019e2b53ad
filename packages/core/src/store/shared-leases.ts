/**
 * Leases in memory that the main thread and the store's thread share. Before a handler is called, one atomic
 * operation decides whether the main thread enters it or the store's thread has released its job.
 */

/** Whether a handler may be called: `ended` is by the clock or by the store, `released` by the store's thread. */
export type Entry = 'held' | 'cancelled' | 'ended' | 'released';

/** The shared memory. It can be posted to another thread. */
export interface SharedLeases {
  /** Two words per lease: its fence with its state, and the millisecond at which it was last known to be held. */
  words: Int32Array;
  leaseMs: number;
}

// A power of two, several times what a worker claims at once. A lease whose slot is taken is not shared.
const slotCount = 8_192;
const stateBits = 3;
const fenceMask = 0x0fff_ffff;
const [claimed, entered, cancelled, ended, released] = [1, 2, 3, 4, 5] as const;
type State = typeof claimed | typeof entered | typeof cancelled | typeof ended | typeof released;

/** Makes the memory for the leases of one worker. */
export function createSharedLeases(leaseMs: number): SharedLeases {
  const bytes = 2 * slotCount * Int32Array.BYTES_PER_ELEMENT;
  return { words: new Int32Array(new SharedArrayBuffer(bytes)), leaseMs };
}

const slotOf = (fence: number): number => fence & (slotCount - 1);
const codeOf = (fence: number, state: State): number => ((fence & fenceMask) << stateBits) | state;

/**
 * Marks in the main thread that the handler of this lease is called now, unless it must not be. A second call
 * checks again. `takenElapsed` is when the job arrived, for a lease that is not shared.
 */
export function enterLease(
  { words, leaseMs }: SharedLeases,
  { fence, takenElapsed }: { fence: number; takenElapsed: number },
  elapsed: number,
): Entry {
  const word = 2 * slotOf(fence);
  // Differences of 32-bit milliseconds are right for 24 days, whatever the uptime of the machine.
  const isLate = (((elapsed | 0) - Atomics.load(words, word + 1)) | 0) >= leaseMs;
  const from = codeOf(fence, claimed);
  const to = codeOf(fence, isLate ? ended : entered);
  const found = Atomics.compareExchange(words, word, from, to);
  if (found === from) return isLate ? 'ended' : 'held';
  if (found === codeOf(fence, entered)) return isLate ? 'ended' : 'held';
  if (found === codeOf(fence, released)) return 'released';
  if (found === codeOf(fence, ended)) return 'ended';
  if (found === codeOf(fence, cancelled)) {
    const isOurs = Atomics.compareExchange(words, word, found, codeOf(fence, entered)) === found;
    return isOurs ? 'cancelled' : 'released';
  }
  return elapsed - takenElapsed >= leaseMs ? 'ended' : 'held';
}

/** What the store's thread writes. */
export interface LeaseBoard {
  /** A job was claimed. `sureElapsed`: an instant before its lease began, by the monotonic clock. */
  add(lease: { id: string; fence: number }, sureElapsed: number): void;
  /** It was renewed. */
  renewed(fence: number, sureElapsed: number): void;
  /** It is lost, or its job was asked to cancel. Means nothing once the handler is entered. */
  mark(fence: number, news: 'cancelled' | 'ended'): void;
  /** Takes back all whose handlers were not entered: from here on they never will be. */
  takeBack(): { id: string; fence: number }[];
  hasWaiting(): boolean;
  /** The main thread has settled or dropped it. */
  remove(fence: number): void;
}

/** Makes the writing side. */
export function createLeaseBoard({ words }: SharedLeases): LeaseBoard {
  // 0: free. Only this thread reads them.
  const fences = new Float64Array(slotCount);
  const ids: string[] = new Array(slotCount).fill('');
  const swap = (slot: number, from: State, to: State): boolean => {
    const fence = fences[slot] as number;
    const code = codeOf(fence, from);
    return Atomics.compareExchange(words, 2 * slot, code, codeOf(fence, to)) === code;
  };
  const isOwned = (slot: number, fence: number): boolean => fences[slot] === fence;

  return {
    add({ id, fence }, sureElapsed) {
      const slot = slotOf(fence);
      if (fences[slot] !== 0) return;
      fences[slot] = fence;
      ids[slot] = id;
      Atomics.store(words, 2 * slot + 1, sureElapsed | 0);
      Atomics.store(words, 2 * slot, codeOf(fence, claimed));
    },
    renewed(fence, sureElapsed) {
      const slot = slotOf(fence);
      if (isOwned(slot, fence)) Atomics.store(words, 2 * slot + 1, sureElapsed | 0);
    },
    mark(fence, news) {
      const slot = slotOf(fence);
      if (isOwned(slot, fence)) swap(slot, claimed, news === 'ended' ? ended : cancelled);
    },
    takeBack() {
      const taken: { id: string; fence: number }[] = [];
      for (let slot = 0; slot < slotCount; slot++) {
        if (fences[slot] === 0) continue;
        // A job that was asked to cancel is released too: the store then ends it as cancelled.
        if (!swap(slot, claimed, released) && !swap(slot, cancelled, released)) continue;
        taken.push({ id: ids[slot] as string, fence: fences[slot] as number });
      }
      return taken;
    },
    hasWaiting() {
      for (let slot = 0; slot < slotCount; slot++) {
        const fence = fences[slot] as number;
        if (fence === 0) continue;
        const found = Atomics.load(words, 2 * slot);
        if (found === codeOf(fence, claimed) || found === codeOf(fence, cancelled)) return true;
      }
      return false;
    },
    remove(fence) {
      const slot = slotOf(fence);
      if (!isOwned(slot, fence)) return;
      fences[slot] = 0;
      ids[slot] = '';
      Atomics.store(words, 2 * slot, 0);
    },
  };
}
