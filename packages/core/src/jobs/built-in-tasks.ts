import { readName, refuseOption } from '../base/option-reader.ts';

/** How the names of the tasks begin that Duly's own server and command bring along. Lists for people leave them out. */
export const builtInPrefix = 'duly:';

/** The task that sends HTTP requests. */
export const httpTaskName = `${builtInPrefix}http`;

/** The task that runs commands. */
export const commandTaskName = `${builtInPrefix}command`;

/** The task of what only records what it would have done. It runs nothing, whatever its input says, so anybody may name it. */
export const shadowTaskName = `${builtInPrefix}shadow`;

/** The queue of the server's own work: deliveries of webhooks and notices of alerts. A worker reserves capacity for its tasks. */
export const internalQueue = `${builtInPrefix}internal`;

/** Marks the definition of a task that Duly's own server or command brings along: only those may use the prefix. */
export const builtInTask: unique symbol = Symbol.for('duly.builtInTask') as never;

/** Refuses a queue with Duly's prefix, except the queue of the task itself. Throws `invalid_option`. */
export function readQueue(value: unknown, own: string | null = null): string {
  const queue = readName(value, 'queue');
  if (!queue.startsWith(builtInPrefix) || queue === own) return queue;
  return refuseOption('queue', queue, `not to begin with "${builtInPrefix}"`, reservedHint);
}

/** Refuses a task with Duly's prefix that Duly does not define itself. Throws `invalid_task`. */
export function refuseReservedName(name: string, given: object): void {
  if (!name.startsWith(builtInPrefix) || isBuiltIn(given)) return;
  refuseOption('name', name, `not to begin with "${builtInPrefix}"`, reservedHint, 'invalid_task');
}

/** Whether a definition is Duly's own. */
export function isBuiltIn(given: object): boolean {
  return (given as { [builtInTask]?: unknown })[builtInTask] === true;
}

const reservedHint = "Names with this prefix are Duly's own. Choose another.";
