// The thread of `watchdog.ts`. It writes and kills by itself: the main thread, which hangs, would pass nothing on.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const { cells, patienceMs } = workerData as { cells: Int32Array; patienceMs: number };
parentPort?.postMessage('watching');
for (;;) {
  // First the count of turns: a world that begins after it was read ends the wait at once.
  const turnCount = Atomics.load(cells, 1);
  const isIdle = Atomics.load(cells, 2) === 0;
  if (Atomics.wait(cells, 1, turnCount, isIdle ? undefined : patienceMs) !== 'timed-out') continue;
  const seed = Atomics.load(cells, 0);
  writeSync(
    2,
    `Seed ${seed} did not come to rest in ${patienceMs / 1_000} s and does not let go of the event loop.\n` +
      `Play it again: npm run simulate -- --seed ${seed} --trace\n`,
  );
  process.kill(process.pid, 'SIGKILL');
}
