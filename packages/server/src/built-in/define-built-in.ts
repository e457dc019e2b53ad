import {
  builtInTask,
  type Duly,
  type StandardSchema,
  type Task,
  type TaskInput,
  type TaskOptions,
} from '@duly/core';

type Run = (context: never) => unknown;

const defined = new WeakMap<Duly, Map<string, { run: Run }>>();

/**
 * Defines a task that comes with the server. A second server of the same Duly, as after a restart of the server alone, takes the task over: it
 * runs by what the newest one was created with.
 */
export function defineBuiltIn<Schema extends StandardSchema | undefined = undefined, Result = unknown>(
  duly: Duly,
  options: TaskOptions<Schema, Result>,
): Task<TaskInput<Schema>, Awaited<Result>> {
  const tasks = defined.get(duly) ?? new Map<string, { run: Run }>();
  defined.set(duly, tasks);
  const known = tasks.get(options.name);
  if (known !== undefined) {
    known.run = options.run as Run;
    return duly.tasks.get(options.name) as Task<TaskInput<Schema>, Awaited<Result>>;
  }
  const held = { run: options.run as Run };
  tasks.set(options.name, held);
  const own: TaskOptions<Schema, Result> = {
    ...options,
    run: (context) => held.run(context as never) as Result,
  };
  return duly.task<Schema, Result>(Object.assign(own, { [builtInTask]: true }));
}
