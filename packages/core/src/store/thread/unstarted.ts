import type { Clock, Timer } from '../../base/clock.ts';
import type { Engine, ExchangeReply, Settlement } from '../../contract/engine.ts';
import { unstartedRelease } from '../../lifecycle/settle.ts';
import type { LeaseRef } from '../heartbeats.ts';
import type { LeaseBoard } from '../shared-leases.ts';

/** What the release of unstarted jobs needs. */
export interface UnstartedOptions {
  engine: Pick<Engine, 'exchange'>;
  clock: Clock;
  board: Pick<LeaseBoard, 'takeBack' | 'hasWaiting'>;
  /** How long the main loop has not turned, as far as is known; asks it, if it was not asked before. */
  sinceTurnMs(): number;
  /** The main thread will not start these: their leases are to be renewed no longer. */
  onTaken(leases: LeaseRef[]): void;
  /** They are released. */
  onReleased(settle: Settlement[], reply: ExchangeReply): void;
}

/** Releases jobs that a blocked main loop has claimed and not started. */
export interface Unstarted {
  /** Jobs were claimed. */
  watch(): void;
  close(): void;
}

/** A main loop that has not turned for this long has no time for more jobs, and other nodes may have. */
export const silentMsMax = 5_000;
const checkEveryMs = 1_000;
// This thread may have stood still itself, waiting for a locked file. An answer of the main loop that waits is read first.
const confirmMs = 50;

/** Makes it. It has a timer only while a claimed job waits for its start. */
export function createUnstarted(options: UnstartedOptions): Unstarted {
  const { engine, clock, board, sinceTurnMs, onTaken, onReleased } = options;
  let timer: Timer | null = null;
  let isClosed = false;
  /** Taken from the main thread, and not released yet because the store could not be reached. */
  let taken: LeaseRef[] = [];

  function watch(): void {
    if (timer !== null || isClosed) return;
    // Asks now, so that a loop that is blocked by the first of these jobs is silent from here on.
    sinceTurnMs();
    timer = clock.after(checkEveryMs, () => check(false), { unref: true });
  }

  function check(isConfirmed: boolean): void {
    timer = null;
    if (isClosed) return;
    const isSilent = sinceTurnMs() >= silentMsMax;
    if (isSilent && !isConfirmed) {
      timer = clock.after(confirmMs, () => check(true), { unref: true });
      return;
    }
    if (isSilent) {
      const leases = board.takeBack();
      if (leases.length > 0) onTaken(leases);
      taken.push(...leases);
    }
    if (taken.length > 0) void release();
    if (taken.length > 0 || board.hasWaiting()) watch();
  }

  async function release(): Promise<void> {
    const settle = taken.map(unstartedRelease);
    taken = [];
    try {
      onReleased(settle, await engine.exchange({ settle, claim: null, repeat: true }));
    } catch {
      // Tried again with the next check. At the latest their leases end, and the jobs are reaped.
      taken.push(...settle);
      watch();
    }
  }

  return {
    watch,
    close() {
      isClosed = true;
      timer?.cancel();
    },
  };
}
