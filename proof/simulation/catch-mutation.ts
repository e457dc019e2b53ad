import type { Mutation } from './mutations/index.ts';
import { type Played, playSeed } from './seeds.ts';

/** A defect that is not caught in so many worlds is not caught. */
export const mutationSeedsMax = 1_500;

/** The seed that sees a defect, and which of the invariants that must see it do. */
export interface Caught {
  seed: number;
  by: string[];
}

/** The seeds of a search, from 1 on; before them the one that is known to see it, which makes the search short. */
export function* seedsFor(knownSeed: number | null): Generator<number> {
  if (knownSeed !== null) yield knownSeed;
  for (let seed = 1; seed <= mutationSeedsMax; seed++) yield seed;
}

/** Who sees a defect in a world that was played with it; null: nobody who must see it does. */
export function caughtIn({ seed, violations }: Played, mutation: Mutation): Caught | null {
  const by = mutation.caughtBy.filter((name) => violations.some(({ invariant }) => invariant === name));
  return by.length > 0 ? { seed, by } : null;
}

/** Looks for a world in which a defect is seen; null: there is none among so many. */
export async function catchMutation(
  mutation: Mutation,
  knownSeed: number | null = null,
): Promise<Caught | null> {
  for (const seed of seedsFor(knownSeed)) {
    const caught = caughtIn(await playSeed(seed, mutation), mutation);
    if (caught !== null) return caught;
  }
  return null;
}
