import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duly } from '../../../src/index.ts';
import { createManualClock } from '../../../src/testing/index.ts';

/** A Duly on a clock that stands, of which no node runs. */
function setup(t: { after(fn: () => Promise<void>): void }) {
  const clock = createManualClock();
  const duly = new Duly({ store: 'sqlite::memory:', clock });
  t.after(() => duly.stop());
  const task = duly.task({ name: 'work', timeout: '1m', retry: 2, run: () => {} });
  const worker = { id: 'w', tasks: [{ type: 'work' }] };
  return { clock, duly, task, worker };
}

test('an attempt beyond its timeout is told so, and beyond its grace it is settled as failed', async (t) => {
  const { clock, duly, task, worker } = setup(t);
  const handle = await task.now(null);
  const [job] = (await duly.remote.claim({ worker })).jobs;
  assert.ok(job !== undefined);
  const heartbeat = async (): Promise<unknown> => (await duly.remote.heartbeat([job], { worker: 'w' }))[0];
  const passes = async (ms: number): Promise<void> => {
    // The lease is kept: a heartbeat every five seconds.
    for (let passed = 0; passed < ms; passed += 5_000) {
      await clock.advance(5_000);
      await heartbeat();
    }
  };
  await passes(55_000);
  assert.equal(await heartbeat(), 'kept');
  await passes(10_000);
  assert.equal(await heartbeat(), 'timeout');
  await clock.advance(30_000);
  assert.equal(await heartbeat(), 'lost');
  const after = await handle.get();
  assert.deepEqual([after.status, after.attemptList[0]?.reason], ['RETRYING', 'timeout']);
  assert.deepEqual(await duly.remote.settle([{ ...job, outcome: { kind: 'completed' } }]), [
    { id: job.id, result: 'lost', status: null },
  ]);
});

test('a claim waits by the clock, for a job that falls due and for one that is created', async (t) => {
  const { clock, duly, task, worker } = setup(t);
  const handle = await task.in('20s', null);
  const waiting = duly.remote.claim({ worker, wait: '1m' });
  await clock.advance(19_999);
  let isAnswered = false;
  void waiting.then(() => {
    isAnswered = true;
  });
  await clock.settle();
  assert.equal(isAnswered, false, 'never early');
  await clock.advance(1_000);
  assert.equal((await waiting).jobs[0]?.id, handle.id);
  const empty = duly.remote.claim({ worker, wait: '1m' });
  await clock.advance(61_000);
  assert.deepEqual((await empty).jobs, []);
});

test('a waiting claim asks again only for jobs of its types', async (t) => {
  const { clock, duly, task, worker } = setup(t);
  const other = duly.task({ name: 'other', run: () => {} });
  let exchanges = 0;
  duly.on('call', ({ verb }) => {
    if (verb === 'exchange') exchanges++;
  });
  const waiting = duly.remote.claim({ worker, wait: '1m' });
  await clock.settle();
  const before = exchanges;
  await other.now(null);
  await clock.settle();
  assert.equal(exchanges, before);
  const handle = await task.now(null);
  await clock.settle();
  assert.equal((await waiting).jobs[0]?.id, handle.id);
});

test('a waiting claim ends with its signal and with the Duly, and a worker that leaves is listed no more', async (t) => {
  const { duly, worker } = setup(t);
  const aborter = new AbortController();
  const waiting = duly.remote.claim({ worker, wait: '1h', signal: aborter.signal });
  while (!(await duly.nodes()).some(({ id }) => id === 'remote:w')) await null;
  aborter.abort();
  assert.deepEqual((await waiting).jobs, []);
  await duly.remote.leave('w');
  assert.deepEqual(await duly.nodes(), []);
  const last = assert.rejects(duly.remote.claim({ worker, wait: '1h' }), { code: 'stopped' });
  while ((await duly.nodes()).length === 0) await null;
  await duly.stop();
  await last;
});

test('what a worker says of itself and of outcomes is checked', async (t) => {
  const { duly, worker } = setup(t);
  const refused = (claim: unknown) =>
    assert.rejects(duly.remote.claim(claim as never), { code: 'invalid_option' });
  await refused({ worker: { ...worker, id: '' } });
  await refused({ worker: { ...worker, tasks: [] } });
  await refused({ worker: { ...worker, tasks: [{ type: 'work', version: 0 }] } });
  await refused({ worker: { ...worker, tasks: [{ type: 'duly:http' }] } });
  await refused({ worker, limit: 0 });
  await refused({ worker, limits: 1 });
});
