/** The last resort against a world that hangs in real time: a loop of promises alone never lets the event loop turn, so a thread watches. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

// The slowest worlds take a second; a busy machine may take much longer for one.
const patienceMs = 120_000;

// 0: the seed that began last; 1: counts up whenever a world begins or ends; 2: how many are being played.
let cells: Int32Array | null = null;

/** Plays a world under watch: if it hangs, the seed is printed and the process killed. */
export async function watched<Value>(
  seed: number,
  play: () => Promise<Value>,
  patience = patienceMs,
): Promise<Value> {
  if (cells === null) {
    cells = new Int32Array(new SharedArrayBuffer(12));
    const workerData = { cells, patienceMs: patience };
    const thread = new Worker(new URL('./watchdog-thread.ts', import.meta.url), { execArgv: [], workerData });
    // A thread needs this one's event loop to come up.
    await once(thread, 'message');
    thread.unref();
  }
  const turn = (by: 1 | -1) => {
    Atomics.add(cells as Int32Array, 2, by);
    Atomics.add(cells as Int32Array, 1, 1);
  };
  Atomics.store(cells, 0, seed);
  turn(1);
  try {
    return await play();
  } finally {
    turn(-1);
  }
}
