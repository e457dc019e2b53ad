import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createDrain } from '../../src/worker/drain.ts';

/** A drain of a worker that runs this many attempts. What happens is noted with its time. */
function setup({ running = 0, isParked = false, isUnsent = false } = {}) {
  const clock = createManualClock();
  const notes: string[] = [];
  const note = (text: string) => notes.push(`${text} at ${clock.elapsed()}`);
  const state = { undecided: running, isUnsent };
  let stopped: () => void = () => assert.fail('the intake is not asked to stop yet');
  const attempt = {
    abort: (reason: string) => note(`abort ${reason}`),
    release() {
      note('release');
      state.undecided--;
    },
  };
  const drain = createDrain({
    clock,
    attempts: {
      areAllDecided: () => state.undecided === 0,
      undecided: () => Array.from({ length: state.undecided }, () => attempt),
    },
    stopIntake(onStopped) {
      note('stop intake');
      stopped = onStopped;
      if (!isParked) onStopped();
    },
    isAllSent: () => !state.isUnsent,
    onUnsent: () => note('unsent'),
    stop: async () => void note('stop'),
  });
  /** Decides this many attempts, as handlers that return do. */
  function decide(count: number): void {
    state.undecided -= count;
    drain.check();
  }
  function send(): void {
    state.isUnsent = false;
    drain.check();
  }
  function start(limitMs: number): void {
    void drain.start(limitMs).then(() => note('drained'));
  }
  return { clock, drain, notes, decide, send, start, endParked: () => stopped() };
}

test('a worker that does nothing is drained at once, and once', async () => {
  const { clock, drain, notes, start } = setup();
  assert.equal(drain.hasStarted(), false);
  start(1_000);
  assert.equal(drain.hasStarted(), true);
  assert.deepEqual(notes, [], 'the caller comes first');
  assert.equal(drain.start(5_000), drain.start(0));
  await clock.settle();
  assert.deepEqual(notes, ['stop intake at 0', 'stop at 0', 'drained at 0']);
  assert.equal(clock.pendingCount(), 0, 'no timer is left');
});

test('attempts may finish within the limit, and are not aborted then', async () => {
  const { clock, notes, decide, start } = setup({ running: 2 });
  start(1_000);
  await clock.advance(400);
  decide(1);
  await clock.advance(500);
  assert.deepEqual(notes, ['stop intake at 0']);
  decide(1);
  await clock.settle();
  assert.deepEqual(notes, ['stop intake at 0', 'stop at 900', 'drained at 900']);
});

test('after the limit attempts are aborted, and may still return for a moment', async () => {
  const { clock, notes, decide, start } = setup({ running: 2 });
  start(1_000);
  await clock.advance(1_500);
  decide(2);
  await clock.advance(5_000);
  assert.deepEqual(notes, [
    'stop intake at 0',
    'abort shutdown at 1000',
    'abort shutdown at 1000',
    'stop at 1500',
    'drained at 1500',
  ]);
});

test('attempts that are still undecided a second after their abort are released', async () => {
  const { clock, notes, decide, start } = setup({ running: 2 });
  start(0);
  await clock.advance(500);
  decide(1);
  await clock.advance(500);
  assert.deepEqual(notes.slice(1), [
    'abort shutdown at 0',
    'abort shutdown at 0',
    'release at 1000',
    'stop at 1000',
    'drained at 1000',
  ]);
});

test('an abort of the drain ends the waiting for attempts, before it starts too', async () => {
  const { clock, drain, notes, decide, start } = setup({ running: 1 });
  start(60_000);
  await clock.advance(300);
  drain.abort();
  await clock.settle();
  assert.deepEqual(notes.slice(1), ['abort shutdown at 300']);
  decide(1);
  await clock.settle();
  assert.equal(notes.at(-1), 'drained at 300');
  const second = setup({ running: 1 });
  second.drain.abort();
  second.start(60_000);
  await second.clock.settle();
  assert.equal(second.notes.at(-1), 'abort shutdown at 0');
});

test('outcomes are waited for, and jobs that may still arrive', async () => {
  const { clock, notes, send, start, endParked } = setup({ isUnsent: true, isParked: true });
  start(1_000);
  await clock.advance(2_000);
  send();
  await clock.advance(1_000);
  assert.deepEqual(notes, ['stop intake at 0']);
  endParked();
  await clock.settle();
  assert.deepEqual(notes.slice(1), ['stop at 3000', 'drained at 3000']);
});

test('outcomes that cannot be sent for ten seconds are reported, and the worker stops without them', async () => {
  const { clock, drain, notes, decide, start } = setup({ running: 1, isUnsent: true });
  start(1_000);
  await clock.advance(500);
  decide(1);
  await clock.advance(9_999);
  drain.check();
  assert.deepEqual(notes, ['stop intake at 0']);
  await clock.advance(1);
  assert.deepEqual(notes.slice(1), ['unsent at 10500', 'stop at 10500', 'drained at 10500']);
});

test('nothing is waited for, or reported, once the store was moved', async () => {
  const { clock, drain, notes, start } = setup({ isUnsent: true });
  start(1_000);
  await clock.advance(700);
  drain.onStoreGone();
  await clock.settle();
  assert.deepEqual(notes.slice(1), ['stop at 700', 'drained at 700']);
  assert.equal(clock.pendingCount(), 0);
});
