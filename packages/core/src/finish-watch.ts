import type { Clock, Timer } from './clock.ts';
import type { JobRecord } from './engine.ts';
import { dulyError } from './errors.ts';
import { isTerminal } from './job.ts';
import type { Parts } from './parts.ts';
import { isStoreTrouble } from './pipe.ts';

/** Waits for the end of jobs, any number of them with one question to the store at a time. */
export interface FinishWatch {
  /** Resolves with the job once it is over; null: there is no such job. Rejects with the signal's reason. */
  wait(id: string, signal?: AbortSignal): Promise<JobRecord | null>;
  /** A job was settled in this process: whoever waits for it need not wait for the next look at the feed. */
  noticed(id: string): void;
  /** Looks at every job that is waited for. On virtual time this, and not the clock, drives the watch. */
  lookAtAll(): Promise<void>;
  /** Ends all waits with this error. */
  close(error: unknown): void;
}

interface Waiter {
  id: string;
  resolve(job: JobRecord | null): void;
  reject(error: unknown): void;
}

// The feed is asked again soon after it told something and ever later while it is quiet: an end in another process is seen
// within a quarter of a second, and a wait of hours costs four small reads a second.
const firstDelayMs = 10;
const maxDelayMs = 250;
const pageSize = 1_000;

/**
 * Makes a watch over the store's feed of changes. It asks nothing while nobody waits; with `follows: false` (virtual time) it
 * does not follow the feed, and is told when to look.
 */
export function createFinishWatch(parts: Parts, clock: Clock, { follows = true } = {}): FinishWatch {
  const waiters = new Map<string, Set<Waiter>>();
  let position: Promise<number> | null = null;
  let running = false;
  let cutDelay: (() => void) | null = null;

  const waitingCount = (): number => waiters.size;

  function remove(waiter: Waiter): void {
    const set = waiters.get(waiter.id);
    set?.delete(waiter);
    if (set?.size === 0) waiters.delete(waiter.id);
    // Nobody is left: the loop ends now and not after its delay, so that it keeps no process alive.
    if (waitingCount() === 0) cutDelay?.();
  }

  async function look(id: string): Promise<void> {
    const { job } = await parts.get.push(id);
    if (job !== null && !isTerminal(job.status)) return;
    for (const waiter of [...(waiters.get(id) ?? [])]) {
      remove(waiter);
      waiter.resolve(job);
    }
  }

  async function lookAtAll(): Promise<void> {
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

  function delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer = clock.after(ms, () => cutDelay?.());
      cutDelay = () => {
        cutDelay = null;
        timer.cancel();
        resolve();
      };
    });
  }

  /** Where to read the feed from. Known before a job is first looked at, so that no end falls between the two. */
  function begin(): Promise<number> {
    position ??= parts.engine.changes({ after: null, limit: 1 }).then((reply) => reply.position);
    return position;
  }

  async function follow(): Promise<void> {
    let after = await begin();
    let delayMs = firstDelayMs;
    while (waitingCount() > 0) {
      await delay(delayMs);
      if (waitingCount() === 0) break;
      const { changes, position: next, gap } = await parts.engine.changes({ after, limit: pageSize });
      after = next;
      if (gap) await lookAtAll();
      const ended = changes.filter((change) => isTerminal(change.status) && waiters.has(change.id));
      await Promise.all([...new Set(ended.map((change) => change.id))].map(look));
      if (changes.length === pageSize) delayMs = 0;
      else
        delayMs =
          ended.length > 0 ? firstDelayMs : Math.min(Math.max(delayMs, firstDelayMs) * 1.5, maxDelayMs);
    }
  }

  async function run(): Promise<void> {
    if (running) return;
    running = true;
    try {
      while (waitingCount() > 0) {
        try {
          await follow();
        } catch (error) {
          if (!isStoreTrouble(error)) {
            failAll(error);
            break;
          }
          // A store that is away for a moment: the feed is taken up at its newest place, so every job is looked at once.
          position = null;
          await delay(maxDelayMs);
          await lookAtAll().catch(() => {});
        }
      }
    } finally {
      position = null;
      running = false;
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
        if (follows) void run();
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
    lookAtAll,
    close(error) {
      failAll(error ?? dulyError('stopped', { message: 'The Duly was stopped.' }));
    },
  };
}
