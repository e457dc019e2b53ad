import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AcquireInput, Engine } from '../../../src/contract/engine.ts';
import { createLockHost, createRenewed, loadRenewed } from '../../../src/store/thread/lock-host.ts';
import { openTestStore } from '../../worker/setup.ts';

const ttlMs = 3_000;

async function setup(t: TestContext, wrap: (engine: Engine) => Pick<Engine, 'renew'> = (engine) => engine) {
  const { engine, clock, close } = await openTestStore();
  t.after(close);
  const lost: string[] = [];
  let isAlive = true;
  const host = createLockHost({
    engine: wrap(engine),
    clock,
    isHolderAlive: () => isAlive,
    onLost: (token) => lost.push(token),
  });
  t.after(() => host.closeAll());
  const ask = (token: string): AcquireInput => ({
    ...{ name: 'lock:a', token, ttlMs },
    holder: { host: 'h', pid: 1, node: 'n' },
  });
  async function acquire(token: string) {
    const renewed = createRenewed();
    host.open(token, renewed);
    const reply = await engine.acquire(ask(token));
    host.answered(ask(token), reply, clock.elapsed());
    return { renewed, fence: reply.fence };
  }
  const isTaken = async () => !(await engine.acquire(ask('another'))).acquired;
  const hang = () => {
    isAlive = false;
  };
  return { engine, clock, host, lost, acquire, isTaken, hang };
}

test('a granted lock is renewed, and its holder reads since when without a message', async (t) => {
  const { clock, host, lost, acquire, isTaken } = await setup(t);
  const sinceElapsed = clock.elapsed();
  const { renewed } = await acquire('one');
  assert.equal(loadRenewed(renewed), sinceElapsed);
  await clock.advance(10 * ttlMs);
  assert.equal(loadRenewed(renewed), sinceElapsed + 10 * ttlMs);
  assert.equal(await isTaken(), true);
  host.close('one');
  await clock.advance(ttlMs);
  assert.equal(await isTaken(), false);
  assert.deepEqual(lost, []);
});

test('a lock whose holder hangs is renewed no longer', async (t) => {
  const { clock, lost, acquire, isTaken, hang } = await setup(t);
  const { renewed } = await acquire('one');
  await clock.advance(ttlMs);
  const renewedElapsed = loadRenewed(renewed);
  hang();
  await clock.advance(ttlMs);
  assert.equal(loadRenewed(renewed), renewedElapsed);
  assert.deepEqual(lost, ['one']);
  assert.equal(await isTaken(), false);
});

test('a lock that the store gave to another holder is reported as such', async (t) => {
  const { engine, clock, lost, acquire } = await setup(t);
  const { renewed, fence } = await acquire('one');
  await engine.release({ locks: [{ name: 'lock:a', fence }] });
  await clock.advance(ttlMs);
  assert.equal(loadRenewed(renewed), null);
  assert.deepEqual(lost, ['one']);
});

test('a store that is away for less than the ttl costs no lock', async (t) => {
  let isAway = false;
  const { clock, lost, acquire, isTaken } = await setup(t, (engine) => ({
    renew: (input) => (isAway ? Promise.reject(new Error('away')) : engine.renew(input)),
  }));
  await acquire('one');
  isAway = true;
  // The first renewal fails, the second arrives.
  await clock.advance(ttlMs / 2);
  isAway = false;
  await clock.advance(5 * ttlMs);
  assert.deepEqual(lost, []);
  assert.equal(await isTaken(), true);
});

test('a new thread renews what the one before it renewed', async (t) => {
  const { clock, host, acquire, isTaken } = await setup(t);
  const { renewed, fence } = await acquire('one');
  host.closeAll();
  await clock.advance(ttlMs / 2);
  host.resume('one', renewed, { name: 'lock:a', fence, ttlMs });
  await clock.advance(5 * ttlMs);
  assert.equal(await isTaken(), true);
});
