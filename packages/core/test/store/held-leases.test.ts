import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeartbeatState } from '../../src/contract/engine.ts';
import type { HeartbeatResult, HeldLease } from '../../src/store/heartbeats.ts';
import { createHeldLeases } from '../../src/store/held-leases.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

const leaseMs = 30_000;
const kept: HeartbeatState = { state: 'kept' };
const lost: HeartbeatState = { state: 'lost' };
const cancel: HeartbeatState = { state: 'cancel', requestedAt: 1 };

function leaseOf(fence: number, fields: Partial<HeldLease> = {}): HeldLease {
  return { id: `job_${fence}`, fence, timeoutMs: null, graceMs: 0, begun: false, ...fields };
}

function setup() {
  const clock = createManualClock();
  const news: HeartbeatResult[] = [];
  const board: string[] = [];
  const held = createHeldLeases({
    clock,
    leaseMs,
    board: {
      add: ({ fence }, sureElapsed) => board.push(`add ${fence} at ${sureElapsed}`),
      renewed: (fence, sureElapsed) => board.push(`renewed ${fence} at ${sureElapsed}`),
      mark: (fence, state) => board.push(`${state} ${fence}`),
    },
    onHeartbeat: (one) => news.push(one),
  });
  /** Adds a lease, and answers with it as a heartbeat gets it. */
  function add(lease: HeldLease, sureElapsed = clock.elapsed()): HeldLease {
    held.add([lease], sureElapsed);
    return held.renewable().find(({ fence }) => fence === lease.fence) as HeldLease;
  }
  return { clock, held, news, board, add };
}

test('a lease is held for its length after the latest heartbeat that renewed it was sent', () => {
  const { clock, held, board, add } = setup();
  const lease = add(leaseOf(1));
  clock.jump(20_000);
  held.answered(lease, kept, 19_000);
  clock.jump(28_999);
  assert.equal(held.enter(1), 'held');
  clock.jump(1);
  assert.equal(held.enter(1), 'ended');
  assert.equal(held.enter(2), 'ended', 'of an unknown lease');
  assert.deepEqual(board, ['add 1 at 0', 'renewed 1 at 19000']);
});

test('a lease that is added again is granted no longer for that', () => {
  const { clock, held, board, add } = setup();
  add(leaseOf(1));
  clock.jump(leaseMs);
  add(leaseOf(1));
  assert.equal(held.enter(1), 'ended');
  assert.deepEqual(board, ['add 1 at 0']);
});

test('a lost lease and a cancellation are reported once, and a lost one is renewed no longer', () => {
  const { held, news, board, add } = setup();
  const [first, second] = [add(leaseOf(1)), add(leaseOf(2))];
  held.answered(first, lost, 5);
  held.answered(first, lost, 6);
  held.answered(second, cancel, 5);
  held.answered(second, cancel, 6);
  assert.deepEqual(news, [
    { id: 'job_1', fence: 1, heartbeat: lost },
    { id: 'job_2', fence: 2, heartbeat: cancel },
  ]);
  assert.deepEqual(board.slice(2), ['ended 1', 'renewed 2 at 5', 'cancelled 2', 'renewed 2 at 6']);
  assert.deepEqual([held.enter(1), held.enter(2), held.count()], ['ended', 'cancelled', 1]);
});

test('an answer about a lease that was removed meanwhile is ignored', () => {
  const { held, news, add } = setup();
  const lease = add(leaseOf(1));
  held.remove([lease]);
  held.answered(lease, lost, 5);
  held.beginningAnswered(1, lost, 5);
  add(leaseOf(1));
  held.answered(lease, lost, 5);
  assert.deepEqual([news, held.count()], [[], 1]);
});

test('a lease that ends by the clock is reported once, and again only after it was renewed', () => {
  const { clock, held, news, add } = setup();
  const lease = add(leaseOf(1));
  clock.jump(leaseMs - 1);
  held.reportEnded();
  assert.deepEqual(news, []);
  clock.jump(1);
  held.reportEnded();
  held.reportEnded();
  const ended = { id: 'job_1', fence: 1, heartbeat: lost, isPresumed: true };
  assert.deepEqual(news, [ended]);
  held.answered(lease, kept, clock.elapsed());
  clock.jump(leaseMs);
  held.reportEnded();
  assert.deepEqual(news, [ended, ended]);
});

test('a lease is renewed until the timeout and grace of its attempt have passed since its beginning', () => {
  const { clock, held, add } = setup();
  add(leaseOf(1, { timeoutMs: 60_000, graceMs: 10_000 }));
  clock.jump(50_000);
  held.beginningAnswered(1, kept, 50_000);
  assert.deepEqual(
    held.renewable().map(({ begun }) => begun),
    [true],
  );
  clock.jump(70_999);
  assert.equal(held.renewable().length, 1);
  clock.jump(1);
  assert.equal(held.renewable().length, 0);
});

test('a beginning that could not be written ends the lease, and a cancellation is not reported again', () => {
  const { held, news, board, add } = setup();
  add(leaseOf(1));
  const second = add(leaseOf(2));
  held.beginningAnswered(1, lost, 5);
  held.beginningAnswered(2, cancel, 5);
  held.answered(second, cancel, 6);
  assert.deepEqual([held.enter(1), held.enter(2), news], ['ended', 'cancelled', []]);
  assert.deepEqual(board.slice(2), ['ended 1', 'renewed 2 at 5', 'renewed 2 at 6']);
});
