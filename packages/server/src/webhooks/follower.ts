import {
  type ChangesPage,
  type Clock,
  type Duly,
  isDulyError,
  isTerminal,
  type Job,
  type Logger,
  type Task,
  type Timer,
  terminalStatuses,
} from '@duly/core';
import { createLeaderLoop } from '../leader/leader-loop.ts';
import type { RedactOptions } from '../options.ts';
import { type DeliveryInput, deliveryOf } from './delivery-task.ts';
import type { Endpoints } from './endpoints.ts';
import { mayMatch, type Receiver, receiversOf } from './matching.ts';

/** How far the feed was turned into deliveries. */
interface Cursor {
  position: number;
  /** The store's instant of the last change; from here the jobs themselves are read, should the feed no longer reach back. */
  at: number;
}

/** What it is made of. */
export interface FollowerDeps {
  duly: Duly;
  clock: Clock;
  logger: Logger;
  endpoints: Endpoints;
  task: Task<DeliveryInput, unknown>;
  redact: Required<RedactOptions>;
}

/** Creates a delivery for every end of a job that a webhook or a callback URL wants. */
export interface Follower {
  /** Begins. From when this has returned, no end is missed. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const cursorKind = 'cursor';
const cursorKey = 'webhooks';
// Every write of a record is a line in the audit, so the place is not written for each page. What is read twice after a crash is told
// once all the same: a delivery has a key.
const saveMs = 10_000;
// Longer than a feed is kept, so that a place from before a long crash makes nothing twice.
const keyHeldFor = '7 days';
// How long nobody delivers after a server died. It is renewed three times as often, by every server that idles.
const leaderTtl = '15s';
// How late an end that only another process knows of may be told while nothing else happens; what happens in this process, and whatever comes with a hint, is seen at
// once. Nobody waits for it while there is nobody to tell.
const lateMs = 1_000;
const lateMsUnwanted = 5_000;
const failurePauseMs = 1_000;
const jobsPerRead = 500;

/**
 * Follows the feed of changes wherever it is elected to, and goes on from a place that is kept in the store. The place moves after the
 * deliveries are created, so a crash in between loses nothing; and a delivery is keyed by job and end, so none is created twice.
 */
export function createFollower(deps: FollowerDeps): Follower {
  const { duly, clock, logger } = deps;
  const leaderLoop = createLeaderLoop({
    ...{ duly, clock, name: 'duly:webhooks', ttl: leaderTtl, pauseMs: failurePauseMs },
    // Trouble with the store is waited out; the place is read anew each time.
    turn: (until) => followOnce(deps, until),
    onFailure(error) {
      // Somebody else leads by now, and writes the place.
      if (isDulyError(error, 'records_conflict')) return;
      logger.warn({ error }, 'Following the changes for webhooks failed; it is tried again.');
    },
  });
  return {
    async start() {
      // The place is there before anybody is told that the server runs, so that what happens next is owed.
      await placeOf(duly);
      leaderLoop.start();
    },
    stop: () => leaderLoop.stop(),
  };
}

async function placeOf(duly: Duly): Promise<{ cursor: Cursor; version: number }> {
  const stored = await duly.records.get<Cursor>(cursorKind, cursorKey);
  if (stored !== null) return { cursor: stored.value, version: stored.version };
  const now = (await duly.counts()).now.getTime();
  for await (const { position } of duly.changes()) {
    try {
      await duly.records.put<Cursor>(cursorKind, cursorKey, { position, at: now }, { expectVersion: null });
    } catch (error) {
      if (!isDulyError(error, 'records_conflict')) throw error;
    }
    break;
  }
  return placeOf(duly);
}

async function followOnce(deps: FollowerDeps, signal: AbortSignal): Promise<void> {
  const { duly, clock } = deps;
  let { cursor, version } = await placeOf(duly);
  let savedPosition = cursor.position;
  let saving: Promise<void> = Promise.resolve();
  let timer: Timer | null = null;
  const save = (): Promise<void> => {
    timer?.cancel();
    timer = null;
    saving = saving.then(async () => {
      if (cursor.position === savedPosition) return;
      const { position } = cursor;
      // Whoever finds that somebody else wrote is not the leader any more.
      ({ version } = await duly.records.put(cursorKind, cursorKey, cursor, { expectVersion: version }));
      savedPosition = position;
    });
    return saving;
  };
  const failed = new AbortController();
  const until = AbortSignal.any([signal, failed.signal]);
  const idle = idleOf(deps);
  try {
    for await (const page of duly.changes({ after: cursor.position, signal: until, idle: idle.ms })) {
      if (page.gap) await deliverSince(deps, cursor.at, until);
      else await deliverPage(deps, page);
      idle.changed();
      cursor = { position: page.position, at: page.changes.at(-1)?.at.getTime() ?? cursor.at };
      timer ??= clock.after(saveMs, () => void save().catch((error: unknown) => failed.abort(error)), {
        unref: true,
      });
    }
    failed.signal.throwIfAborted();
  } finally {
    await save().catch(() => {});
  }
}

/** How late ends may be seen while nothing else happens, by whether there is anybody to tell. That is looked at once the changes rest. */
function idleOf({ endpoints }: FollowerDeps): { ms(): number; changed(): void } {
  let isWanted: boolean | null = null;
  let isReading = false;
  let changeCount = 0;
  const read = async (): Promise<void> => {
    const before = changeCount;
    const [all, hasCallbacks] = await Promise.all([endpoints.list(), endpoints.hasCallbacks()]);
    // A job that came meanwhile may be the first with an address of its own.
    if (before === changeCount) isWanted = hasCallbacks || all.some(({ isEnabled }) => isEnabled);
  };
  return {
    ms() {
      if (isWanted !== null) return isWanted ? lateMs : lateMsUnwanted;
      if (!isReading) {
        isReading = true;
        // What cannot be read now is asked for again before the next wait.
        void read()
          .catch(() => {})
          .finally(() => {
            isReading = false;
          });
      }
      return lateMs;
    },
    changed() {
      changeCount++;
      isWanted = null;
    },
  };
}

/** Creates the deliveries of one page of changes. */
async function deliverPage(deps: FollowerDeps, { changes }: ChangesPage): Promise<void> {
  const ended = changes.filter(({ status }) => isTerminal(status));
  if (ended.length === 0) return;
  const { duly, endpoints } = deps;
  const [all, hasCallbacks] = await Promise.all([endpoints.list(), endpoints.hasCallbacks()]);
  const ids = [...new Set(ended.filter((one) => mayMatch(one, all, hasCallbacks)).map(({ id }) => id))];
  for (let at = 0; at < ids.length; at += jobsPerRead) {
    const wanted = ids.slice(at, at + jobsPerRead);
    const jobs: Job[] = [];
    for await (const job of duly.jobs({ ids: wanted })) jobs.push(job);
    await deliver(
      deps,
      jobs.flatMap((job) => receiversOf(job, all).map((receiver) => ({ job, receiver }))),
    );
  }
}

/** The feed does not reach back to our place: reads the jobs that ended since. */
async function deliverSince(deps: FollowerDeps, sinceAt: number, signal: AbortSignal): Promise<void> {
  const { duly, endpoints } = deps;
  const all = await endpoints.list();
  for await (const job of duly.jobs({ status: [...terminalStatuses] })) {
    signal.throwIfAborted();
    if (job.finishedAt === null || job.finishedAt.getTime() < sinceAt) continue;
    await deliver(
      deps,
      receiversOf(job, all).map((receiver) => ({ job, receiver })),
    );
  }
}

async function deliver(deps: FollowerDeps, deliveries: { job: Job; receiver: Receiver }[]): Promise<void> {
  if (deliveries.length === 0) return;
  await deps.task.nowMany(
    deliveries.map(({ job, receiver }) => deliveryOf(job, receiver, deps.redact)),
    (input, i) => {
      const tenant = deliveries[i]?.receiver.tenant ?? null;
      return {
        ...(tenant === null ? {} : { tenant }),
        metadata: { job_id: input.job_id, ...(input.endpoint === null ? {} : { webhook: input.endpoint }) },
        dedupe: {
          key: `${input.endpoint ?? 'callback'}:${input.job_id}:${input.finished_at}`,
          for: keyHeldFor,
        },
      };
    },
  );
}
