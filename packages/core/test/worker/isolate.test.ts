import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import type { ResolvedTask } from '../../src/jobs/task-definition.ts';
import { runIsolated } from '../../src/worker/isolate.ts';
import { claimedJob } from './claimed-job.ts';
import { asks, blocked, crashes, exits, hungry, missing, polite, where } from './isolated-tasks.ts';
import { openTestStoreOn } from './setup.ts';

// Threads need real time; every wait here is for an event.
async function setup(t: TestContext, one: ResolvedTask) {
  const store = await openTestStoreOn(systemClock, null);
  t.after(() => store.close());
  const { worker } = store.start([one]);
  const run = async (input?: unknown) => {
    const id = await store.enqueue(one, input);
    worker.wake();
    return id;
  };
  const settled = () => worker.events.next('settled');
  return { store, worker, run, settled };
}

test('an isolated task runs in a thread of its own, with all of its context, and its schema is applied there', async (t) => {
  const { store, run, settled } = await setup(t, where);
  const first = settled();
  const id = await run({ at: '2027-01-15T10:00:00Z' });
  const { settlement } = await first;
  assert.equal(settlement.to, 'RETRYING');
  assert.partialDeepStrictEqual(settlement.error, { message: 'first attempt', cause: { message: 'inside' } });
  await settled();
  const job = await store.job(id);
  const result = JSON.parse(job.result ?? 'null');
  assert.partialDeepStrictEqual(result, {
    input: { at: '2027-01-15T10:00:00.000Z' },
    isMainThread: false,
    isIsolate: true,
    current: true,
  });
  const { lines } = await store.engine.logs({ id, after: 0, limit: 10 });
  assert.deepEqual(
    lines.map(({ level, message, attempt }) => ({ level, message, attempt })),
    [1, 2].map((attempt) => ({ level: 'warn', message: 'said in a thread', attempt })),
  );
  assert.equal(job.attempts.length, 2);
});

test('an isolated handler that blocks its thread is killed after the grace, and its place is free', async (t) => {
  const { store, worker, run, settled } = await setup(t, blocked);
  const end = settled();
  const id = await run();
  const { settlement } = await end;
  assert.partialDeepStrictEqual(settlement, { to: 'FAILED', reason: 'timeout' });
  while (worker.runningCount() > 0) await worker.events.next('passes');
  assert.equal(worker.notReady(), null);
  assert.equal((await store.job(id)).error?.code, 'timeout');
});

test('a cancel reaches the signal inside the thread', async (t) => {
  const { store, worker, run, settled } = await setup(t, polite);
  const id = await run();
  await worker.events.next('started');
  const end = settled();
  await store.cancel(id);
  const { settlement } = await end;
  assert.partialDeepStrictEqual(settlement, { to: 'CANCELLED', error: { code: 'cancelled' } });
});

test('snooze works from a thread', async (t) => {
  const { run, settled } = await setup(t, asks);
  const end = settled();
  await run();
  assert.partialDeepStrictEqual((await end).settlement, { to: 'SCHEDULED', due: { inMs: 3_600_000 } });
});

for (const [one, message] of [
  [exits, /ended with code 3/],
  [crashes, /failed/],
  [missing, /could not run the task/],
] as const) {
  test(`a thread that dies (${one.name}) is a failed attempt with a clear error`, async (t) => {
    const { run, settled } = await setup(t, one);
    const end = settled();
    await run();
    const { settlement } = await end;
    assert.equal(settlement.to, 'FAILED');
    assert.equal(settlement.error?.code, 'isolate_failed');
    assert.match(settlement.error?.message ?? '', message);
  });
}

test('a thread whose task is not defined says which are', async (t) => {
  const { run, settled } = await setup(t, missing);
  const end = settled();
  await run();
  assert.match((await end).settlement.error?.cause?.message ?? '', /"missing".*"where"/);
});

test('drain kills threads that do not end', async (t) => {
  const { store, worker, run } = await setup(t, { ...blocked, timeoutMs: null });
  const id = await run();
  await worker.events.next('started');
  await worker.drain({ limitMs: 50 });
  assert.partialDeepStrictEqual(await store.job(id), { status: 'PENDING', reason: 'released', spent: 0 });
});

test('a thread that uses up its memory ends alone, as a failed attempt', async () => {
  const { outcome, exited } = runIsolated({
    job: claimedJob({ type: hungry.name }),
    file: hungry.isolateFile as string,
    resourceLimits: { maxOldGenerationSizeMb: 24 },
    port: {
      signal: new AbortController().signal,
      refusal: () => null,
      progress() {},
      log() {},
      recall: async () => null,
      completeIn: async () => {},
      record: async (_step, result) => result,
    },
  });
  const ended = await outcome;
  await exited;
  assert.partialDeepStrictEqual(ended, {
    kind: 'died',
    error: { code: 'isolate_failed', cause: { code: 'ERR_WORKER_OUT_OF_MEMORY' } },
  });
});
