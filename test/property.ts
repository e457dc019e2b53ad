// How many cases property tests and fuzzers play, and from which seed.

import { readOrEnd } from '../proof/arguments.ts';
import { seedStart } from '../proof/simulation/commit-seeds.ts';

/** `npm test` plays few cases of each property; DULY_TEST_RUNS=100 plays a hundred times as many. */
export const runFactor = Number(process.env['DULY_TEST_RUNS'] ?? 1);

/** The seed of random cases, and what it is derived from. */
export const { start: propertySeed, source: seedSource } = readOrEnd(() => seedStart('test'));

/** The options of a property of fast-check that plays this many cases in `npm test`. */
export function cases(count: number): { numRuns: number; seed: number } {
  return { numRuns: count * runFactor, seed: propertySeed };
}
