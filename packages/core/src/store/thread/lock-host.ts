import type { Clock } from '../../base/clock.ts';
import type { AcquireInput, AcquireReply, Engine } from '../../contract/engine.ts';
import { type GrantedLock, renewLock } from '../lock-renewal.ts';

/** The instant in the memory shared with the holder, in microseconds, before a lock is granted. */
const notGranted = 0n;
/** The same, after the store gave the lock to another holder. */
const takenAway = -1n;

/** Writes when a lock was last known to be held, where its holder reads it without waiting for a message. */
export function storeRenewed(renewed: BigInt64Array, elapsed: number | null): void {
  Atomics.store(renewed, 0, elapsed === null ? takenAway : BigInt(Math.floor(elapsed * 1_000)));
}

/** Reads it; null: another holder has the lock. */
export function loadRenewed(renewed: BigInt64Array): number | null {
  const micros = Atomics.load(renewed, 0);
  return micros === takenAway ? null : Number(micros) / 1_000;
}

/** Makes the memory that one lock's renewal and its holder share. */
export function createRenewed(): BigInt64Array {
  const renewed = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  Atomics.store(renewed, 0, notGranted);
  return renewed;
}

/** What the renewals in the store's thread need. */
export interface LockHostOptions {
  engine: Pick<Engine, 'renew'>;
  clock: Clock;
  /** Whether the main loop has turned recently enough. */
  isHolderAlive(): boolean;
  onLost(token: string): void;
}

/** Renews, in the store's thread, the locks that the main thread holds. */
export interface LockHost {
  /** A lock will be acquired with this token. */
  open(token: string, renewed: BigInt64Array): void;
  /** The store answered: a lock that was opened and granted is renewed from here on. */
  answered(input: AcquireInput, reply: AcquireReply, askedElapsed: number): void;
  /** Renews a lock that another thread of the store has renewed before. */
  resume(token: string, renewed: BigInt64Array, lock: GrantedLock): void;
  close(token: string): void;
  closeAll(): void;
}

/** Makes the renewals. */
export function createLockHost({ engine, clock, isHolderAlive, onLost }: LockHostOptions): LockHost {
  const opened = new Map<string, { renewed: BigInt64Array; closed: AbortController }>();

  function start(token: string, lock: GrantedLock, askedElapsed: number): void {
    const one = opened.get(token);
    if (one === undefined) return;
    const { renewed, closed } = one;
    storeRenewed(renewed, askedElapsed);
    const lose = (taken: boolean): void => {
      if (taken) storeRenewed(renewed, null);
      opened.delete(token);
      onLost(token);
    };
    const onRenewed = (elapsed: number): void => storeRenewed(renewed, elapsed);
    void renewLock(
      { engine, clock, lock, askedElapsed, isHolderAlive, onRenewed, onLost: lose },
      closed.signal,
    );
  }

  const open = (token: string, renewed: BigInt64Array): void => {
    opened.set(token, { renewed, closed: new AbortController() });
  };
  const close = (token: string): void => {
    opened.get(token)?.closed.abort();
    opened.delete(token);
  };

  return {
    open,
    answered({ token, name, ttlMs }, reply, askedElapsed) {
      if (reply.acquired) start(token, { name, fence: reply.fence, ttlMs }, askedElapsed);
    },
    resume(token, renewed, lock) {
      const renewedElapsed = loadRenewed(renewed);
      if (renewedElapsed === null) return;
      open(token, renewed);
      start(token, lock, renewedElapsed);
    },
    close,
    closeAll() {
      for (const token of [...opened.keys()]) close(token);
    },
  };
}
