import { type Clock, createSleep, type Timer } from '../base/clock.ts';

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /**
   * Goes on by this long. Timers and sleeps fire in the order of their instants, each at its own instant; before the next one
   * fires, the work that the last one set off has come to rest.
   */
  advance(ms: number): Promise<void>;
  /** Steps the wall clock, forward or back, without letting time pass: no timer fires. */
  step(ms: number): void;
  /**
   * Goes on by this long at once, as a machine that was asleep does: no timer fires on the way, and those whose time has come fire with the
   * next `advance`, at the new instant.
   */
  jump(ms: number): void;
  /** Lets work that waits for promises, messages or I/O go on until it rests, without letting time pass. */
  settle(): Promise<void>;
  /** Timers and sleeps that wait. */
  pendingCount(): number;
}

interface Pending {
  atElapsed: number;
  order: number;
  fn: () => void;
}

/** Makes a clock that starts at this wall time. `elapsed` starts at 0. */
export function createManualClock(
  startAt = 1_800_000_000_000,
  { settle = settleTurns }: { settle?: () => Promise<void> } = {},
): ManualClock {
  let elapsed = 0;
  let wallOffset = startAt;
  let order = 0;
  const pending = new Set<Pending>();

  function after(ms: number, fn: () => void): Timer {
    const entry = { atElapsed: elapsed + Math.max(ms, 0), order: order++, fn };
    pending.add(entry);
    return {
      cancel() {
        pending.delete(entry);
      },
    };
  }

  function earliest(untilElapsed: number): Pending | null {
    let found: Pending | null = null;
    for (const entry of pending) {
      if (entry.atElapsed > untilElapsed) continue;
      const isEarlier =
        found === null ||
        entry.atElapsed < found.atElapsed ||
        (entry.atElapsed === found.atElapsed && entry.order < found.order);
      if (isEarlier) found = entry;
    }
    return found;
  }

  return {
    now: () => Math.floor(wallOffset + elapsed),
    elapsed: () => elapsed,
    after,
    sleep: createSleep(after),
    async advance(ms) {
      const untilElapsed = elapsed + ms;
      await settle();
      for (let next = earliest(untilElapsed); next !== null; next = earliest(untilElapsed)) {
        elapsed = Math.max(elapsed, next.atElapsed);
        pending.delete(next);
        next.fn();
        await settle();
      }
      elapsed = untilElapsed;
      await settle();
    },
    step(ms) {
      wallOffset += ms;
    },
    jump(ms) {
      elapsed += ms;
    },
    settle,
    pendingCount: () => pending.size,
  };
}

// Work on the inline engine is promises only, and one turn of the event loop lets all of them settle, however many follow each
// other. A second turn is for what itself waits for a turn (a stream, a thread's message that is already there).
async function settleTurns(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}
