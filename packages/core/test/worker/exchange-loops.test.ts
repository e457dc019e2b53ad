import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createExchangeLoops } from '../../src/worker/exchange-loops.ts';
import { deferred } from './setup.ts';

/** Two lines whose passes end when the test says so. */
function setup({ isParallel = true } = {}) {
  const clock = createManualClock();
  const passes: { line: string; content: unknown; end(waitMs: number): void; fail(): void }[] = [];
  const state = {
    dueElapsed: null as number | null,
    isPrefetching: false,
    isIsolating: false,
    mustRepeat: false,
  };
  const errors: unknown[] = [];
  let sentElapsed = 0;
  let isSending = false;
  const contents = { compose: () => 'all' as never, composeBeside: () => 'claim only' as never };
  function pass(line: string, compose: () => unknown): Promise<number> {
    const { promise, resolve, reject } = deferred<number>();
    passes.push({ line, content: compose(), end: resolve, fail: () => reject(new Error('away')) });
    return promise;
  }
  const loops = createExchangeLoops({
    clock,
    random: seededRandom(1),
    leaseMs: 30_000,
    main: {
      pass(compose) {
        isSending = true;
        sentElapsed = clock.elapsed();
        loops.onMainSent(sentElapsed);
        return pass('main', compose).finally(() => {
          isSending = false;
        });
      },
      isSending: () => isSending,
      sentElapsed: () => sentElapsed,
    },
    second: { pass: (compose) => pass('second', compose), mustRepeat: () => state.mustRepeat },
    isParallel,
    contents,
    nextDue: { dueElapsed: () => state.dueElapsed },
    intake: { isPrefetching: () => state.isPrefetching },
    outbox: { isIsolating: () => state.isIsolating },
    onError: (error) => void errors.push(error),
  });
  /** Sends an exchange at 50, of which it is known that a job falls due at 100. */
  async function sendBeforeDue() {
    loops.start();
    await clock.advance(0);
    state.dueElapsed = 100;
    started()[0]?.end(50);
    await clock.advance(50);
    return started()[0];
  }
  /** The passes since the last call. */
  const started = () => passes.splice(0);
  const names = () => passes.map(({ line, content }) => `${line}: ${content}`);
  return { clock, loops, state, errors, started, names, sendBeforeDue };
}

test('exchanges are sent one after the other, each as long after the reply as that says', async () => {
  const { clock, loops, started, names } = setup();
  loops.start();
  await clock.advance(0);
  assert.deepEqual(names(), ['main: all']);
  started()[0]?.end(1_000);
  await clock.advance(999);
  assert.deepEqual(names(), []);
  await clock.advance(1);
  assert.deepEqual(names(), ['main: all']);
  started()[0]?.end(Number.POSITIVE_INFINITY);
  await clock.advance(60_000);
  assert.deepEqual(names(), []);
  loops.wake();
  await clock.advance(0);
  assert.deepEqual(names(), ['main: all']);
});

test('after a failed exchange the next one follows within a sixth of a lease', async () => {
  const { clock, loops, errors, started } = setup();
  loops.start();
  for (let i = 1; i < 10; i++) {
    await clock.advance(5_000);
    const [pass] = started();
    assert.ok(pass !== undefined, `no exchange within 5 s of failure ${i}`);
    pass.fail();
    await clock.settle();
    assert.equal(errors.length, i);
  }
});

test('while the worker fetches ahead, a second exchange goes beside the first, and leaves the rest to it', async () => {
  const { clock, loops, state, started, names } = setup();
  loops.start();
  await clock.advance(0);
  const [main] = started();
  loops.wakeSecond();
  await clock.advance(0);
  assert.deepEqual(names(), [], 'nothing to fetch');
  state.isPrefetching = true;
  state.isIsolating = true;
  loops.wakeSecond();
  await clock.advance(0);
  assert.deepEqual(names(), [], 'a refused settlement is searched for');
  state.isIsolating = false;
  loops.wakeSecond();
  await clock.advance(0);
  assert.deepEqual(names(), ['second: all']);
  main?.end(Number.POSITIVE_INFINITY);
  state.isPrefetching = false;
  started()[0]?.end(Number.POSITIVE_INFINITY);
  await clock.advance(0);
  assert.deepEqual(names(), ['main: all'], 'only the main loop looks on');
});

test('a job that falls due while an exchange is on its way is claimed by a second one', async () => {
  const { clock, state, started, names, sendBeforeDue } = setup();
  const main = await sendBeforeDue();
  await clock.advance(49);
  assert.deepEqual(names(), []);
  await clock.advance(1);
  assert.deepEqual(names(), ['second: claim only']);
  state.dueElapsed = null;
  started()[0]?.end(500);
  await clock.settle();
  main?.end(Number.POSITIVE_INFINITY);
  await clock.advance(1_000);
  assert.deepEqual(names(), [], 'the main loop goes by its own reply');
});

test('the main loop goes by the reply to the second exchange if it sleeps by an older one', async () => {
  const { clock, state, started, names, sendBeforeDue } = setup();
  const main = await sendBeforeDue();
  await clock.advance(50);
  const [second] = started();
  main?.end(Number.POSITIVE_INFINITY);
  await clock.settle();
  state.dueElapsed = null;
  second?.end(500);
  await clock.advance(499);
  assert.deepEqual(names(), []);
  await clock.advance(1);
  assert.deepEqual(names(), ['main: all']);
});

test('a second exchange whose reply was lost is repeated, whether or not it is needed still', async () => {
  const { clock, loops, state, started, names } = setup();
  loops.start();
  await clock.advance(0);
  started();
  state.mustRepeat = true;
  loops.wakeSecond();
  await clock.advance(0);
  assert.deepEqual(names(), ['second: all']);
});

test('a store that works on one exchange at a time is sent no second one', async () => {
  const { clock, loops, state, started, names } = setup({ isParallel: false });
  Object.assign(state, { dueElapsed: 100, isPrefetching: true });
  loops.start();
  await clock.advance(0);
  started();
  loops.wakeSecond();
  await clock.advance(1_000);
  assert.deepEqual(names(), []);
});

test('stopping waits for the exchanges on their way', async () => {
  const { clock, loops, state, started } = setup();
  state.isPrefetching = true;
  loops.start();
  loops.wakeSecond();
  await clock.advance(0);
  const passes = started();
  assert.equal(passes.length, 2);
  let isStopped = false;
  void loops.stop().then(() => {
    isStopped = true;
  });
  passes[0]?.end(0);
  await clock.settle();
  assert.equal(isStopped, false);
  passes[1]?.end(0);
  await clock.settle();
  assert.deepEqual([isStopped, started(), clock.pendingCount()], [true, [], 0]);
});
