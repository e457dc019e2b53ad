import { describe, it } from 'node:test';
import { playAgainstModel, playRandom } from '@duly/conformance';
import { propertySeed } from '../../../../../test/property.ts';
import { openStore } from '../../../src/store/thread/open-store.ts';
import { openEngine } from './setup.ts';

describe('PostgreSQL, random sequences', () => {
  it(`3 random lives of jobs from seed ${propertySeed} agree with the model`, async () => {
    for (let seed = propertySeed; seed < propertySeed + 3; seed += 1) {
      const engine = await openEngine();
      try {
        await playAgainstModel({ engine, seed, steps: 60 });
      } finally {
        await engine.close();
      }
    }
  });

  for (const seed of [propertySeed, propertySeed + 1]) {
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
