import { Worker } from 'node:worker_threads';
import { type Engine, type EngineInfo, engineVerbs, type Followed, type Hint } from '../engine.ts';
import type { Store, StoreBeatsOptions } from '../engines/open.ts';
import { createWithin } from '../engines/within.ts';
import { dulyError, fromPlainError } from '../errors.ts';
import type { Beats } from '../worker/beats.ts';
import type { FromThread, ToThread } from './messages.ts';

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** Opens a store in a thread of its own. The thread does not keep the process alive while nothing is asked of it. */
export async function openThreadStore(url: string): Promise<Store> {
  const worker = new Worker(new URL('./host.ts', import.meta.url), {
    workerData: { url },
    name: 'duly-store',
    // Flags of the application (a loader, --input-type) are not for our own code, and that it uses something experimental
    // (node:sqlite before Node 24.15) is not for the application's eyes.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const listeners = new Set<(hint: Hint) => void>();
  const waiting = new Map<number, Waiting>();
  const beats = new Map<number, StoreBeatsOptions>();
  let lastId = 0;
  let isListening = false;
  let ended: Error | null = null;

  const info = await new Promise<EngineInfo>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: FromThread) => {
      worker.off('error', reject);
      if (message.kind === 'open') resolve(message.info);
      else if (message.kind === 'refused') reject(fromPlainError(message.error));
    });
  });
  worker.on('message', receive);
  worker.on('error', end);
  worker.on('exit', () => end(closedError()));
  worker.unref();

  const post = (message: ToThread) => worker.postMessage(message);

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
      case 'hint':
        for (const listener of [...listeners]) listener(message.hint);
        break;
      case 'ping':
        post({ kind: 'pong' });
        break;
      case 'beat':
        beats.get(message.beats)?.onBeat(message.news);
        break;
      case 'beats-error':
        beats.get(message.beats)?.onError?.(fromPlainError(message.error));
        break;
    }
  }

  function settle(id: number, fn: (one: Waiting) => void): void {
    const one = waiting.get(id);
    if (one === undefined) return;
    waiting.delete(id);
    if (waiting.size === 0) worker.unref();
    fn(one);
  }

  function end(error: unknown): void {
    ended ??= error instanceof Error ? error : closedError();
    for (const id of [...waiting.keys()]) settle(id, (one) => one.reject(ended as Error));
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
    return new Promise<Result>((resolve, reject) => {
      lastId += 1;
      if (waiting.size === 0) worker.ref();
      waiting.set(lastId, { resolve, reject });
      post(message(lastId));
    });
  }

  const follow = (followed: Followed): void => {
    if (ended === null) post({ kind: 'follow', followed });
  };

  const engine: Record<string, unknown> = {
    info: () => info,
    wakeups(listener: (hint: Hint) => void) {
      listeners.add(listener);
      // Only now: to listen may need a connection of its own, which those who only make jobs can do without.
      if (!isListening && ended === null) post({ kind: 'listen' });
      isListening = true;
      return () => listeners.delete(listener);
    },
    // In this thread, where the user's connection is; what is to be told afterwards goes to the store's.
    within: createWithin(url, info, follow),
    follow,
    ring: () => ask((id) => ({ kind: 'ring', id })),
    async close() {
      if (ended !== null) return;
      const closing = ask((id) => ({ kind: 'close', id }));
      ended = closedError();
      await closing;
      await worker.terminate();
    },
  };
  for (const verb of engineVerbs) {
    engine[verb] = (input: unknown) => ask((id) => ({ kind: 'call', id, verb, input }));
  }

  return { engine: engine as unknown as Engine, createBeats: openBeats };

  function openBeats(options: StoreBeatsOptions): Beats {
    lastId += 1;
    const which = lastId;
    beats.set(which, options);
    const { node, leaseMs, beatMs } = options;
    post({ kind: 'beats-open', beats: which, node, leaseMs, beatMs });
    return {
      // The thread holds what it gives and drops what it settles by itself: a busy worker would send it thousands of leases a second.
      hold() {},
      drop(leases, how) {
        if (how?.settled === true) return;
        post({ kind: 'beats-drop', beats: which, leases: leases.map(({ id, fence }) => ({ id, fence })) });
      },
      begin: (lease) => ask((id) => ({ kind: 'beats-begin', beats: which, id, lease })),
      check: () => post({ kind: 'beats-check', beats: which }),
      close() {
        beats.delete(which);
        post({ kind: 'beats-close', beats: which });
      },
    };
  }
}
