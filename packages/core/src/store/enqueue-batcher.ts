import type { Clock } from '../base/clock.ts';
import { isDulyError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { JobSpec } from '../contract/engine.ts';
import { type Batcher, type BatcherOptions, createBatcher } from './batcher.ts';
import type { CreatedGroup, EnqueueCall } from './enqueue-call.ts';

/** What the batcher is made of. */
export interface EnqueueBatcherOptions {
  call: EnqueueCall;
  clock: Clock;
  random: Random;
  /** Whether the store works on several calls at once. */
  isParallel: boolean;
}

// A transaction of 2,000 rows takes some ten milliseconds; more would only delay other calls.
const groupCountMax = 2_000;
// Bytes of input in one call: bounded so that a burst of large inputs does not become one huge message.
const callBytesMax = 8 * 1024 * 1024;
// The weight of a job besides its input.
const jobBytes = 512;
// A thousand small jobs.
const parallelBytes = 1_100 * jobBytes;
// How long a call waits for a dedupe key that an open transaction holds, and how often it asks.
const keyWaitMs = 2_000;
const keyPauseMs = 50;

/**
 * Creates the batcher of groups of jobs to create. Groups with a dedupe key may have to wait for a user's
 * open transaction, so they are sent apart from the others.
 */
export function createEnqueueBatcher(options: EnqueueBatcherOptions): Batcher<JobSpec[], CreatedGroup> {
  const { call, clock, random, isParallel } = options;
  const sending: BatcherOptions<JobSpec[], CreatedGroup> = {
    clock,
    random,
    maxItems: groupCountMax,
    maxWeight: callBytesMax,
    weigh: weighJobs,
    send: call.send,
    onGivenUp: call.giveUp,
  };
  const keyless = createBatcher({
    ...sending,
    // Where two calls are sent side by side, the first leaves something for the second.
    ...(isParallel && { secondWeight: parallelBytes / 2, maxWeight: parallelBytes }),
  });
  const keyed = createBatcher(sending);
  const keyedPushes = new Set<Promise<unknown>>();

  /** Sends the group with others, and while its key is held alone, so that it delays no other group. */
  async function pushKeyed(group: JobSpec[]): Promise<CreatedGroup> {
    const sinceElapsed = clock.elapsed();
    const alone = () => createBatcher(sending).push(group);
    for (let send = () => keyed.push(group); ; send = alone) {
      try {
        return await send();
      } catch (error) {
        // A busy store did nothing. The batcher itself repeats a call whose outcome is unknown.
        const isHeld = isDulyError(error, 'store_busy') && clock.elapsed() - sinceElapsed < keyWaitMs;
        if (!isHeld) throw error;
        if (send === alone) await clock.sleep(keyPauseMs);
      }
    }
  }

  function trackUntilSettled<Result>(push: Promise<Result>): Promise<Result> {
    keyedPushes.add(push);
    const forget = () => keyedPushes.delete(push);
    push.then(forget, forget);
    return push;
  }

  const push = (jobs: JobSpec[]) => (isKeyed(jobs) ? trackUntilSettled(pushKeyed(jobs)) : keyless.push(jobs));

  return {
    push,
    pushMany: (groups) => Promise.all(groups.map(push)),
    async drained() {
      await keyless.drained();
      while (keyedPushes.size > 0) await Promise.allSettled(keyedPushes);
    },
  };
}

function isKeyed(jobs: JobSpec[]): boolean {
  return jobs.some(({ dedupe }) => dedupe !== null);
}

function weighJobs(jobs: JobSpec[]): number {
  return jobs.reduce((bytes, job) => bytes + job.input.length + jobBytes, 0);
}
