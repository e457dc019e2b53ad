// Notifications that the thread of a store passes on to the main loop.

import type { Notification, NotificationKind } from '../../contract/engine.ts';
import type { StoreThread } from './store-thread.ts';

const kinds: readonly NotificationKind[] = ['jobs', 'cancel', 'schedules', 'locks'];

/** Who listens to the notifications of a store in a thread. */
export class ThreadNotifications {
  readonly #thread: () => StoreThread;
  readonly #listeners = new Set<(notification: Notification) => void>();
  #isListening = false;

  /** Created when the store is opened. */
  constructor(thread: () => StoreThread) {
    this.#thread = thread;
  }

  /** Listens until the returned function is called. */
  subscribe(listener: (notification: Notification) => void): () => void {
    this.#listeners.add(listener);
    // Only now: to listen may need a connection of its own, which those who only make jobs can do without.
    if (!this.#isListening && !this.#thread().isEnded) this.#thread().post({ kind: 'listen' });
    this.#isListening = true;
    return () => this.#listeners.delete(listener);
  }

  /** Passes a notification on. */
  deliver(notification: Notification): void {
    for (const listener of [...this.#listeners]) listener(notification);
  }

  /** Listens in another thread. */
  resume(): void {
    if (!this.#isListening) return;
    this.#thread().post({ kind: 'listen' });
    // Whatever was told meanwhile nobody has heard.
    for (const kind of kinds) this.deliver({ kind });
  }
}
