import type { Clock } from '../base/clock.ts';
import { fromPlainError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type {
  CancelInput,
  ChangedItem,
  Engine,
  GroupReply,
  JobRecord,
  JobSpec,
  RescheduleInput,
  RetryInput,
} from '../contract/engine.ts';
import { type Batcher, createBatcher } from './batcher.ts';
import { createEnqueueBatcher } from './enqueue-batcher.ts';
import { type ClaimSource, type CreatedGroup, createEnqueueCall } from './enqueue-call.ts';
import { createFeed, type Feed } from './feed.ts';
import type { InstrumentedEngine } from './instrumented-engine.ts';

/** What a store says about one job id, and when. */
export interface JobAnswer {
  job: JobRecord | null;
  now: number;
  prunedCreatedAt: number | null;
}

/** What the parts of one Duly share once its store is open: the engine, and the batchers of calls. */
export interface StoreSession {
  readonly engine: Engine;
  readonly instrumented: InstrumentedEngine;
  readonly enqueue: Batcher<JobSpec[], CreatedGroup>;
  readonly get: Batcher<string, JobAnswer>;
  readonly cancel: Batcher<CancelInput['groups'][number], GroupReply<ChangedItem>>;
  readonly reschedule: Batcher<RescheduleInput['groups'][number], GroupReply<ChangedItem>>;
  readonly retry: Batcher<RetryInput['groups'][number], GroupReply<ChangedItem>>;
  /** The feed of changes, read once for all its followers here. */
  readonly feed: Feed;
  /** A worker of this process that claims jobs together with an enqueue; null: none. */
  claimSource: ClaimSource | null;
  /** Resolves once every call that was pushed to a batcher has its answer. */
  drained(): Promise<void>;
}

// Items of one call that reads or changes jobs.
const itemCountMax = 500;

/** Creates the session over an instrumented engine. */
export function createStoreSession(
  instrumented: InstrumentedEngine,
  { clock, random }: { clock: Clock; random: Random },
): StoreSession {
  const { engine } = instrumented;
  const options = { clock, random, maxItems: itemCountMax };
  const enqueue = createEnqueueBatcher({
    call: createEnqueueCall(engine, () => session.claimSource),
    clock,
    random,
    isParallel: engine.info().isParallel === true,
  });
  const get = createBatcher<string, JobAnswer>({
    ...options,
    async send(ids) {
      const { jobs, now, prunedCreatedAt } = await engine.get({ ids });
      return jobs.map((job) => ({ job, now, prunedCreatedAt }));
    },
  });
  const cancel = createBatcher<CancelInput['groups'][number], GroupReply<ChangedItem>>({
    ...options,
    send: async (groups) => (await engine.cancel({ groups })).groups,
  });
  const reschedule = createBatcher<RescheduleInput['groups'][number], GroupReply<ChangedItem>>({
    ...options,
    send: async (groups) => (await engine.reschedule({ groups })).groups,
  });
  const retry = createBatcher<RetryInput['groups'][number], GroupReply<ChangedItem>>({
    ...options,
    send: async (groups) => (await engine.retry({ groups })).groups,
  });
  const session: StoreSession = {
    claimSource: null,
    engine,
    instrumented,
    enqueue,
    get,
    cancel,
    reschedule,
    retry,
    feed: createFeed(engine, clock),
    async drained() {
      await Promise.all([enqueue, get, cancel, reschedule, retry].map((batcher) => batcher.drained()));
    },
  };
  return session;
}

/** The items of a group, or the error that refused it. */
export function groupItems<Item>(group: GroupReply<Item>): Item[] {
  if (!group.ok) throw fromPlainError(group.error);
  return group.items;
}
