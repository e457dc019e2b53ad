import type { TestContext } from 'node:test';
import type { EveryOptions, LedgerSlot, RuleInput, Schedule, Task } from '../../src/index.ts';
import { createTestDuly, type Ran, type TestDuly, type TestDulyOptions } from '../../src/testing/index.ts';

/** What a run was told. */
export interface Reported {
  slot: string | null;
  date: string | null;
  previous: string | null;
  next: string | null;
  covers: { from: string; to: string; count: number } | null;
  isCatchUp: boolean;
  lateness: number;
  origin: string;
  input: unknown;
}

/** A Duly on virtual time with a task that notes what it is told. */
export interface Scene {
  t: TestDuly;
  task: Task;
  reported: Reported[];
  /** Makes the schedule `nightly`. */
  every(rule: string | RuleInput, options?: EveryOptions): Promise<Schedule>;
  /** The ledger of the schedule, oldest first, in short. */
  ledger(): Promise<string[]>;
}

/** Makes a scene that ends with its test. It begins at 2027-01-15T10:00:00Z unless told otherwise. */
export function scene(
  test: TestContext,
  {
    run = () => undefined,
    ...options
  }: TestDulyOptions & {
    run?: (context: { input: unknown; signal: AbortSignal }, t: TestDuly) => unknown;
  } = {},
): Scene {
  const t = createTestDuly(options);
  test.after(() => t.stop({ drain: 0 }));
  const reported: Reported[] = [];
  const task = t.task({
    name: 'report',
    retry: 1,
    run: (context) => {
      const { slot, previousSlot, nextSlot, covers, isCatchUp, lateness, job, input } = context;
      reported.push({
        slot: iso(slot?.at),
        date: slot?.date ?? null,
        previous: iso(previousSlot),
        next: iso(nextSlot),
        covers: covers && { from: iso(covers.from) ?? '', to: iso(covers.to) ?? '', count: covers.count },
        isCatchUp,
        lateness,
        origin: job.origin,
        input,
      });
      return run(context, t);
    },
  });
  return {
    t,
    task,
    reported,
    every: (rule, given) => task.every(rule, undefined, { name: 'nightly', ...given }),
    ledger: async () => {
      // Up to and including now.
      const slots = await t.schedules.slots('nightly', { to: t.now.getTime() + 1 });
      return slots.reverse().map(line);
    },
  };
}

/** A line of the ledger in short: slots, count, what became of it, why. */
export function line({ slot, to, count, status, reason }: LedgerSlot): string {
  const range = slot.getTime() === to.getTime() ? short(slot) : `${short(slot)}..${short(to)} ×${count}`;
  return `${range} ${status}${reason === null ? '' : ` (${reason})`}`;
}

function iso(at: Date | null | undefined): string | null {
  return at?.toISOString() ?? null;
}

/** An instant without what is the same everywhere. */
export function short(at: Date): string {
  return at
    .toISOString()
    .replace(/^2027-/, '')
    .replace(/:00\.000Z$|\.000Z$/, '');
}

/** The instants at which attempts started. */
export function startsOf(ran: readonly Ran[]): string[] {
  return ran.map(({ at }) => short(at));
}
