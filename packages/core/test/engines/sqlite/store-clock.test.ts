// Not part of the shared suite: SQLite has no clock of its own, so the file keeps one.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Clock } from '../../../src/base/clock.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/engine.ts';
import { testFolder } from './folder.ts';

const startAt = Date.UTC(2027, 0, 15, 10);
const hourMs = 3_600_000;

/** A machine: one monotonic clock for all its processes, and a wall clock per process that can be stepped. */
function machine() {
  let elapsedMs = 5_000;
  const process = (stepMs = 0) => {
    const own = { stepMs };
    const clock: Clock = {
      now: () => Math.floor(startAt + elapsedMs + own.stepMs),
      elapsed: () => elapsedMs,
      sleep: () => Promise.resolve(),
      after: () => ({ cancel() {} }),
    };
    return { clock, step: (ms: number) => (own.stepMs += ms) };
  };
  return { process, pass: (ms: number) => (elapsedMs += ms) };
}

const reapNothing = { node: 'node_1', leaseMs: 1_000, limit: 10 };
const nowOf = async (engine: Engine) => (await engine.get({ ids: [] })).now;

test('all processes on a file share one clock, whatever each believes the time to be', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const right = await openSqliteEngine({ path, clock: process().clock, boot: 'a' });
  const wrong = await openSqliteEngine({ path, clock: process(hourMs).clock, boot: 'a' });
  t.after(async () => {
    await right.close();
    await wrong.close();
  });
  pass(250);
  assert.equal(await nowOf(wrong), await nowOf(right));
  assert.match(wrong.info().warnings.join(), /3600\.0 s ahead/);
  assert.deepEqual(right.info().warnings, []);
});

test('a stepped wall clock is followed once it has been stable for 10 s, and recorded', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const { clock, step } = process();
  const engine = await openSqliteEngine({ path, clock, boot: 'a' });
  t.after(() => engine.close());
  step(hourMs);
  await engine.reap(reapNothing);
  pass(9_000);
  await engine.reap(reapNothing);
  const before = await nowOf(engine);
  assert.ok(before < startAt + hourMs);
  pass(1_100);
  await engine.reap(reapNothing);
  assert.equal(await nowOf(engine), clock.now());
  const db = new DatabaseSync(path);
  const steps = db.prepare('SELECT step_ms FROM clock_steps').all();
  db.close();
  assert.deepEqual(
    steps.map((row) => row.step_ms),
    [hourMs],
  );
});

test('whoever sleeps until the next due instant is woken when the store follows a step', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const { clock, step } = process();
  const engine = await openSqliteEngine({ path, clock, boot: 'a' });
  t.after(() => engine.close());
  const notifications: string[] = [];
  engine.subscribe(({ kind }) => notifications.push(kind));
  step(hourMs);
  await engine.reap(reapNothing);
  pass(9_000);
  await engine.reap(reapNothing);
  assert.deepEqual(notifications, []);
  pass(1_100);
  await engine.reap(reapNothing);
  assert.deepEqual(notifications.sort(), ['jobs', 'schedules']);
});

test('a clock that jumps to and fro is not followed', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const { clock, step } = process();
  const engine = await openSqliteEngine({ path, clock, boot: 'a' });
  t.after(() => engine.close());
  for (let i = 0; i < 5; i += 1) {
    step(i % 2 === 0 ? hourMs : -hourMs);
    await engine.reap(reapNothing);
    pass(6_000);
  }
  assert.ok((await nowOf(engine)) < startAt + hourMs);
});

test('one process with a wrong clock cannot move the store while another one is right', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const right = process();
  const a = await openSqliteEngine({ path, clock: right.clock, boot: 'a' });
  const b = await openSqliteEngine({ path, clock: process(hourMs).clock, boot: 'a' });
  t.after(async () => {
    await a.close();
    await b.close();
  });
  for (let i = 0; i < 10; i += 1) {
    await b.reap(reapNothing);
    pass(2_500);
    await a.reap(reapNothing);
    pass(2_500);
  }
  assert.equal(await nowOf(b), right.clock.now());
});

test('after a step backwards the store goes on at half speed until the wall clock has caught up, never back', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const { clock, step } = process();
  const engine = await openSqliteEngine({ path, clock, boot: 'a' });
  t.after(() => engine.close());
  step(-hourMs);
  await engine.reap(reapNothing);
  pass(10_001);
  await engine.reap(reapNothing);
  const atStep = await nowOf(engine);
  pass(10_000);
  assert.equal((await nowOf(engine)) - atStep, 5_000);
  let last = atStep;
  for (let i = 0; i < 200; i += 1) {
    pass(60_000);
    const now = await nowOf(engine);
    assert.ok(now > last);
    last = now;
  }
  assert.equal(last, clock.now());
});

test('a step of the wall clock ends no lease', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const { process, pass } = machine();
  const { clock, step } = process();
  const engine = await openSqliteEngine({ path, clock, boot: 'a' });
  t.after(() => engine.close());
  const lock = { name: 'report', token: 'a', holder: { host: 'h', pid: 1, node: 'n' }, ttlMs: 30_000 };
  await engine.acquire(lock);
  step(hourMs);
  await engine.reap(reapNothing);
  pass(10_500);
  await engine.reap(reapNothing);
  assert.equal(await nowOf(engine), clock.now());
  const other = await engine.acquire({ ...lock, token: 'b' });
  assert.equal(other.acquired, false);
  assert.equal(other.untilAt - other.now, 19_500);
  pass(19_501);
  assert.equal((await engine.acquire({ ...lock, token: 'b' })).acquired, true);
});

test('after a reboot nobody waits for the leases of the dead, and now does not go back', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const before = machine();
  const first = await openSqliteEngine({ path, clock: before.process().clock, boot: 'a' });
  const lock = { name: 'report', token: 'a', holder: { host: 'h', pid: 1, node: 'n' }, ttlMs: 30_000 };
  await first.acquire(lock);
  await first.reap(reapNothing);
  const last = await nowOf(first);
  await first.close();
  // The machine comes back with a clock that is an hour behind.
  const after = machine();
  const second = await openSqliteEngine({ path, clock: after.process(-hourMs).clock, boot: 'b' });
  t.after(() => second.close());
  assert.ok((await nowOf(second)) >= last);
  assert.equal((await second.acquire({ ...lock, token: 'b' })).acquired, true);
});
