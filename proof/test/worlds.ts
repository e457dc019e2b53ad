import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readOrEnd } from '../arguments.ts';
import { type SeedPurpose, seedStart, seedStartVariable } from '../simulation/commit-seeds.ts';
import { describeOpen, isKnown, pathOf, readOpenFailures, scriptOf } from '../simulation/open-failures.ts';
import {
  describeFailure,
  headlineOf,
  playScript,
  playSeed,
  type SimulatedEngine,
} from '../simulation/seeds.ts';
import type { SimulateOptions } from '../simulation/simulate.ts';
import { listStoredScripts, readStoredScript } from '../simulation/stored-script.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Defines tests that play part of the commit's range of seeds. A failure shows the command that repeats it. */
export function testWorlds(
  purpose: SeedPurpose,
  { skip = 0, count, chunkSize = 100 }: { skip?: number; count: number; chunkSize?: number },
  options: SimulateOptions = {},
): void {
  const { start, source } = readOrEnd(() => seedStart(purpose));
  const from = start + skip;
  const engine: SimulatedEngine = options.open === undefined ? 'sqlite' : 'postgres';
  const chosen = engine === 'sqlite' ? '' : '--engine postgres ';
  console.log(
    `Seeds ${from} to ${from + count - 1}, from ${source}. Repeat: ${seedStartVariable}=${start}, or npm run simulate -- ${chosen}--seeds ${count} --from ${from}`,
  );
  const open = readOrEnd(() => readOpenFailures()).filter((entry) => (entry.engine ?? 'sqlite') === engine);
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

/** Defines tests that play the stored scripts of an engine, which are clean, and its open failures, which still fail. */
export function testRegressions(options: SimulateOptions = {}): void {
  const engine: SimulatedEngine = options.open === undefined ? 'sqlite' : 'postgres';
  const open = readOrEnd(() => readOpenFailures()).filter((entry) => (entry.engine ?? 'sqlite') === engine);
  for (const path of listStoredScripts()) {
    const stored = readStoredScript(join(root, path));
    if ((stored.engine ?? 'sqlite') !== engine) continue;
    test(`${path} plays clean`, async () => {
      const played = await playScript(stored.script, options, path);
      if (played.violations.length > 0 && !isKnown(open, played.seed, played.violations))
        assert.fail(await describeFailure(played, options));
    });
  }
  for (const entry of open) {
    console.log(describeOpen(entry));
    test(`the open failure of ${entry.invariant} with seed ${scriptOf(entry).seed} still fails`, async () => {
      const { violations } = await playScript(scriptOf(entry), options, pathOf(entry));
      assert.ok(
        violations.some(({ invariant }) => invariant === entry.invariant),
        'It plays clean now. Remove it from proof/open-failures.json.',
      );
    });
  }
}
