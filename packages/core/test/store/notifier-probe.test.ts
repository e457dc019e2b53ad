import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import type { EngineInfo, Hint } from '../../src/contract/engine.ts';
import { createEcho } from '../../src/store/notifier-probe.ts';
import { createManualClock } from '../../src/testing/index.ts';

/** An echo on a clock that stands still, over a path that carries hints or loses them. */
function setup(info: Partial<EngineInfo>, { carries = true } = {}) {
  const clock = createManualClock();
  const path = { carries, rings: 0 };
  const listeners = new Set<(hint: Hint) => void>();
  const echo = createEcho({
    clock,
    random: seededRandom(1),
    onError: (error) => assert.fail(String(error)),
    engine: {
      info: () => ({
        kind: 'sqlite',
        place: '',
        version: '',
        wake: 'push',
        durable: true,
        warnings: [],
        ...info,
      }),
      wakeups(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      async ring() {
        path.rings++;
        if (path.carries) for (const listener of listeners) listener('echo');
      },
    },
  });
  return { clock, echo, path, listeners };
}

test('a node sleeps long only while its own rings come back', async () => {
  const { clock, echo, path, listeners } = setup({});
  assert.equal(echo.maxSleepMs(), 1_000);
  echo.start();
  await clock.settle();
  assert.equal(echo.maxSleepMs(), 30_000);
  await clock.advance(5 * 60_000);
  assert.equal(echo.maxSleepMs(), 30_000);
  assert.equal(path.rings, 11);
  path.carries = false;
  await clock.advance(60_000);
  assert.equal(echo.maxSleepMs(), 1_000);
  path.carries = true;
  await clock.advance(30_000);
  assert.equal(echo.maxSleepMs(), 30_000);
  await echo.stop();
  assert.equal(listeners.size, 0);
});

test('a path that says it carries nothing any more is not trusted until the next echo', async () => {
  const { clock, echo, listeners } = setup({});
  echo.start();
  await clock.settle();
  assert.equal(echo.maxSleepMs(), 30_000);
  for (const listener of listeners) listener('deaf');
  assert.equal(echo.maxSleepMs(), 1_000);
  for (const listener of listeners) listener('echo');
  assert.equal(echo.maxSleepMs(), 30_000);
  await echo.stop();
});

test('where hints of other processes cannot arrive an echo proves nothing', async () => {
  const { clock, echo, path } = setup({ wake: 'poll' });
  echo.start();
  await clock.advance(120_000);
  assert.deepEqual([echo.maxSleepMs(), path.rings], [1_000, 0]);
  await echo.stop();
});

test('a store that ends with the process has no other process to hear from', async () => {
  const { clock, echo, path } = setup({ wake: 'poll', durable: false });
  echo.start();
  await clock.advance(120_000);
  assert.deepEqual([echo.maxSleepMs(), path.rings], [30_000, 0]);
  await echo.stop();
});
