import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { caughtIn } from '../simulation/catch-mutation.ts';
import { listedRow, listedSeed, pageUrl, rowOf } from '../simulation/defect-table.ts';
import type { Mutation } from '../simulation/mutations/index.ts';
import { type Played, playSeed } from '../simulation/seeds.ts';

/** The page that lists the seeded defects. */
export const page = readFileSync(pageUrl, 'utf8');

const defects = new Map<string, Promise<Played>>();

/** Plays a world with a defect. The result is shared by all tests of the file. */
export function playDefect(seed: number, mutation: Mutation): Promise<Played> {
  const key = `${seed} ${mutation.name}`;
  const played = defects.get(key) ?? playSeed(seed, mutation);
  defects.set(key, played);
  return played;
}

/** Defines a test that a defect is caught in the world that the page lists for it. */
export function testDefect(mutation: Mutation, onCaught?: (invariants: readonly string[]) => void): void {
  test(`a seeded defect is caught: ${mutation.name}`, async () => {
    // Another world that shows the defect would not make the page right.
    const hint = 'The page is behind: npm run simulate -- --mutations --write';
    const seed = listedSeed(page, mutation);
    assert.ok(seed !== null, `The page lists no seed. ${hint}`);
    const caught = caughtIn(await playDefect(seed, mutation), mutation);
    assert.ok(caught !== null, `None of ${mutation.caughtBy.join(', ')} sees it in seed ${seed}. ${hint}`);
    onCaught?.(caught.by);
    assert.equal(listedRow(page, mutation), rowOf(mutation, caught), hint);
  });
}
