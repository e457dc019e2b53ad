import type { Duration } from '../base/duration.ts';
import type { InferOutput, StandardSchema } from '../base/schema.ts';
import type { LogLine, Origin } from '../contract/engine.ts';
import type { ResolvedRetry, RetryPolicy } from '../lifecycle/retry.ts';

/** What a handler learns about the slot for which a schedule created its job. */
export interface SlotContext {
  /** The nominal instant. */
  at: Date;
  /** Its date in the schedule's zone, `2027-01-15`. */
  date: string;
  timezone: string;
  schedule: string;
  fireId: string;
}

/** What a handler is given for one attempt. */
export interface TaskContext<Input> {
  input: Input;
  /** The job this attempt belongs to. */
  job: {
    readonly id: string;
    readonly type: string;
    readonly queue: string;
    readonly tenant: string | null;
    readonly priority: number;
    readonly metadata: Record<string, unknown>;
    readonly createdAt: Date;
    readonly dueAt: Date;
    readonly origin: Origin;
  };
  /** Number of this attempt, from 1; grows over losses and retries by hand too. */
  attempt: number;
  /** Greater than every fence given before for this job: guard writes elsewhere with it. */
  fence: number;
  /** Aborted with reason `cancelled`, `timeout`, `lost` or `shutdown` (a `DulyError` whose code says which). */
  signal: AbortSignal;
  /** How much later than its due instant this attempt started, in milliseconds. */
  lateness: number;
  /** Whether a schedule created it for a slot that was missed. */
  isCatchUp: boolean;
  /** The slot; null for a job that no schedule created. */
  slot: SlotContext | null;
  previousSlot: Date | null;
  nextSlot: Date | null;
  /** The slots missed or merged since the last one that fired. */
  covers: { from: Date; to: Date; count: number } | null;
  /**
   * Shows progress, 0 to 100; never goes back within an attempt. Coalesced: call it as often as you like. Resolves when
   * the value is on its way; throws `lease_lost` when this attempt no longer counts.
   */
  progress(percent: number, message?: string, step?: { step?: number; of?: number }): Promise<void>;
  /** Keeps a line with the job; the oldest give way after 1,000. */
  log: {
    (message: string): void;
    debug(message: string): void;
    info(message: string): void;
    warn(message: string): void;
    error(message: string): void;
  };
  /** Runs `fn` until its result is recorded under this name, then never again for this job. */
  once<Value>(step: string, fn: () => Value | Promise<Value>): Promise<Value>;
  /**
   * Completes this job inside a transaction of your own on the database that holds the store: the job is COMPLETED, with this result, if and
   * only if you commit. Throws `lease_lost`, and makes the transaction fail, when this attempt no longer counts. Afterwards the
   * handler only has to commit and return; what it returns is not looked at.
   */
  completeIn(tx: unknown, result?: unknown): Promise<void>;
  /** Ends this attempt as a failure that is tried again after this long, if attempts are left. Throws; nothing runs after it. */
  retryIn(delay: Duration, reason?: string): never;
  /** The same, at an instant. */
  retryAt(at: Date | number | string, reason?: string): never;
  /** Puts the job off without spending an attempt. Throws; nothing runs after it. */
  snooze(delay: Duration): never;
}

/** A handler: a plain function. What it returns is the job's result and must be JSON. */
export type TaskHandler<Input, Result> = (context: TaskContext<Input>) => Result | Promise<Result>;

/** What a task is defined by, without its schedules. */
export interface TaskSettings<Schema extends StandardSchema | undefined, Result> {
  /** The type of the jobs it handles. */
  name: string;
  /** Checked when a job is created and again when it runs. */
  input?: Schema;
  /** Jobs of a newer version wait for a worker that has it. Default 1. */
  version?: number;
  queue?: string;
  priority?: number;
  retry?: RetryPolicy | number;
  /** Longest run of one attempt, default 1 h; `'none'` must be written. */
  timeout?: Duration | 'none';
  /** How long an aborted handler may still settle by itself, default 30 s. */
  grace?: Duration;
  delivery?: 'at-least-once' | 'at-most-once';
  /** How many attempts of this task one worker runs at the same time. */
  concurrency?: number;
  /** Runs in a thread of its own that can be killed. `file` names the module that defines the task, if it cannot be found by itself. */
  isolate?: boolean | { file: string | URL };
  /** How late after its due time a job may still start for the first time. */
  startDeadline?: Duration;
  /** How long finished jobs are kept, default 7 days. */
  retention?: Duration;
  /** How long dead letters are kept, default 90 days. */
  deadRetention?: Duration;
  run: TaskHandler<Schema extends StandardSchema ? InferOutput<Schema> : unknown, Result>;
}

/** A task with every option settled; what the worker runs. */
export interface ResolvedTask {
  readonly name: string;
  readonly version: number;
  readonly queue: string;
  readonly priority: number;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | null;
  readonly graceMs: number;
  readonly delivery: 'at-least-once' | 'at-most-once';
  /** null: only the worker's own limit. */
  readonly concurrency: number | null;
  /** Module that defines the task, when it runs in a thread of its own; else null. */
  readonly isolateFile: string | null;
  readonly startDeadlineMs: number | null;
  readonly retentionMs: number;
  readonly deadRetentionMs: number;
  readonly input: StandardSchema | null;
  readonly run: TaskHandler<unknown, unknown>;
}

/** Levels a handler may log at. */
export type LogLevel = LogLine['level'];

/** The settings of a task that another process needs to create its jobs without its code. A setting that is left out has its default. */
export type DeclaredTask = Pick<TaskSettings<undefined, unknown>, 'name' | DeclaredTaskField>;

type DeclaredTaskField =
  | 'version'
  | 'queue'
  | 'priority'
  | 'retry'
  | 'timeout'
  | 'grace'
  | 'delivery'
  | 'startDeadline'
  | 'retention'
  | 'deadRetention';
