import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import type { Outgoing } from '../../src/worker/outbox.ts';
import { createUnrecorded } from '../../src/worker/unrecorded.ts';

/** Outcomes that were decided at these monotonic instants. */
const outgoing = (...decided: number[]) => decided.map((decidedElapsed) => ({ decidedElapsed }) as Outgoing);

function setup() {
  const clock = createManualClock();
  const state = { lists: [] as Outgoing[][], unfinishedCount: 0 };
  const unrecorded = createUnrecorded({
    clock,
    lists: () => state.lists,
    unfinishedCount: () => state.unfinishedCount,
  });
  return { clock, state, unrecorded };
}

test('outcomes of all lists count, and those in no list', () => {
  const { state, unrecorded } = setup();
  assert.deepEqual([unrecorded.count(), unrecorded.isBehind()], [0, false]);
  Object.assign(state, { lists: [outgoing(0), [], outgoing(0, 0)], unfinishedCount: 2 });
  assert.equal(unrecorded.count(), 5);
});

test('a worker with more than 6,000 outcomes is behind', () => {
  const { state, unrecorded } = setup();
  const many = outgoing(...Array.from({ length: 3_000 }, () => 0));
  Object.assign(state, { lists: [many, many] });
  assert.equal(unrecorded.isBehind(), false);
  state.unfinishedCount = 1;
  assert.equal(unrecorded.isBehind(), true);
});

test('a worker is behind when the oldest outcome of a list waits for more than 2 s', () => {
  const { clock, state, unrecorded } = setup();
  state.lists = [outgoing(500), outgoing(0, 500)];
  clock.jump(2_000);
  assert.equal(unrecorded.isBehind(), false);
  clock.jump(1);
  assert.equal(unrecorded.isBehind(), true);
  state.lists = [outgoing(500), outgoing(500)];
  assert.equal(unrecorded.isBehind(), false);
});
