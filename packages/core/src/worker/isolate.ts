import { isMainThread, type ResourceLimits, Worker, workerData } from 'node:worker_threads';
import { dulyError, fromPlainError, type PlainError, toPlainError } from '../base/errors.ts';
import type { ClaimedJob, JobError, JsonText, Progress } from '../contract/engine.ts';
import type { LogLevel } from '../jobs/task-definition.ts';
import type { AbortReason, HandlerOutcome } from '../lifecycle/outcome.ts';
import type { SharedLeases } from '../store/shared-leases.ts';
import type { AttemptPort } from './context.ts';
import { toJobError } from './job-error.ts';

/** What an isolated task's thread is started with. */
export interface IsolateData {
  dulyIsolate: { job: ClaimedJob; file: string; shared: SharedLeases | null };
}

/** From the thread to its parent. */
export type FromIsolate =
  | { kind: 'progress'; progress: Progress }
  | { kind: 'log'; level: LogLevel; message: string }
  | { kind: 'recall'; call: number; step: string }
  | { kind: 'record'; call: number; step: string; result: JsonText }
  | { kind: 'outcome'; outcome: HandlerOutcome }
  /** The task's module could not be loaded, or does not define the task. */
  | { kind: 'unusable'; error: PlainError };

/** From the parent to its thread. */
export type ToIsolate =
  | { kind: 'abort'; reason: AbortReason }
  | { kind: 'answer'; call: number; value: JsonText | null }
  | { kind: 'refusal'; call: number; error: PlainError };

/** An attempt in a thread of its own. */
export interface IsolateRun {
  /** How the handler ended; `died` when the thread ended first. Never rejects. */
  readonly outcome: Promise<HandlerOutcome | { kind: 'died'; error: JobError }>;
  /** Resolves when the thread is gone. */
  readonly exited: Promise<void>;
  /** Aborts the signal inside. A handler that blocks its thread does not notice. */
  abort(reason: AbortReason): void;
  /** Ends the thread, whatever it is doing. */
  kill(): void;
}

/** Whether this code runs in the thread of an isolated task, where a Duly must not start workers of its own. */
export function isIsolateThread(): boolean {
  return !isMainThread && (workerData as Partial<IsolateData> | null)?.dulyIsolate !== undefined;
}

/** What an isolated attempt is made of. */
export interface IsolateOptions {
  job: ClaimedJob;
  /** The module that defines the task: a path or a `file:` URL. */
  file: string;
  port: AttemptPort;
  /** Where the thread reads whether its lease still holds; null: it knows only what it is sent. */
  shared?: SharedLeases | null;
  /** Left out, a thread may use as much memory as the program; beyond that it ends, and the program does not. */
  resourceLimits?: ResourceLimits;
}

/** Runs an attempt in a new thread: it imports `file`, finds the job's task there by name and calls its handler. */
export function runIsolated(options: IsolateOptions): IsolateRun {
  const { job, file, port, shared = null, resourceLimits } = options;
  const data: IsolateData = { dulyIsolate: { job, file, shared } };
  // The build renames the extension; see scripts/build.ts.
  const thread = new Worker(new URL('./isolate-thread.ts', import.meta.url), {
    workerData: data,
    name: `duly-${job.type}`.slice(0, 60),
    // The task's module may need the program's own flags (a loader). Code given on the command line is the exception: its flags
    // are refused for a file.
    ...(process.execArgv.some((flag) => flag.startsWith('--input-type')) ? { execArgv: [] } : {}),
    ...(resourceLimits === undefined ? {} : { resourceLimits }),
  });
  const post = (message: ToIsolate): void => thread.postMessage(message);

  async function answer(call: number, ask: () => Promise<JsonText | null>): Promise<void> {
    try {
      post({ kind: 'answer', call, value: await ask() });
    } catch (error) {
      post({ kind: 'refusal', call, error: toPlainError(error) });
    }
  }

  const exited = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
  const outcome: IsolateRun['outcome'] = new Promise((resolve) => {
    const die = (message: string, cause?: unknown): void => {
      const error = dulyError('isolate_failed', {
        message: `The thread of job "${job.id}" (type "${job.type}") ${message}.`,
        cause,
      });
      resolve({ kind: 'died', error: toJobError(error) });
    };
    // The first of these settles the outcome; `exit` follows each of them.
    thread.on('message', (message: FromIsolate) => {
      switch (message.kind) {
        case 'progress':
          try {
            port.progress(message.progress);
          } catch {
            // The attempt no longer counts; the abort on its way to the thread says so.
          }
          return;
        case 'log':
          return port.log(message.level, message.message);
        case 'recall':
          return void answer(message.call, () => port.recall(message.step));
        case 'record':
          return void answer(message.call, () => port.record(message.step, message.result));
        case 'outcome':
          resolve(message.outcome);
          return void thread.terminate();
        case 'unusable':
          die('could not run the task', fromPlainError(message.error));
          return void thread.terminate();
      }
    });
    thread.once('error', (error) => die('failed', error));
    thread.once('exit', (code) => die(`ended with code ${code} before the handler did`));
  });

  return {
    outcome,
    exited,
    abort: (reason) => post({ kind: 'abort', reason }),
    kill: () => void thread.terminate(),
  };
}
