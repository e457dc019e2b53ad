import { playAgainstModel } from './model-play.ts';
import type { DefineTest } from './suite.ts';

/** Random lives of jobs, compared with a slow and obvious model. */
export function randomTests(test: DefineTest): void {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`a random life of jobs agrees with the model (seed ${seed})`, async ({ engine }) => {
      await playAgainstModel({ engine, seed, steps: 60 });
    });
  }
}
