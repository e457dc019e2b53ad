import type { Clock } from '../base/clock.ts';
import { fromPlainError, isDulyError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type {
  CancelInput,
  ChangedItem,
  ClaimedJob,
  ClaimRequest,
  Engine,
  EnqueuedItem,
  GroupReply,
  JobRecord,
  JobSpec,
  RescheduleInput,
  RetryInput,
} from '../contract/engine.ts';
import { type Batcher, type BatcherOptions, createBatcher } from './batcher.ts';
import { createFeed, type Feed } from './feed.ts';
import type { InstrumentedEngine } from './instrumented-engine.ts';

/** What a store says about one job id, and when. */
export interface JobAnswer {
  job: JobRecord | null;
  now: number;
  prunedCreatedAt: number | null;
}

/** The answer to a group of jobs that were handed in, with the store's instant at which it was made. */
export type CreatedGroup = GroupReply<EnqueuedItem> & { now: number };

/** A worker that may claim, in the transaction that enqueues them, jobs that are due now: `now()` starts after one commit. */
export interface ClaimSource {
  /** A claim for its free capacity; null: it has none. Must be answered with `receive`. */
  request(): ClaimRequest | null;
  /** `unknown`: the answer was lost, and the leases may have been given: the worker asks for them again. */
  receive(request: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
}

/** What all of one Duly shares once its store is open: the instrumented engine, and the batchers that group calls. */
export interface StoreSession {
  readonly engine: Engine;
  readonly instrumented: InstrumentedEngine;
  readonly enqueue: Batcher<JobSpec[], CreatedGroup>;
  readonly get: Batcher<string, JobAnswer>;
  readonly cancel: Batcher<CancelInput['groups'][number], GroupReply<ChangedItem>>;
  readonly reschedule: Batcher<RescheduleInput['groups'][number], GroupReply<ChangedItem>>;
  readonly retry: Batcher<RetryInput['groups'][number], GroupReply<ChangedItem>>;
  /** The feed of changes, read once for all who follow it here. */
  readonly feed: Feed;
  /** A worker of this process that claims jobs together with an enqueue; null: none. */
  claimSource: ClaimSource | null;
  /** Resolves once every call that was pushed to a batcher is answered. */
  drained(): Promise<void>;
}

// A transaction of 2,000 rows takes some ten milliseconds; more would make others wait for the store without a gain.
const groupCountMax = 2_000;
// Bytes of input in one call: bounded so that a burst of large inputs does not become one huge message.
const callBytesMax = 8 * 1024 * 1024;
// What a job weighs beside its input.
const jobBytes = 512;
// A thousand small jobs.
const parallelBytes = 1_100 * jobBytes;
const readCountMax = 500;
// How long a call waits for a key that somebody's open transaction holds, and how often it asks.
const keyWaitMs = 2_000;
const keyPauseMs = 50;

/** Creates the session over an instrumented engine. */
export function createStoreSession(
  instrumented: InstrumentedEngine,
  { clock, random }: { clock: Clock; random: Random },
): StoreSession {
  const { engine } = instrumented;
  const shared = { clock, random };

  // By the array that is sent. After an unknown outcome the same claim is repeated even if its worker has no free capacity by
  // then, so that leases it may have got are returned again and do not end as lost. Jobs without capacity are released unspent.
  const sent = new WeakMap<JobSpec[][], { claim: ClaimRequest; claimSource: ClaimSource }>();

  async function sendGroups(groups: JobSpec[][], repeat: boolean): Promise<CreatedGroup[]> {
    const before = sent.get(groups);
    const claimSource = before?.claimSource ?? session.claimSource;
    const request = groups.some(isDueNow) ? (claimSource?.request() ?? null) : null;
    const claim = before?.claim ?? request;
    if (claim !== null && claimSource !== null) sent.set(groups, { claim, claimSource });
    let claimed: ClaimedJob[] = [];
    try {
      const reply = await engine.enqueue({
        groups: groups.map((jobs) => ({ jobs })),
        ...(repeat ? { repeat } : {}),
        ...(claim === null ? {} : { claim }),
      });
      claimed = reply.claimed;
      const { now } = reply;
      return reply.groups.map((group) => ({ ...group, now }));
    } finally {
      if (request !== null) claimSource?.receive(request, claimed);
      // No capacity is reserved for this send.
      else if (claim !== null && claimed.length > 0) claimSource?.receive({ ...claim, limit: 0 }, claimed);
    }
  }

  /** The leases of a claim whose answer was lost are asked for by its worker. A limit of 0 takes nothing beyond them. */
  function askForLeases(groups: JobSpec[][]): void {
    const before = sent.get(groups);
    before?.claimSource.receive({ ...before.claim, limit: 0 }, 'unknown');
  }

  /** A key that is held delays nobody else: those that travelled with it go on by themselves, and it alone is asked for again. */
  async function pushKeyed(group: JobSpec[]): Promise<CreatedGroup> {
    const sinceElapsed = clock.elapsed();
    const alone = () => createBatcher(creating).push(group);
    for (let send = () => keyed.push(group); ; send = alone) {
      try {
        return await send();
      } catch (error) {
        // Busy: surely nothing was done. An unknown outcome is the batcher's to repeat.
        const isHeld = isDulyError(error, 'store_busy') && clock.elapsed() - sinceElapsed < keyWaitMs;
        if (!isHeld) throw error;
        if (send === alone) await clock.sleep(keyPauseMs);
      }
    }
  }

  const keyedCalls = new Set<Promise<unknown>>();

  function trackInFlight<Result>(call: Promise<Result>): Promise<Result> {
    keyedCalls.add(call);
    const forget = () => keyedCalls.delete(call);
    call.then(forget, forget);
    return call;
  }

  const creating: BatcherOptions<JobSpec[], CreatedGroup> = {
    ...shared,
    maxItems: groupCountMax,
    maxWeight: callBytesMax,
    weigh: weighJobs,
    send: (groups, { repeat }) => sendGroups(groups, repeat),
    onGivenUp: askForLeases,
  };
  const enqueue = createBatcher({
    ...creating,
    // Where two go side by side, one is not made so large that the other has nothing to carry.
    ...(engine.info().isParallel === true && { secondWeight: parallelBytes / 2, maxWeight: parallelBytes }),
  });
  // What may have to wait for somebody's open transaction, because of a dedupe key, travels apart from what never does.
  const keyed = createBatcher(creating);
  const get = createBatcher<string, JobAnswer>({
    ...shared,
    maxItems: readCountMax,
    async send(ids) {
      const { jobs, now, prunedCreatedAt } = await engine.get({ ids });
      return jobs.map((job) => ({ job, now, prunedCreatedAt }));
    },
  });
  const changing = { ...shared, maxItems: readCountMax };
  const cancel = createBatcher<CancelInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.cancel({ groups })).groups,
  });
  const reschedule = createBatcher<RescheduleInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.reschedule({ groups })).groups,
  });
  const retry = createBatcher<RetryInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.retry({ groups })).groups,
  });
  const isKeyed = (jobs: JobSpec[]) => jobs.some(({ dedupe }) => dedupe !== null);
  const push = (jobs: JobSpec[]) => (isKeyed(jobs) ? trackInFlight(pushKeyed(jobs)) : enqueue.push(jobs));
  async function drainedOfJobs(): Promise<void> {
    await enqueue.drained();
    while (keyedCalls.size > 0) await Promise.allSettled(keyedCalls);
  }
  const session: StoreSession = {
    claimSource: null,
    engine,
    instrumented,
    enqueue: {
      push,
      pushMany: (groups) => Promise.all(groups.map(push)),
      drained: drainedOfJobs,
    },
    get,
    cancel,
    reschedule,
    retry,
    feed: createFeed(engine, clock),
    async drained() {
      await Promise.all([
        drainedOfJobs(),
        ...[get, cancel, reschedule, retry].map((batcher) => batcher.drained()),
      ]);
    },
  };
  return session;
}

function weighJobs(jobs: JobSpec[]): number {
  return jobs.reduce((bytes, job) => bytes + job.input.length + jobBytes, 0);
}

function isDueNow(jobs: JobSpec[]): boolean {
  return jobs.some(({ due }) => 'inMs' in due && due.inMs === 0);
}

/** The items of a group, or the error that refused it. */
export function groupItems<Item>(group: GroupReply<Item>): Item[] {
  if (!group.ok) throw fromPlainError(group.error);
  return group.items;
}
