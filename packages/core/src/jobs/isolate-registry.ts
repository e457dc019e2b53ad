import type { ResolvedTask } from './task-definition.ts';

// In the registry of symbols: a thread of an isolated task may load a second copy of this package beside the user's.
const key: unique symbol = Symbol.for('duly.task-registry') as never;

interface Registry {
  tasks: Map<string, ResolvedTask>;
  /** Resolves when the program of this thread has reached `start()`. */
  start: { promise: Promise<void>; resolve(): void };
}

type Holder = { [key]?: Registry };

function registry(): Registry {
  const holder = globalThis as Holder;
  holder[key] ??= { tasks: new Map(), start: createStart() };
  return holder[key];
}

// By hand: a Node that is too old for Duly also lacks Promise.withResolvers, and is to hear what it lacks from the store.
function createStart(): Registry['start'] {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/**
 * Makes a task known to this thread, so that a thread that imported the task's module can find it by name. The last one
 * of a name wins; what a worker runs is decided by the tasks it is given, not here.
 */
export function registerTask(task: ResolvedTask): void {
  registry().tasks.set(task.name, task);
}

/** The task of this name that was defined in this thread. */
export function findTask(name: string): ResolvedTask | undefined {
  return registry().tasks.get(name);
}

/** The names of all tasks defined in this thread. */
export function registeredTaskNames(): string[] {
  return [...registry().tasks.keys()];
}

/**
 * In the thread of an isolated task: notes that the program has reached `start()`, so its tasks are defined. Never resolves, because code after
 * it (creating jobs, serving requests) must not run a second time.
 */
export function blockForever(): Promise<never> {
  registry().start.resolve();
  return new Promise(() => {});
}

/** Resolves when the program of this thread has reached `start()`. */
export function startReached(): Promise<void> {
  return registry().start.promise;
}
