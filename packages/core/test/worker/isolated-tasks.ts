/** Tasks for the tests of isolated threads: this module is imported by the test and again inside each thread. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, threadId } from 'node:worker_threads';
import { z } from 'zod';
import { currentJob } from '../../src/jobs/current-job.ts';
import { registerTask } from '../../src/jobs/isolate-registry.ts';
import { resolveRetry } from '../../src/lifecycle/retry.ts';
import { isIsolateThread } from '../../src/worker/isolate.ts';
import { task } from './setup.ts';

const isolateFile = import.meta.filename;
const once = resolveRetry(1);

export const where = task(
  'where',
  async ({ input, progress, log, once: step, attempt, job }) => {
    await progress(40, 'In a thread', { step: 1, of: 2 });
    log.warn('said in a thread');
    const charged = await step('charge', () => ({ by: threadId }));
    if (attempt === 1) throw new Error('first attempt', { cause: new Error('inside') });
    return {
      input,
      isMainThread,
      isIsolate: isIsolateThread(),
      charged,
      current: currentJob()?.id === job.id,
    };
  },
  { isolateFile, retry: resolveRetry({ attempts: 3, delay: 1 }), input: z.object({ at: z.coerce.date() }) },
);

export const blocked = task(
  'blocked',
  () => {
    for (;;);
  },
  { isolateFile, timeoutMs: 200, graceMs: 100, retry: once },
);

export const polite = task(
  'polite',
  async ({ signal, log }) => {
    log('waiting');
    try {
      await sleep(60_000, null, { signal });
    } catch {
      throw signal.reason;
    }
  },
  { isolateFile, retry: once },
);

export const asks = task('asks', ({ snooze }) => snooze('1h'), { isolateFile });

export const exits = task('exits', () => process.exit(3), { isolateFile, retry: once });

export const crashes = task(
  'crashes',
  () =>
    new Promise(() => {
      setImmediate(() => {
        throw new Error('nobody catches this');
      });
    }),
  { isolateFile, retry: once },
);

export const hungry = task(
  'hungry',
  () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(1_000_000).fill(all.length));
  },
  { isolateFile, retry: once },
);

/** Its module does not define it. */
export const missing = task('missing', () => null, { isolateFile, retry: once });

for (const one of [where, blocked, polite, asks, exits, crashes, hungry]) registerTask(one);
