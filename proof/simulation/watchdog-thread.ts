// The thread of `watchdog.ts`. It writes and kills by itself: the main thread, which hangs, would pass nothing on.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { WatchdogShare } from './watchdog.ts';

const { cells, text, patienceMs } = workerData as WatchdogShare;
parentPort?.postMessage('watching');
const never = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  // It looks now and then: to be woken for every world would cost more than many a world.
  const turnCount = Atomics.load(cells, 1);
  Atomics.wait(never, 0, 0, patienceMs);
  const isSame = Atomics.load(cells, 1) === turnCount;
  if (!isSame || Atomics.load(cells, 2) === 0) continue;
  const told = Buffer.from(text.buffer).toString('utf8', 0, Atomics.load(cells, 0));
  const [name, command] = told.split('\n');
  writeSync(
    2,
    `${name} did not come to rest in ${patienceMs / 1_000} s and does not let go of the event loop.\n` +
      `Play it again: ${command}\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}
