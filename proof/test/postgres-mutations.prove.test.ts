import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutate, mutations } from '../chaos/engines/postgres/mutations.ts';
import { startPostgresWorlds } from '../simulation/postgres/worlds.ts';
import { playSeed } from '../simulation/seeds.ts';

const seedsMax = 80;

/** A seed that shows a defect, and the invariants of the checker that must see it. Chaos runs have some of their own. */
const expected: Record<string, { seed: number; caughtBy: readonly string[] }> = {
  'the fence of an outcome is not compared': { seed: 1, caughtBy: ['one-outcome'] },
  'leases are reaped 2.9 s early': { seed: 1, caughtBy: ['one-lease'] },
  'a heartbeat is answered and renews nothing': { seed: 1, caughtBy: ['one-lease', 'no-false-reclaim'] },
  'a decision is taken without compare-and-set': {
    seed: 197,
    caughtBy: ['one-decision', 'decisions-predicted'],
  },
  'the cursor moves and the jobs are not created': { seed: 1, caughtBy: ['ledger-agrees'] },
  'a dedupe key is not held': { seed: 3, caughtBy: ['one-holder'] },
  'jobs are given two seconds early': { seed: 1, caughtBy: ['never-early'] },
};

/** The known seed first. Once the generator of scripts changes, another one shows the defect. */
function seedsFor(known: number): number[] {
  return [known, ...Array.from({ length: seedsMax }, (_, i) => i + 1)];
}

for (const mutation of mutations) {
  test(`the simulation on PostgreSQL finds that ${mutation.name}`, async () => {
    const { seed: known = 1, caughtBy = [] } = expected[mutation.name] ?? {};
    const worlds = await startPostgresWorlds((storeUrl) => mutate(storeUrl, mutation));
    try {
      for (const seed of seedsFor(known)) {
        const { violations } = await playSeed(seed, { open: worlds.open });
        const isCaught = violations.some(({ invariant }) => caughtBy.includes(invariant));
        if (isCaught) return;
      }
      assert.fail(`No world among ${seedsMax} shows it.`);
    } finally {
      await worlds.stop();
    }
  });
}
