// What the full branches of inserts and claims do is what the plain branches do. The chapter about user transactions needs a file:
// packages/core/test/engines/sqlite-file.prove.test.ts.
import { describe, it } from 'node:test';
import { engineConformance, playRandom } from '@duly/conformance';
import { propertySeed } from '../../../../../test/property.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/index.ts';

const openEngine = (hasPlainBranches: boolean): Promise<Engine> =>
  openSqliteEngine({ path: ':memory:', clock: systemClock, hasPlainBranches });

engineConformance('sqlite::memory:, plain branches off', { open: () => openEngine(false) });

describe('SQLite, plain branches off', () => {
  for (const seed of [propertySeed, propertySeed + 1, propertySeed + 2]) {
    it(`random calls are answered as with the plain branches (seed ${seed})`, async () => {
      const reference = await openEngine(true);
      const engine = await openEngine(false);
      try {
        await playRandom({ engine, reference, seed, steps: 600 });
      } finally {
        await engine.close();
        await reference.close();
      }
    });
  }
});
