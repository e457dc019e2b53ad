import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import type { Ids } from '../base/ids.ts';
import { parseInstant } from '../base/instant.ts';
import { refuseOption } from '../base/option-reader.ts';
import type { Due, EnqueuedItem, JobSpec } from '../contract/engine.ts';
import { createJob } from '../jobs/create-job.ts';
import { currentJob } from '../jobs/current-job.ts';
import { JobHandle } from '../jobs/job-handle.ts';
import { type JobOptions, resolveJobOptions } from '../jobs/job-options.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import { type Tracing, withTraceparent } from '../jobs/tracing.ts';
import type { RuleInput } from '../schedules/calendar/rule-input.ts';
import { type EveryOptions, joinEvery } from '../schedules/definition/definition.ts';
import type { Schedules } from '../schedules/schedules.ts';
import { groupItems, type StoreSession } from '../store/session.ts';
import { userTransactionOf } from '../store/user-transaction.ts';
import type { ManyOptions, Task } from './task.ts';

/** What a task's verbs stand on. */
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

// One call is one transaction. More jobs than this, or more bytes, hold the store for so long that others notice.
const manyCountMax = 10_000;
const manyBytesMax = 64 * 1024 * 1024;

/** Makes the verbs of a task. */
export function createTask<Input, Result>(
  task: ResolvedTask,
  { session, expect, jobs, schedules, ids, inputBytesMax, tracing }: TaskCallDeps,
): Task<Input, Result> {
  type Handle = JobHandle<Input, Result>;

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

  /** Hands promises in: through the batcher, or inside the caller's own transaction, which nobody else may share. */
  async function keep(
    specs: JobSpec[],
    tx: unknown,
    repeat = false,
  ): Promise<{ items: EnqueuedItem[]; now: number }> {
    const { enqueue, engine } = await session();
    if (tx === undefined && !repeat) {
      const group = await enqueue.push(specs);
      return { items: groupItems(group), now: group.now };
    }
    const userTransaction = tx === undefined ? engine : await userTransactionOf(engine, tx);
    const { groups, now } = await userTransaction.enqueue({
      groups: [{ jobs: specs }],
      ...(repeat ? { repeat } : {}),
    });
    return { items: groupItems(groups[0] as (typeof groups)[number]), now };
  }

  /** The same, followed where somebody follows. */
  function traced(specs: JobSpec[], tx: unknown, repeat = false): ReturnType<typeof keep> {
    if (tracing === null) return keep(specs, tx, repeat);
    const call = {
      type: task.name,
      queue: specs[0]?.queue ?? task.queue,
      ids: specs.map(({ id }) => id),
    };
    return tracing.enqueue(call, (traceparent) => {
      if (traceparent !== null) {
        for (const spec of specs) spec.metadata = withTraceparent(spec.metadata, traceparent);
      }
      return keep(specs, tx, repeat);
    });
  }

  async function one(input: unknown, options: JobOptions | undefined, due: Due): Promise<Handle> {
    expect();
    const spec = await create(input, options, due);
    const isRepeat = options?.id !== undefined;
    const { items, now } = await traced([spec], options?.tx, isRepeat);
    const item = items[0] as EnqueuedItem;
    // What was made by an earlier call may stand otherwise by now.
    return new JobHandle<Input, Result>(jobs, item, isRepeat ? null : { spec, item, now });
  }

  async function many(
    inputs: readonly unknown[],
    options: ManyOptions<Input> | undefined,
    due: Due,
  ): Promise<Handle[]> {
    checkMany(task, inputs, options);
    const specs: JobSpec[] = [];
    let tx = typeof options === 'object' ? options?.tx : undefined;
    let bytes = 0;
    let isRepeat = false;
    for (const [i, input] of inputs.entries()) {
      const own = typeof options === 'function' ? options(input as Input, i) : options;
      if (i === 0) tx = own?.tx;
      else if (own?.tx !== tx)
        refuseOption('tx', own?.tx, 'to be the same for all jobs of one call, which are created all or none');
      if (own?.id !== undefined) isRepeat = true;
      const created = create(input, own, due);
      const spec = created instanceof Promise ? await created : created;
      bytes += spec.input.length;
      if (bytes > manyBytesMax) {
        throw dulyError('input_too_large', {
          message: `The inputs of ${inputs.length} jobs of task "${task.name}" are together more than ${manyBytesMax} bytes.`,
          hint: 'Create them in several calls.',
          details: { type: task.name, maxBytes: manyBytesMax },
        });
      }
      specs.push(spec);
    }
    if (specs.length === 0) return [];
    const { items } = await traced(specs, tx, isRepeat);
    return items.map((item) => new JobHandle<Input, Result>(jobs, item));
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

function checkMany<Input>(
  task: ResolvedTask,
  inputs: readonly unknown[],
  options: ManyOptions<Input> | undefined,
): void {
  if (!Array.isArray(inputs)) {
    refuseOption('inputs', inputs, `of task "${task.name}" to be an array, one element for each job`);
  }
  if (inputs.length > manyCountMax) {
    refuseOption(
      'inputs',
      inputs.length,
      `to be at most ${manyCountMax} in one call`,
      'Create them in several calls.',
    );
  }
  // One key for all of them would fold the whole list into one job.
  if (typeof options === 'object' && options !== null && inputs.length > 1) {
    const field = (['key', 'dedupe', 'id'] as const).find((one) => options[one] !== undefined) ?? null;
    if (field === null) return;
    throw dulyError('invalid_option', {
      message: `The option "${field}" cannot be the same for ${inputs.length} jobs of task "${task.name}".`,
      hint: 'Give the options as a function: (input, index) => ({ … }).',
      details: { field, type: task.name },
    });
  }
}
