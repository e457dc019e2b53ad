import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SeedPurpose, seedStart, seedStartVariable } from '../simulation/commit-seeds.ts';
import { describeOpen, isKnown, readOpenFailures } from '../simulation/open-failures.ts';
import { describeFailure, headlineOf, playSeed } from '../simulation/seeds.ts';
import type { SimulateOptions } from '../simulation/simulate.ts';

/** Defines tests that play part of the commit's range of seeds. A failure shows the command that repeats it. */
export function testWorlds(
  purpose: SeedPurpose,
  { skip = 0, count, chunkSize = 100 }: { skip?: number; count: number; chunkSize?: number },
  options: SimulateOptions = {},
): void {
  const { start, source } = seedStart(purpose);
  const from = start + skip;
  const engine = options.open === undefined ? '' : '--engine postgres ';
  console.log(
    `Seeds ${from} to ${from + count - 1}, from ${source}. Repeat: ${seedStartVariable}=${start}, or npm run simulate -- ${engine}--seeds ${count} --from ${from}`,
  );
  const open = readOpenFailures();
  for (const entry of open) console.log(describeOpen(entry));
  for (let first = from; first < from + count; first += chunkSize) {
    test(`every guarantee holds in the simulated worlds ${first} to ${first + chunkSize - 1}`, async () => {
      for (let seed = first; seed < first + chunkSize; seed++) {
        const played = await playSeed(seed, options);
        if (played.violations.length === 0) continue;
        console.log(headlineOf(played));
        if (!isKnown(open, seed, played.violations)) assert.fail(await describeFailure(played, options));
      }
    });
  }
}
