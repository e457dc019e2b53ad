import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { type OptionNames, readOptions } from '../base/option-reader.ts';
import type { LockHolder } from '../contract/engine.ts';
import {
  type HeldLock,
  type LockDeps,
  lockPollMs,
  openLockWait,
  readLockName,
  tryAcquire,
} from './held-lock.ts';

/** How to lock. */
export interface LockOptions {
  /** How long the lock outlives a holder that died. Default 5 min; renewed while the work runs. */
  ttl?: Duration;
  /** How long to wait for a lock that is taken. Default: not at all. `'forever'` waits for as long as it takes. */
  wait?: Duration | 'forever';
  /** Gives up waiting when aborted. */
  signal?: AbortSignal;
}

/** What the work under a lock is given. */
export interface LockContext {
  /** Greater than every fence given before for this lock: guard writes elsewhere with it. */
  fence: number;
  /** Aborted with `lock_lost` when the lock is no longer ours. */
  signal: AbortSignal;
}

/** What became of a lock that was asked for. */
export type LockResult<Value> =
  | {
      acquired: true;
      value: Value;
      /** Whether the lock was ours until the work was done. */
      kept: boolean;
    }
  | { acquired: false; holder: LockHolder; until: Date };

const lockNames: OptionNames<LockOptions> = { ttl: true, wait: true, signal: true };

/** How long a lock lives without renewal when nobody says. */
export const defaultLockTtlMs = 5 * 60_000;
/** The shortest time to live of a lock: it must survive a pause of the process that renews it. */
export const lockTtlMsMin = 100;

/**
 * Runs `fn` while the lock is ours and gives it back afterwards, also when `fn` throws. When somebody else has it, says so at
 * once, or after `wait`.
 */
export async function withLock<Value>(
  deps: LockDeps,
  name: string,
  given: LockOptions | undefined,
  fn: (context: LockContext) => Value | Promise<Value>,
): Promise<LockResult<Value>> {
  readLockName(name, 'lock()');
  const options = readOptions(given, 'lock()', lockNames);
  const ttlMs =
    options.ttl === undefined ? defaultLockTtlMs : parseDuration(options.ttl, 'ttl', { minMs: lockTtlMsMin });
  const waitMs = readWait(options.wait);
  if (typeof fn !== 'function') {
    throw dulyError('invalid_option', { message: `Expected lock("${name}") to be given a function to run.` });
  }

  const endElapsed = deps.clock.elapsed() + waitMs;
  const waiting = await openLockWait(deps, lockPollMs);
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      waiting.listen();
      const answer = await tryAcquire(deps, { kind: 'lock', name, ttlMs });
      if ('lock' in answer) {
        waiting.close();
        return await runUnder(answer.lock, fn);
      }
      const { refused } = answer;
      const remainingMs = endElapsed - deps.clock.elapsed();
      if (remainingMs <= 0)
        return { acquired: false, holder: refused.holder, until: new Date(refused.untilAt) };
      await waiting.wait(refused, { maxMs: remainingMs, signal: options.signal });
    }
  } finally {
    waiting.close();
  }
}

async function runUnder<Value>(
  lock: HeldLock,
  fn: (context: LockContext) => Value | Promise<Value>,
): Promise<LockResult<Value>> {
  let kept = false;
  let value: Value;
  try {
    value = await fn({ fence: lock.fence, signal: lock.signal });
  } finally {
    kept = await lock.release();
  }
  return { acquired: true, value, kept };
}

function readWait(wait: Duration | 'forever' | undefined): number {
  if (wait === undefined) return 0;
  return wait === 'forever' ? Number.POSITIVE_INFINITY : parseDuration(wait, 'wait');
}
