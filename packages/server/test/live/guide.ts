/** A worker in another process that is led through its jobs, and readers of streams. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

/** What a handler is told to do next. */
export type Order =
  | { percent: number; message?: string; step?: number; of?: number }
  | { log: string }
  | { throws: string }
  | { returns: unknown };

/** A worker process with the tasks `guided`, which does what it is told, and `quick`, which returns its input. */
export interface Guide {
  process: ChildProcess;
  /** Tells the handler of a job what to do next. */
  report(id: string, ...orders: Order[]): void;
}

/** Starts the worker; it ends with the test. */
export async function startGuide(t: TestContext, store: string): Promise<Guide> {
  const child = fork(fileURLToPath(new URL('./guided-worker.ts', import.meta.url)), {
    env: { ...process.env, DULY_TEST_STORE: store },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    if (child.connected) child.disconnect();
    else child.kill('SIGKILL');
    await exited;
  });
  await once(child, 'message');
  return {
    process: child,
    report(id, ...orders) {
      for (const order of orders) child.send({ id, order });
    },
  };
}

/** One server-sent event as it arrived. */
export interface SseEvent {
  /** The field `event`; `message` where there was none, `heartbeat` for a comment, `id` where there was no data. */
  event: string;
  /** The last id so far. */
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
  data: any;
}

/** A stream of server-sent events that is read one by one. */
export interface SseReader {
  status: number;
  headers: Headers;
  /** The next event with data, comments and ids left out; null: the stream has ended. */
  next(): Promise<SseEvent | null>;
  /** The next of anything. */
  nextOfAny(): Promise<SseEvent | null>;
  /** The next event that fits; fails if the stream ends before. */
  until(fits: (event: SseEvent) => boolean): Promise<SseEvent>;
  /** The last id that arrived, as an `EventSource` would send it. */
  lastEventId(): string;
  close(): Promise<void>;
}

/** Opens one. */
export async function openSse(
  t: TestContext,
  url: string,
  { key, after }: { key: string; after?: string },
): Promise<SseReader> {
  const aborter = new AbortController();
  t.after(() => aborter.abort());
  const response = await fetch(url, {
    headers: {
      Accept: 'text/event-stream',
      Authorization: `Bearer ${key}`,
      ...(after === undefined ? {} : { 'Last-Event-ID': after }),
    },
    signal: aborter.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let id = '';

  async function nextOfAny(): Promise<SseEvent | null> {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const fields = new Map(block.split('\n').map((line) => line.split(/:\s?(.*)/s) as [string, string]));
        id = fields.get('id') ?? id;
        const data = fields.get('data');
        const plain =
          data === undefined
            ? fields.has('')
              ? 'heartbeat'
              : fields.has('retry')
                ? 'retry'
                : 'id'
            : 'message';
        return {
          event: fields.get('event') ?? plain,
          id,
          data: data === undefined ? null : JSON.parse(data),
        };
      }
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return null;
      text += value;
    }
  }

  async function next(): Promise<SseEvent | null> {
    for (let event = await nextOfAny(); event !== null; event = await nextOfAny()) {
      if (event.data !== null) return event;
    }
    return null;
  }

  return {
    status: response.status,
    headers: response.headers,
    next,
    nextOfAny,
    async until(fits) {
      for (let event = await nextOfAny(); event !== null; event = await nextOfAny())
        if (fits(event)) return event;
      throw new Error('The stream ended before the event that was waited for.');
    },
    lastEventId: () => id,
    async close() {
      aborter.abort();
      await reader?.cancel().catch(() => {});
    },
  };
}
