import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { playAgainstModel, playRandom } from '@duly/conformance';
import { propertySeed } from '../../../../test/property.ts';
import { openStore } from '../../src/store/thread/open-store.ts';

describe('SQLite, random sequences', () => {
  it(`120 random lives of jobs from seed ${propertySeed} agree with the model`, async () => {
    for (let seed = propertySeed; seed < propertySeed + 120; seed += 1) {
      const { engine } = await openStore('sqlite::memory:');
      try {
        await playAgainstModel({ engine, seed, steps: 60 });
      } finally {
        await engine.close();
      }
    }
  });

  for (const seed of [propertySeed, propertySeed + 1, propertySeed + 2]) {
    it(`a file behind its thread behaves like the store in memory (seed ${seed})`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'duly-random-'));
      const { engine: reference } = await openStore('sqlite::memory:');
      const { engine } = await openStore(`sqlite:${join(folder, 'duly.db')}`);
      try {
        await playRandom({ engine, reference, seed, steps: 300 });
      } finally {
        await engine.close();
        await reference.close();
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
});
