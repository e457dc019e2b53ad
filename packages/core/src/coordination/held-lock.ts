import type { Clock } from '../clock.ts';
import type { Engine, LockHolder } from '../engine.ts';
import { dulyError } from '../errors.ts';

/** What everything under a lock is made of. */
export interface LockParts {
  engine(): Promise<Engine>;
  clock: Clock;
  holder(): LockHolder;
  newToken(): string;
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
  { name, ttlMs }: { name: string; ttlMs: number },
): Promise<{ lock: HeldLock } | { refused: LockRefusal }> {
  const engine = await parts.engine();
  const { clock } = parts;
  // Measured from before the call: the store counted from some later moment, so we let go early and never late.
  const askedElapsed = clock.elapsed();
  const reply = await engine.acquire({ name, token: parts.newToken(), holder: parts.holder(), ttlMs });
  if (!reply.acquired) {
    return { refused: { holder: reply.holder, fence: reply.fence, untilAt: reply.untilAt, now: reply.now } };
  }
  return { lock: keep(engine, clock, { name, ttlMs, fence: reply.fence, askedElapsed }) };
}

function keep(
  engine: Engine,
  clock: Clock,
  { name, ttlMs, fence, askedElapsed }: { name: string; ttlMs: number; fence: number; askedElapsed: number },
): HeldLock {
  const lost = new AbortController();
  const released = new AbortController();
  let keptElapsed = askedElapsed;

  const lose = (why: string): void => {
    if (released.signal.aborted || lost.signal.aborted) return;
    lost.abort(
      dulyError('lock_lost', {
        message: `The lock "${name}" is no longer ours: ${why}.`,
        hint: 'Somebody else may hold it now. Stop, and guard writes elsewhere with the fence.',
        details: { name, fence },
      }),
    );
  };

  async function renewOnce(): Promise<void> {
    const sentElapsed = clock.elapsed();
    try {
      const { locks } = await engine.renew({ locks: [{ name, fence }], ttlMs });
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
  return {
    name,
    fence,
    signal: lost.signal,
    async release() {
      if (released.signal.aborted) return false;
      released.abort();
      await renewing;
      if (lost.signal.aborted) return false;
      const isKept = keptElapsed + ttlMs > clock.elapsed();
      try {
        const { locks } = await engine.release({ locks: [{ name, fence }] });
        return locks[0] === 'kept';
      } catch {
        // The store is away. The work under the lock is done, and the lock ends by its time: no reason to lose the result.
        return isKept;
      }
    },
  };
}

/**
 * Waits a moment before a lock is asked for again: until the holder's time is over, or a hint that a lock was given back, and at
 * most a second, because hints of other processes may not arrive.
 */
export async function pauseBeforeRetry(
  parts: LockParts,
  { untilAt, now }: { untilAt: number; now: number },
  options: { maxMs: number; signal?: AbortSignal },
): Promise<void> {
  const engine = await parts.engine();
  const hinted = new AbortController();
  const off = engine.wakeups((hint) => {
    if (hint === 'locks') hinted.abort();
  });
  try {
    const waitMs = Math.max(1, Math.min(untilAt - now, retryMsMax, options.maxMs));
    const signal =
      options.signal === undefined ? hinted.signal : AbortSignal.any([hinted.signal, options.signal]);
    await parts.clock.sleep(waitMs, signal);
  } finally {
    off();
  }
}

// Between processes on SQLite there are no hints; a lock that is given back early is then noticed within this time.
const retryMsMax = 250;

/** Reads the name of a lock or a key: any text that a store can keep. */
export function readLockName(name: unknown, what: string): string {
  if (
    typeof name !== 'string' ||
    name.length > lockNameLengthMax ||
    !name.isWellFormed() ||
    name.includes('\0')
  ) {
    throw dulyError('invalid_option', {
      message: `Expected the name of a ${what} to be a text of at most ${lockNameLengthMax} characters without NUL or half surrogates.`,
      details: { field: 'name' },
    });
  }
  return name;
}

const lockNameLengthMax = 1_000;
