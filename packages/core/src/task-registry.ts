import type { ResolvedTask } from './task.ts';

// In the registry of symbols: a thread of an isolated task may load a second copy of this package beside the user's.
const key: unique symbol = Symbol.for('duly.task-registry') as never;

type Holder = { [key]?: Map<string, ResolvedTask> };

function registry(): Map<string, ResolvedTask> {
  const holder = globalThis as Holder;
  holder[key] ??= new Map();
  return holder[key];
}

/**
 * Makes a task known to this thread, so that a thread that imported the task's module can find it by name. The last one
 * of a name wins; what a worker runs is decided by the tasks it is given, not here.
 */
export function registerTask(task: ResolvedTask): void {
  registry().set(task.name, task);
}

/** The task of this name that was defined in this thread. */
export function findTask(name: string): ResolvedTask | undefined {
  return registry().get(name);
}

/** The names of all tasks defined in this thread. */
export function registeredTaskNames(): string[] {
  return [...registry().keys()];
}
