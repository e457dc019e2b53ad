// A program as users write it: it defines an isolated task and starts at once. The task's thread loads it a second time.
import { isMainThread, threadId } from 'node:worker_threads';
import { Duly } from '../../src/index.ts';

export const duly = new Duly({ store: process.env.DULY_TEST_STORE ?? 'sqlite::memory:' });

export const child = duly.task({ name: 'child', run: ({ input }) => input });

export const crunch = duly.task({
  name: 'crunch',
  isolate: true,
  run: async ({ input, log }) => {
    log('from the thread');
    const handle = await child.now(input, { key: 'only' });
    return { isMainThread, threadId, created: handle.id };
  },
});

// Must do nothing in the thread, or the thread would run jobs of its own.
await duly.start();
