import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createTimeouts, type Timed } from '../../src/worker/timeouts.ts';

function setup() {
  const clock = createManualClock();
  const running = new Set<Timed>();
  const reported: string[] = [];
  const timeouts = createTimeouts({ clock, all: () => running });
  let timerCount = 0;
  const { after } = clock;
  clock.after = (ms, fn, options) => {
    timerCount++;
    return after(ms, fn, options);
  };
  function start(name: string, ms: number): Timed {
    const timed: Timed = {
      timeoutElapsed: clock.elapsed() + ms,
      timeOut: () => reported.push(`${name} at ${clock.elapsed() - begun}`),
    };
    running.add(timed);
    timeouts.set(timed);
    return timed;
  }
  const begun = clock.elapsed();
  const end = (timed: Timed) => {
    running.delete(timed);
    timeouts.ended();
  };
  return { clock, reported, start, end, timers: () => timerCount };
}

test('each is told once, at its time, whatever the order they were set in', async () => {
  const { clock, reported, start } = setup();
  start('slow', 500);
  start('quick', 100);
  start('middle', 300);
  await clock.advance(1_000);
  assert.deepEqual(reported, ['quick at 100', 'middle at 300', 'slow at 500']);
});

test('one that has ended is not told, and those behind it are told in time', async () => {
  const { clock, reported, start, end } = setup();
  const first = start('first', 100);
  await clock.advance(50);
  start('second', 100);
  end(first);
  await clock.advance(1_000);
  assert.deepEqual(reported, ['second at 150']);
});

test('many with the same time need one timer', async () => {
  const { clock, reported, start, end, timers } = setup();
  let last = start('first', 3_600_000);
  for (let n = 0; n < 1_000; n++) {
    const next = start(`next ${n}`, 3_600_000);
    end(last);
    last = next;
  }
  assert.equal(timers(), 1);
  end(last);
  await clock.advance(4_000_000);
  assert.deepEqual(reported, []);
});
