import type { Clock, Timer } from './clock.ts';
import type { Random } from './random.ts';

/** What a loop is made of. */
export interface LoopOptions {
  clock: Clock;
  random: Random;
  /** Does the work once and answers how long to wait before the next time: milliseconds, 0: again at once. */
  pass(): Promise<number>;
  /** Told of every pass that failed; the loop goes on. */
  onError(error: unknown): void;
  /** No wait is longer, whatever a pass answers. Default 30 s: machines sleep and clocks step, and this heals both. */
  maxWaitMs?: number;
  /** The longest wait after a pass that failed with this error. Default 5 s. */
  maxBackoffMs?(error: unknown): number;
}

/** Repeats a pass until it is stopped. */
export interface Loop {
  /** Begins. A second call does nothing. */
  start(): void;
  /** Cuts the present wait, or skips the one after the pass that runs now. */
  wake(): void;
  /** Wakes it after this long, if it still waits then. */
  wakeWithin(ms: number): void;
  /** Ends the loop; resolves when the pass that runs now is over. */
  stop(): Promise<void>;
}

const defaultMaxWaitMs = 30_000;
const firstBackoffMs = 100;
/** The longest wait after a failure that may not pass by itself. */
export const backoffMsMax = 5_000;

/** Makes a loop. It does not run until `start`. */
export function createLoop(options: LoopOptions): Loop {
  const { clock, random, pass, onError } = options;
  const { maxWaitMs = defaultMaxWaitMs, maxBackoffMs = () => backoffMsMax } = options;
  let running: Promise<void> | null = null;
  let stopped = false;
  let woken = false;
  let cutWait: (() => void) | null = null;
  let alarm: Timer | null = null;
  let failures = 0;

  /** The next wait; a failed pass is repeated later and later. */
  async function passOnce(): Promise<number> {
    try {
      const waitMs = await pass();
      failures = 0;
      return Math.min(waitMs, maxWaitMs);
    } catch (error) {
      onError(error);
      const backoffMs = Math.min(firstBackoffMs * 2 ** failures++, maxBackoffMs(error));
      // Half to the whole of it: nodes that lost the store together must not come back together.
      return backoffMs * (0.5 + random.next() / 2);
    }
  }

  function wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === Number.POSITIVE_INFINITY ? null : clock.after(ms, () => cutWait?.());
      cutWait = () => {
        cutWait = null;
        timer?.cancel();
        resolve();
      };
    });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      woken = false;
      alarm?.cancel();
      const waitMs = await passOnce();
      // A notification does not cut the wait after a failure: a broken store must not be asked as fast as notifications arrive.
      if (stopped || waitMs <= 0 || (woken && failures === 0)) continue;
      await wait(waitMs);
    }
  }

  function wake(): void {
    woken = true;
    if (failures === 0) cutWait?.();
  }

  return {
    start() {
      if (!stopped) running ??= run();
    },
    wake,
    wakeWithin(ms) {
      alarm?.cancel();
      if (!stopped) alarm = clock.after(ms, wake);
    },
    async stop() {
      stopped = true;
      alarm?.cancel();
      cutWait?.();
      await running;
    },
  };
}
