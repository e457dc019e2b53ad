// Not part of the shared suite: the thread that holds an SQLite file, and notifications between processes on one machine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { jobSpec, settlement } from '@duly/conformance/builders';
import { until } from '@duly/conformance/steps';
import { isDulyError } from '../../../src/base/errors.ts';
import type { ClaimedJob, Engine, Notification, NotificationKind } from '../../../src/contract/engine.ts';
import { openStore } from '../../../src/store/thread/open-store.ts';
import { testFolder } from './folder.ts';

function nextNotification(engine: Engine, wanted: NotificationKind): Promise<Notification> {
  return new Promise((resolve) => {
    const stop = engine.subscribe((notification) => {
      if (notification.kind !== wanted) return;
      stop();
      resolve(notification);
    });
  });
}

test('a refusal in the thread arrives with its code', async (t) => {
  await assert.rejects(openStore(`sqlite:${join(testFolder(t), 'missing', 'duly.db')}`), (error) =>
    isDulyError(error, 'store_unavailable'),
  );
});

test('a store receives its own probe, which proves that notifications arrive', async (t) => {
  const { engine } = await openStore(`sqlite:${join(testFolder(t), 'duly.db')}`);
  t.after(() => engine.close());
  const probed = nextNotification(engine, 'probe');
  await engine.probe();
  assert.deepEqual(await probed, { kind: 'probe' });
});

test('a job created through one connection wakes another one', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const one = await openStore(url);
  const other = await openStore(url);
  t.after(async () => {
    await one.engine.close();
    await other.engine.close();
  });
  const notified = nextNotification(other.engine, 'jobs');
  await one.engine.enqueue({ groups: [{ jobs: [jobSpec()] }] });
  assert.deepEqual(await notified, { kind: 'jobs' }, 'a file carries no types');
});

test('a thread that was told of a call answers it, whether it comes at once, late or never', async (t) => {
  const store = await openStore(`sqlite:${join(testFolder(t), 'duly.db')}`);
  const { engine } = store;
  for (let n = 0; n < 20; n++) {
    store.expect?.();
    store.expect?.();
    if (n % 2 === 0) await engine.counts({ cap: 10 });
    await Promise.all([
      engine.enqueue({ groups: [{ jobs: [jobSpec({ type: 'made' })] }] }),
      engine.get({ ids: [] }),
    ]);
  }
  const { jobs } = await engine.list({ filter: { type: ['made'] }, cursor: null, limit: 100 });
  assert.equal(jobs.length, 20);
  store.expect?.();
  await engine.close();
  store.expect?.();
});

test('calls after the end are refused, and the end can be asked for twice', async (t) => {
  const { engine } = await openStore(`sqlite:${join(testFolder(t), 'duly.db')}`);
  await engine.close();
  await engine.close();
  await assert.rejects(engine.get({ ids: [] }), (error) => isDulyError(error, 'store_closed'));
});

test('types arrive in the process that creates jobs, also those of its own thread', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const { engine } = await openStore(url);
  t.after(() => engine.close());
  const notified = nextNotification(engine, 'jobs');
  const jobs = ['mail', 'a, b'].map((type) => jobSpec({ type, due: { inMs: 0 } }));
  await engine.enqueue({ groups: [{ jobs }] });
  assert.deepEqual(await notified, { kind: 'jobs', types: ['mail', 'a, b'] });
});

test('a thread that ends by itself is followed by another, with notifications and heartbeats', async (t) => {
  const threads: Worker[] = [];
  const { postMessage } = Worker.prototype;
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, ...args: [unknown]) {
    if (!threads.includes(this)) threads.push(this);
    return postMessage.apply(this, args);
  });
  const path = join(testFolder(t), 'duly.db');
  const store = await openStore(`sqlite:${path}`);
  const { engine } = store;
  t.after(() => engine.close());
  const notified = nextNotification(engine, 'jobs');
  const heartbeats = store.createHeartbeats({
    node: 'node_1',
    leaseMs: 300,
    heartbeatMs: 50,
    onHeartbeat() {},
  });
  await engine.get({ ids: [] });
  // Whoever writes waits for this one, so the call is surely not answered when the thread ends.
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const unanswered = engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  const asked = assert.rejects(unanswered, (error) => isDulyError(error, 'store_unavailable'));
  await threads[0]?.terminate();
  await asked;
  other.exec('ROLLBACK');
  other.close();
  await assert.rejects(
    engine.get({ ids: [] }),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === false,
  );
  // Who listened is told that it may have missed something.
  await notified;
  const spec = jobSpec({ due: { inMs: 0 } });
  await engine.enqueue({ groups: [{ jobs: [spec] }] });
  const tasks = [{ type: spec.type, version: spec.version, limit: 1 }];
  const claim = { token: 'a', node: 'node_1', tasks, queues: null, limit: 1, leaseMs: 300, idle: true };
  assert.equal((await engine.exchange({ settle: [], claim })).claimed.length, 1);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
  assert.deepEqual((await engine.reap({ node: 'node_2', leaseMs: 1_000, limit: 10 })).jobs, []);
  assert.equal(threads.length, 2);
  heartbeats.close();
});

test('a cancel that arrives while the main loop is blocked is known in the turn that goes on', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const [{ engine, createHeartbeats }, other] = [await openStore(url), await openStore(url)];
  t.after(() => Promise.all([engine.close(), other.engine.close()]));
  const spec = jobSpec({ due: { inMs: 0 } });
  await engine.enqueue({ groups: [{ jobs: [spec] }] });
  engine.subscribe(() => {});
  const heartbeats = createHeartbeats({
    node: 'node_1',
    leaseMs: 60_000,
    heartbeatMs: 60_000,
    onHeartbeat() {},
  });
  t.after(() => heartbeats.close());
  const tasks = [{ type: spec.type, version: spec.version, limit: 1 }];
  const claim = { token: 'a', node: 'node_1', tasks, queues: null, limit: 1, leaseMs: 60_000, idle: true };
  const [job] = (await engine.exchange({ settle: [], claim })).claimed;
  const targets = [{ id: spec.id }];
  const cancelled = other.engine.cancel({
    groups: [{ actor: 'a', note: null, targets, mode: 'ask' as const }],
  });
  // The threads of both stores work meanwhile; their messages wait until this thread turns again.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
  assert.equal(heartbeats.enter(job as ClaimedJob, 0), 'cancelled');
  await cancelled;
});

test('a lease whose claim is answered while the main loop is blocked is renewed from the start', async (t) => {
  const store = await openStore(`sqlite:${join(testFolder(t), 'duly.db')}`);
  const { engine } = store;
  t.after(() => engine.close());
  const spec = jobSpec({ due: { inMs: 0 } });
  await engine.enqueue({ groups: [{ jobs: [spec] }] });
  const heartbeats = store.createHeartbeats({
    node: 'node_1',
    leaseMs: 300,
    heartbeatMs: 50,
    onHeartbeat() {},
  });
  const tasks = [{ type: spec.type, version: spec.version, limit: 1 }];
  const claim = { token: 'a', node: 'node_1', tasks, queues: null, limit: 1, leaseMs: 300, idle: true };
  const exchanged = engine.exchange({ settle: [], claim });
  // The claim is on its way; its answer waits until this thread turns again.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
  assert.equal((await exchanged).claimed.length, 1);
  const reaped = await engine.reap({ node: 'node_2', leaseMs: 1_000, limit: 10 });
  assert.deepEqual(reaped.jobs, []);
  heartbeats.close();
});

test('heartbeats in the thread renew a lease while the main loop is blocked for twice its length', async (t) => {
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const store = await openStore(url);
  const { engine } = store;
  t.after(() => engine.close());
  const spec = jobSpec({ due: { inMs: 0 } });
  const tasks = [{ type: spec.type, version: spec.version, limit: 1 }];
  const claim = { token: 'a', node: 'node_1', tasks, queues: null, limit: 1, leaseMs: 300, idle: true };
  const news: unknown[] = [];
  const heartbeats = store.createHeartbeats({
    node: 'node_1',
    leaseMs: 300,
    heartbeatMs: 50,
    onHeartbeat: (one) => news.push(one),
  });
  const { claimed } = await engine.enqueue({ groups: [{ jobs: [spec] }], claim });
  const job = claimed[0] as NonNullable<(typeof claimed)[0]>;
  assert.equal(await heartbeats.begin(job), 'kept');
  // Nothing on this thread runs meanwhile: no timer, no message.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const reaped = await engine.reap({ node: 'node_2', leaseMs: 1_000, limit: 10 });
  assert.deepEqual(reaped.jobs, []);
  assert.deepEqual(news, []);
  heartbeats.close();
});

test('a lease that was settled is no longer renewed, nor is one that was dropped', async (t) => {
  const store = await openStore(`sqlite:${join(testFolder(t), 'duly.db')}`);
  const { engine } = store;
  t.after(() => engine.close());
  const news: { fence: number }[] = [];
  const heartbeats = store.createHeartbeats({
    node: 'node_1',
    leaseMs: 10_000,
    heartbeatMs: 5_000,
    onHeartbeat: (one) => news.push(one),
  });
  const specs = [jobSpec({ due: { inMs: 0 } }), jobSpec({ due: { inMs: 0 } }), jobSpec({ due: { inMs: 0 } })];
  const tasks = [{ type: (specs[0] as { type: string }).type, version: 1, limit: 3 }];
  const claim = { token: 'a', node: 'node_1', tasks, queues: null, limit: 3, leaseMs: 10_000, idle: true };
  const { claimed } = await engine.enqueue({ groups: [{ jobs: specs }], claim });
  const [settled, dropped, kept] = claimed as [ClaimedJob, ClaimedJob, ClaimedJob];
  await engine.exchange({ settle: [settlement(settled, 'COMPLETED')], claim: null });
  heartbeats.drop([dropped]);
  // Somebody ends the other two: only the one that is still held is told.
  await engine.cancel({
    groups: [dropped, kept].map(({ id }) => ({
      actor: 'me',
      targets: [{ id }],
      mode: 'terminate' as const,
      note: null,
    })),
  });
  heartbeats.check();
  await until(engine, () => news.length > 0);
  assert.deepEqual(
    news.map(({ fence }) => fence),
    [kept.fence],
  );
  heartbeats.close();
});

test('an idle store does not keep the process alive', async (t) => {
  const { spawn } = await import('node:child_process');
  const open = new URL('../../../src/store/thread/open-store.ts', import.meta.url).href;
  const url = `sqlite:${join(testFolder(t), 'duly.db')}`;
  const script = `const { openStore } = await import(${JSON.stringify(open)}); await openStore(${JSON.stringify(url)});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});
