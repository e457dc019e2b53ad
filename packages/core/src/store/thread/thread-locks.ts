// Locks that the thread of a store renews.

import type { GrantedLock, LockRenewal, LockRenewals } from '../lock-renewal.ts';
import { createRenewed, loadRenewed } from './lock-host.ts';
import type { StoreThread } from './store-thread.ts';

interface OpenLock {
  renewed: BigInt64Array;
  /** null: not granted yet. */
  granted: { lock: GrantedLock; onLost(): void } | null;
}

/** The locks of a store in a thread, as the main loop sees them. */
export class ThreadLocks implements LockRenewals {
  readonly #thread: () => StoreThread;
  readonly #open = new Map<string, OpenLock>();

  /** Created when the store is opened. */
  constructor(thread: () => StoreThread) {
    this.#thread = thread;
  }

  /** Begins to renew a lock that is being acquired under this token. */
  open(token: string): LockRenewal {
    const one: OpenLock = { renewed: createRenewed(), granted: null };
    this.#open.set(token, one);
    this.#thread().post({ kind: 'lock-open', token, renewed: one.renewed });
    return {
      start(lock, _askedElapsed, onLost) {
        one.granted = { lock, onLost };
      },
      renewedElapsed: () => loadRenewed(one.renewed),
      close: async () => {
        if (this.#open.delete(token)) this.#thread().post({ kind: 'lock-close', token });
      },
    };
  }

  /** The thread has found that a lock is held no more. */
  lost(token: string): void {
    this.#open.get(token)?.granted?.onLost();
  }

  /** Has the locks renewed by another thread. */
  resume(): void {
    for (const [token, { renewed, granted }] of this.#open) {
      if (granted !== null) this.#thread().post({ kind: 'lock-resume', token, renewed, lock: granted.lock });
    }
  }
}
