/** How busy the machine is, whatever Duly does: without it a soak could not tell a slow Duly from a slow machine. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A yardstick that is laid on. */
export interface Yardstick {
  /** The slowest of its own small durable writes since it was last asked, with the wait for a core, in milliseconds. */
  takeSlowestMs(): number;
  stop(): Promise<void>;
}

// Ten a second: enough to meet a burst of load, too few to be one.
const waitMs = 100;

/** Starts a thread that writes and flushes a page of a file of its own, beside the store. */
export function startYardstick(path: string): Yardstick {
  const slowest = new Int32Array(new SharedArrayBuffer(8));
  const thread = new Worker(new URL('./yardstick-thread.ts', import.meta.url), {
    workerData: { path, slowest, waitMs },
  });
  const ended = once(thread, 'exit');
  return {
    takeSlowestMs: () => Atomics.exchange(slowest, 0, 0),
    async stop() {
      Atomics.store(slowest, 1, 1);
      Atomics.notify(slowest, 1);
      await ended;
    },
  };
}
