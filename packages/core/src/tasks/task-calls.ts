import { type Duration, parseDuration } from '../base/duration.ts';
import type { Ids } from '../base/ids.ts';
import { parseInstant } from '../base/instant.ts';
import type { Due, EnqueuedItem, JobSpec } from '../contract/engine.ts';
import { createJob } from '../jobs/create-job.ts';
import { currentJob } from '../jobs/current-job.ts';
import { JobHandle } from '../jobs/job-handle.ts';
import { type JobOptions, resolveJobOptions } from '../jobs/job-options.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { Tracing } from '../jobs/tracing.ts';
import type { RuleInput } from '../schedules/calendar/rule-input.ts';
import { type EveryOptions, joinEvery } from '../schedules/definition/definition.ts';
import type { Schedules } from '../schedules/schedules.ts';
import type { StoreSession } from '../store/session.ts';
import { userTransactionOf } from '../store/user-transaction.ts';
import { createJobWriter } from './job-writer.ts';
import { createManyJobs } from './many-jobs.ts';
import type { ManyOptions, Task } from './task.ts';

/** What the calls of a task need. */
export interface TaskCallDeps {
  session(): Promise<StoreSession>;
  /** Tells the store that a call will follow at once. */
  expect(): void;
  jobs: Jobs;
  schedules: Schedules;
  ids: Ids;
  inputBytesMax: number;
  tracing: Tracing | null;
}

/** Creates the calls of a task. */
export function createTask<Input, Result>(
  task: ResolvedTask,
  { session, expect, jobs, schedules, ids, inputBytesMax, tracing }: TaskCallDeps,
): Task<Input, Result> {
  type Handle = JobHandle<Input, Result>;
  const { write } = createJobWriter(task, { session, tracing });
  const toHandle = (item: EnqueuedItem): Handle => new JobHandle(jobs, item);
  const many = createManyJobs<Input, Handle>(task, { create, write, toHandle });

  function create(input: unknown, options: JobOptions | undefined, due: Due): JobSpec | Promise<JobSpec> {
    const parent = currentJob();
    const inherits = parent !== null && parent.tenant !== null && options?.tenant === undefined;
    const resolved = resolveJobOptions(task, inherits ? { ...options, tenant: parent.tenant } : options);
    return createJob({
      id: resolved.id ?? ids.jobId(),
      task,
      input,
      options: resolved,
      due,
      parent,
      inputBytesMax,
    });
  }

  async function one(input: unknown, options: JobOptions | undefined, due: Due): Promise<Handle> {
    expect();
    const spec = await create(input, options, due);
    const isRepeat = options?.id !== undefined;
    const { items, now } = await write([spec], options?.tx, isRepeat);
    const item = items[0] as EnqueuedItem;
    // A job that an earlier call created may have changed since.
    return new JobHandle<Input, Result>(jobs, item, isRepeat ? null : { spec, item, now });
  }

  const inDue = (delay: Duration): Due => ({ inMs: parseDuration(delay, 'delay') });
  const atDue = (instant: Date | number | string): Due => ({ at: parseInstant(instant, 'at') });
  const atOnce: Due = { inMs: 0 };

  return Object.freeze({
    name: task.name,
    version: task.version,
    now: async (input?: unknown, options?: JobOptions) => one(input, options, atOnce),
    in: async (delay: Duration, input?: unknown, options?: JobOptions) => one(input, options, inDue(delay)),
    at: async (instant: Date | number | string, input?: unknown, options?: JobOptions) =>
      one(input, options, atDue(instant)),
    every: async (rule: string | RuleInput, input?: unknown, options?: EveryOptions) => {
      const { tx, ...rest } = options ?? {};
      const definition = joinEvery(rule, input, options === undefined ? undefined : rest);
      if (tx === undefined) return schedules.every(task, definition);
      const { engine } = await session();
      return schedules.every(task, definition, await userTransactionOf(engine, tx));
    },
    nowMany: async (inputs: readonly Input[], options?: ManyOptions<Input>) => many(inputs, options, atOnce),
    inMany: async (delay: Duration, inputs: readonly Input[], options?: ManyOptions<Input>) =>
      many(inputs, options, inDue(delay)),
    atMany: async (instant: Date | number | string, inputs: readonly Input[], options?: ManyOptions<Input>) =>
      many(inputs, options, atDue(instant)),
  });
}
