import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  refuseOption,
} from '../base/option-reader.ts';
import type { LockHolder } from '../contract/engine.ts';
import { type LockDeps, lockPollMs, openLockWait, readLockName, storedLockName } from './held-lock.ts';
import { defaultLockTtlMs, lockTtlMsMin } from './lock.ts';
import { type LockListOptions, type LockPage, listLocks } from './lock-list.ts';

/** How to take a lock that one renews and gives back by oneself. */
export interface AcquireOptions {
  /** How long it is held without renewal. Default 5 min. */
  ttl?: Duration;
  /** How long to wait for a lock that is taken. Default: not at all. */
  wait?: Duration;
  /** Created by the caller for this lock: the same token gets the same lock again, for example after a lost reply. */
  token?: string;
  /** Who holds it, for those who ask; left out, this process. */
  holder?: LockHolder;
  /** Gives up waiting when aborted. */
  signal?: AbortSignal;
}

/** What became of it. */
export type AcquiredLock =
  | {
      acquired: true;
      /** Greater than every fence given before for this lock. It renews and releases. */
      fence: number;
      /** When it ends without renewal, and how long that is by the store's clock. */
      until: Date;
      ttlMs: number;
    }
  | { acquired: false; holder: LockHolder; until: Date; ttlMs: number };

/** Locks step by step, for those who hold them outside of a function: other languages, over HTTP. The same locks as `duly.lock`. */
export interface Locks {
  /** Asks for a lock. It is not renewed by itself. */
  acquire(name: string, options?: AcquireOptions): Promise<AcquiredLock>;
  /** Holds it for this long from now. Throws `lock_lost`. */
  renew(name: string, fence: number, options?: { ttl?: Duration }): Promise<{ until: Date; ttlMs: number }>;
  /** Gives it back. Throws `lock_lost`. */
  release(name: string, fence: number): Promise<void>;
  /** Who holds which locks now, leaderships and those of `once` too, a page at a time. */
  list(options?: LockListOptions): Promise<LockPage>;
}

const acquireNames: OptionNames<AcquireOptions> = {
  ttl: true,
  wait: true,
  token: true,
  holder: true,
  signal: true,
};
const renewNames: OptionNames<{ ttl?: Duration }> = { ttl: true };

/** Makes them. */
export function createLocks(deps: () => LockDeps): Locks {
  return {
    async acquire(name, given) {
      const own = deps();
      const options = readOptions(given, 'acquire()', acquireNames);
      const ttlMs = readTtl(options.ttl);
      const waitMs = options.wait === undefined ? 0 : parseDuration(options.wait, 'wait');
      const ask = {
        name: storedLockName({ kind: 'lock', name: readLockName(name, 'acquire()') }),
        token: options.token === undefined ? own.newToken() : readName(options.token, 'token'),
        holder: options.holder === undefined ? own.holder() : readHolder(options.holder),
        ttlMs,
      };
      const engine = await own.engine();
      const endElapsed = own.clock.elapsed() + waitMs;
      const waiting = await openLockWait(own, lockPollMs);
      try {
        for (;;) {
          options.signal?.throwIfAborted();
          waiting.listen();
          const reply = await engine.acquire(ask);
          const { untilAt, now } = reply;
          const times = { until: new Date(untilAt), ttlMs: Math.max(0, untilAt - now) };
          if (reply.acquired) return { acquired: true, fence: reply.fence, ...times };
          const leftMs = endElapsed - own.clock.elapsed();
          if (leftMs <= 0) return { acquired: false, holder: reply.holder, ...times };
          const refused = { holder: reply.holder, fence: reply.fence, untilAt, now };
          await waiting.wait(refused, {
            maxMs: leftMs,
            ...(options.signal === undefined ? {} : { signal: options.signal }),
          });
        }
      } finally {
        waiting.close();
      }
    },

    async renew(name, fence, given) {
      const lock = lockOf(name, fence);
      const ttlMs = readTtl(readOptions(given, 'renew()', renewNames).ttl);
      const engine = await deps().engine();
      const { locks, now } = await engine.renew({ locks: [lock], ttlMs });
      if (locks[0] !== 'kept') throw lost(name, fence);
      return { until: new Date(now + ttlMs), ttlMs };
    },

    async release(name, fence) {
      const engine = await deps().engine();
      const { locks } = await engine.release({ locks: [lockOf(name, fence)] });
      if (locks[0] !== 'kept') throw lost(name, fence);
    },

    async list(given) {
      return listLocks(await deps().engine(), given);
    },
  };
}

function lockOf(name: string, fence: number): { name: string; fence: number } {
  return {
    name: storedLockName({ kind: 'lock', name: readLockName(name, 'a lock') }),
    fence: readWholeNumber(fence, 'fence', 0, Number.MAX_SAFE_INTEGER),
  };
}

function readTtl(ttl: Duration | undefined): number {
  return ttl === undefined ? defaultLockTtlMs : parseDuration(ttl, 'ttl', { minMs: lockTtlMsMin });
}

function readHolder(holder: LockHolder): LockHolder {
  const { host, pid, node } = holder ?? {};
  if (typeof host !== 'string' || typeof node !== 'string') {
    return refuseOption('holder', holder, 'to be { host, pid, node }');
  }
  return {
    host: readName(host, 'host'),
    pid: readWholeNumber(pid, 'pid', 0, Number.MAX_SAFE_INTEGER),
    node: readName(node, 'node'),
  };
}

function lost(name: string, fence: number) {
  return dulyError('lock_lost', {
    message: `The lock "${name}" is not held under the fence ${fence} any more.`,
    hint: 'Its time was over, or it was given back. Somebody else may hold it now: stop, and acquire it again.',
    details: { name, fence },
  });
}
