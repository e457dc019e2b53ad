import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createNextDue } from '../../src/worker/next-due.ts';

function setup() {
  const clock = createManualClock();
  clock.jump(10_000);
  const nextDue = createNextDue(clock);
  /** Learns from a reply that has just arrived; the exchange took `tookMs`. */
  function learn(now: number, nextDueAt: number | null, { isMore = false, tookMs = 0 } = {}) {
    const reply = { now, nextDueAt };
    const arrivedElapsed = clock.elapsed();
    nextDue.learn(reply, { isMore, sentElapsed: arrivedElapsed - tookMs, arrivedElapsed });
    return reply;
  }
  return { clock, nextDue, learn };
}

test('a worker waits until the next job falls due, and less the later it asks', () => {
  const { clock, nextDue, learn } = setup();
  const reply = learn(5_000, 5_800);
  assert.deepEqual([nextDue.dueElapsed(), nextDue.waitMs(reply)], [10_800, 800]);
  clock.jump(300);
  assert.equal(nextDue.waitMs(reply), 500);
  clock.jump(900);
  assert.equal(nextDue.waitMs(reply), 0);
});

test('a slow reply counts from its request, so that the wait is not too long', () => {
  const { nextDue, learn } = setup();
  learn(5_000, 6_000, { tookMs: 400 });
  assert.equal(nextDue.dueElapsed(), 10_600);
});

test('nothing is known while nothing falls due, or while there is more to claim', () => {
  const { nextDue, learn } = setup();
  assert.equal(nextDue.dueElapsed(), null);
  for (const [nextDueAt, isMore] of [
    [null, false],
    [6_000, true],
    [5_000, false],
    [4_000, false],
  ] as const) {
    const reply = learn(5_000, nextDueAt, { isMore });
    assert.deepEqual([nextDue.dueElapsed(), nextDue.waitMs(reply)], [null, null]);
  }
});

test('a reply that is older than the newest changes nothing', () => {
  const { nextDue, learn } = setup();
  learn(5_000, 5_800);
  const older = learn(4_900, 5_100);
  assert.deepEqual([nextDue.dueElapsed(), nextDue.waitMs(older)], [10_800, 800]);
  learn(5_000, 5_500);
  assert.equal(nextDue.dueElapsed(), 10_500, 'of two replies of the same instant the later counts');
});

test('a job that an older reply announced, and the newest does not, is looked for at once', () => {
  const { nextDue, learn } = setup();
  learn(5_000, null);
  const older = learn(4_900, 5_100);
  assert.equal(nextDue.waitMs(older), 0);
  assert.equal(nextDue.waitMs(learn(4_901, null)), null);
});
