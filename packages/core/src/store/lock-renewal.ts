import type { Clock } from '../base/clock.ts';
import type { Engine } from '../contract/engine.ts';

/** A lock as the store granted it. Plain data: it can be posted to another thread. */
export interface GrantedLock {
  /** The stored name. */
  name: string;
  fence: number;
  ttlMs: number;
}

/** Renews one lock until it is closed. */
export interface LockRenewal {
  /** Begins, or notes that the thread of the store has begun. `onLost` is called once if the lock is lost. */
  start(lock: GrantedLock, askedElapsed: number, onLost: () => void): void;
  /**
   * The monotonic instant from which the current ttl counts; null: the store gave the lock to another holder.
   * Always current, even in a turn that was blocked for long.
   */
  renewedElapsed(): number | null;
  /** Stops. Resolves when no renewal is under way in this thread. The lock is not released. */
  close(): Promise<void>;
}

/** Renews locks, in this thread or in the store's. */
export interface LockRenewals {
  /** Prepares the renewal of a lock before it is acquired with this token. */
  open(token: string): LockRenewal;
}

/** What the renewal of one lock needs. */
export interface RenewLockOptions {
  engine: Pick<Engine, 'renew'>;
  clock: Clock;
  lock: GrantedLock;
  /** The monotonic instant before the lock was asked for. */
  askedElapsed: number;
  /** Whether the holder is alive; left out: it is, because the renewal runs in its own thread. */
  isHolderAlive?(): boolean;
  onRenewed(elapsed: number): void;
  /** Called once: the store gave the lock away (`taken`), or it was not renewed within its ttl. */
  onLost(taken: boolean): void;
}

/** Renews a lock at a third of its ttl, so two renewals may fail. Resolves when it is lost or `closed` is aborted. */
export async function renewLock(options: RenewLockOptions, closed: AbortSignal): Promise<void> {
  const { engine, clock, lock, isHolderAlive = () => true, onRenewed, onLost } = options;
  const { name, fence, ttlMs } = lock;
  const intervalMs = Math.max(1, ttlMs / 3);
  let renewedElapsed = options.askedElapsed;
  while (!closed.aborted) {
    const remainingMs = renewedElapsed + ttlMs - clock.elapsed();
    if (remainingMs <= 0) return onLost(false);
    await clock.sleep(Math.min(intervalMs, remainingMs), closed);
    // Measured from before the call: the store counts from a later moment, so the lock is given up early, never late.
    const sentElapsed = clock.elapsed();
    if (closed.aborted || renewedElapsed + ttlMs <= sentElapsed || !isHolderAlive()) continue;
    const answer = await engine.renew({ locks: [{ name, fence }], ttlMs }).catch(() => null);
    // Null: the store is away. The lock is held until its ttl ends, so the next turn tries again.
    if (answer === null || closed.aborted) continue;
    if (answer.locks[0] !== 'kept') return onLost(true);
    renewedElapsed = sentElapsed;
    onRenewed(sentElapsed);
  }
}

/** Renews locks in this thread: for stores without a thread, and on virtual time. */
export function createLockRenewals({
  engine,
  clock,
}: Pick<RenewLockOptions, 'engine' | 'clock'>): LockRenewals {
  return {
    open() {
      const closed = new AbortController();
      let renewedElapsed: number | null = null;
      let running: Promise<void> = Promise.resolve();
      return {
        start(lock, askedElapsed, reportLost) {
          renewedElapsed = askedElapsed;
          const onRenewed = (elapsed: number): void => {
            renewedElapsed = elapsed;
          };
          const onLost = (taken: boolean): void => {
            if (taken) renewedElapsed = null;
            reportLost();
          };
          running = renewLock({ engine, clock, lock, askedElapsed, onRenewed, onLost }, closed.signal);
        },
        renewedElapsed: () => renewedElapsed,
        async close() {
          closed.abort();
          await running;
        },
      };
    },
  };
}
