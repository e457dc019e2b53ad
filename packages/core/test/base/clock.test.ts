import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { mock, test } from 'node:test';
import { findOrigin, systemClock } from '../../src/base/clock.ts';

const clockUrl = new URL('../../src/base/clock.ts', import.meta.url).href;

/** Runs `fn` with timers and the monotonic clock in hand; `advance` moves both. */
function withFakeTime(fn: (fake: { advance(ms: number): void; timeouts: number[] }) => void): void {
  let elapsedMs = 1_000_000;
  const timeouts: number[] = [];
  mock.timers.enable({ apis: ['setTimeout'] });
  const fakeSetTimeout = globalThis.setTimeout;
  mock.method(performance, 'now', () => elapsedMs);
  mock.method(globalThis, 'setTimeout', (handler: () => void, ms: number) => {
    timeouts.push(ms);
    return fakeSetTimeout(handler, ms);
  });
  try {
    fn({
      timeouts,
      advance(ms) {
        elapsedMs += ms;
        mock.timers.tick(ms);
      },
    });
  } finally {
    mock.restoreAll();
    mock.timers.reset();
  }
}

test('now is whole epoch milliseconds', () => {
  const before = Date.now();
  const now = systemClock.now();
  assert.ok(Number.isInteger(now) && now >= before && now <= Date.now());
});

test('elapsed never goes back and has one origin in all processes of this boot', () => {
  const before = systemClock.elapsed();
  const script = `import { systemClock } from ${JSON.stringify(clockUrl)}; console.log(systemClock.elapsed());`;
  const other = Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
  );
  const after = systemClock.elapsed();
  assert.ok(before < other && other < after, `${before} ${other} ${after}`);
});

test('a timer never fires early', async () => {
  for (const ms of [0, 0.3, 1, 1.9, 5, 12.5]) {
    const before = systemClock.elapsed();
    await new Promise<void>((resolve) => systemClock.after(ms, resolve));
    assert.ok(systemClock.elapsed() - before >= ms);
  }
});

test('a timer of 400 days fires after 400 days, in pieces of 30 s', () => {
  withFakeTime(({ advance, timeouts }) => {
    const dayMs = 86_400_000;
    let fired = 0;
    systemClock.after(400 * dayMs, () => fired++);
    advance(30_000);
    assert.ok(timeouts.every((ms) => ms <= 30_000));
    assert.equal(timeouts.length, 2);
    // The rest in one step, as after a suspended night: the piece that is under way ends and the clock is read.
    advance(399 * dayMs);
    assert.equal(fired, 0);
    advance(dayMs - 30_001);
    assert.equal(fired, 0);
    advance(30_000);
    assert.equal(fired, 1);
    advance(30_000);
    assert.equal(fired, 1);
  });
});

test('a timer that the runtime fires too early waits for the rest', () => {
  withFakeTime(({ advance, timeouts }) => {
    let fired = 0;
    systemClock.after(10.5, () => fired++);
    assert.deepEqual(timeouts, [11]);
    mock.timers.tick(11);
    assert.equal(fired, 0);
    advance(11);
    assert.equal(fired, 1);
  });
});

test('a cancelled timer does not fire, in its first piece or a later one, and cancelling twice is harmless', () => {
  withFakeTime(({ advance }) => {
    let fired = 0;
    const first = systemClock.after(10, () => fired++);
    const later = systemClock.after(100_000, () => fired++);
    first.cancel();
    first.cancel();
    advance(60_000);
    later.cancel();
    advance(200_000);
    assert.equal(fired, 0);
  });
});

test('a length that is negative or no number counts as none', () => {
  withFakeTime(({ advance }) => {
    let fired = 0;
    systemClock.after(-5, () => fired++);
    systemClock.after(Number.NaN, () => fired++);
    advance(1);
    assert.equal(fired, 2);
  });
});

test('an unref timer does not keep the process alive', () => {
  const script = `import { systemClock } from ${JSON.stringify(clockUrl)};
    systemClock.after(600_000, () => {}, { unref: true }); console.log('done');`;
  const options = { encoding: 'utf8', timeout: 30_000 } as const;
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', script], options).trim(), 'done');
});

test('a sleep ends early when its signal is aborted, without rejecting, and leaves no listener', async () => {
  const controller = new AbortController();
  const before = systemClock.elapsed();
  const sleeping = systemClock.sleep(60_000, controller.signal);
  controller.abort(new Error('enough'));
  await sleeping;
  assert.ok(systemClock.elapsed() - before < 30_000);
  await systemClock.sleep(60_000, controller.signal);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);

  const other = new AbortController();
  await systemClock.sleep(1, other.signal);
  assert.equal(getEventListeners(other.signal, 'abort').length, 0);
});

test('the origin is found although the processor is lost between two reads', () => {
  // Every read takes 0.4 µs; at some of them somebody else runs for 24 ms.
  for (const lost of [[1], [2], [1, 4, 5], [1, 2, 3, 4, 5, 6, 7, 8]]) {
    let elapsedMs = 5_000_000;
    let readCount = 0;
    const read = () => {
      readCount++;
      elapsedMs += lost.includes(readCount) ? 24 : 0.000_4;
      return elapsedMs;
    };
    const origin = findOrigin(read, () => read() - 4_999_000);
    assert.ok(Math.abs(origin - 4_999_000) < 0.001, `${origin} after losses at ${lost}`);
  }
});
