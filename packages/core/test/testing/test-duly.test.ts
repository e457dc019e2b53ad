import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { isDulyError } from '../../src/base/errors.ts';
import { createTestDuly, type TestDulyOptions } from '../../src/testing/index.ts';

function setup(t: { after(fn: () => Promise<void>): void }, options?: TestDulyOptions) {
  const duly = createTestDuly(options);
  t.after(() => duly.stop());
  return duly;
}

test('nothing runs until the test moves time', async (t) => {
  const duly = setup(t);
  let runs = 0;
  const task = duly.task({ name: 'count', run: () => void runs++ });
  await task.now();
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(runs, 0);
  await duly.runDue();
  assert.equal(runs, 1);
  // The same after the first move: the node exists now, and still stands.
  await task.now();
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(runs, 1);
  assert.equal(duly.now.toISOString(), '2027-01-15T10:00:00.000Z');
  await duly.advance(0);
  assert.equal(runs, 2);
});

test('a delay of 400 days is one step, and never early', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'far', run: () => duly.now.toISOString() });
  await task.in('400 days');
  assert.deepEqual(await duly.advance(400 * 86_400_000 - 1), []);
  const [ran] = await duly.advance(1);
  assert.equal(ran?.result, '2028-02-19T10:00:00.000Z');
});

test('what falls due on the way runs in order, each at its instant, with what it makes', async (t) => {
  const duly = setup(t);
  const leaf = duly.task({ name: 'leaf', run: ({ input }) => input });
  const root = duly.task({
    name: 'root',
    run: async ({ input }) => {
      await leaf.in('1h', `leaf of ${input}`);
    },
  });
  await root.in('2h', 'second');
  await root.in('1h', 'first');
  const ran = await duly.advance('1 day');
  assert.deepEqual(
    ran.map(({ type, result, at }) => [at.toISOString().slice(11, 16), type, result]),
    [
      ['11:00', 'root', null],
      ['12:00', 'leaf', 'leaf of first'],
      ['12:00', 'root', null],
      ['13:00', 'leaf', 'leaf of second'],
    ],
  );
});

test('retries run after their backoff, and each attempt is returned', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'third-time-lucky',
    retry: { attempts: 3, backoff: 'fixed', delay: '10m', jitter: 0 },
    run: ({ attempt }) => {
      if (attempt < 3) throw new Error(`attempt ${attempt}`);
      return 'lucky';
    },
  });
  await task.now();
  const ran = await duly.advance('1h');
  assert.deepEqual(
    ran.map(({ at, status, result, error }) => [
      at.toISOString().slice(11, 16),
      status,
      result,
      error?.message,
    ]),
    [
      ['10:00', 'RETRYING', null, 'attempt 1'],
      ['10:10', 'RETRYING', null, 'attempt 2'],
      ['10:20', 'COMPLETED', 'lucky', undefined],
    ],
  );
});

test('time stands still while a handler does real work', async (t) => {
  const duly = setup(t);
  const { readFile } = await import('node:fs/promises');
  const task = duly.task({
    name: 'reads',
    timeout: '1s',
    run: async () => {
      let bytes = 0;
      for (let i = 0; i < 20; i++) bytes += (await readFile(import.meta.filename)).length;
      return bytes > 0 && duly.now.toISOString();
    },
  });
  await task.now();
  const [ran] = await duly.advance('3 days');
  assert.equal(ran?.result, '2027-01-15T10:00:00.000Z');
});

test('a handler that waits for virtual time is woken by it', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'sleeper',
    timeout: '2h',
    run: async () => {
      await duly.clock.sleep(3_600_000);
      return duly.now.toISOString();
    },
  });
  const handle = await task.now();
  assert.deepEqual(await duly.advance('30m'), []);
  assert.equal((await handle.get()).status, 'RUNNING');
  const [ran] = await duly.advance('30m');
  assert.equal(ran?.result, '2027-01-15T11:00:00.000Z');
});

test('a handler that hangs meets its timeout', async (t) => {
  const duly = setup(t, { patience: 20 });
  const task = duly.task({
    name: 'hangs',
    timeout: '5m',
    retry: 1,
    run: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const handle = await task.now();
  const [ran] = await duly.advance('1h');
  assert.equal(ran?.status, 'FAILED');
  const job = await handle.get();
  assert.equal(job.reason, 'timeout');
  assert.equal(job.finishedAt?.toISOString(), '2027-01-15T10:05:00.000Z');
});

test('a handler that ignores its timeout is given up after its grace', async (t) => {
  const duly = setup(t, { patience: 20 });
  const task = duly.task({
    name: 'ignores',
    timeout: '5m',
    grace: '30s',
    retry: 1,
    run: () => new Promise(() => {}),
  });
  const handle = await task.now();
  await duly.advance('1h');
  const job = await handle.get();
  assert.deepEqual([job.status, job.finishedAt?.toISOString()], ['FAILED', '2027-01-15T10:05:30.000Z']);
});

test('a running job is cancelled by its abort signal', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'cancellable',
    run: async ({ signal }) => {
      await duly.clock.sleep(3_600_000, signal);
      signal.throwIfAborted();
    },
  });
  const handle = await task.now();
  await duly.advance('1m');
  assert.deepEqual((await handle.cancel('changed my mind')).result, 'asked');
  const [ran] = await duly.advance('1m');
  assert.deepEqual([ran?.status, ran?.error?.code], ['CANCELLED', 'cancelled']);
});

test('a terminated job is over at once, whoever waits is told, and its handler no longer counts', async (t) => {
  const duly = setup(t);
  const reasons: unknown[] = [];
  const task = duly.task({
    name: 'terminated',
    run: async ({ signal, progress }) => {
      await duly.clock.sleep(3_600_000, signal);
      reasons.push((signal.reason as { code: string }).code);
      await progress(50);
      return 'too late';
    },
  });
  const handle = await task.now();
  await duly.advance('1m');
  const waiting = handle.wait();
  const change = await handle.cancel({ terminate: true, note: 'now' });
  assert.deepEqual([change.result, change.status], ['changed', 'CANCELLED']);
  assert.equal((await waiting).status, 'CANCELLED');
  assert.deepEqual(await duly.advance('1m'), []);
  assert.deepEqual(reasons, ['lost']);
  const job = await handle.get();
  assert.deepEqual([job.status, job.result, job.progress.percent], ['CANCELLED', null, 0]);
});

test('a handler may wait for a job it created', async (t) => {
  const duly = setup(t);
  const child = duly.task({ name: 'child', run: () => 42 });
  const parent = duly.task({ name: 'parent', run: async () => (await child.now()).result() });
  await parent.now();
  const ran = await duly.runDue();
  assert.deepEqual(
    ran.map(({ type, result }) => [type, result]),
    [
      ['child', 42],
      ['parent', 42],
    ],
  );
});

test('snoozing and asking for a retry follow virtual time', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'later',
    retry: 2,
    run: ({ attempt, snooze, retryIn }) => {
      if (attempt === 1) snooze('1 day');
      if (attempt === 2) retryIn('2 days', 'not ready');
      return 'done';
    },
  });
  await task.now();
  const ran = await duly.advance('7 days');
  assert.deepEqual(
    ran.map(({ at, status }) => [at.toISOString().slice(0, 10), status]),
    [
      ['2027-01-15', 'SCHEDULED'],
      ['2027-01-16', 'RETRYING'],
      ['2027-01-18', 'COMPLETED'],
    ],
  );
});

test('the same seed gives the same ids and delays', async (t) => {
  const play = async (seed: number) => {
    const duly = setup(t, { seed });
    const task = duly.task({
      name: 'fails',
      run: () => {
        throw new Error('no');
      },
    });
    await task.now();
    return (await duly.advance('1h')).map(({ id, at }) => `${id} ${at.toISOString()}`);
  };
  assert.deepEqual(await play(7), await play(7));
  assert.notDeepEqual(await play(7), await play(8));
});

test('advanceTo() goes to an instant, and moves are created one after the other', async (t) => {
  const duly = setup(t, { start: '2030-06-01T00:00:00Z' });
  const task = duly.task({ name: 'dated', run: () => duly.now.toISOString() });
  await task.at('2030-06-02T12:00:00Z');
  const [first, second] = await Promise.all([duly.advance('1 day'), duly.advanceTo('2030-06-03T00:00:00Z')]);
  assert.deepEqual(first, []);
  assert.deepEqual(
    second.map(({ result }) => result),
    ['2030-06-02T12:00:00.000Z'],
  );
  assert.deepEqual(await duly.advanceTo(duly.now), []);
  await assert.rejects(duly.advanceTo('2030-06-02T23:59:59.999Z'), { code: 'invalid_instant' });
  assert.equal(duly.now.toISOString(), '2030-06-03T00:00:00.000Z');
  await assert.rejects(async () => duly.advance('-1 day'), { code: 'invalid_duration' });
});

test('time cannot be moved inside a handler, and a move after it goes on as ever', async (t) => {
  const duly = setup(t);
  const moves = [() => duly.advance('1h'), () => duly.advanceTo('2031-01-01T00:00:00Z'), () => duly.runDue()];
  const task = duly.task({ name: 'mover', retry: 1, run: ({ input }) => moves[input as number]?.() });
  await task.nowMany([0, 1, 2]);
  const ran = await duly.runDue();
  assert.deepEqual(
    ran.map(({ status, error }) => [status, error?.code]),
    moves.map(() => ['FAILED', 'inside_handler']),
  );
  assert.deepEqual(await duly.advance('1h'), []);
});

test('two thousand delayed jobs run in due order', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'many', run: () => {} });
  const inputs = Array.from({ length: 2_000 }, (_, i) => i);
  // Shuffled dues, spread over a day, so that the order of making is not the order of running.
  await Promise.all(inputs.map((i) => task.in((i * 7_919_000) % 86_400_000, i)));
  const ran = await duly.advance('1 day');
  assert.equal(ran.length, 2_000);
  const instants = ran.map(({ at }) => at.getTime());
  assert.deepEqual(
    instants,
    [...instants].sort((a, b) => a - b),
  );
});

test('a stopped one is over: nothing can be created or moved', async () => {
  const duly = createTestDuly();
  const task = duly.task({ name: 'a', run: () => {} });
  await task.now();
  await duly.stop();
  await duly.stop();
  for (const call of [() => task.now(), () => duly.open(), () => duly.start()]) {
    await assert.rejects(call, (error) => isDulyError(error, 'stopped'));
  }
});

test('stopping gives up a handler that never ends', async () => {
  const duly = createTestDuly({ patience: 20 });
  const task = duly.task({ name: 'endless', timeout: 'none', run: () => new Promise(() => {}) });
  await task.now();
  await duly.runDue();
  await duly.stop();
});

test('a node that is asked to drain takes no more work and says so', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'drained', run: () => {} });
  await duly.runDue();
  const [node] = await duly.nodes();
  const drained = duly.next('drained');
  await assert.rejects(duly.drainNode('nope'), { code: 'node_not_found' });
  await duly.drainNode(node?.id as string);
  // It hears of it with its next heartbeat, at the end of a move.
  await duly.advance('10s');
  await drained;
  const handle = await task.now();
  assert.deepEqual(await duly.advance('1m'), []);
  assert.match((await handle.why()).sentence, /take no work \("node_[^"]+": The worker is draining\./);
});
