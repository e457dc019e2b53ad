import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';

test('timers and sleeps fire in the order of their instants, each at its own', async () => {
  const clock = createManualClock(1_000);
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name} at ${clock.now()}`);
  clock.after(30, note('late'));
  void clock.sleep(10).then(note('sleep'));
  clock.after(10, note('after the sleep'));
  await clock.advance(29);
  assert.deepEqual(fired.sort(), ['after the sleep at 1010', 'sleep at 1010']);
  await clock.advance(1);
  assert.equal(fired.at(-1), 'late at 1030');
  assert.equal(clock.elapsed(), 30);
});

test('work set off by one timer rests before the next fires, and its own timers are part of the advance', async () => {
  const clock = createManualClock(0);
  const instants: number[] = [];
  const tick = async () => {
    await null;
    await null;
    instants.push(clock.now());
    if (instants.length < 5) clock.after(10, () => void tick());
  };
  clock.after(10, () => void tick());
  await clock.advance(35);
  assert.deepEqual(instants, [10, 20, 30]);
});

test('a cancelled timer and an aborted sleep leave nothing behind', async () => {
  const clock = createManualClock();
  clock.after(10, () => assert.fail('it was cancelled')).cancel();
  const abort = new AbortController();
  const slept = clock.sleep(1_000, abort.signal);
  abort.abort();
  await slept;
  await clock.sleep(1_000, abort.signal);
  assert.equal(clock.pendingCount(), 0);
  assert.equal(clock.elapsed(), 0);
});

test('a step moves the wall clock and fires nothing', async () => {
  const clock = createManualClock(5_000);
  let hasFired = false;
  clock.after(100, () => {
    hasFired = true;
  });
  clock.step(-3_000);
  await clock.settle();
  assert.equal(clock.now(), 2_000);
  assert.equal(clock.elapsed(), 0);
  assert.equal(hasFired, false);
});
