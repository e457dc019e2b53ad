// Counts of comparisons: which situations count for an invariant, and how the table shows them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, type ExerciseCounts, exerciseNames, type Invariant, invariants } from '../checker/index.ts';
import { limitsHold } from '../checker/limits-hold.ts';
import { releasesRise } from '../checker/releases-rise.ts';
import type { Applied, HistoryEvent, Locked, NodeChanged } from '../history.ts';
import { createCoverage, describeCoverage } from '../simulation/coverage.ts';

function countsOf(events: HistoryEvent[], held: readonly Invariant[]): Record<string, number> {
  const final = { at: 100, jobs: [], schedules: [], ledger: {}, audit: [] };
  const counts: ExerciseCounts = new Map();
  assert.deepEqual(check({ events, final, isComplete: true, isSettled: true }, held, counts), []);
  return Object.fromEntries([...counts].filter(([, count]) => count > 0));
}

const lock = (
  at: number,
  node: string,
  result: Locked['result'],
  verb: Locked['verb'] = 'acquire',
): Locked => ({
  ...{ kind: 'locked', at, node, name: 'l', verb, result, fence: node === 'a' ? 1 : 2, untilAt: at + 10 },
});

test('a lock that is free exercises nothing; one that is held, or that its holder lost, does', () => {
  const taken = [lock(0, 'a', 'acquired'), lock(3, 'a', 'kept', 'release'), lock(4, 'b', 'acquired')];
  assert.deepEqual(countsOf(taken, [limitsHold]), {});
  const contested = [lock(0, 'a', 'acquired'), lock(3, 'b', 'refused'), lock(5, 'b', 'refused')];
  assert.deepEqual(countsOf(contested, [limitsHold]), { 'limits-hold: held lock': 2 });
  const lost = [lock(0, 'a', 'acquired'), lock(11, 'b', 'acquired'), lock(12, 'a', 'lost', 'renew')];
  assert.deepEqual(countsOf(lost, [limitsHold]), { 'limits-hold: lost lock': 1 });
});

test('a release exercises the invariant if it differs from the one that declared the schedule', () => {
  const declared = (at: number, release: string): HistoryEvent => {
    const spec = JSON.stringify({ release });
    return {
      kind: 'applied',
      at,
      node: 'n',
      scheduleId: 's',
      result: 'applied',
      spec,
      jobs: [],
    } as unknown as Applied;
  };
  const up = (at: number, release: string): NodeChanged => ({
    ...{ kind: 'node', at, node: `n${at}`, state: 'up', release },
  });
  assert.deepEqual(
    countsOf([up(0, '1'), declared(1, '1'), up(2, '1'), declared(3, '1')], [releasesRise]),
    {},
  );
  assert.deepEqual(countsOf([declared(1, '1'), declared(2, '2'), up(3, '1'), up(4, '2')], [releasesRise]), {
    'releases-rise: newer release': 1,
    'releases-rise: older process': 1,
  });
});

test('every part has a count from the start, and an unknown part is an error', () => {
  const counts: ExerciseCounts = new Map();
  const evidence = {
    events: [],
    final: { at: 0, jobs: [], schedules: [], ledger: {}, audit: [] },
    isComplete: true,
    isSettled: true,
  };
  check(evidence, invariants, counts);
  const names = invariants.flatMap(exerciseNames);
  assert.deepEqual([...counts.keys()], names);
  assert.equal(new Set(names).size, names.length);
  const wrong: Invariant = {
    ...{ name: 'wrong', promise: '', parts: ['one'] },
    check(_evidence, _facts, exercise) {
      exercise('two');
      return [];
    },
  };
  assert.throws(() => check(evidence, [wrong]), /Unknown part: wrong: two\./);
});

test('the table lists the rarest first and marks those below 1 of 100 seeds', () => {
  const coverage = createCoverage(['often', 'never', 'rare', 'limit']);
  for (let seed = 0; seed < 200; seed++)
    coverage.add({ often: 3, rare: seed === 7 ? 4 : 0, limit: seed < 2 ? 1 : 0 });
  const rows = coverage.rows();
  assert.deepEqual(
    rows.map(({ name, seedCount, isRare }) => [name, seedCount, isRare]),
    [
      ['never', 0, true],
      ['rare', 1, true],
      ['limit', 2, false],
      ['often', 200, false],
    ],
  );
  assert.equal(
    describeCoverage(rows),
    [
      'invariant  seeds      %  per seed',
      'never          0    0.0      0.00  below 1 %',
      'rare           1    0.5      0.02  below 1 %',
      'limit          2    1.0      0.01',
      'often        200  100.0      3.00',
    ].join('\n'),
  );
});
