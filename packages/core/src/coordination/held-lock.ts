import type { Clock } from '../base/clock.ts';
import { dulyError } from '../base/errors.ts';
import { readText } from '../base/option-reader.ts';
import type { AcquireReply, Engine, LockHolder } from '../contract/engine.ts';
import { createLockRenewals, type LockRenewal, type LockRenewals } from '../store/lock-renewal.ts';

/** What everything under a lock is made of. */
export interface LockDeps {
  engine(): Promise<Engine>;
  clock: Clock;
  holder(): LockHolder;
  newToken(): string;
  /** Renews locks beside the main loop; null: the store has no thread, and they are renewed in this one. */
  renewals(): LockRenewals | null;
  /** How long to sleep at most when only a notification could tell more: long while notifications are proven, short while they are not. */
  maxSleepMs(): number;
  /** Aborted, with the error `stopped`, when no more calls are taken: nobody waits beyond that. */
  closed: AbortSignal;
  /** Aborted, with the error `stopped`, just before the store closes: locks that are still held are released and their work is aborted. */
  abandoned: AbortSignal;
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
  /** Aborted with `lock_lost` when the lock is lost. Every read of it checks the monotonic clock first. */
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

/** Asks once for a lock. A lock that is granted is renewed at a third of its ttl, so two renewals may fail. */
export async function tryAcquire(
  deps: LockDeps,
  { ttlMs, ...lock }: LockName & { ttlMs: number },
): Promise<{ lock: HeldLock } | { refused: LockRefusal }> {
  const engine = await deps.engine();
  const { clock } = deps;
  const token = deps.newToken();
  const name = storedLockName(lock);
  // Before the call: a main loop that is blocked when the answer arrives could not ask for renewals in time.
  const renewal = (deps.renewals() ?? createLockRenewals({ engine, clock })).open(token);
  // Measured from before the call: the store counts from a later moment, so the lock is given up early, never late.
  const askedElapsed = clock.elapsed();
  let reply: AcquireReply;
  try {
    reply = await engine.acquire({ name, token, holder: deps.holder(), ttlMs });
  } catch (error) {
    void renewal.close();
    throw error;
  }
  if (!reply.acquired) {
    void renewal.close();
    return { refused: { holder: reply.holder, fence: reply.fence, untilAt: reply.untilAt, now: reply.now } };
  }
  if (clock.elapsed() - askedElapsed >= ttlMs) {
    // The answer took as long as the lock lasts, so another process may hold the lock by now. If none does, it is free again.
    void renewal.close();
    await engine.release({ locks: [{ name, fence: reply.fence }] });
    return tryAcquire(deps, { ttlMs, ...lock });
  }
  return { lock: keep(deps, engine, { lock, ttlMs, fence: reply.fence, askedElapsed, renewal }) };
}

/** A granted lock and its renewal. */
interface Grant {
  lock: LockName;
  ttlMs: number;
  fence: number;
  askedElapsed: number;
  renewal: LockRenewal;
}

function keep(
  deps: LockDeps,
  engine: Engine,
  { lock, ttlMs, fence, askedElapsed, renewal }: Grant,
): HeldLock {
  const { name } = lock;
  const { clock, abandoned } = deps;
  const stored = { name: storedLockName(lock), fence };
  const lost = new AbortController();
  /** Aborted when it is lost, released or given up: nothing is to be watched any more. */
  const over = new AbortController();
  let isReleased = false;

  const lose = (why: string): void => {
    over.abort();
    lost.abort(
      dulyError('lock_lost', {
        message: `The ${kindWords[lock.kind]} "${name}" is no longer ours: ${why}.`,
        hint: 'Somebody else may hold it now. Stop, and guard writes elsewhere with the fence.',
        details: { name, fence },
      }),
    );
    void renewal.close();
  };

  /** Aborts the signal if the lock is lost. How long it is still held otherwise. */
  function check(): number {
    if (over.signal.aborted) return 0;
    const renewedElapsed = renewal.renewedElapsed();
    const remainingMs = renewedElapsed === null ? 0 : renewedElapsed + ttlMs - clock.elapsed();
    if (renewedElapsed === null) lose('the store gave it away after its time');
    else if (remainingMs <= 0) lose('it could not be renewed in time');
    return remainingMs;
  }

  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      const remainingMs = check();
      if (remainingMs > 0) await clock.sleep(remainingMs, over.signal);
    }
  }

  renewal.start({ ...stored, ttlMs }, askedElapsed, check);
  void watch();
  let settle: () => void = () => {};
  const isOver = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const end = (): void => {
    abandoned.removeEventListener('abort', giveUp);
    deps.held.delete(isOver);
    settle();
  };
  /** The store is about to close: nobody must wait for a lock whose holder can no longer release it. */
  const giveUp = (): void => {
    over.abort();
    lost.abort(abandoned.reason);
    void renewal.close();
    void engine.release({ locks: [stored] }).then(end, end);
  };
  // Leaderships end by themselves when the Duly stops.
  if (lock.kind !== 'leader') {
    deps.held.add(isOver);
    abandoned.addEventListener('abort', giveUp, { once: true });
  }
  return {
    name,
    fence,
    signal: checkedSignal(lost.signal, check),
    async release() {
      if (isReleased) return false;
      isReleased = true;
      const isKept = check() > 0;
      over.abort();
      await renewal.close();
      if (!isKept) {
        end();
        return false;
      }
      try {
        const { locks } = await engine.release({ locks: [stored] });
        return locks[0] === 'kept';
      } catch {
        // The store is away. The work under the lock is done, and the lock ends by its time: no reason to lose the result.
        return true;
      } finally {
        end();
      }
    },
  };
}

/**
 * Makes every read of the signal check the lock first. After a turn that was blocked, `aborted` is then right at
 * once, before the timer fires or the message about the loss arrives.
 */
function checkedSignal(signal: AbortSignal, check: () => void): AbortSignal {
  const read = <Name extends 'aborted' | 'reason'>(name: Name): PropertyDescriptor => {
    const { get } = Object.getOwnPropertyDescriptor(AbortSignal.prototype, name) as { get(): unknown };
    const checked = (): unknown => {
      check();
      return get.call(signal);
    };
    return { get: checked, configurable: true };
  };
  return Object.defineProperties(signal, {
    aborted: read('aborted'),
    reason: read('reason'),
    throwIfAborted: {
      value(): void {
        check();
        AbortSignal.prototype.throwIfAborted.call(signal);
      },
      configurable: true,
    },
  });
}

const kindWords: Record<LockKind, string> = { lock: 'lock', leader: 'leadership', once: 'lock of once()' };

/** Waits for a lock that somebody else has. */
export interface LockWait {
  /** Forgets what was heard. To be called before a lock is asked for, so that no notification falls between the question and the wait. */
  listen(): void;
  /**
   * Waits until asking again may help: until a notification since `listen` says that a lock was given back, until the holder's time is
   * over, or for as long as a store whose notifications may not arrive can be trusted. At most `maxMs`, and not beyond an abort. Throws
   * `stopped` once no more calls are taken.
   */
  wait(refused: LockRefusal, options?: { maxMs?: number; signal?: AbortSignal }): Promise<void>;
  /** Hears no more. */
  close(): void;
}

/**
 * Begins to hear of locks that are given back. `pollMs` is how long a wait is at most while it is not proven that notifications of other
 * processes arrive; each look is a transaction of the store.
 */
export async function openLockWait(deps: LockDeps, pollMs: number): Promise<LockWait> {
  const engine = await deps.engine();
  let received = new AbortController();
  const off = engine.subscribe(({ kind }) => {
    if (kind === 'locks' || kind === 'disconnected') received.abort();
  });
  return {
    listen() {
      if (received.signal.aborted) received = new AbortController();
    },
    async wait({ untilAt, now }, { maxMs = Number.POSITIVE_INFINITY, signal } = {}) {
      const bounds = [untilAt - now, Math.max(pollMs, deps.maxSleepMs()), maxMs];
      const waitMs = Math.max(1, Math.min(...bounds));
      const cuts = [received.signal, deps.closed, ...(signal === undefined ? [] : [signal])];
      await deps.clock.sleep(waitMs, AbortSignal.any(cuts));
      deps.closed.throwIfAborted();
    },
    close: off,
  };
}

/** How often a lock is asked for again where no notification can tell that it was given back before its time. */
export const lockPollMs = 1_000;

/** Reads the name of a lock, or a key: any text that every store can keep. `of` says what it names. */
export function readLockName(name: unknown, of: string, field = 'name'): string {
  return readText(name, field, { lengthMax: lockNameLengthMax, of });
}

const lockNameLengthMax = 1_000;
