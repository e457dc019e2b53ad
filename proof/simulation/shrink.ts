/** Makes a failing world smaller: what is not needed for the failure is left out. */
import { systemClock } from '../../packages/core/src/base/clock.ts';
import type { Script } from './script.ts';
import type { Played } from './seeds.ts';
import type { SimulateOptions } from './simulate.ts';

/** How many worlds may be tried. */
const tryCountMax = 120;
const tryMsMax = 30_000;
// A world that does not come to rest is known by far fewer events than it is given at first; ordinary ones have up to 3,000.
const restlessEventCountMax = 6_000;

/** The script without the steps that the failure does not need. Dropping a step shifts chance, so this finds a small one, not the smallest; when the signal is aborted, what it has by then. */
export async function shrink(
  script: Script,
  invariant: string,
  play: (script: Script, options: SimulateOptions) => Promise<Pick<Played, 'violations'>>,
  options: SimulateOptions = {},
  signal?: AbortSignal,
): Promise<Script> {
  let best = script;
  let tried = 0;
  const untilElapsed = systemClock.elapsed() + tryMsMax;
  const mayTry = () =>
    tried < tryCountMax && systemClock.elapsed() < untilElapsed && signal?.aborted !== true;
  const fails = async (candidate: Script): Promise<boolean> => {
    tried++;
    const limit = invariant === 'comes-to-rest' ? { eventCountMax: restlessEventCountMax } : {};
    const { violations } = await play(candidate, { ...options, ...limit });
    return violations.some((violation) => violation.invariant === invariant);
  };
  // Halves first, then smaller and smaller pieces.
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.steps.length && mayTry(); ) {
      const steps = [...best.steps.slice(0, from), ...best.steps.slice(from + size)];
      const candidate = { ...best, steps };
      if (await fails(candidate)) best = candidate;
      else from += size;
    }
  }
  return best;
}
