import type { Clock } from '../base/clock.ts';
import { dulyError } from '../base/errors.ts';
import type { JobRecord } from '../contract/engine.ts';
import { isTerminal } from '../contract/job-status.ts';
import { isStoreTrouble } from '../store/batcher.ts';
import type { FeedFollower } from '../store/feed.ts';
import type { StoreSession } from '../store/session.ts';
import { createFinishWaiters } from './finish-waiters.ts';

/** Waits for the end of any number of jobs, with one call to the store at a time. */
export interface FinishWatch {
  /** Resolves with the job once it is over; null: there is no such job. Rejects with the signal's reason. */
  wait(id: string, signal?: AbortSignal): Promise<JobRecord | null>;
  /** A job was settled in this process: calls that wait for it need not wait for the feed. */
  noticed(id: string): void;
  /** Looks at every job that is waited for. On virtual time this, and not the feed, drives the watch. */
  pollAll(): Promise<void>;
  /** Ends all waits with this error. */
  close(error: unknown): void;
}

/** A follower of the feed. */
interface Following {
  follower: FeedFollower;
  /** Resolves once the place is known from which the feed is read. */
  begun: Promise<void>;
}

const troubleWaitMs = 250;

/**
 * Creates a watch over the store's feed of changes. It reads nothing while no call waits; with `follows:
 * false` (virtual time) it does not follow the feed, and looks only when it is called.
 */
export function createFinishWatch(
  session: Pick<StoreSession, 'get' | 'feed'>,
  clock: Clock,
  { follows = true } = {},
): FinishWatch {
  let following: Following | null = null;
  const waiters = createFinishWaiters(() => {
    following?.follower.close();
    following = null;
  });

  async function look(id: string): Promise<void> {
    const { job } = await session.get.push(id);
    if (job === null || isTerminal(job.status)) waiters.resolve(id, job);
  }

  async function pollAll(): Promise<void> {
    await Promise.all(waiters.ids().map(look));
  }

  /** Resolves before a job is first looked at, so that no end falls between the look and the feed. */
  function begin(): Promise<void> {
    if (following === null) {
      const follower = session.feed.follow(null);
      following = { follower, begun: follower.next().then(() => {}) };
      void follow(following);
    }
    return following.begun;
  }

  async function follow({ follower, begun }: Following): Promise<void> {
    try {
      await begun;
      for (let page = await follower.next(); page !== null; page = await follower.next()) {
        const ended = page.changes.filter(({ status, id }) => isTerminal(status) && waiters.has(id));
        const ids = page.gap ? waiters.ids() : [...new Set(ended.map(({ id }) => id))];
        await Promise.all(ids.map(lookUntilAnswered));
      }
    } catch (error) {
      following = null;
      waiters.rejectAll(error);
    }
  }

  /** Repeats a look that failed: the feed reports an end only once. */
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
        const fail = waiters.add(id, { resolve, reject }, signal);
        if (fail === null) return;
        (follows ? begin() : Promise.resolve()).then(() => look(id)).catch(fail);
      });
    },
    noticed(id) {
      // A look that fails loses nothing: the feed reports the end too.
      if (waiters.has(id)) look(id).catch(() => {});
    },
    pollAll,
    close(error) {
      waiters.rejectAll(error ?? dulyError('stopped', { message: 'The Duly was stopped.' }));
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
