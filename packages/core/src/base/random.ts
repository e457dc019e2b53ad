import { getRandomValues } from 'node:crypto';

/** A source of chance, injected wherever a decision depends on it, so that a seed repeats the decision. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  next(): number;
}

// Filled by the operating system's generator, 8 KiB at a time: ids of processes that started from the same image must
// differ, which a generator seeded once per process cannot promise, and one call per number would be slow.
const pool = new Uint32Array(2_048);
let poolAt = pool.length;

/** Chance from the operating system, 53 bits at a time. */
export const systemRandom: Random = {
  next() {
    if (poolAt >= pool.length) {
      getRandomValues(pool);
      poolAt = 0;
    }
    const high = (pool[poolAt++] as number) >>> 5;
    const low = (pool[poolAt++] as number) >>> 6;
    return (high * 0x4000000 + low) / 0x20000000000000;
  },
};

/** The same sequence for the same seed, on every machine (mulberry32). For tests and simulations, not for ids. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
    },
  };
}
