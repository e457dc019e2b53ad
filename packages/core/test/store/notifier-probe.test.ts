import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import type { EngineInfo, Notification } from '../../src/contract/engine.ts';
import { createNotifierProbe } from '../../src/store/notifier-probe.ts';
import { createManualClock } from '../../src/testing/index.ts';

/** A probe on a clock that stands still, over a path that carries notifications or loses them. */
function setup(info: Partial<EngineInfo>, { carries = true } = {}) {
  const clock = createManualClock();
  const path = { carries, probes: 0 };
  const listeners = new Set<(notification: Notification) => void>();
  const probe = createNotifierProbe({
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
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      async probe() {
        path.probes++;
        if (path.carries) for (const listener of listeners) listener({ kind: 'probe' });
      },
    },
  });
  return { clock, probe, path, listeners };
}

test('a node sleeps long only while its own probes arrive', async () => {
  const { clock, probe, path, listeners } = setup({});
  assert.equal(probe.maxSleepMs(), 1_000);
  probe.start();
  await clock.settle();
  assert.equal(probe.maxSleepMs(), 30_000);
  await clock.advance(5 * 60_000);
  assert.equal(probe.maxSleepMs(), 30_000);
  assert.equal(path.probes, 11);
  path.carries = false;
  await clock.advance(60_000);
  assert.equal(probe.maxSleepMs(), 1_000);
  path.carries = true;
  await clock.advance(30_000);
  assert.equal(probe.maxSleepMs(), 30_000);
  await probe.stop();
  assert.equal(listeners.size, 0);
});

test('a path that says it carries nothing any more is not trusted until the next probe', async () => {
  const { clock, probe, listeners } = setup({});
  probe.start();
  await clock.settle();
  assert.equal(probe.maxSleepMs(), 30_000);
  for (const listener of listeners) listener({ kind: 'disconnected' });
  assert.equal(probe.maxSleepMs(), 1_000);
  for (const listener of listeners) listener({ kind: 'probe' });
  assert.equal(probe.maxSleepMs(), 30_000);
  await probe.stop();
});

test('where notifications of other processes cannot arrive a probe proves nothing', async () => {
  const { clock, probe, path } = setup({ wake: 'poll' });
  probe.start();
  await clock.advance(120_000);
  assert.deepEqual([probe.maxSleepMs(), path.probes], [1_000, 0]);
  await probe.stop();
});

test('a store that ends with the process has no other process to hear from', async () => {
  const { clock, probe, path } = setup({ wake: 'poll', durable: false });
  probe.start();
  await clock.advance(120_000);
  assert.deepEqual([probe.maxSleepMs(), path.probes], [30_000, 0]);
  await probe.stop();
});
