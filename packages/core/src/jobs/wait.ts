import type { Clock } from '../base/clock.ts';
import { dulyError } from '../base/errors.ts';
import type { JobRecord } from '../contract/engine.ts';
import { isTerminal } from '../contract/job-status.ts';
import { isStoreTrouble } from '../store/batcher.ts';
import type { FeedFollower } from '../store/feed.ts';
import type { StoreSession } from '../store/session.ts';

/** Waits for the end of jobs, any number of them with one question to the store at a time. */
export interface FinishWatch {
  /** Resolves with the job once it is over; null: there is no such job. Rejects with the signal's reason. */
  wait(id: string, signal?: AbortSignal): Promise<JobRecord | null>;
  /** A job was settled in this process: whoever waits for it need not wait for the next look at the feed. */
  noticed(id: string): void;
  /** Looks at every job that is waited for. On virtual time this, and not the clock, drives the watch. */
  pollAll(): Promise<void>;
  /** Ends all waits with this error. */
  close(error: unknown): void;
}

interface Waiter {
  id: string;
  resolve(job: JobRecord | null): void;
  reject(error: unknown): void;
}

const troubleWaitMs = 250;

/**
 * Makes a watch over the store's feed of changes. It asks nothing while nobody waits; with `follows: false` (virtual time) it
 * does not follow the feed, and is told when to look.
 */
export function createFinishWatch(
  session: Pick<StoreSession, 'get' | 'feed'>,
  clock: Clock,
  { follows = true } = {},
): FinishWatch {
  const waiters = new Map<string, Set<Waiter>>();
  let following: { follower: FeedFollower; begun: Promise<void> } | null = null;

  function remove(waiter: Waiter): void {
    const set = waiters.get(waiter.id);
    set?.delete(waiter);
    if (set?.size === 0) waiters.delete(waiter.id);
    if (waiters.size > 0) return;
    // Nobody is left: the tail need not read on.
    following?.follower.close();
    following = null;
  }

  async function look(id: string): Promise<void> {
    const { job } = await session.get.push(id);
    if (job !== null && !isTerminal(job.status)) return;
    for (const waiter of [...(waiters.get(id) ?? [])]) {
      remove(waiter);
      waiter.resolve(job);
    }
  }

  async function pollAll(): Promise<void> {
    await Promise.all([...waiters.keys()].map(look));
  }

  function failAll(error: unknown): void {
    for (const set of [...waiters.values()]) {
      for (const waiter of [...set]) {
        remove(waiter);
        waiter.reject(error);
      }
    }
  }

  /** Resolves once the place is known from which the feed is read: before a job is first looked at, so that no end falls between the two. */
  function begin(): Promise<void> {
    if (following === null) {
      const follower = session.feed.follow(null);
      following = { follower, begun: follower.next().then(() => {}) };
      void follow(following);
    }
    return following.begun;
  }

  async function follow({ follower, begun }: NonNullable<typeof following>): Promise<void> {
    try {
      await begun;
      for (let page = await follower.next(); page !== null; page = await follower.next()) {
        const ended = page.changes.filter(({ status, id }) => isTerminal(status) && waiters.has(id));
        // A failed look is asked again: the feed tells of an end once.
        const ids = page.gap ? [...waiters.keys()] : [...new Set(ended.map(({ id }) => id))];
        await Promise.all(ids.map(lookUntilAnswered));
      }
    } catch (error) {
      following = null;
      failAll(error);
    }
  }

  async function lookUntilAnswered(id: string): Promise<void> {
    while (waiters.has(id)) {
      try {
        return await look(id);
      } catch (error) {
        if (!isStoreTrouble(error)) throw error;
        await clock.sleep(troubleWaitMs);
      }
    }
  }

  return {
    wait(id, signal) {
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          id,
          resolve(job) {
            signal?.removeEventListener('abort', abort);
            resolve(job);
          },
          reject(error) {
            signal?.removeEventListener('abort', abort);
            reject(error);
          },
        };
        const abort = (): void => {
          remove(waiter);
          waiter.reject(signal?.reason);
        };
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        signal?.addEventListener('abort', abort, { once: true });
        const set = waiters.get(id);
        if (set === undefined) waiters.set(id, new Set([waiter]));
        else set.add(waiter);
        (follows ? begin() : Promise.resolve())
          .then(() => look(id))
          .catch((error: unknown) => {
            remove(waiter);
            waiter.reject(error);
          });
      });
    },
    noticed(id) {
      // A failed look is no loss: the feed tells of the end again.
      if (waiters.has(id)) look(id).catch(() => {});
    },
    pollAll,
    close(error) {
      failAll(error ?? dulyError('stopped', { message: 'The Duly was stopped.' }));
    },
  };
}

/** Waits for the end of a job. Rejects with `wait_timeout` after so long, or with the signal's reason. */
export async function waitWithin(
  clock: Clock,
  { id, timeoutMs, signal }: { id: string; timeoutMs: number | null; signal: AbortSignal | undefined },
  watch: FinishWatch,
): Promise<JobRecord | null> {
  const late = new AbortController();
  const timer =
    timeoutMs === null
      ? null
      : clock.after(timeoutMs, () =>
          late.abort(
            dulyError('wait_timeout', {
              message: `Job "${id}" was not over within ${timeoutMs} ms.`,
              hint: 'The job goes on. Ask why(), or wait again.',
              details: { id, timeoutMs },
            }),
          ),
        );
  try {
    const both = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
    return await watch.wait(id, both);
  } finally {
    timer?.cancel();
  }
}
