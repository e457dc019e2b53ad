import { Worker } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { dulyError, fromPlainError } from '../../base/errors.ts';
import type {
  Engine,
  EngineInfo,
  EngineVerb,
  ExchangeReply,
  Notification,
  Reply,
  WatchedTransaction,
} from '../../contract/engine.ts';
import { mapVerbs } from '../../contract/verbs.ts';
import type { Heartbeats } from '../heartbeats.ts';
import type { GrantedLock, LockRenewal, LockRenewals } from '../lock-renewal.ts';
import { createUserTransactionOpener } from '../open-user-transaction.ts';
import type { ParkedClaim, ParkedClaimOptions } from '../parked-claim.ts';
import { createSharedLeases, enterLease, type SharedLeases } from '../shared-leases.ts';
import type { Store, StoreHeartbeatsOptions } from '../store.ts';
import { createRenewed, loadRenewed } from './lock-host.ts';
import type { FromThread, ToThread } from './messages.ts';
import { packInput, unpackReply } from './packed.ts';
import { type Delivery, noDelivery } from './parked-claims.ts';

interface OpenHeartbeats extends StoreHeartbeatsOptions {
  shared: SharedLeases;
}

interface OpenParkedClaim extends ParkedClaimOptions {
  delivered: Int32Array;
}

interface OpenLock {
  renewed: BigInt64Array;
  /** null: not granted yet. */
  granted: { lock: GrantedLock; onLost(): void } | null;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

// A thread that died once may die again: 100, 200 ms … 5 s between two.
const firstPauseMs = 100;
const pauseMsMax = 5_000;

const kinds: readonly Notification[] = ['jobs', 'cancel', 'schedules', 'locks'];

/**
 * Opens a store in a thread of its own. The thread does not keep the process alive while nothing is asked of it. One that ends by itself, of
 * something that nobody foresaw, is followed by another: a node must never stay up with a store that is gone for good.
 */
export async function openThreadStore(url: string): Promise<Store> {
  const listeners = new Set<(notification: Notification) => void>();
  const waiting = new Map<number, Waiting>();
  const heartbeats = new Map<number, OpenHeartbeats>();
  const parked = new Map<string, OpenParkedClaim>();
  const locks = new Map<string, OpenLock>();
  let lastId = 0;
  /** Nodes whose claims are used for the notification that is being delivered. */
  let usedFor: readonly string[] = [];
  let isListening = false;
  /** Whether the thread was told that a call is coming which has not come yet. */
  let isExpected = false;
  let ended: Error | null = null;
  const first = await startThread(url);
  const { info } = first;
  /** null: it has died, and another one is not there yet. */
  let worker: Worker | null = null;
  let restarting: Promise<void> = Promise.resolve();
  adopt(first.worker);

  function adopt(one: Worker): void {
    worker = one;
    one.on('message', receive);
    one.on('error', (error) => lose(one, error));
    one.on('exit', () => lose(one, null));
    one.unref();
  }

  function post(message: ToThread): void {
    worker?.postMessage(message);
  }

  function lose(one: Worker, cause: unknown): void {
    if (one !== worker) return;
    worker = null;
    rejectAll(ended ?? threadError(cause, true));
    if (ended === null) restarting = restart();
  }

  async function restart(): Promise<void> {
    for (let pauseMs = firstPauseMs; ended === null; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
      await new Promise<void>((resolve) => void systemClock.after(pauseMs, resolve, { unref: true }));
      // A store that cannot be opened now is tried again: whoever calls meanwhile is told that it is away.
      const started = await startThread(url).catch(() => null);
      if (started === null) continue;
      if (ended !== null) {
        await started.worker.terminate();
        return;
      }
      adopt(started.worker);
      for (const [which, { node, shared, heartbeatMs }] of heartbeats) {
        // A new thread knows nothing of leases before it.
        shared.words.fill(0);
        post({ kind: 'heartbeats-open', heartbeats: which, node, shared, heartbeatMs });
      }
      for (const [token, { renewed, granted }] of locks) {
        if (granted !== null) post({ kind: 'lock-resume', token, renewed, lock: granted.lock });
      }
      // What was given at the last moment, and was not told, ends with its leases.
      for (const [node, { delivered }] of parked) post({ kind: 'parked-open', node, delivered });
      if (!isListening) return;
      post({ kind: 'listen' });
      // Whatever was told meanwhile nobody has heard.
      for (const notification of kinds) deliver(notification);
      return;
    }
  }

  function deliver(notification: Notification): void {
    for (const listener of [...listeners]) listener(notification);
  }

  function receive(message: FromThread): void {
    switch (message.kind) {
      case 'reply':
        settle(message.id, (one) => one.resolve(message.reply as never));
        break;
      case 'begun':
        settle(message.id, (one) => one.resolve(message.state as never));
        break;
      case 'error':
        settle(message.id, (one) => one.reject(fromPlainError(message.error)));
        break;
      case 'notification':
        usedFor = message.nodes;
        deliver(message.notification);
        usedFor = [];
        break;
      case 'delivered':
        takeDelivery(message.delivered);
        break;
      case 'claim-failed': {
        const { claim, error, tookMs } = message;
        parked.get(claim.node)?.onFailed(claim, fromPlainError(error), tookMs);
        break;
      }
      case 'ping':
        post({ kind: 'pong' });
        break;
      case 'heartbeat':
        heartbeats.get(message.heartbeats)?.onHeartbeat(message.news);
        break;
      case 'heartbeats-error':
        heartbeats.get(message.heartbeats)?.onError?.(fromPlainError(message.error));
        break;
      case 'lock-lost':
        locks.get(message.token)?.granted?.onLost();
        break;
    }
  }

  function settle(id: number, fn: (one: Waiting) => void): void {
    const one = waiting.get(id);
    if (one === undefined) return;
    waiting.delete(id);
    if (waiting.size === 0) worker?.unref();
    fn(one);
  }

  function rejectAll(error: Error): void {
    for (const id of [...waiting.keys()]) settle(id, (one) => one.reject(error));
  }

  function threadError(cause: unknown, unknown: boolean): Error {
    const said = cause instanceof Error ? ` (${cause.message})` : '';
    return dulyError('store_unavailable', {
      message: `The thread that holds the store "${info.place}" ended by itself${said}; another one is started.`,
      hint: unknown
        ? 'The call may have taken effect; its answer was lost. Please report what ended it.'
        : 'Nothing of this call was stored. The next one goes through as soon as the thread is there.',
      details: { place: info.place, unknown },
      cause,
    });
  }

  function closedError(): Error {
    return dulyError('store_closed', {
      message: `The store "${info.place}" was closed.`,
      hint: 'Open a new one; a closed store stays closed.',
      details: { path: info.place },
    });
  }

  function ask<Result>(message: (id: number) => ToThread): Promise<Result> {
    if (ended !== null) return Promise.reject(ended);
    if (worker === null) return Promise.reject(threadError(null, false));
    return new Promise<Result>((resolve, reject) => {
      lastId += 1;
      isExpected = false;
      if (waiting.size === 0) worker?.ref();
      waiting.set(lastId, { resolve, reject });
      post(message(lastId));
    });
  }

  const watchTransaction = (watched: WatchedTransaction): void => {
    if (ended === null) post({ kind: 'watch-transaction', watched });
  };

  const call = (verb: EngineVerb) => async (input: object) => {
    const packed = packInput(verb, input);
    const reply = await ask<object>((id) => ({ kind: 'call', id, verb, input: packed }));
    return unpackReply(verb, reply) as Reply;
  };

  const engine: Engine = {
    ...mapVerbs(call),
    info: () => info,
    subscribe(listener) {
      listeners.add(listener);
      // Only now: to listen may need a connection of its own, which those who only make jobs can do without.
      if (!isListening && ended === null) post({ kind: 'listen' });
      isListening = true;
      return () => listeners.delete(listener);
    },
    // In this thread, where the user's connection is; what is to be told afterwards goes to the store's.
    userTransaction: createUserTransactionOpener(url, info, watchTransaction),
    watchTransaction,
    probe: () => ask((id) => ({ kind: 'probe', id })),
    async close() {
      if (ended !== null) return;
      const one = worker;
      const closing = one === null ? restarting : ask((id) => ({ kind: 'close', id }));
      ended = closedError();
      // A thread that dies while it closes is closed.
      await closing.catch(() => {});
      await one?.terminate();
    },
  };

  const renewals: LockRenewals = { open: openLock };
  return {
    engine,
    createHeartbeats: openHeartbeats,
    openParkedClaim,
    locks: renewals,
    expect,
  };

  function openLock(token: string): LockRenewal {
    const one: OpenLock = { renewed: createRenewed(), granted: null };
    locks.set(token, one);
    post({ kind: 'lock-open', token, renewed: one.renewed });
    return {
      start(lock, _askedElapsed, onLost) {
        one.granted = { lock, onLost };
      },
      renewedElapsed: () => loadRenewed(one.renewed),
      async close() {
        if (locks.delete(token)) post({ kind: 'lock-close', token });
      },
    };
  }

  function openParkedClaim(options: ParkedClaimOptions): ParkedClaim {
    const { node } = options;
    const delivered = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    parked.set(node, { ...options, delivered });
    post({ kind: 'parked-open', node, delivered });
    return {
      isUsed: () => usedFor.includes(node),
      async close() {
        await ask((id) => ({ kind: 'parked-close', id, node })).finally(() => parked.delete(node));
      },
    };
  }

  function takeDelivery({ claim, number, reply: packed, tookMs }: Delivery): void {
    const one = parked.get(claim.node);
    if (one === undefined) return;
    const reply = unpackReply('exchange', packed) as ExchangeReply;
    const isTaken =
      reply.claimed.length === 0 || Atomics.compareExchange(one.delivered, 0, number, noDelivery) === number;
    one.onDelivered(claim, isTaken ? reply : null, tookMs);
  }

  function expect(): void {
    // A thread with something to answer is awake, and one word for all calls of a burst is enough.
    if (isExpected || waiting.size > 0) return;
    isExpected = true;
    post({ kind: 'soon' });
  }

  function openHeartbeats(options: StoreHeartbeatsOptions): Heartbeats {
    lastId += 1;
    const which = lastId;
    const { node, leaseMs, heartbeatMs } = options;
    const shared = createSharedLeases(leaseMs);
    heartbeats.set(which, { ...options, shared });
    post({ kind: 'heartbeats-open', heartbeats: which, node, shared, heartbeatMs });
    return {
      // The thread holds what it gives and drops what it settles by itself: a busy worker would send it thousands of leases a second.
      followsStoreCalls: true,
      hold() {},
      drop(leases) {
        post({
          kind: 'heartbeats-drop',
          heartbeats: which,
          leases: leases.map(({ id, fence }) => ({ id, fence })),
        });
      },
      begin: (lease) => ask((id) => ({ kind: 'heartbeats-begin', heartbeats: which, id, lease })),
      enter: ({ fence }, takenElapsed) => enterLease(shared, { fence, takenElapsed }, systemClock.elapsed()),
      shared,
      check: () => post({ kind: 'heartbeats-check', heartbeats: which }),
      close() {
        heartbeats.delete(which);
        post({ kind: 'heartbeats-close', heartbeats: which });
      },
    };
  }
}

/** Starts a thread and waits until it has opened the store, or says why it could not. */
function startThread(url: string): Promise<{ worker: Worker; info: EngineInfo }> {
  const worker = new Worker(new URL('./host.ts', import.meta.url), {
    workerData: { url },
    name: 'duly-store',
    // Flags of the application (a loader, --input-type) are not for our own code, and that it uses something experimental
    // (node:sqlite before Node 24.15) is not for the application's eyes.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread of the store ended before the store was open.')));
    worker.once('message', (message: FromThread) => {
      worker.removeAllListeners('error').removeAllListeners('exit');
      if (message.kind === 'open') resolve({ worker, info: message.info });
      else if (message.kind === 'refused') reject(fromPlainError(message.error));
    });
  });
}
