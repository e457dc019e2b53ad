// Loaded into the process of every test file by run-tests.ts. When the file ends, it appends what the file has cost.

import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { cpuSeconds } from './cpu-time.ts';

/** Under this name run-tests.ts passes the path of the list of costs. */
export const costListVariable = 'DULY_TEST_COSTS';

/** What one test file has cost, in seconds. */
export interface FileCost {
  file: string;
  /** CPU time with child processes; null where the system does not report it. */
  cpu: number | null;
  elapsed: number;
}

const list = process.env[costListVariable];
const file = process.argv[1] ?? '';
// Threads and forked processes inherit the option that loads this module. Only the file's own process records.
if (list !== undefined && isMainThread && file.endsWith('.test.ts')) {
  process.on('exit', () => {
    const cost: FileCost = { file, cpu: cpuSeconds(), elapsed: process.uptime() };
    appendFileSync(list, `${JSON.stringify(cost)}\n`);
  });
}
