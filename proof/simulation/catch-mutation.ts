import type { Mutation } from './mutations.ts';
import { playSeed } from './seeds.ts';

/** A defect that is not caught in so many worlds is not caught. */
export const mutationSeedsMax = 400;

/** How many seeds, from 1 on, until one of the invariants that must see a defect sees it, and which of them; null: none does. */
export async function catchMutation(mutation: Mutation): Promise<{ seedCount: number; by: string[] } | null> {
  for (let seed = 1; seed <= mutationSeedsMax; seed++) {
    const { violations } = await playSeed(seed, mutation);
    const by = mutation.caughtBy.filter((name) => violations.some(({ invariant }) => invariant === name));
    if (by.length > 0) return { seedCount: seed, by };
  }
  return null;
}
