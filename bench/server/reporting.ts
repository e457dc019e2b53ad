// The worker of the load test, in a process of its own: its jobs run until the end and report progress in turn.
import { Duly, type TaskContext } from '@duly/core';
import { elapsed } from '../contestant.ts';
import { type Calls, serveCalls } from './parts.ts';

const duly = new Duly({ store: process.argv[2] as string, logger: false });
const running: TaskContext<unknown>[] = [];
let finish: () => void = () => {};
const over = new Promise<void>((resolve) => {
  finish = resolve;
});
let onAll: () => void = () => {};
let wanted = Number.POSITIVE_INFINITY;
duly.task({
  name: 'long',
  run: async (context) => {
    running.push(context);
    if (running.length >= wanted) onAll();
    await over;
  },
});

/** What the worker's process can be asked. */
export interface ReportingCalls extends Calls {
  /** Starts, and answers when so many jobs run. */
  start(count: number): Promise<void>;
  /** Lets so many jobs a second report, each with the instant at which it did, for so long. */
  report(perSecond: number, forMs: number): Promise<number>;
  close(): Promise<void>;
}

const calls: ReportingCalls = {
  async start(count) {
    wanted = count;
    const all = new Promise<void>((resolve) => {
      onAll = resolve;
    });
    await duly.start({ concurrency: count, signals: false });
    if (running.length < count) await all;
  },
  async report(perSecond, forMs) {
    const from = elapsed();
    let count = 0;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const due = Math.min(elapsed() - from, forMs) * (perSecond / 1_000);
        for (; count < due; count++) {
          const context = running[count % running.length] as TaskContext<unknown>;
          void context.progress(Math.min(99, count / running.length), String(elapsed()));
        }
        if (elapsed() - from < forMs) return;
        clearInterval(timer);
        resolve();
      }, 5);
    });
    return count;
  },
  async close() {
    finish();
    await duly.stop({ drain: 0 });
  },
};
serveCalls(calls);
