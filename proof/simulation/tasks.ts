/** The tasks of the simulated cluster: handlers that do every sort of thing that handlers do. */
import type { Clock } from '../../packages/core/src/clock.ts';
import type { Duly } from '../../packages/core/src/duly.ts';
import type { EveryDefinition } from '../../packages/core/src/schedule/definition.ts';
import type { TaskContext } from '../../packages/core/src/task.ts';
import type { WriteEvent } from '../history.ts';

/** What a job of the simulation is given. */
export interface TaskInput {
  /** The call that made it; null for a schedule's. */
  call: number | null;
  /** How long it works. */
  ms: number;
  /** How many attempts fail first. */
  failures: number;
}

/** The names of the tasks. */
export const taskNames = [
  'quick',
  'slow',
  'flaky',
  'once',
  'stubborn',
  'snoozer',
  'asker',
  'parent',
  'limited',
  'hasty',
  'steady',
] as const;

/** A task of the simulation. */
export type TaskName = (typeof taskNames)[number];

/** At most so many of a type run on one node. */
export const concurrencyOf: Record<string, number> = { limited: 1 };

/** What a node's tasks are made with. */
export interface TaskSetting {
  name: string;
  clock: Clock;
  storeAt(): number;
  write: WriteEvent;
  /** Schedules that this release declares, by task. */
  declared: Partial<Record<TaskName, EveryDefinition>>;
}

class Refusal extends Error {}

/** Defines the tasks on one node. */
export function defineTasks(duly: Duly, setting: TaskSetting): void {
  const { clock } = setting;
  const work = (context: TaskContext<unknown>): Promise<void> =>
    clock.sleep((context.input as TaskInput).ms, context.signal);
  const define = (
    name: TaskName,
    options: Partial<Parameters<Duly['task']>[0]>,
    run: (context: TaskContext<unknown>, input: TaskInput) => unknown,
  ): void => {
    const every = setting.declared[name];
    duly.task({
      name,
      retry: { attempts: 3, backoff: 'fixed', delay: '2s' },
      grace: '2s',
      ...(every === undefined ? {} : { every }),
      ...options,
      run: recorded(setting, async (context) => run(context, context.input as TaskInput)),
    });
  };

  define('quick', {}, () => 'done');
  define('slow', { timeout: '2m' }, async (context) => {
    await context.progress(10, 'half way');
    await work(context);
    context.signal.throwIfAborted();
    context.log('worked');
    return context.attempt;
  });
  define('flaky', {}, async (context, { failures }) => {
    await work(context);
    context.signal.throwIfAborted();
    if (context.attempt <= failures) throw new Refusal(`attempt ${context.attempt}`);
  });
  define('once', { delivery: 'at-most-once', retry: 1 }, async (context) => {
    await work(context);
    context.signal.throwIfAborted();
  });
  // Does not look at its signal; timed out, it is settled while it still runs.
  define('stubborn', { timeout: '4s' }, (_context, { ms }) => clock.sleep(ms));
  define('snoozer', {}, async (context) => {
    const isFirst = await context.once('seen', () => context.attempt);
    if (isFirst === context.attempt) context.snooze('5s');
    await work(context);
  });
  define('asker', { retry: 2 }, async (context, { failures }) => {
    if (context.attempt <= failures) context.retryIn('3s', 'not yet');
    await work(context);
  });
  define('parent', {}, async (context, { call }) => {
    const child = duly.tasks.get('quick');
    await child?.now({ call: null, ms: 0, failures: 0 } satisfies TaskInput, { key: `child-${call}` });
    await work(context);
    context.signal.throwIfAborted();
  });
  define('limited', { concurrency: concurrencyOf.limited }, async (context) => {
    await work(context);
    context.signal.throwIfAborted();
  });
  // Says nothing on the way and looks at nothing: its outcome travels in a list with others.
  define('steady', {}, (_context, { ms }) => clock.sleep(ms));
  define('hasty', { startDeadline: '3s' }, () => null);
}

/** The handler, with its beginning and end in the history. */
function recorded(
  { name, storeAt, write }: TaskSetting,
  run: (context: TaskContext<unknown>) => Promise<unknown>,
): (context: TaskContext<unknown>) => Promise<unknown> {
  return async (context) => {
    const { job, attempt, fence, slot } = context;
    const base = { node: name, id: job.id, attempt, fence };
    const slotAt = slot === null ? null : slot.at.getTime();
    write({ kind: 'began', at: storeAt(), ...base, type: job.type, slotAt });
    let how = 'returned';
    try {
      return await run(context);
    } catch (error) {
      how = error instanceof Error ? error.name : 'threw';
      throw error;
    } finally {
      write({ kind: 'ended', at: storeAt(), ...base, how });
    }
  };
}
