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
import { createPipe, type Pipe, type PipeOptions } from './batcher.ts';
import { createFeed, type Feed } from './feed.ts';
import type { Door } from './instrumented-engine.ts';

/** What a store says about one job id, and when. */
export interface JobAnswer {
  job: JobRecord | null;
  now: number;
  prunedMadeAt: number | null;
}

/** The answer to a group of jobs that were handed in, with the store's instant at which it was made. */
export type MadeGroup = GroupReply<EnqueuedItem> & { now: number };

/** A worker that may take in the same transaction what is enqueued, so that `now()` starts after one commit. */
export interface Taker {
  /** A claim for its free places; null: it has none. Is answered with `accept`. */
  offer(): ClaimRequest | null;
  /** `unknown`: the answer was lost, and the leases may have been given: the worker asks for them again. */
  accept(offer: ClaimRequest, claimed: ClaimedJob[] | 'unknown'): void;
}

/** What everything in one Duly shares once its store is open: the door, and the pipes in which calls travel together. */
export interface Parts {
  readonly engine: Engine;
  readonly door: Door;
  readonly enqueue: Pipe<JobSpec[], MadeGroup>;
  readonly get: Pipe<string, JobAnswer>;
  readonly cancel: Pipe<CancelInput['groups'][number], GroupReply<ChangedItem>>;
  readonly reschedule: Pipe<RescheduleInput['groups'][number], GroupReply<ChangedItem>>;
  readonly retry: Pipe<RetryInput['groups'][number], GroupReply<ChangedItem>>;
  /** The feed of changes, read once for all who follow it here. */
  readonly feed: Feed;
  /** A worker of this process that takes work together with an enqueue; null: none. */
  taker: Taker | null;
  /** Resolves once every call that was handed to a pipe is answered. */
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

/** Lays the pipes over a door. */
export function createParts(door: Door, { clock, random }: { clock: Clock; random: Random }): Parts {
  const { engine } = door;
  const shared = { clock, random };

  // By the array that is sent: after an unknown outcome the same claim is repeated, whether or not its worker has free places by
  // then, so that leases it may have got are given again and not left to end as lost. What finds no place goes back unspent.
  const sent = new WeakMap<JobSpec[][], { claim: ClaimRequest; taker: Taker }>();

  async function sendGroups(groups: JobSpec[][], repeat: boolean): Promise<MadeGroup[]> {
    const before = sent.get(groups);
    const taker = before?.taker ?? parts.taker;
    const offer = groups.some(isDueNow) ? (taker?.offer() ?? null) : null;
    const claim = before?.claim ?? offer;
    if (claim !== null && taker !== null) sent.set(groups, { claim, taker });
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
      if (offer !== null) taker?.accept(offer, claimed);
      // No place was promised to this send.
      else if (claim !== null && claimed.length > 0) taker?.accept({ ...claim, limit: 0 }, claimed);
    }
  }

  /** The leases of a claim whose answer was lost are asked for by its worker. A limit of 0 takes nothing beyond them. */
  function askForLeases(groups: JobSpec[][]): void {
    const before = sent.get(groups);
    before?.taker.accept({ ...before.claim, limit: 0 }, 'unknown');
  }

  /** A key that is held delays nobody else: those that travelled with it go on by themselves, and it alone is asked for again. */
  async function pushKeyed(group: JobSpec[]): Promise<MadeGroup> {
    const sinceElapsed = clock.elapsed();
    const alone = () => createPipe(making).push(group);
    for (let send = () => keyed.push(group); ; send = alone) {
      try {
        return await send();
      } catch (error) {
        // Busy: surely nothing was done. An unknown outcome is the pipe's to repeat.
        const isHeld = isDulyError(error, 'store_busy') && clock.elapsed() - sinceElapsed < keyWaitMs;
        if (!isHeld) throw error;
        if (send === alone) await clock.sleep(keyPauseMs);
      }
    }
  }

  const keyedCalls = new Set<Promise<unknown>>();

  function follow<Result>(call: Promise<Result>): Promise<Result> {
    keyedCalls.add(call);
    const forget = () => keyedCalls.delete(call);
    call.then(forget, forget);
    return call;
  }

  const making: PipeOptions<JobSpec[], MadeGroup> = {
    ...shared,
    maxItems: groupCountMax,
    maxWeight: callBytesMax,
    weigh: weighJobs,
    send: (groups, { repeat }) => sendGroups(groups, repeat),
    onGivenUp: askForLeases,
  };
  const enqueue = createPipe({
    ...making,
    // Where two go side by side, one is not made so large that the other has nothing to carry.
    ...(engine.info().isParallel === true && { secondWeight: parallelBytes / 2, maxWeight: parallelBytes }),
  });
  // What may have to wait for somebody's open transaction, because of a dedupe key, travels apart from what never does.
  const keyed = createPipe(making);
  const get = createPipe<string, JobAnswer>({
    ...shared,
    maxItems: readCountMax,
    async send(ids) {
      const { jobs, now, prunedMadeAt } = await engine.get({ ids });
      return jobs.map((job) => ({ job, now, prunedMadeAt }));
    },
  });
  const changing = { ...shared, maxItems: readCountMax };
  const cancel = createPipe<CancelInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.cancel({ groups })).groups,
  });
  const reschedule = createPipe<RescheduleInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.reschedule({ groups })).groups,
  });
  const retry = createPipe<RetryInput['groups'][number], GroupReply<ChangedItem>>({
    ...changing,
    send: async (groups) => (await engine.retry({ groups })).groups,
  });
  const isKeyed = (jobs: JobSpec[]) => jobs.some(({ dedupe }) => dedupe !== null);
  const push = (jobs: JobSpec[]) => (isKeyed(jobs) ? follow(pushKeyed(jobs)) : enqueue.push(jobs));
  async function drainedOfJobs(): Promise<void> {
    await enqueue.drained();
    while (keyedCalls.size > 0) await Promise.allSettled(keyedCalls);
  }
  const parts: Parts = {
    taker: null,
    engine,
    door,
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
      await Promise.all([drainedOfJobs(), ...[get, cancel, reschedule, retry].map((pipe) => pipe.drained())]);
    },
  };
  return parts;
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
