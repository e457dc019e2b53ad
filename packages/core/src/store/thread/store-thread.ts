// The thread of a store: calls, answers, and a new thread after the old one ended unexpectedly.

import { Worker } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { dulyError, fromPlainError } from '../../base/errors.ts';
import type { EngineInfo } from '../../contract/engine.ts';
import type { FromThread, ToThread } from './messages.ts';

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** What the thread sends without a question. */
export type ThreadNews = Exclude<
  FromThread,
  { kind: 'open' | 'refused' | 'reply' | 'begun' | 'error' | 'ping' }
>;

/** Who listens to a thread. */
export interface ThreadListener {
  receive(news: ThreadNews): void;
  /** Another thread is there, and knows nothing of what the one before it held. */
  restarted(): void;
}

// A thread that died once may die again: 100, 200 ms … 5 s between two.
const firstPauseMs = 100;
const pauseMsMax = 5_000;

/** The thread that holds a store. It does not keep the process alive while nothing is asked of it. */
export class StoreThread {
  /** What the store says of itself. */
  readonly info: EngineInfo;
  readonly #url: string;
  readonly #listener: ThreadListener;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  /** Whether the thread was told that a call is coming which has not come yet. */
  #isExpected = false;
  #ended: Error | null = null;
  /** null: it has died, and another one is not there yet. */
  #worker: Worker | null = null;
  #restarting: Promise<void> = Promise.resolve();

  private constructor(url: string, info: EngineInfo, listener: ThreadListener) {
    this.#url = url;
    this.info = info;
    this.#listener = listener;
  }

  /** Starts the thread and waits until it has opened the store. Rejects with why it could not. */
  static async open(url: string, listener: ThreadListener): Promise<StoreThread> {
    const { worker, info } = await startThread(url);
    const thread = new StoreThread(url, info, listener);
    thread.#adopt(worker);
    return thread;
  }

  /** Whether it was closed. */
  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** A number that no question and nothing else of this thread has. */
  newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Sends a message that has no answer. */
  post(message: ToThread): void {
    this.#worker?.postMessage(message);
  }

  /** Sends a question and waits for its answer. Rejects with `store_unavailable` if the thread ends before that. */
  ask<Result>(message: (id: number) => ToThread): Promise<Result> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    if (this.#worker === null) return Promise.reject(threadError(this.info, null, false));
    return new Promise<Result>((resolve, reject) => {
      const id = this.newId();
      this.#isExpected = false;
      if (this.#waiting.size === 0) this.#worker?.ref();
      this.#waiting.set(id, { resolve, reject });
      this.post(message(id));
    });
  }

  /** Says that a call is coming, so that the thread is awake for it. */
  expect(): void {
    // A thread with something to answer is awake, and one word for all calls of a burst is enough.
    if (this.#isExpected || this.#waiting.size > 0) return;
    this.#isExpected = true;
    this.post({ kind: 'soon' });
  }

  /** Closes the store and ends the thread. */
  async close(): Promise<void> {
    if (this.#ended !== null) return;
    const one = this.#worker;
    const closing = one === null ? this.#restarting : this.ask((id) => ({ kind: 'close', id }));
    this.#ended = closedError(this.info);
    // A thread that dies while it closes is closed.
    await closing.catch(() => {});
    await one?.terminate();
  }

  #adopt(one: Worker): void {
    this.#worker = one;
    one.on('message', (message: FromThread) => this.#receive(message));
    one.on('error', (error) => this.#lose(one, error));
    one.on('exit', () => this.#lose(one, null));
    one.unref();
  }

  #lose(one: Worker, cause: unknown): void {
    if (one !== this.#worker) return;
    this.#worker = null;
    this.#rejectAll(this.#ended ?? threadError(this.info, cause, true));
    if (this.#ended === null) this.#restarting = this.#restart();
  }

  async #restart(): Promise<void> {
    for (let pauseMs = firstPauseMs; this.#ended === null; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
      await new Promise<void>((resolve) => void systemClock.after(pauseMs, resolve, { unref: true }));
      // A store that cannot be opened now is tried again: whoever calls meanwhile is told that it is away.
      const started = await startThread(this.#url).catch(() => null);
      if (started === null) continue;
      if (this.#ended !== null) {
        await started.worker.terminate();
        return;
      }
      this.#adopt(started.worker);
      this.#listener.restarted();
      return;
    }
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case 'reply':
        this.#settle(message.id, (one) => one.resolve(message.reply as never));
        break;
      case 'begun':
        this.#settle(message.id, (one) => one.resolve(message.state as never));
        break;
      case 'error':
        this.#settle(message.id, (one) => one.reject(fromPlainError(message.error)));
        break;
      case 'ping':
        this.post({ kind: 'pong' });
        break;
      case 'open':
      case 'refused':
        break;
      default:
        this.#listener.receive(message);
    }
  }

  #settle(id: number, fn: (one: Waiting) => void): void {
    const one = this.#waiting.get(id);
    if (one === undefined) return;
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    fn(one);
  }

  #rejectAll(error: Error): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, (one) => one.reject(error));
  }
}

function threadError(info: EngineInfo, cause: unknown, unknown: boolean): Error {
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

function closedError(info: EngineInfo): Error {
  return dulyError('store_closed', {
    message: `The store "${info.place}" was closed.`,
    hint: 'Open a new one; a closed store stays closed.',
    details: { path: info.place },
  });
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
