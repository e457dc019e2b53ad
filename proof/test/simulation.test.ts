import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invariants } from '../checker/index.ts';
import { mergeHistories, parseHistory, serialiseHistory } from '../history.ts';
import { seedStart } from '../simulation/commit-seeds.ts';
import { type Mutation, mutations } from '../simulation/mutations/index.ts';
import { drawScript } from '../simulation/script.ts';
import { describeFailure, playSeed, replayCommand } from '../simulation/seeds.ts';
import { simulate } from '../simulation/simulate.ts';
import { page, testDefect } from './defects.ts';

test('the same seed gives the same history and the same store, byte for byte', async () => {
  for (const seed of [3, 16, 77, 1_282]) {
    const [first, second] = [await simulate(drawScript(seed)), await simulate(drawScript(seed))];
    assert.equal(serialiseHistory(first.events), serialiseHistory(second.events), `seed ${seed}`);
    assert.equal(JSON.stringify(first.final), JSON.stringify(second.final), `seed ${seed}`);
  }
});

test('different seeds give different worlds', async () => {
  const histories = await Promise.all(
    [1, 2, 3].map(async (seed) => serialiseHistory((await playSeed(seed)).evidence.events)),
  );
  assert.equal(new Set(histories).size, 3);
});

test('a history survives its lines, and a line that was cut off is left out', async () => {
  const { evidence } = await playSeed(5);
  const text = serialiseHistory(evidence.events);
  assert.deepEqual(parseHistory(text), JSON.parse(JSON.stringify(evidence.events)));
  assert.deepEqual(parseHistory(text.slice(0, -10)), parseHistory(text).slice(0, -1));
});

test('histories of several processes are merged by the store’s instants', async () => {
  const { evidence } = await playSeed(5);
  const names = new Set(evidence.events.map(({ node }) => node));
  const apart = [...names].map((name) => evidence.events.filter(({ node }) => node === name));
  const merged = mergeHistories(apart);
  assert.equal(merged.length, evidence.events.length);
  assert.ok(merged.every(({ at }, i) => i === 0 || at >= (merged[i - 1]?.at ?? 0)));
});

/** Ten defects of different invariants, others at every commit. `npm run prove` plays all of them. */
function sampleDefects(): Mutation[] {
  // Ranges start at multiples of 10,000.
  const turn = Math.floor(seedStart('test').start / 10_000);
  const groups = [...Map.groupBy(mutations, ({ caughtBy: [first] }) => first).values()];
  return Array.from({ length: 10 }, (_, i) => {
    const group = groups[(turn + Math.floor((i * groups.length) / 10)) % groups.length] as Mutation[];
    return group[turn % group.length] as Mutation;
  });
}

for (const mutation of sampleDefects()) testDefect(mutation);

test('the page on proofs names every invariant', () => {
  const missing = invariants.map(({ name }) => `| \`${name}\` |`).filter((text) => !page.includes(text));
  assert.deepEqual(missing, []);
});

test('a world without its defect is sound again', async () => {
  // It changes a statement that all worlds share.
  const mutation = mutations.find(({ name }) => name === 'two jobs claimed together get one fence');
  assert.ok(mutation);
  assert.notDeepEqual((await playSeed(1, mutation)).violations, []);
  assert.deepEqual((await playSeed(1)).violations, []);
});

test('a world that does not come to rest is told with its last events', async () => {
  const mutation = mutations.find(({ caughtBy: [by] }) => by === 'comes-to-rest');
  assert.ok(mutation);
  const played = await playSeed(1, mutation);
  const text = await describeFailure(played, mutation);
  assert.match(text, /comes-to-rest: Did not come to rest/);
  assert.match(text, /The last events:\n/);
  assert.ok(text.includes(replayCommand(1)));
});
