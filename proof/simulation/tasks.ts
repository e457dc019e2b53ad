/** The tasks of the simulated cluster: handlers that do every sort of thing that handlers do. */
import type { Clock } from '../../packages/core/src/base/clock.ts';
import type { StandardSchema } from '../../packages/core/src/base/schema.ts';
import type { Expiring } from '../../packages/core/src/coordination/expiring.ts';
import type { Duly } from '../../packages/core/src/duly.ts';
import type { TaskContext } from '../../packages/core/src/jobs/task-definition.ts';
import type { EveryDefinition } from '../../packages/core/src/schedules/definition/definition.ts';
import { completesInTransaction, recorded } from '../handler-notes.ts';
import type { WriteEvent } from '../history.ts';
import type { UserTransaction } from './user-transactions.ts';

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
  'picky',
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
  'poison',
  'charge',
  'journal',
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
  /** Ends the process. */
  die(): void;
  /** Begins a transaction of the user's own; null: there are none in this world. */
  begin(): Promise<UserTransaction> | null;
  end(transaction: UserTransaction, how: 'commit' | 'rollBack'): void;
  /** Which version of a task it has, where it is not 1. */
  versionOf: Partial<Record<TaskName, number>>;
  /** Schedules that this release declares, by task. */
  declared: Partial<Record<TaskName, EveryDefinition>>;
}

class Refusal extends Error {}

/** A schema that refuses inputs with one or three failures if it is strict. */
function inputSchema(isStrict: boolean): StandardSchema<TaskInput> {
  const validate = (value: unknown) =>
    isStrict && (value as TaskInput).failures % 2 === 1
      ? { issues: [{ message: 'Expected no failure.' }] }
      : { value: value as TaskInput };
  return { '~standard': { version: 1, vendor: 'simulation', validate } };
}

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
      version: setting.versionOf[name] ?? 1,
      ...(every === undefined ? {} : { every }),
      ...options,
      run: recorded(
        () => setting,
        async (context) => run(context, context.input as TaskInput),
      ),
    });
  };

  define('quick', {}, () => 'done');
  // Every second process has a release that accepts less input.
  define(
    'picky',
    { input: inputSchema(Number(setting.name.slice(1)) % 2 === 1) },
    (_context, { failures }) => (failures === 2 ? () => null : null),
  );
  define('slow', { timeout: '2m' }, async (context, { ms }) => {
    await context.progress(10, 'begun');
    await clock.sleep(ms / 2, context.signal);
    // Also where it has lost its lease meanwhile and does not know yet.
    await context.progress(50, 'half way');
    await clock.sleep(ms / 2, context.signal);
    context.signal.throwIfAborted();
    context.log('worked');
    return context.attempt;
  });
  // So that how often it failed shows in when it comes again.
  define(
    'flaky',
    { retry: { attempts: 3, backoff: 'exponential', delay: '1s' } },
    async (context, { failures }) => {
      await work(context);
      context.signal.throwIfAborted();
      if (context.attempt <= failures) throw new Refusal(`attempt ${context.attempt}`);
    },
  );
  define('once', { delivery: 'at-most-once', retry: 1 }, async (context) => {
    await work(context);
    context.signal.throwIfAborted();
  });
  // Does not look at its signal; timed out, it is settled while it still runs.
  define('stubborn', { timeout: '4s' }, (_context, { ms }) => clock.sleep(ms));
  define('snoozer', {}, async (context) => {
    const isFirst = await context.once('seen', () => context.attempt);
    if (isFirst === context.attempt) context.snooze('8s');
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
  // Ends its process, whichever runs it.
  define('poison', {}, () => {
    setting.die();
    return new Promise(() => {});
  });
  define('hasty', { startDeadline: '3s' }, () => null);
  // Two steps that are done once, whatever becomes of its attempts.
  define('journal', {}, async (context, { failures }) => {
    const step = (name: string): Promise<number> => {
      const scope = `job:${context.job.id}`;
      const note = (state: 'ran' | 'given', value: number): void =>
        setting.write({
          kind: 'once',
          at: setting.storeAt(),
          node: setting.name,
          scope,
          key: name,
          state,
          value: JSON.stringify(value),
        });
      const run = async (): Promise<number> => {
        note('ran', context.fence);
        await clock.sleep(100, context.signal);
        return context.fence;
      };
      return context.once(name, run).then((value) => {
        note('given', value);
        return value;
      });
    };
    await Promise.all([step('first'), step('first')]);
    await work(context);
    context.signal.throwIfAborted();
    await step('second');
    if (context.attempt <= failures) throw new Refusal(`attempt ${context.attempt}`);
  });
  define('charge', {}, async (context, { ms, failures }) => {
    // Does not look at its signal: what it does too late must fail by itself.
    await clock.sleep(ms / 2);
    const transaction = await setting.begin();
    if (transaction === null) return;
    completesInTransaction(context);
    const { db } = transaction;
    db.prepare('INSERT INTO effects VALUES (?, ?)').run(context.job.id, context.fence);
    try {
      // Even a handler that hears of nothing must not leave its effect behind.
      await context.completeIn(db, { fence: context.fence }).catch(() => {});
      await clock.sleep(ms / 8);
    } finally {
      setting.end(transaction, context.attempt <= failures ? 'rollBack' : 'commit');
    }
    await clock.sleep(ms / 8);
  });
  duly.expiring(valuesName, {
    cleanup: recorded(
      () => setting,
      async () => null,
    ),
  });
}

/** Values that end by themselves, the same on every node. */
export function valuesOf(duly: Duly): Expiring<number> {
  return duly.expiring<number>(valuesName);
}

const valuesName = 'v';
