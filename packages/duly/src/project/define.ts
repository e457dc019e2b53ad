import type { DulyOptions, ScheduleDefinition, StandardSchema, TaskOptions } from '@duly/core';

/** A task as a module of `tasks/` or a config holds it: what `duly.task` takes. */
export type TaskDefinition<
  Schema extends StandardSchema | undefined = StandardSchema | undefined,
  Result = unknown,
> = TaskOptions<Schema, Result>;

/** What `duly.config.ts` may export by default, beside a Duly of its own. */
export interface DulyConfig
  extends Pick<
    DulyOptions,
    'app' | 'release' | 'concurrency' | 'queues' | 'lease' | 'heartbeat' | 'drain' | 'limits' | 'retention'
  > {
  /** The store's address. With a pool of its own a config exports a Duly. */
  store?: string;
  /** Tasks beside those of the `tasks/` folder. */
  // biome-ignore lint/suspicious/noExplicitAny: each task has its own schema and result, and a handler is not a supertype of another
  tasks?: readonly TaskDefinition<any, any>[];
  /** Schedules of those tasks, beside what the tasks declare with `every`. */
  schedules?: readonly ScheduleDefinition[];
}

/** Gives a config its types; returns it as it is. */
export function defineConfig(config: DulyConfig): DulyConfig {
  return config;
}

/** Gives a task's definition its types, the handler's input among them; returns it as it is. */
export function defineTask<Schema extends StandardSchema | undefined = undefined, Result = unknown>(
  definition: TaskOptions<Schema, Result>,
): TaskOptions<Schema, Result> {
  return definition;
}
