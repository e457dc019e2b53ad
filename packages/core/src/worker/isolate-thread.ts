/** The inside of an isolated task's thread: loads the task's module, runs one attempt and tells the parent how it ended. */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { dulyError, fromPlainError, toPlainError } from '../base/errors.ts';
import type { JsonText } from '../contract/engine.ts';
import { findTask, registeredTaskNames, startReached } from '../jobs/isolate-registry.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { AbortReason } from '../lifecycle/outcome.ts';
import { enterLease } from '../store/shared-leases.ts';
import { abortError, leaseLost } from './attempt-errors.ts';
import type { AttemptPort } from './context.ts';
import { runHandler } from './handler.ts';
import type { FromIsolate, IsolateData, ToIsolate } from './isolate.ts';

const parent = parentPort as MessagePort;
const takenElapsed = systemClock.elapsed();
const { job, file, shared } = (workerData as IsolateData).dulyIsolate;
const post = (message: FromIsolate): void => parent.postMessage(message);

const controller = new AbortController();
let aborted: AbortReason | null = null;
let isLost = false;
let lastCall = 0;
const calls = new Map<
  number,
  { resolve: (value: JsonText | null) => void; reject: (error: unknown) => void }
>();

function ask(message: (call: number) => FromIsolate): Promise<JsonText | null> {
  const call = ++lastCall;
  return new Promise((resolve, reject) => {
    calls.set(call, { resolve, reject });
    post(message(call));
  });
}

const port: AttemptPort = {
  signal: controller.signal,
  refusal() {
    if (aborted === 'cancelled') return 'cancelled';
    if (isLost) return 'ended';
    const { fence } = job;
    const isLate =
      shared !== null && enterLease(shared, { fence, takenElapsed }, systemClock.elapsed()) === 'ended';
    return isLate ? 'ended' : null;
  },
  progress(progress) {
    if (isLost) throw leaseLost(job);
    post({ kind: 'progress', progress });
  },
  log: (level, message) => post({ kind: 'log', level, message: String(message) }),
  recall: (step) => ask((call) => ({ kind: 'recall', call, step })),
  completeIn: async () => {
    throw dulyError('tx_unsupported', {
      message: `Job "${job.id}" runs isolated, in a thread of its own, and cannot be completed in a transaction from there.`,
      hint: 'Leave "isolate" out for a task that completes its jobs with completeIn().',
      details: { id: job.id },
    });
  },
  record: async (step, result) => (await ask((call) => ({ kind: 'record', call, step, result }))) as JsonText,
};

parent.on('message', (message: ToIsolate) => {
  if (message.kind === 'abort') {
    aborted = message.reason;
    isLost ||= message.reason === 'lost';
    controller.abort(abortError(message.reason, job));
    return;
  }
  const waiting = calls.get(message.call);
  calls.delete(message.call);
  if (message.kind === 'answer') waiting?.resolve(message.value);
  else waiting?.reject(fromPlainError(message.error));
});

async function loadTask(): Promise<ResolvedTask> {
  const module = import(isAbsolute(file) ? pathToFileURL(file).href : file);
  // A program that starts its own Duly stays there, and so never ends loading.
  await Promise.race([module, startReached()]);
  const task = findTask(job.type);
  if (task !== undefined) return task;
  const names = registeredTaskNames();
  throw dulyError('unknown_task', {
    message: `The module of the isolated task "${job.type}" does not define it; it defines ${names.length === 0 ? 'none' : names.map((name) => `"${name}"`).join(', ')}.`,
    hint: 'Define the task at the top level of its own module, or name the module: isolate: { file: import.meta.filename }.',
  });
}

try {
  const task = await loadTask();
  const outcome = await runHandler(job, task, port);
  // What was thrown may not be cloneable; the error made of it is.
  if (outcome.kind === 'threw') delete outcome.thrown;
  post({ kind: 'outcome', outcome });
} catch (error) {
  post({ kind: 'unusable', error: toPlainError(error) });
}
