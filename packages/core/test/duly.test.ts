import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Duly, type DulyOptions } from '../src/index.ts';

/** A file for a store, and Dulys on it that are stopped with the test. */
function setup(t: { after(fn: () => Promise<void>): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-test-'));
  const all: Duly[] = [];
  t.after(async () => {
    await Promise.all(all.map((duly) => duly.stop({ drain: 0 })));
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    duly(options: DulyOptions = {}): Duly {
      const duly = new Duly({ store: `sqlite:${join(folder, 'duly.db')}`, ...options });
      all.push(duly);
      return duly;
    },
  };
}

test('a job created in one Duly survives it and is run by another on the same file', async (t) => {
  const { duly } = setup(t);
  const creator = duly();
  const created = await creator
    .task({ name: 'hello', run: () => {} })
    .now('Ada', { metadata: { from: 'maker' } });
  await creator.stop();
  const runner = duly();
  runner.task({ name: 'hello', run: ({ input, job }) => `hello ${input} from ${job.metadata.from}` });
  await runner.start();
  assert.equal(await runner.job(created.id).result({ timeout: '20s' }), 'hello Ada from maker');
});

test('in one process a job starts with the commit that makes it, without a claim of its own', async (t) => {
  const { duly } = setup(t);
  const one = duly();
  const task = one.task({ name: 'quick', run: ({ input }) => input });
  const idle = one.next('idle');
  await one.start();
  await idle;
  const story: string[] = [];
  one.on('call', ({ verb }) => {
    if (verb === 'enqueue' || verb === 'exchange') story.push(verb);
  });
  one.on('job.started', ({ id }) => story.push(id));
  const started = one.next('job.started');
  const handle = await task.now('x');
  await started;
  assert.deepEqual(story.slice(0, 2), ['enqueue', handle.id]);
  assert.equal(await handle.result({ timeout: '20s' }), 'x');
});

test('a burst of now() on a file travels in a handful of transactions and all of it runs', async (t) => {
  const { duly } = setup(t);
  const one = duly();
  const task = one.task({ name: 'burst', run: ({ input }) => input });
  await one.start();
  const before = one.calls()?.enqueue ?? 0;
  const handles = await Promise.all(Array.from({ length: 1_000 }, (_, i) => task.now(i)));
  const calls = (one.calls()?.enqueue ?? 0) - before;
  assert.ok(calls <= 5, `${calls} calls`);
  const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '60s' })));
  assert.deepEqual(
    results,
    Array.from({ length: 1_000 }, (_, i) => i),
  );
});

test('a task that is defined after the start is taken up', async (t) => {
  const { duly } = setup(t);
  const one = duly();
  await one.start();
  const task = one.task({ name: 'late', run: () => 'here' });
  assert.equal(await (await task.now()).result({ timeout: '20s' }), 'here');
});

test('stop() lets what runs finish, lets it create jobs, and closes the store', async (t) => {
  const { duly } = setup(t);
  const one = duly();
  const release = Promise.withResolvers<void>();
  const child = one.task({ name: 'child', run: () => {} });
  const parent = one.task({
    name: 'parent',
    run: async () => {
      await release.promise;
      return (await child.in('1 day')).id;
    },
  });
  await one.start();
  const started = one.next('job.started');
  const handle = await parent.now();
  await started;
  const stopping = one.stop();
  release.resolve();
  await stopping;
  await assert.rejects(parent.now(), { code: 'stopped' });
  const reader = duly();
  const job = await reader.job(handle.id).get();
  assert.equal(job.status, 'COMPLETED');
  assert.equal((await reader.job(job.result as string).get()).parentId, handle.id);
  assert.deepEqual(await reader.nodes(), []);
});

test('what is not done by the drain limit is given back unspent', async (t) => {
  const { duly } = setup(t);
  const one = duly();
  const task = one.task({
    name: 'slow',
    run: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  await one.start();
  const started = one.next('job.started');
  const handle = await task.now();
  await started;
  await one.stop({ drain: 0 });
  const job = await duly().job(handle.id).get();
  assert.deepEqual([job.status, job.attempts, job.losses], ['PENDING', 0, 0]);
});

test('starting twice is refused; stopping without a start is fine', async (t) => {
  const { duly } = setup(t);
  const one = duly();
  await one.start();
  await assert.rejects(one.start(), { code: 'already_started' });
  const two = duly();
  await two.stop();
  await assert.rejects(two.start(), { code: 'stopped' });
});

test('making a Duly touches nothing; a bad store is told by the first call, and again by the next', async (t) => {
  const { duly, folder } = setup(t);
  const file = join(folder, 'notes.txt');
  writeFileSync(file, 'This is not a database, but it is long enough to be taken for one. '.repeat(40));
  const bad = duly({ store: `sqlite:${file}` });
  const task = bad.task({ name: 'a', run: () => {} });
  await assert.rejects(task.now(), { code: 'store_not_a_database' });
  await assert.rejects(bad.start(), { code: 'store_not_a_database' });
  await assert.rejects(duly({ store: 'postgres://127.0.0.1:1/x' }).open(), { code: 'store_unavailable' });
  await assert.rejects(duly({ store: 'redis://localhost' }).open(), { code: 'engine_not_yet' });
  await assert.rejects(duly({ store: 'mongodb://localhost' }).open(), { code: 'unknown_store' });
  await assert.rejects(duly({ store: './duly.db' }).open(), { code: 'unknown_store' });
});

test('a store that can be opened the second time is opened then', async (t) => {
  const { duly, folder } = setup(t);
  const file = join(folder, 'later.db');
  writeFileSync(file, 'not a database '.repeat(100));
  const one = duly({ store: `sqlite:${file}` });
  await assert.rejects(one.open(), { code: 'store_not_a_database' });
  rmSync(file);
  assert.equal((await one.open()).kind, 'sqlite');
});

test('a type that nobody handles waits, and why says which types are handled', async (t) => {
  const { duly } = setup(t);
  const runner = duly();
  runner.task({ name: 'known', run: () => {} });
  await runner.start();
  const creator = duly();
  const handle = await creator.task({ name: 'unknown', run: () => {} }).now();
  const { sentence, waitingFor } = await handle.why();
  assert.match(sentence, /No live node handles type "unknown"; 1 live node handles "known"\./);
  assert.ok(waitingFor?.kind === 'worker' && waitingFor.problem === 'unhandled-type');
});

test('a node takes only from its queues', async (t) => {
  const { duly } = setup(t);
  const runner = duly();
  const task = runner.task({ name: 'q', run: ({ job }) => job.queue });
  await runner.start({ queues: ['fast'] });
  const slow = await task.now(1, { queue: 'slow' });
  const fast = await task.now(1, { queue: 'fast' });
  assert.equal(await fast.result({ timeout: '20s' }), 'fast');
  assert.match((await slow.why()).sentence, /do not take from queue "slow"/);
});

test('a listener that throws hinders nobody, and its error is logged', async (t) => {
  const { duly } = setup(t);
  const logged: string[] = [];
  const logger = {
    debug() {},
    info() {},
    warn() {},
    error: (_: object, message: string) => logged.push(message),
  };
  const one = duly({ store: 'sqlite::memory:', logger: logger as never });
  one.on('opened', () => {
    throw new Error('mine');
  });
  await one.open();
  assert.deepEqual(logged, ['A listener of an event threw.']);
});

test('a handler does not run in the async context of whoever created the job', async (t) => {
  const { duly } = setup(t);
  const { AsyncLocalStorage } = await import('node:async_hooks');
  const request = new AsyncLocalStorage<string>();
  const one = duly({ store: 'sqlite::memory:' });
  const task = one.task({ name: 'context', run: () => request.getStore() ?? 'none' });
  const idle = one.next('idle');
  await one.start();
  await idle;
  const handle = await request.run('secret of a request', () => task.now());
  assert.equal(await handle.result({ timeout: '20s' }), 'none');
});

test('with signals a node stops on SIGTERM, and without it is left alone', async (t) => {
  const { duly } = setup(t);
  const before = process.listenerCount('SIGTERM');
  const quiet = duly({ store: 'sqlite::memory:' });
  await quiet.start();
  assert.equal(process.listenerCount('SIGTERM'), before);
  const one = duly({ store: 'sqlite::memory:' });
  await one.start({ signals: true });
  const stopped = one.next('stopped');
  const received = once(process, 'SIGTERM');
  process.kill(process.pid, 'SIGTERM');
  await received;
  await stopped;
  assert.equal(process.listenerCount('SIGTERM'), before);
});

test('the end of a block that began with await using stops it', async () => {
  const one = new Duly({ store: 'sqlite::memory:' });
  await one.open();
  // What the end of such a block calls. The words themselves are no syntax for Node 22; the types are tested apart.
  await one[Symbol.asyncDispose]();
  await assert.rejects(one.open(), { code: 'stopped' });
});

test('a job that another process runs is waited for, and its end seen soon', async (t) => {
  const { duly } = setup(t);
  const runner = duly();
  runner.task({ name: 'there', run: ({ input }) => input });
  await runner.start();
  const client = duly();
  const task = client.task({ name: 'there', run: () => {} });
  const handles = await task.nowMany(Array.from({ length: 50 }, (_, i) => i));
  const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '30s' })));
  assert.deepEqual(
    results as unknown[],
    Array.from({ length: 50 }, (_, i) => i),
  );
});

test('whoever still waits when it stops is told so', async (t) => {
  const { duly } = setup(t);
  const one = duly({ store: 'sqlite::memory:' });
  const handle = await one.task({ name: 'never', run: () => {} }).now();
  const waiting = assert.rejects(handle.wait(), { code: 'stopped' });
  await handle.get();
  await one.stop();
  await waiting;
});

test('an isolated task runs in a thread, which starts no node, and creates its jobs from there', async (t) => {
  const { folder } = setup(t);
  process.env.DULY_TEST_STORE = `sqlite:${join(folder, 'isolated.db')}`;
  const { duly, crunch } = await import('./worker/isolated-duly.ts');
  t.after(() => duly.stop());
  const handle = await crunch.now('x');
  const result = await handle.result({ timeout: '60s' });
  assert.equal(result.isMainThread, false);
  assert.equal(await duly.job(result.created).result({ timeout: '30s' }), 'x');
  assert.equal((await duly.job(result.created).get()).parentId, handle.id);
  assert.equal((await duly.nodes()).length, 1);
  assert.deepEqual(
    (await handle.logs()).map(({ message }) => message),
    ['from the thread'],
  );
});
