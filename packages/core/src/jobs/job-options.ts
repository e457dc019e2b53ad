import { type Duration, parseDuration } from '../base/duration.ts';
import { jobIdAt } from '../base/ids.ts';
import {
  type OptionNames,
  readName,
  readOptions,
  readWholeNumber,
  readWord,
  refuseOption,
} from '../base/option-reader.ts';
import type { Dedupe } from '../contract/engine.ts';
import { priorityMax, priorityMin } from '../lifecycle/rank.ts';
import { type ResolvedRetry, type RetryPolicy, resolveRetry } from '../lifecycle/retry.ts';
import { readQueue } from './built-in-tasks.ts';
import type { ResolvedTask } from './task-definition.ts';

/** One promise instead of several with the same key. Unique per type and tenant. */
export interface DedupeOptions {
  key: string;
  /** How long from its creation a job holds the key, whatever becomes of it. Left out: until the job is over. */
  for?: Duration;
  /**
   * What a second call does while the key is held. `drop` (default): nothing, it returns the holder. `replace`: gives the
   * unstarted holder the new input, due time and options. `extend`: the same, and is bounded by `maxWait`. A holder that has
   * started gets one follow-up behind it, into which later calls fold.
   */
  mode?: 'drop' | 'replace' | 'extend';
  /** For `extend`: how long after the first call the job starts at the latest. */
  maxWait?: Duration;
}

/** Options of a job, given when it is created; what is left out comes from the task. */
export interface JobOptions {
  queue?: string;
  /** −1000 to 1000; the higher is taken first. One step is worth a minute of waiting. */
  priority?: number;
  /** The tenant of the job. Inside a handler the default is the tenant of its job; null: none. */
  tenant?: string | null;
  /** The caller's own fields, kept with the job and given to its handler. */
  metadata?: Record<string, unknown>;
  /** How late after its due time the job may still start for the first time; then it is EXPIRED. */
  startDeadline?: Duration;
  retry?: RetryPolicy | number;
  timeout?: Duration | 'none';
  delivery?: 'at-least-once' | 'at-most-once';
  dedupe?: DedupeOptions;
  /** Jobs of one serial key (per tenant) run one at a time, in due order. */
  serial?: string;
  /**
   * A transaction of your own on the database that holds the store: the job is there when you commit, and never was when you roll back.
   * On PostgreSQL a client of `pg` after BEGIN, or a transaction of postgres.js, Drizzle, Kysely, Knex or Prisma; on SQLite the `DatabaseSync` of the same file after BEGIN.
   */
  tx?: unknown;
  /**
   * The job's own id, created before by `duly.newJobId()` and stored somewhere: a call that is repeated with it, because nobody knows whether the first
   * one took effect, creates nothing twice.
   */
  id?: string;
  /** Only inside a handler: the child is unique by this job and the key, so a retried fan-out does not double. */
  key?: string;
}

/** The options of one call with every choice made. */
export interface ResolvedJobOptions {
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string | null;
  readonly metadata: Record<string, unknown> | null;
  readonly startDeadlineMs: number | null;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | null;
  readonly delivery: 'at-least-once' | 'at-most-once';
  readonly dedupe: Dedupe | null;
  readonly serial: string | null;
  /** null: it gets a new one. */
  readonly id: string | null;
  readonly key: string | null;
}

const jobOptionNames: OptionNames<JobOptions> = {
  queue: true,
  priority: true,
  tenant: true,
  metadata: true,
  startDeadline: true,
  retry: true,
  timeout: true,
  delivery: true,
  dedupe: true,
  serial: true,
  tx: true,
  id: true,
  key: true,
};
const dedupeNames: OptionNames<DedupeOptions> = { key: true, for: true, mode: true, maxWait: true };

/** The two ways to deliver. */
export const deliveries = ['at-least-once', 'at-most-once'] as const;

/** Checks the options of a call and fills them up from the task. Throws `invalid_option` or `invalid_duration`. */
export function resolveJobOptions(
  task: ResolvedTask,
  given: JobOptions | undefined,
  what = `a job of task "${task.name}"`,
): ResolvedJobOptions {
  // Most calls give none, and then nothing depends on the call.
  if (given === undefined) return defaultsOf(task);
  const options = readOptions(given, what, jobOptionNames);
  const defaults = defaultsOf(task);
  const delivery =
    options.delivery === undefined ? defaults.delivery : readWord(options.delivery, 'delivery', deliveries);
  return Object.freeze({
    queue: options.queue === undefined ? defaults.queue : readQueue(options.queue, defaults.queue),
    priority: options.priority === undefined ? defaults.priority : readPriority(options.priority),
    tenant:
      options.tenant === undefined || options.tenant === null ? null : readName(options.tenant, 'tenant'),
    metadata: options.metadata === undefined ? null : readMetadata(options.metadata),
    startDeadlineMs:
      options.startDeadline === undefined
        ? defaults.startDeadlineMs
        : parseDuration(options.startDeadline, 'startDeadline'),
    retry: attemptsFor(
      delivery,
      options.retry === undefined ? defaults.retry : readCallRetry(options.retry, defaults.retry),
      options.retry !== undefined,
    ),
    timeoutMs: options.timeout === undefined ? defaults.timeoutMs : readTimeout(options.timeout),
    delivery,
    dedupe: options.dedupe === undefined ? null : readDedupe(options.dedupe),
    serial: options.serial === undefined ? null : readName(options.serial, 'serial'),
    id: options.id === undefined ? null : readOwnId(options.id),
    key: options.key === undefined ? null : readName(options.key, 'key'),
  });
}

const defaultsByTask = new WeakMap<ResolvedTask, ResolvedJobOptions>();

/** The options a job is created with when its call gives none: one object per task. */
export function defaultsOf(task: ResolvedTask): ResolvedJobOptions {
  let defaults = defaultsByTask.get(task);
  if (defaults === undefined) {
    defaults = Object.freeze({
      queue: task.queue,
      priority: task.priority,
      tenant: null,
      metadata: null,
      startDeadlineMs: task.startDeadlineMs,
      retry: task.retry,
      timeoutMs: task.timeoutMs,
      delivery: task.delivery,
      dedupe: null,
      serial: null,
      id: null,
      key: null,
    });
    defaultsByTask.set(task, defaults);
  }
  return defaults;
}

function readOwnId(id: unknown): string {
  if (typeof id === 'string' && jobIdAt(id) !== null) return id;
  return refuseOption('id', id, 'to be an id of duly.newJobId()');
}

/** Reads a priority. */
export function readPriority(value: unknown): number {
  return readWholeNumber(value, 'priority', priorityMin, priorityMax);
}

/** Reads the timeout of an attempt; null is `'none'`, which must be written. */
export function readTimeout(value: Duration | 'none'): number | null {
  // Less than a millisecond would be over before the handler is entered.
  return value === 'none' ? null : parseDuration(value, 'timeout', { minMs: 1 });
}

function readMetadata(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuseOption('metadata', value, 'to be an object', undefined, 'metadata_invalid');
  }
  return value as Record<string, unknown>;
}

/** The retry policy that fits a delivery: at most once means one start. More attempts are refused only where they were written. */
export function attemptsFor(
  delivery: (typeof deliveries)[number],
  retry: ResolvedRetry,
  isWritten: boolean,
): ResolvedRetry {
  if (delivery === 'at-least-once' || retry.attempts === 1) return retry;
  if (!isWritten) return resolveRetry(1, retry);
  return refuseOption(
    'retry.attempts',
    retry.attempts,
    'to be 1 with delivery "at-most-once", which never starts a job twice',
    'Leave "retry" out, or deliver at least once.',
  );
}

function readCallRetry(value: RetryPolicy | number, defaults: ResolvedRetry): ResolvedRetry {
  if (typeof value === 'object' && value !== null && typeof value.backoff === 'function') {
    refuseOption(
      'retry.backoff',
      value.backoff,
      'to be a word when a job is created',
      'Another process may settle the job. Put the function into the task.',
    );
  }
  return resolveRetry(value, defaults);
}

function readDedupe(given: DedupeOptions): Dedupe {
  if (typeof given === 'string') {
    refuseOption('dedupe', given, 'to be an object', `Write { key: ${JSON.stringify(given)} }.`);
  }
  const options = readOptions(given, 'dedupe', dedupeNames);
  const mode =
    options.mode === undefined
      ? 'drop'
      : readWord(options.mode, 'dedupe.mode', ['drop', 'replace', 'extend']);
  if (options.maxWait !== undefined && mode !== 'extend') {
    refuseOption(
      'dedupe.maxWait',
      options.maxWait,
      'to be used with mode "extend"',
      `The mode is "${mode}".`,
    );
  }
  return {
    key: readName(options.key, 'dedupe.key'),
    forMs: options.for === undefined ? null : parseDuration(options.for, 'dedupe.for', { minMs: 1 }),
    mode,
    maxWaitMs: options.maxWait === undefined ? null : parseDuration(options.maxWait, 'dedupe.maxWait'),
  };
}
