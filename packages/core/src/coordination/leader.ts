import { type Duration, parseDuration } from '../duration.ts';
import type { LockHolder } from '../engine.ts';
import { createEvents, type Events } from '../events.ts';
import { type OptionNames, readOptions } from '../option-reader.ts';
import { type HeldLock, type LockParts, pauseBeforeRetry, readLockName, tryAcquire } from './held-lock.ts';
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
  /** Resolves when we lead, at once if we do. */
  elected(): Promise<LockContext>;
  /** Gives leadership up and stands no more. */
  resign(): Promise<void>;
}

const leaderNames: OptionNames<LeaderOptions> = { ttl: true };
const defaultLeaderTtlMs = 15_000;

/** Begins to stand for election. */
export function standForLeader(
  parts: LockParts,
  name: string,
  given: LeaderOptions | undefined,
  onError: (error: unknown) => void,
): Leadership {
  readLockName(name, 'leadership');
  const options = readOptions(given, 'leader()', leaderNames);
  const ttlMs =
    options.ttl === undefined
      ? defaultLeaderTtlMs
      : parseDuration(options.ttl, 'ttl', { minMs: lockTtlMsMin });
  const events = createEvents<LeaderEvents>(onError);
  const resigned = new AbortController();
  let lock: HeldLock | null = null;
  let leader: LockHolder | null = null;

  async function term(held: HeldLock): Promise<void> {
    lock = held;
    leader = null;
    events.emit('elected', { fence: held.fence, signal: held.signal });
    await aborted(AbortSignal.any([held.signal, resigned.signal]));
    lock = null;
    if (resigned.signal.aborted) await held.release().catch(onError);
    events.emit('lost', { error: held.signal.aborted ? held.signal.reason : null });
  }

  async function campaign(): Promise<void> {
    while (!resigned.signal.aborted) {
      try {
        const answer = await tryAcquire(parts, { name: `leader:${name}`, ttlMs });
        if ('lock' in answer) {
          await term(answer.lock);
          continue;
        }
        leader = answer.refused.holder;
        await pauseBeforeRetry(parts, answer.refused, { maxMs: ttlMs, signal: resigned.signal });
      } catch (error) {
        onError(error);
        await parts.clock.sleep(Math.min(1_000, ttlMs), resigned.signal);
      }
    }
  }

  const running = campaign();
  return {
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
      if (lock !== null && !lock.signal.aborted) return { fence: lock.fence, signal: lock.signal };
      return events.next('elected');
    },
    async resign() {
      resigned.abort();
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
