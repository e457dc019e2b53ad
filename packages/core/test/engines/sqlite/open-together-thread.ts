/** Opens new files at the same moment as other threads do, and posts how many could not be opened. */
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../../src/engines/sqlite/database.ts';

/** What a thread is given. `gate` has one counter for each file. */
export interface OpenTogether {
  folder: string;
  fileCount: number;
  threadCount: number;
  gate: Int32Array<SharedArrayBuffer>;
}

const { folder, fileCount, threadCount, gate } = workerData as OpenTogether;
const errors: string[] = [];
for (let i = 0; i < fileCount; i++) {
  Atomics.add(gate, i, 1);
  while (Atomics.load(gate, i) < threadCount);
  try {
    const { db } = await openDatabase({ path: join(folder, `${i}.db`), busyMs: 5_000, exclusive: false });
    db.exec('CREATE TABLE IF NOT EXISTS opened (at INTEGER)');
    db.close();
  } catch (error) {
    errors.push(String((error as Error).cause ?? error));
  }
}
parentPort?.postMessage(errors);
