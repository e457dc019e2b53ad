import { type Duration, parseDuration } from '../base/duration.ts';
import { createEvents, type Events } from '../base/emitter.ts';
import { dulyError, isDulyError } from '../base/errors.ts';
import { type OptionNames, readOptions } from '../base/option-reader.ts';
import type { LockHolder } from '../contract/engine.ts';
import { type HeldLock, type LockDeps, openLockWait, readLockName, tryAcquire } from './held-lock.ts';
import { type LockContext, lockTtlMsMin } from './lock.ts';

/** How to lead. */
export interface LeaderOptions {
  /** How long nobody leads after a leader died. Default 15 s. */
  ttl?: Duration;
}

/** What leadership tells. */
export interface LeaderEvents {
  /** We lead from now on, under this fence. */
  elected: LockContext;
  /** We lead no longer. */
  lost: { error: unknown };
}

/** Stands for election until it resigns. At most one process leads at a time; when it dies, another one follows. */
export interface Leadership {
  readonly name: string;
  readonly isLeader: boolean;
  /** The fence of this term; null while another one leads. */
  readonly fence: number | null;
  /** The signal of this term, aborted with `lock_lost` when it ends against our will; null while another one leads. */
  readonly signal: AbortSignal | null;
  /** Who leads, as last heard; null: we do, or nobody was heard of. */
  readonly leader: LockHolder | null;
  on: Events<LeaderEvents>['on'];
  /** Resolves when we lead, at once if we do. Rejects with `resigned` or `stopped` when we stand no more. */
  elected(): Promise<LockContext>;
  /** Gives leadership up and stands no more. */
  resign(): Promise<void>;
}

const leaderNames: OptionNames<LeaderOptions> = { ttl: true };
const defaultLeaderTtlMs = 15_000;
// Standbys are many and wait for long, and each look is a write to the store; a leader that resigns is heard of by notification.
const leaderPollMs = 5_000;
// After a store that failed: soon enough for a standby, and no storm against a store in trouble.
const failurePauseMs = 1_000;

/** A leadership, and the hand that ends it for a reason of Duly's own. */
export interface Candidacy {
  leadership: Leadership;
  /** Gives leadership up, stands no more, and rejects whoever waits to be elected with this error. */
  end(reason: unknown): Promise<void>;
}

/** Begins to stand for election. `onEnded` is told once, when it stands no more. */
export function standForLeader(
  deps: LockDeps,
  name: string,
  given: LeaderOptions | undefined,
  { onError, onEnded }: { onError(error: unknown): void; onEnded(): void },
): Candidacy {
  readLockName(name, 'leader()');
  const options = readOptions(given, 'leader()', leaderNames);
  const ttlMs =
    options.ttl === undefined
      ? defaultLeaderTtlMs
      : parseDuration(options.ttl, 'ttl', { minMs: lockTtlMsMin });
  const events = createEvents<LeaderEvents>(onError);
  const ended = new AbortController();
  const waiters = new Set<PromiseWithResolvers<LockContext>>();
  let lock: HeldLock | null = null;
  let leader: LockHolder | null = null;

  async function term(held: HeldLock): Promise<void> {
    lock = held;
    leader = null;
    const context = { fence: held.fence, signal: held.signal };
    for (const waiter of waiters) waiter.resolve(context);
    waiters.clear();
    events.emit('elected', context);
    await aborted(AbortSignal.any([held.signal, ended.signal]));
    lock = null;
    if (ended.signal.aborted) await held.release().catch(onError);
    events.emit('lost', { error: held.signal.aborted ? held.signal.reason : null });
  }

  /** Asks until it is ended. Throws what the store throws. */
  async function ask(): Promise<void> {
    const waiting = await openLockWait(deps, leaderPollMs);
    try {
      while (!ended.signal.aborted) {
        waiting.listen();
        const answer = await tryAcquire(deps, { kind: 'leader', name, ttlMs });
        if ('refused' in answer) {
          leader = answer.refused.holder;
          await waiting.wait(answer.refused, { signal: ended.signal });
        } else if (ended.signal.aborted) {
          // Resigned while the question was on its way: nobody is told of a term that nobody wants.
          await answer.lock.release();
        } else {
          await term(answer.lock);
        }
      }
    } finally {
      waiting.close();
    }
  }

  async function campaign(): Promise<void> {
    while (!ended.signal.aborted) {
      try {
        await ask();
      } catch (error) {
        // The store is gone for good, and whoever waits is told so.
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

  const running = campaign().finally(onEnded);
  const leadership: Leadership = {
    name,
    get isLeader() {
      return lock !== null && !lock.signal.aborted;
    },
    get fence() {
      return lock?.fence ?? null;
    },
    get signal() {
      return lock?.signal ?? null;
    },
    get leader() {
      return leader;
    },
    on: events.on,
    async elected() {
      ended.signal.throwIfAborted();
      if (lock !== null && !lock.signal.aborted) return { fence: lock.fence, signal: lock.signal };
      const waiter = Promise.withResolvers<LockContext>();
      waiters.add(waiter);
      return waiter.promise;
    },
    async resign() {
      end(
        dulyError('resigned', {
          message: `This process stands for leader "${name}" no more: it resigned.`,
          hint: `Call leader("${name}") again to stand again.`,
          details: { name },
        }),
      );
      await running;
    },
  };
  return {
    leadership,
    async end(reason) {
      end(reason);
      await running;
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
