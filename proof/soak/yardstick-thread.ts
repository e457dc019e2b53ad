// The thread of the yardstick: writes, flushes and waits, again and again, and keeps the longest that one round took beyond its wait.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { systemClock } from '../../packages/core/src/index.ts';

const { path, slowest, waitMs } = workerData as { path: string; slowest: Int32Array; waitMs: number };
const file = openSync(path, 'w');
const page = Buffer.alloc(4_096);
for (;;) {
  const sinceElapsed = systemClock.elapsed();
  writeSync(file, page, 0, page.length, 0);
  fsyncSync(file);
  // Told to end by a word that is not "timed out".
  if (Atomics.wait(slowest, 1, 0, waitMs) !== 'timed-out') break;
  const tookMs = Math.round(systemClock.elapsed() - sinceElapsed - waitMs);
  if (tookMs > Atomics.load(slowest, 0)) Atomics.store(slowest, 0, tookMs);
}
closeSync(file);
