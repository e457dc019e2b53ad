import { describe, it } from 'node:test';
import { openStore } from '../../../src/engines/open.ts';
import { playAgainstModel, playRandom } from '../../../src/testing/conformance/index.ts';
import { openEngine } from './setup.ts';

describe('PostgreSQL, random sequences', () => {
  it('3 random lives of jobs agree with the model', async () => {
    for (let seed = 1; seed <= 3; seed += 1) {
      const engine = await openEngine();
      try {
        await playAgainstModel({ engine, seed, steps: 60 });
      } finally {
        await engine.close();
      }
    }
  });

  for (const seed of [1, 2]) {
    it(`PostgreSQL behaves like SQLite in memory (seed ${seed})`, async () => {
      const { engine: reference } = await openStore('sqlite::memory:');
      const engine = await openEngine();
      try {
        await playRandom({ engine, reference, seed, steps: 300 });
      } finally {
        await engine.close();
        await reference.close();
      }
    });
  }
});
