import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { testFolder } from './folder.ts';
import type { OpenTogether } from './open-together-thread.ts';

// Without a second try about one in 800 is refused.
const fileCount = 500;
const threadCount = 4;

test('a new file that several open at once is opened by all of them', async (t) => {
  const folder = testFolder(t);
  const gate = new Int32Array(new SharedArrayBuffer(4 * fileCount));
  const workerData: OpenTogether = { folder, fileCount, threadCount, gate };
  const threads = Array.from(
    { length: threadCount },
    () => new Worker(new URL('./open-together-thread.ts', import.meta.url), { workerData }),
  );
  const errors = await Promise.all(threads.map(async (thread) => (await once(thread, 'message'))[0]));
  assert.deepEqual(errors.flat(), []);
});
