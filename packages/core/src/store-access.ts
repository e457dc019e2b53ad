// The store of one Duly, which the first call opens that needs it.

import type { Events } from './base/emitter.ts';
import { dulyError } from './base/errors.ts';
import type { DulyEvents } from './events.ts';
import type { ResolvedOptions } from './options.ts';
import { notingCallbacks } from './store/callbacks.ts';
import { createInstrumentedEngine } from './store/instrumented-engine.ts';
import { createStoreSession, type StoreSession } from './store/session.ts';
import type { Store } from './store/store.ts';
import { openStore } from './store/thread/open-store.ts';

/** What the access to a store stands on. */
export interface StoreAccessDeps {
  options: ResolvedOptions;
  /** Whether the clock of this Duly rules the store too. */
  virtual: boolean;
  /** Opens the store; null: it is opened by its address. */
  openGiven: (() => Promise<Store>) | null;
  events: Events<DulyEvents>;
  actor(): string;
  /** Aborted from when on no more calls are taken, with the error that they get. */
  closed: AbortSignal;
}

/** Opens a store once, and again after it could not be opened. */
export class StoreAccess {
  readonly #deps: StoreAccessDeps;
  #opening: Promise<StoreSession> | null = null;
  #session: StoreSession | null = null;
  #store: Store | null = null;

  /** Created by `Duly`. */
  constructor(deps: StoreAccessDeps) {
    this.#deps = deps;
  }

  /** The session; null: the store is not open. */
  get session(): StoreSession | null {
    return this.#session;
  }

  /** The store; null: it is not open. */
  get store(): Store | null {
    return this.#store;
  }

  /** The session, once the store is open. Rejects when no more calls are taken. */
  open(): Promise<StoreSession> {
    const { closed } = this.#deps;
    if (this.#session !== null && !closed.aborted) return Promise.resolve(this.#session);
    if (closed.aborted) return Promise.reject(stoppedError());
    this.#opening ??= this.#openStore().catch((error: unknown) => {
      // The next call tries again: a full disk or a wrong permission can be put right.
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  /** Waits for a store that is being opened, however that ends. */
  async settled(): Promise<void> {
    await this.#opening?.catch(() => {});
  }

  async #openStore(): Promise<StoreSession> {
    const { options, virtual, openGiven, events, actor } = this.#deps;
    const { clock, random, logger, store: address } = options;
    const store = await (openGiven?.() ?? openStore(address, virtual ? { clock } : {}));
    const instrumented = createInstrumentedEngine({
      engine: store.engine,
      clock,
      rules: virtual,
      onCall: (call) => events.emit('call', call),
    });
    this.#store = store;
    const engine = notingCallbacks(instrumented.engine, actor);
    const session = createStoreSession({ ...instrumented, engine }, { clock, random });
    this.#session = session;
    // What happens here is told to those who follow before the feed's next look.
    for (const name of ['job.settled', 'job.reaped'] as const) events.on(name, () => session.feed.nudge());
    const info = store.engine.info();
    for (const warning of info.warnings) logger.warn({ store: info.place }, warning);
    events.emit('opened', info);
    return session;
  }
}

/** The error of a call after the Duly was stopped. */
export function stoppedError() {
  return dulyError('stopped', {
    message: 'This Duly was stopped and takes no more calls.',
    hint: 'Create a new one.',
  });
}
