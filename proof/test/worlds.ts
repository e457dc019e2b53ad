import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playSeeds } from '../simulation/seeds.ts';

const chunkSize = 100;

/** Defines tests that play these seeds, some at a time; a failure shows what happened and how to play it again. */
export function testWorlds(fromSeed: number, count: number): void {
  for (let from = fromSeed; from < fromSeed + count; from += chunkSize) {
    test(`every promise is kept in the simulated worlds ${from} to ${from + chunkSize - 1}`, async () => {
      const failure = await playSeeds(from, chunkSize);
      assert.equal(failure, null, failure ?? '');
    });
  }
}
