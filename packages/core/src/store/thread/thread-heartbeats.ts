// Heartbeats that the thread of a store sends, as the main loop sees them.

import { systemClock } from '../../base/clock.ts';
import { fromPlainError } from '../../base/errors.ts';
import type { Heartbeats } from '../heartbeats.ts';
import { createSharedLeases, enterLease, type SharedLeases } from '../shared-leases.ts';
import type { StoreHeartbeatsOptions } from '../store.ts';
import type { StoreThread, ThreadNews } from './store-thread.ts';

interface OpenHeartbeats extends StoreHeartbeatsOptions {
  shared: SharedLeases;
}

/** The heartbeats of a store in a thread. */
export class ThreadHeartbeats {
  readonly #thread: () => StoreThread;
  readonly #open = new Map<number, OpenHeartbeats>();

  /** Created when the store is opened. */
  constructor(thread: () => StoreThread) {
    this.#thread = thread;
  }

  /** Begins to send heartbeats for a node. */
  open(options: StoreHeartbeatsOptions): Heartbeats {
    const thread = this.#thread();
    const which = thread.newId();
    const { node, leaseMs, heartbeatMs } = options;
    const shared = createSharedLeases(leaseMs);
    this.#open.set(which, { ...options, shared });
    thread.post({ kind: 'heartbeats-open', heartbeats: which, node, shared, heartbeatMs });
    return {
      // The thread holds what it gives and drops what it settles by itself: a busy worker would send it thousands of leases a second.
      followsStoreCalls: true,
      hold() {},
      drop(leases) {
        thread.post({
          kind: 'heartbeats-drop',
          heartbeats: which,
          leases: leases.map(({ id, fence }) => ({ id, fence })),
        });
      },
      begin: (lease) => thread.ask((id) => ({ kind: 'heartbeats-begin', heartbeats: which, id, lease })),
      enter: ({ fence }, takenElapsed) => enterLease(shared, { fence, takenElapsed }, systemClock.elapsed()),
      shared,
      check: () => thread.post({ kind: 'heartbeats-check', heartbeats: which }),
      close: () => {
        this.#open.delete(which);
        thread.post({ kind: 'heartbeats-close', heartbeats: which });
      },
    };
  }

  /** The thread tells what became of leases, or of a heartbeat that failed. */
  received(news: Extract<ThreadNews, { kind: 'heartbeat' | 'heartbeats-error' }>): void {
    const one = this.#open.get(news.heartbeats);
    if (news.kind === 'heartbeat') one?.onHeartbeat(news.news);
    else one?.onError?.(fromPlainError(news.error));
  }

  /** Goes on in another thread, which knows nothing of leases before it. */
  resume(): void {
    for (const [which, { node, shared, heartbeatMs }] of this.#open) {
      shared.words.fill(0);
      this.#thread().post({ kind: 'heartbeats-open', heartbeats: which, node, shared, heartbeatMs });
    }
  }
}
