/** Worlds in which the store is away for longer than a lease, while handlers run that take longer than that. */
import { plainCreate } from './plain-create.ts';
import type { Step } from './script.ts';
import type { Dice } from './world.ts';

const second = 1_000;
// For a worker to see that its leases have ended, and for the checker to be sure that it did not.
const afterLeaseMs = 8 * second;

/** The store answers again by then. */
export const cutOffMsMax = 28 * second;

/** Jobs that outlast a store which does not answer. */
export function drawCutOffWorkers(dice: Dice, { leaseMs }: { leaseMs: number }): Step[] {
  const atMs = dice.between(1, 5) * second + dice.below(second);
  const awayMs = leaseMs + afterLeaseMs;
  const create = { ...plainCreate, ms: awayMs + 6 * second, count: 2 };
  return [
    // One looks at its signal and one does not: both must be told.
    { atMs, by: dice.below(1_000), ...create, task: 'flaky' },
    { atMs, by: dice.below(1_000), ...create, task: 'steady' },
    { atMs: atMs + dice.between(1, 3) * second, by: 0, do: 'refuse', forMs: awayMs },
  ];
}
