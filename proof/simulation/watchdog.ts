/** The last resort against a world that hangs in real time: a loop of promises alone never lets the event loop turn, so a thread watches. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

// The slowest worlds take a second; a busy machine may take much longer for one.
const patienceMs = 120_000;

/** What the thread shares with this one. */
export interface WatchdogShare {
  /** 0: the length of the text; 1: counts up whenever a world begins or ends; 2: how many are being played. */
  cells: Int32Array;
  /** The name of the world that began last and the command that plays it, in two lines. */
  text: Uint8Array;
  patienceMs: number;
}

// Twice as long as the longest path.
const textBytesMax = 8_192;

let share: WatchdogShare | null = null;

/** Plays a world under watch: if it hangs, its name and the command that plays it are printed and the process killed. */
export async function watched<Value>(
  name: string,
  command: string,
  play: () => Promise<Value>,
  patience = patienceMs,
): Promise<Value> {
  if (share === null) {
    share = {
      cells: new Int32Array(new SharedArrayBuffer(12)),
      text: new Uint8Array(new SharedArrayBuffer(textBytesMax)),
      patienceMs: patience,
    };
    const url = new URL('./watchdog-thread.ts', import.meta.url);
    const thread = new Worker(url, { execArgv: [], workerData: share });
    // A thread needs this one's event loop to come up.
    await once(thread, 'message');
    thread.unref();
  }
  const { cells, text } = share;
  const turn = (by: 1 | -1) => {
    Atomics.add(cells, 2, by);
    Atomics.add(cells, 1, 1);
  };
  Atomics.store(cells, 0, Buffer.from(text.buffer).write(`${name}\n${command}`));
  turn(1);
  try {
    return await play();
  } finally {
    turn(-1);
  }
}
