/** The tasks of a chaos run, the same in every process: nodes run them, clients make their jobs. */
import type { Duly, Expiring, Task, TaskContext } from '../../packages/core/src/index.ts';
import { systemClock } from '../../packages/core/src/index.ts';
import { completesInTransaction } from '../handler-notes.ts';
import { type OwnConnection, type OwnListener, openOwn } from './own.ts';

/** What a job of the run is told. */
export interface ChaosInput {
  /** How long its handler takes. */
  forMs?: number;
  /** Works so long before that, without a word: outcomes without a report travel in lists. */
  steadyMs?: number;
  /** How many of its attempts throw, from the first. */
  throwCount?: number;
}

/** What a handler tells about itself. */
export interface HandlerListener {
  /** The handler, with what it does noted. */
  recorded(
    run: (context: TaskContext<unknown>) => Promise<unknown>,
  ): (context: TaskContext<unknown>) => Promise<unknown>;
  /** It has completed its job in a transaction of its own and is about to commit; or it has committed. */
  passed(point: 'before commit' | 'after commit'): void;
  /** Told of a transaction of its own. */
  own(): OwnListener;
  /** A step of a job was entered, or its result was given. */
  stepped(step: { scope: string; key: string; state: 'ran' | 'given'; value: string }): void;
}

/** The tasks by what they are for. */
export interface ChaosTasks {
  quick: Task;
  slow: Task;
  flaky: Task;
  /** Never a second start. */
  fragile: Task;
  /** One at a time for each key. */
  serial: Task;
  /** Would take long, and is told to stop. */
  patient: Task;
  /** Takes longer than it may. */
  hurried: Task;
  /** Writes a row of its own in the transaction that completes it. */
  charge: Task;
  /** One at a time, and each only if it can start soon. */
  hasty: Task;
  /** In steps, each of which is done once; attempts of it fail between them. */
  journal: Task;
  /** Values that end by themselves. */
  values: Expiring<number>;
}

/** Names of the schedules that have a slot at every whole second. */
export const secondlySchedules: readonly string[] = ['tick', 'tick-all', 'tick-skip', 'tick-merge'];

const retry = { attempts: 4, backoff: 'fixed', delay: 150 } as const;

/**
 * Defines the tasks; with `declares` also their schedules, one for each way to treat what was missed or overlaps. Every second: a fault
 * that takes a node away for a moment already puts slots off.
 */
export function defineChaosTasks(
  duly: Duly,
  options: { listener: HandlerListener | null; declares: boolean; store: string },
): ChaosTasks {
  const { listener, declares, store } = options;

  const noted: HandlerListener['recorded'] = (run) => listener?.recorded(run) ?? run;

  const run = noted(async (context) => {
    const { forMs = 0, steadyMs = 0, throwCount = 0 } = (context.input ?? {}) as ChaosInput;
    if (steadyMs > 0) await systemClock.sleep(steadyMs);
    if (forMs > 0) {
      await systemClock.sleep(forMs / 2, context.signal);
      // One whose lease is gone is told so here, and ends.
      await context.progress(50, 'halfway');
      await systemClock.sleep(forMs / 2, context.signal);
    }
    if (context.attempt <= throwCount)
      throw new Error(`Attempt ${context.attempt} throws, as it was told to.`);
    return { fence: context.fence };
  });

  /** Does not look at its signal: what it commits too late must fail by itself. */
  const charge = noted(async (context) => {
    const { forMs = 0, throwCount = 0 } = (context.input ?? {}) as ChaosInput;
    let own: OwnConnection | null = null;
    try {
      await systemClock.sleep(forMs);
      own = await openOwn(store, listener?.own());
      await own.begin();
      await own.effect(context.job.id, context.fence);
      completesInTransaction(context);
      // Even one that hears of nothing must not leave its row behind.
      await context.completeIn(own.tx, { fence: context.fence }).catch(() => {});
      listener?.passed('before commit');
      // One whose lease was lost finds that its transaction is gone.
      if (context.attempt <= throwCount) await own.rollBack();
      else await own.commit();
      listener?.passed('after commit');
    } finally {
      // Not committed by now: it is rolled back with its connection.
      own?.close();
    }
  });

  /** Two steps that are done once, whatever becomes of its attempts: the first is asked for twice at a time. */
  const journal = noted(async (context) => {
    const { forMs = 0, throwCount = 0 } = (context.input ?? {}) as ChaosInput;
    const step = async (key: string): Promise<void> => {
      const note = (state: 'ran' | 'given', value: number) =>
        listener?.stepped({ scope: `job:${context.job.id}`, key, state, value: JSON.stringify(value) });
      const value = await context.once(key, async () => {
        note('ran', context.fence);
        await systemClock.sleep(forMs / 4, context.signal);
        return context.fence;
      });
      note('given', value);
    };
    await Promise.all([step('first'), step('first')]);
    await systemClock.sleep(forMs / 2, context.signal);
    if (context.attempt <= throwCount)
      throw new Error(`Attempt ${context.attempt} throws, as it was told to.`);
    await step('second');
    return { fence: context.fence };
  });

  const every = { anchor: 'epoch', input: { forMs: 30 } } as const;
  if (declares) {
    duly.task({ name: 'tick', every: { ...every, rate: '1s', overlap: 'allow' }, run });
    duly.task({ name: 'tick-all', every: { cron: '* * * * * *', missed: 'all', input: { forMs: 30 } }, run });
    duly.task({
      name: 'tick-skip',
      every: { ...every, rate: '1s', missed: 'skip', input: { forMs: 1_200 } },
      run,
    });
    duly.task({
      name: 'tick-merge',
      every: { ...every, rate: '1s', overlap: 'bufferOne', input: { forMs: 1_100 } },
      run,
    });
    // Each takes longer than the next one waits: the policy ends it.
    const ending = { ...every, rate: '2s', input: { forMs: 2_600 } } as const;
    duly.task({ name: 'tick-cancel', grace: '1s', every: { ...ending, overlap: 'cancelOther' }, run });
    duly.task({ name: 'tick-terminate', grace: '1s', every: { ...ending, overlap: 'terminateOther' }, run });
    duly.task({ name: 'tick-after', every: { delay: '1s', input: { forMs: 20 } }, run });
  }
  return {
    quick: duly.task({ name: 'quick', retry, run }),
    slow: duly.task({ name: 'slow', retry, run }),
    flaky: duly.task({ name: 'flaky', retry, run }),
    fragile: duly.task({ name: 'fragile', delivery: 'at-most-once', run }),
    serial: duly.task({ name: 'serial', retry, run }),
    patient: duly.task({ name: 'patient', retry, run }),
    hurried: duly.task({ name: 'hurried', retry: 1, timeout: '1s', grace: '1s', run }),
    charge: duly.task({ name: 'charge', retry: { ...retry, attempts: 10 }, run: charge }),
    hasty: duly.task({ name: 'hasty', retry, startDeadline: '600ms', run }),
    journal: duly.task({ name: 'journal', retry, run: journal }),
    values: duly.expiring<number>('chaos', { cleanup: run }),
  };
}
