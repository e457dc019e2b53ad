import type { Clock } from '../clock.ts';
import type { Engine, LockHolder } from '../engine.ts';
import { dulyError } from '../errors.ts';
import { readText } from '../option-reader.ts';

/** What everything under a lock is made of. */
export interface LockParts {
  engine(): Promise<Engine>;
  clock: Clock;
  holder(): LockHolder;
  newToken(): string;
  /** How long to sleep at most when only a hint could tell more: long while hints are proven, short while they are not. */
  maxSleepMs(): number;
  /** Aborted, with the error `stopped`, when no more calls are taken: nobody waits beyond that. */
  closed: AbortSignal;
  /** Aborted, with the error `stopped`, just before the store is closed: whatever is still held is given back, and its work told. */
  letGo: AbortSignal;
  /** Locks under which a caller's work runs; each settles when its lock is given back. */
  held: Set<Promise<void>>;
}

/** What a lock is for. Each kind has names of its own: `lock('a')`, `leader('a')` and `once('a')` know nothing of each other. */
export type LockKind = 'lock' | 'leader' | 'once';

/** A lock by its kind and the name its user gave it. */
export interface LockName {
  kind: LockKind;
  name: string;
}

/** The name under which the store keeps a lock. The kind always stands in front, so no name of a user reaches another kind. */
export function storedLockName({ kind, name }: LockName): string {
  return `${kind}:${name}`;
}

/** A lock that is ours, renewed until it is released or lost. */
export interface HeldLock {
  readonly name: string;
  readonly fence: number;
  /** Aborted with `lock_lost` when the lock is no longer ours. */
  readonly signal: AbortSignal;
  /** Gives it back; false: it was lost before. */
  release(): Promise<boolean>;
}

/** A lock that somebody else has. */
export interface LockRefusal {
  holder: LockHolder;
  fence: number;
  untilAt: number;
  now: number;
}

/** Asks once for a lock. The lock that is got is renewed at a third of its time to live, so two renewals may fail. */
export async function tryAcquire(
  parts: LockParts,
  { ttlMs, ...lock }: LockName & { ttlMs: number },
): Promise<{ lock: HeldLock } | { refused: LockRefusal }> {
  const engine = await parts.engine();
  const { clock } = parts;
  // Measured from before the call: the store counted from some later moment, so we let go early and never late.
  const askedElapsed = clock.elapsed();
  const reply = await engine.acquire({
    name: storedLockName(lock),
    token: parts.newToken(),
    holder: parts.holder(),
    ttlMs,
  });
  if (!reply.acquired) {
    return { refused: { holder: reply.holder, fence: reply.fence, untilAt: reply.untilAt, now: reply.now } };
  }
  return { lock: keep(parts, engine, { lock, ttlMs, fence: reply.fence, askedElapsed }) };
}

function keep(
  parts: LockParts,
  engine: Engine,
  {
    lock,
    ttlMs,
    fence,
    askedElapsed,
  }: { lock: LockName; ttlMs: number; fence: number; askedElapsed: number },
): HeldLock {
  const { name } = lock;
  const { clock, letGo } = parts;
  const stored = { name: storedLockName(lock), fence };
  const lost = new AbortController();
  const released = new AbortController();
  let keptElapsed = askedElapsed;

  const lose = (why: string): void => {
    if (released.signal.aborted || lost.signal.aborted) return;
    lost.abort(
      dulyError('lock_lost', {
        message: `The ${kindWords[lock.kind]} "${name}" is no longer ours: ${why}.`,
        hint: 'Somebody else may hold it now. Stop, and guard writes elsewhere with the fence.',
        details: { name, fence },
      }),
    );
  };

  async function renewOnce(): Promise<void> {
    const sentElapsed = clock.elapsed();
    try {
      const { locks } = await engine.renew({ locks: [stored], ttlMs });
      if (locks[0] === 'kept') keptElapsed = sentElapsed;
      else lose('the store gave it away after its time');
    } catch {
      // The store is away. Until its time is over the lock is still ours, so the next turn tries again.
    }
  }

  async function run(): Promise<void> {
    const intervalMs = Math.max(1, ttlMs / 3);
    while (!released.signal.aborted && !lost.signal.aborted) {
      const remainingMs = keptElapsed + ttlMs - clock.elapsed();
      if (remainingMs <= 0) {
        lose('it could not be renewed in time');
        return;
      }
      await clock.sleep(Math.min(intervalMs, remainingMs), released.signal);
      if (!released.signal.aborted && keptElapsed + ttlMs > clock.elapsed()) await renewOnce();
    }
  }

  const renewing = run();
  let settle: () => void = () => {};
  const isOver = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const end = (): void => {
    letGo.removeEventListener('abort', giveUp);
    parts.held.delete(isOver);
    settle();
  };
  /** The store is about to be closed: others must not wait for a lock whose holder can no longer give it back. */
  const giveUp = (): void => {
    lost.abort(letGo.reason);
    released.abort();
    void engine.release({ locks: [stored] }).then(end, end);
  };
  // Leaderships end by themselves when the Duly stops.
  if (lock.kind !== 'leader') {
    parts.held.add(isOver);
    letGo.addEventListener('abort', giveUp, { once: true });
  }
  return {
    name,
    fence,
    signal: lost.signal,
    async release() {
      if (released.signal.aborted) return false;
      released.abort();
      await renewing;
      if (lost.signal.aborted) {
        end();
        return false;
      }
      const isKept = keptElapsed + ttlMs > clock.elapsed();
      try {
        const { locks } = await engine.release({ locks: [stored] });
        return locks[0] === 'kept';
      } catch {
        // The store is away. The work under the lock is done, and the lock ends by its time: no reason to lose the result.
        return isKept;
      } finally {
        end();
      }
    },
  };
}

const kindWords: Record<LockKind, string> = { lock: 'lock', leader: 'leadership', once: 'lock of once()' };

/** Waits for a lock that somebody else has. */
export interface LockWait {
  /** Forgets what was heard. To be called before a lock is asked for, so that no hint falls between the question and the wait. */
  listen(): void;
  /**
   * Waits until asking again may help: until a hint since `listen` says that a lock was given back, until the holder's time is
   * over, or for as long as a store whose hints may not arrive can be trusted. At most `maxMs`, and not beyond an abort. Throws
   * `stopped` once no more calls are taken.
   */
  wait(refused: LockRefusal, options?: { maxMs?: number; signal?: AbortSignal }): Promise<void>;
  /** Hears no more. */
  close(): void;
}

/**
 * Begins to hear of locks that are given back. `pollMs` is how long a wait is at most while it is not proven that hints of other
 * processes arrive; each look is a transaction of the store.
 */
export async function openLockWait(parts: LockParts, pollMs: number): Promise<LockWait> {
  const engine = await parts.engine();
  let heard = new AbortController();
  const off = engine.wakeups((hint) => {
    if (hint === 'locks' || hint === 'deaf') heard.abort();
  });
  return {
    listen() {
      if (heard.signal.aborted) heard = new AbortController();
    },
    async wait({ untilAt, now }, { maxMs = Number.POSITIVE_INFINITY, signal } = {}) {
      const bounds = [untilAt - now, Math.max(pollMs, parts.maxSleepMs()), maxMs];
      const waitMs = Math.max(1, Math.min(...bounds));
      const cuts = [heard.signal, parts.closed, ...(signal === undefined ? [] : [signal])];
      await parts.clock.sleep(waitMs, AbortSignal.any(cuts));
      parts.closed.throwIfAborted();
    },
    close: off,
  };
}

/** How often a lock is asked for again where no hint can tell that it was given back before its time. */
export const lockPollMs = 1_000;

/** Reads the name of a lock, or a key: any text that every store can keep. `of` says what it names. */
export function readLockName(name: unknown, of: string, field = 'name'): string {
  return readText(name, field, { lengthMax: lockNameLengthMax, of });
}

const lockNameLengthMax = 1_000;
