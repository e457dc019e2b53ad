/** A timer that was set and can be taken back. */
export interface Timer {
  /** Keeps it from firing; does nothing once it has fired. */
  cancel(): void;
}

/** Where time comes from. Everything that waits or measures takes one, so that tests can set the time. */
export interface Clock {
  /** Wall time in epoch milliseconds, whole: stored, and compared between processes. */
  now(): number;
  /**
   * Monotonic milliseconds, with fractions: for durations and deadlines. Its origin is that of the machine's monotonic clock, the
   * same in every process and thread of one boot, so instants of one process can be compared with another's.
   */
  elapsed(): number;
  /** Waits this long, of any length. Resolves early, and never rejects, when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once, after this long and never before, of any length. With `unref` it does not keep the process alive. */
  after(ms: number, fn: () => void, options?: { unref?: boolean }): Timer;
}

// Timers of Node overflow at 2^31 ms (24.8 days) and then fire at once. Waiting in pieces avoids that, and after each piece the
// clock is read again, so a machine that was suspended is late by one piece at most.
const pieceMsMax = 30_000;

/**
 * Finds the origin of one reading of the monotonic clock in another's. A process that loses the processor between two reads would be
 * apart from all others by that time, for good; so the second is read between two of the first, until they lie close together.
 */
export function findOrigin(readElapsed: () => number, readNow: () => number): number {
  let originAt = 0;
  let widthMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < originTriesMax && widthMs > originWidthMs; tries++) {
    const before = readElapsed();
    const now = readNow();
    const after = readElapsed();
    if (after - before >= widthMs) continue;
    widthMs = after - before;
    originAt = before + widthMs / 2 - now;
  }
  return originAt;
}

// Two reads take less than a microsecond, as long as nobody comes in between. A commit takes many times that, so the order of commits is
// the order of their instants, whichever processes they are from.
const originWidthMs = 0.001;
const originTriesMax = 1_000;

// The origin of performance.now() in the machine's monotonic time. Both are read from the same clock, and this one costs a third.
const originElapsed = findOrigin(
  () => Number(process.hrtime.bigint()) / 1e6,
  () => performance.now(),
);

function elapsed(): number {
  return originElapsed + performance.now();
}

/** A timer of the machine. A class, since there is one for every attempt. */
class SystemTimer implements Timer {
  readonly #untilElapsed: number;
  readonly #fn: () => void;
  readonly #unref: boolean;
  #handle: NodeJS.Timeout | undefined;

  constructor(ms: number, fn: () => void, unref: boolean) {
    const now = elapsed();
    this.#untilElapsed = now + (ms > 0 ? ms : 0);
    this.#fn = fn;
    this.#unref = unref;
    this.#wait(now);
  }

  #wait(now: number): void {
    // Rounded up, and looked at again when it fires: a timer of Node may fire up to a millisecond early.
    const waitMs = Math.min(Math.ceil(Math.max(this.#untilElapsed - now, 0)), pieceMsMax);
    this.#handle = setTimeout(() => this.#arrive(), waitMs);
    if (this.#unref) this.#handle.unref();
  }

  #arrive(): void {
    const now = elapsed();
    if (now < this.#untilElapsed) this.#wait(now);
    else this.#fn();
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

function after(ms: number, fn: () => void, { unref = false }: { unref?: boolean } = {}): Timer {
  return new SystemTimer(ms, fn, unref);
}

/** Makes a `sleep` out of an `after`: the same for every clock. */
export function createSleep(after: Clock['after']): Clock['sleep'] {
  return (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const finish = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = after(ms, finish);
      signal?.addEventListener('abort', finish, { once: true });
    });
}

/** The real time. This file is the only one that touches it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed,
  sleep: createSleep(after),
  after,
};
