import { isDulyError } from '../base/errors.ts';
import type { LockHolder } from '../contract/engine.ts';
import { type HeldLock, type LockDeps, openLockWait, tryAcquire } from './held-lock.ts';
import type { LockContext } from './lock.ts';

/** Acquires the lock of a leadership again and again, until it is ended. */
export interface Campaign {
  /** The lock of the present term; null: another process leads. */
  lock(): HeldLock | null;
  /** The process that leads, as the store last said; null: this process leads, or no other is known. */
  leader(): LockHolder | null;
  /** Resolves with the next term. Rejects with the reason of `end`. */
  nextTerm(): Promise<LockContext>;
  /** Releases the lock and rejects every `nextTerm`. A second call does nothing. */
  end(reason: unknown): void;
  /** Aborted when the campaign is ended. */
  readonly ended: AbortSignal;
  /** Resolves after the end, when the lock is released. */
  readonly finished: Promise<void>;
}

/** What a campaign is made of. */
export interface CampaignOptions {
  name: string;
  ttlMs: number;
  onElected(term: LockContext): void;
  /** A term ended with this error; null: it was given up. */
  onLost(error: unknown): void;
  onError(error: unknown): void;
}

// Standbys are many and each attempt writes to the store. A leader that resigns notifies them.
const pollMs = 5_000;
// After a failed call: short enough for a standby, and no burst of calls to a store in trouble.
const failurePauseMs = 1_000;

/** Starts a campaign. */
export function startCampaign(deps: LockDeps, options: CampaignOptions): Campaign {
  const { name, ttlMs, onError } = options;
  const ended = new AbortController();
  const waiters = new Set<PromiseWithResolvers<LockContext>>();
  let lock: HeldLock | null = null;
  let leader: LockHolder | null = null;

  /** Leads until the lock is lost or the campaign is ended. */
  async function serveTerm(held: HeldLock): Promise<void> {
    lock = held;
    leader = null;
    const term = { fence: held.fence, signal: held.signal };
    for (const waiter of waiters) waiter.resolve(term);
    waiters.clear();
    options.onElected(term);
    await aborted(AbortSignal.any([held.signal, ended.signal]));
    lock = null;
    if (ended.signal.aborted) await held.release().catch(onError);
    options.onLost(held.signal.aborted ? held.signal.reason : null);
  }

  /** Acquires the lock for one term after another. Throws what the store throws. */
  async function serveTerms(): Promise<void> {
    const waiting = await openLockWait(deps, pollMs);
    try {
      while (!ended.signal.aborted) {
        waiting.listen();
        const answer = await tryAcquire(deps, { kind: 'leader', name, ttlMs });
        if ('refused' in answer) {
          leader = answer.refused.holder;
          await waiting.wait(answer.refused, { signal: ended.signal });
        } else if (ended.signal.aborted) {
          // It was ended during the call: no listener hears of this term.
          await answer.lock.release();
        } else {
          await serveTerm(answer.lock);
        }
      }
    } finally {
      waiting.close();
    }
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      try {
        await serveTerms();
      } catch (error) {
        // The store is closed for good.
        if (isDulyError(error, 'stopped') || isDulyError(error, 'store_closed')) end(error);
        else {
          onError(error);
          await deps.clock.sleep(Math.min(failurePauseMs, ttlMs), ended.signal);
        }
      }
    }
  }

  function end(reason: unknown): void {
    if (ended.signal.aborted) return;
    ended.abort(reason);
    for (const waiter of waiters) waiter.reject(reason);
    waiters.clear();
  }

  return {
    lock: () => lock,
    leader: () => leader,
    nextTerm() {
      const waiter = Promise.withResolvers<LockContext>();
      waiters.add(waiter);
      return waiter.promise;
    },
    end,
    ended: ended.signal,
    finished: run(),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
