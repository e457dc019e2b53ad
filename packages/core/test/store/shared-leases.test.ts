import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLeaseBoard, createSharedLeases, enterLease } from '../../src/store/shared-leases.ts';

const leaseMs = 30_000;

function setup() {
  const shared = createSharedLeases(leaseMs);
  const board = createLeaseBoard(shared);
  const enter = (fence: number, elapsed = 0) => enterLease(shared, { fence, takenElapsed: 0 }, elapsed);
  const add = (fence: number, elapsed = 0) => board.add({ id: `job_${fence}`, fence }, elapsed);
  return { board, enter, add };
}

test('of the thread that starts a job and the thread that releases it, exactly one wins', () => {
  const { board, enter, add } = setup();
  for (const fence of [1, 2, 3]) add(fence);
  assert.equal(enter(2), 'held');
  assert.deepEqual(board.takeBack(), [
    { id: 'job_1', fence: 1 },
    { id: 'job_3', fence: 3 },
  ]);
  assert.deepEqual([enter(1), enter(2), enter(3)], ['released', 'held', 'released']);
  assert.deepEqual(board.takeBack(), []);
});

test('a lease ends by the clock, a renewal moves that, and entering it again checks again', () => {
  const { board, enter, add } = setup();
  add(1);
  add(2);
  assert.equal(enter(1, leaseMs), 'ended');
  assert.deepEqual([enter(2, leaseMs - 1), enter(2, leaseMs)], ['held', 'ended']);
  add(3);
  board.renewed(3, 20_000);
  assert.equal(enter(3, 40_000), 'held');
  // What was not started and has ended is settled by the main thread, and nobody else.
  assert.deepEqual(board.takeBack(), []);
});

test('milliseconds of any uptime are compared rightly', () => {
  for (const base of [2 ** 31 - 10, 2 ** 32 - 10, 3 * 2 ** 32 - 1, 1e12]) {
    const { enter, add } = setup();
    add(1, base + 0.5);
    add(2, base + 0.5);
    assert.deepEqual(
      [enter(1, base + leaseMs - 5), enter(2, base + leaseMs + 5)],
      ['held', 'ended'],
      `${base}`,
    );
  }
});

test('a cancel or a loss that the other thread heard of is known before the message', () => {
  const { board, enter, add } = setup();
  for (const fence of [1, 2, 3, 4]) add(fence);
  board.mark(1, 'cancelled');
  board.mark(2, 'ended');
  assert.deepEqual([enter(1), enter(2)], ['cancelled', 'ended']);
  // A cancelled one that nobody starts is released: the store then ends it as cancelled.
  board.mark(3, 'cancelled');
  assert.deepEqual(
    board.takeBack().map(({ fence }) => fence),
    [3, 4],
  );
});

test('a lease whose slot is taken is never released, and ends by when it arrived', () => {
  const { board, enter, add } = setup();
  const [one, same] = [5, 5 + 8_192];
  add(one);
  add(same);
  assert.deepEqual(
    board.takeBack().map(({ fence }) => fence),
    [one],
  );
  assert.deepEqual([enter(same), enter(same, leaseMs)], ['held', 'ended']);
  board.remove(same);
  assert.equal(enter(one), 'released');
  board.remove(one);
  add(same);
  assert.equal(board.hasWaiting(), true);
  assert.equal(enter(same), 'held');
  assert.equal(board.hasWaiting(), false);
});
