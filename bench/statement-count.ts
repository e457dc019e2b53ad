/**
 * Counts the statements a process gives its store, in all of its threads. Loaded with `--import` it wraps the calls of `node:sqlite`
 * (threads inherit the argument); a thread that is asked over a channel answers with its count.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const channelName = 'bench-statement-count';

type Asked = { ask: number } | { answer: number; count: number };

/** Reads the count of all threads. */
export interface StatementCount {
  read(): Promise<number>;
  close(): void;
}

/** Opens the count; needs the process to have been started with this module as `--import`. */
export function openStatementCount(): StatementCount {
  const channel = new BroadcastChannel(channelName);
  let asks = 0;
  return {
    read: () =>
      new Promise((resolve) => {
        const ask = ++asks;
        let total = ownCount();
        channel.onmessage = (event: unknown) => {
          const { data } = event as { data: Asked };
          if ('answer' in data && data.answer === ask) total += data.count;
        };
        channel.postMessage({ ask } satisfies Asked);
        // Threads answer within a turn of their loop; whoever does not has no statements to count.
        setTimeout(() => resolve(total), 100);
      }),
    close: () => channel.close(),
  };
}

interface Counting {
  benchStatementCount?: number;
}

function ownCount(): number {
  return (globalThis as Counting).benchStatementCount ?? 0;
}

/** Wraps the calls that reach SQLite. */
function wrap(prototype: object, names: readonly string[]): void {
  const counting = globalThis as Counting;
  for (const name of names) {
    const original = (prototype as Record<string, (...args: unknown[]) => unknown>)[name];
    if (original === undefined) continue;
    Object.defineProperty(prototype, name, {
      value(this: unknown, ...args: unknown[]) {
        counting.benchStatementCount = (counting.benchStatementCount ?? 0) + 1;
        return original.apply(this, args);
      },
      writable: true,
      configurable: true,
    });
  }
}

if (
  process.execArgv.some((one) => one.includes('statement-count')) &&
  (globalThis as Counting).benchStatementCount === undefined
) {
  (globalThis as Counting).benchStatementCount = 0;
  wrap(StatementSync.prototype, ['run', 'get', 'all', 'iterate']);
  wrap(DatabaseSync.prototype, ['exec']);
  if (!isMainThread) {
    const channel = new BroadcastChannel(channelName);
    channel.onmessage = (event: unknown) => {
      const { data } = event as { data: Asked };
      if ('ask' in data) channel.postMessage({ answer: data.ask, count: ownCount() } satisfies Asked);
    };
    (channel as unknown as { unref(): void }).unref();
  }
}
