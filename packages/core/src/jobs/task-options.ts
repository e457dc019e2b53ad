import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  readWord,
  refuseOption,
} from '../base/option-reader.ts';
import { isStandardSchema, type StandardSchema } from '../base/schema.ts';
import { resolveRetry, writtenRetry } from '../lifecycle/retry.ts';
import { isBuiltIn, readQueue } from './built-in-tasks.ts';
import { attemptsFor, deliveries, readPriority, readTimeout } from './job-options.ts';
import type { DeclaredTask, ResolvedTask, TaskSettings } from './task-definition.ts';

/** `every` is read elsewhere. */
type GivenTask<Schema extends StandardSchema | undefined> = TaskSettings<Schema, unknown> & {
  every?: unknown;
};

const taskNames: OptionNames<GivenTask<StandardSchema>> = {
  name: true,
  input: true,
  version: true,
  queue: true,
  priority: true,
  retry: true,
  timeout: true,
  grace: true,
  delivery: true,
  concurrency: true,
  isolate: true,
  startDeadline: true,
  retention: true,
  deadRetention: true,
  every: true,
  run: true,
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What a task gets when it says nothing: docs/reference/semantics.md#attempts. */
export const taskDefaults = Object.freeze({
  version: 1,
  queue: 'default',
  priority: 0,
  timeoutMs: hourMs,
  graceMs: 30_000,
  delivery: 'at-least-once' as const,
  retentionMs: 7 * dayMs,
  deadRetentionMs: 90 * dayMs,
});

/**
 * Checks a task's definition and settles every option. `callerFile` is the module that defines it, for `isolate: true`.
 * Throws `invalid_task` for the name, the handler and the schema, `invalid_option` or `invalid_duration` for the rest.
 */
export function resolveTask(
  given: GivenTask<StandardSchema | undefined>,
  callerFile: () => string | null,
): ResolvedTask {
  if (typeof given !== 'object' || given === null) {
    throw dulyError('invalid_task', {
      message: 'Expected a task to be defined by an object with at least "name" and "run".',
    });
  }
  const name = readName(given.name, 'name', 'invalid_task');
  const options = readOptions(given, `task "${name}"`, taskNames as OptionNames<typeof given>);
  if (typeof options.run !== 'function') {
    refuseOption('run', options.run, `of task "${name}" to be a function`, undefined, 'invalid_task');
  }
  if (options.input !== undefined && !isStandardSchema(options.input)) {
    refuseOption(
      'input',
      options.input,
      `of task "${name}" to be a Standard Schema`,
      'Zod 3.24 and later, Valibot and ArkType make such schemas.',
      'invalid_task',
    );
  }
  const delivery =
    options.delivery === undefined
      ? taskDefaults.delivery
      : readWord(options.delivery, 'delivery', deliveries);
  return Object.freeze({
    name,
    version:
      options.version === undefined
        ? taskDefaults.version
        : readWholeNumber(options.version, 'version', 1, 1_000_000_000),
    queue:
      options.queue === undefined
        ? taskDefaults.queue
        : readQueue(options.queue, isBuiltIn(given) ? options.queue : null),
    priority: options.priority === undefined ? taskDefaults.priority : readPriority(options.priority),
    retry: attemptsFor(delivery, resolveRetry(options.retry), options.retry !== undefined),
    timeoutMs: options.timeout === undefined ? taskDefaults.timeoutMs : readTimeout(options.timeout),
    graceMs: options.grace === undefined ? taskDefaults.graceMs : parseDuration(options.grace, 'grace'),
    delivery,
    concurrency:
      options.concurrency === undefined
        ? null
        : readWholeNumber(options.concurrency, 'concurrency', 1, 100_000),
    isolateFile: resolveIsolate(options.isolate, name, callerFile),
    startDeadlineMs:
      options.startDeadline === undefined ? null : parseDuration(options.startDeadline, 'startDeadline'),
    retentionMs:
      options.retention === undefined
        ? taskDefaults.retentionMs
        : parseDuration(options.retention, 'retention'),
    deadRetentionMs:
      options.deadRetention === undefined
        ? taskDefaults.deadRetentionMs
        : parseDuration(options.deadRetention, 'deadRetention'),
    input: options.input ?? null,
    run: options.run as ResolvedTask['run'],
  });
}

/** What another process needs to know of a task to create jobs as its code would; a backoff of the code's own cannot be told. */
export function declaredTaskOf(task: ResolvedTask): DeclaredTask {
  const { name, version, queue, priority, delivery, timeoutMs, startDeadlineMs } = task;
  const retry = writtenRetry(task.retry.toStored());
  return {
    name,
    ...(version === taskDefaults.version ? {} : { version }),
    ...(queue === taskDefaults.queue ? {} : { queue }),
    ...(priority === taskDefaults.priority ? {} : { priority }),
    ...(retry === null ? {} : { retry }),
    ...(timeoutMs === taskDefaults.timeoutMs ? {} : { timeout: timeoutMs ?? 'none' }),
    ...(task.graceMs === taskDefaults.graceMs ? {} : { grace: task.graceMs }),
    ...(delivery === taskDefaults.delivery ? {} : { delivery }),
    ...(startDeadlineMs === null ? {} : { startDeadline: startDeadlineMs }),
    ...(task.retentionMs === taskDefaults.retentionMs ? {} : { retention: task.retentionMs }),
    ...(task.deadRetentionMs === taskDefaults.deadRetentionMs ? {} : { deadRetention: task.deadRetentionMs }),
  };
}

function resolveIsolate(
  isolate: TaskSettings<undefined, unknown>['isolate'],
  task: string,
  callerFile: () => string | null,
): string | null {
  if (isolate === undefined || isolate === false) return null;
  if (isolate === true) {
    const file = callerFile();
    if (file !== null) return file;
    throw dulyError('invalid_task', {
      message: `The module that defines the isolated task "${task}" could not be found.`,
      hint: 'Name it: isolate: { file: import.meta.url }.',
      details: { type: task },
    });
  }
  const file = typeof isolate === 'object' && isolate !== null ? isolate.file : undefined;
  if (file instanceof URL) return file.href;
  if (typeof file === 'string' && file !== '') {
    return file.startsWith('file:') ? file : pathToFileURL(file).href;
  }
  return refuseOption('isolate', isolate, 'to be true, false or { file }');
}

/**
 * The module that called into `below`, as a `file:` address, or null when the stack does not tell. Reads the stack of an error
 * made here, because a function is not told who calls it.
 */
export function callerFileOf(below: (...args: never[]) => unknown): string | null {
  const holder: { stack?: string } = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, below);
  Error.stackTraceLimit = limit;
  const place = /(file:\/\/[^\s)]+?|\/[^\s)]+?|[A-Za-z]:\\[^)]+?):\d+:\d+\)?$/.exec(holder.stack ?? '')?.[1];
  if (place === undefined) return null;
  if (!place.startsWith('file:')) return pathToFileURL(place).href;
  try {
    return pathToFileURL(fileURLToPath(place)).href;
  } catch {
    return null;
  }
}
