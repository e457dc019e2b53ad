import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import type { ReportInput } from '../../src/contract/engine.ts';
import type { TaskContext } from '../../src/jobs/task-definition.ts';
import { deferred, openTestStore, type StartOptions, task } from './setup.ts';

/** A job whose handler is held open, so that the test can use its context. */
async function setup(
  t: TestContext,
  options: (store: Awaited<ReturnType<typeof openTestStore>>) => StartOptions = () => ({}),
) {
  const store = await openTestStore();
  t.after(() => store.close());
  const open = deferred<TaskContext<unknown>>();
  const end = deferred<unknown>();
  const chatty = task('chatty', (context) => {
    open.resolve(context);
    return end.promise;
  });
  const id = await store.enqueue(chatty);
  store.start([chatty], options(store));
  const context = await open.promise;
  const reports = () => store.instrumented.counts().report;
  const lines = async () => (await store.engine.logs({ id, after: 0, limit: 5_000 })).lines;
  return { store, id, context, end, reports, lines };
}

test('progress is shown at once, then at most ten times a second, and the last value arrives', async (t) => {
  const { store, id, context, reports } = await setup(t);
  await context.progress(1, 'Reading', { step: 1, of: 4 });
  await store.clock.settle();
  assert.deepEqual((await store.job(id)).progress, { percent: 1, message: 'Reading', step: 1, of: 4 });

  for (let i = 2; i <= 90; i++) {
    await context.progress(i);
    await store.clock.advance(5);
  }
  // 89 values in 445 ms.
  assert.ok(reports() <= 1 + 5, `${reports()} reports`);
  await store.clock.advance(100);
  assert.equal((await store.job(id)).progress.percent, 90);
  const before = reports();
  await store.clock.advance(10_000);
  assert.equal(reports(), before, 'nothing is sent while nothing changes');
});

test('progress never goes back, and a message is kept until the next one', async (t) => {
  const { store, id, context } = await setup(t);
  await context.progress(60, 'Halfway');
  await store.clock.advance(100);
  await context.progress(40);
  await context.progress(-5, undefined, { step: 3 });
  await store.clock.advance(100);
  assert.deepEqual((await store.job(id)).progress, { percent: 60, message: 'Halfway', step: 3, of: null });
  await context.progress(1_000);
  await store.clock.advance(100);
  assert.equal((await store.job(id)).progress.percent, 100);
  await assert.rejects(context.progress(Number.NaN), { code: 'invalid_option' });
});

test('what was shown last arrives with the settlement, also of a failure', async (t) => {
  const { store, id, context, end, reports, lines } = await setup(t);
  await context.progress(10);
  await store.clock.settle();
  await context.progress(77, 'Last words');
  context.log('one more thing');
  end.reject(new Error('after all'));
  await store.clock.settle();
  assert.equal(reports(), 1);
  const job = await store.job(id);
  assert.equal(job.status, 'RETRYING');
  assert.partialDeepStrictEqual(job.progress, { percent: 77, message: 'Last words' });
  assert.deepEqual(
    (await lines()).map(({ message }) => message),
    ['one more thing'],
  );
});

test('lines keep their order, level, attempt and the instant of the store', async (t) => {
  const { store, context, lines } = await setup(t);
  const t0 = store.clock.now();
  context.log('first');
  await store.clock.advance(40);
  context.log.warn('second');
  context.log.debug('third');
  context.log.error('fourth');
  await store.clock.advance(100);
  assert.deepEqual(
    (await lines()).map(({ n: _n, ...line }) => line),
    [
      { at: t0, level: 'info', message: 'first', attempt: 1 },
      { at: t0 + 40, level: 'warn', message: 'second', attempt: 1 },
      { at: t0 + 40, level: 'debug', message: 'third', attempt: 1 },
      { at: t0 + 40, level: 'error', message: 'fourth', attempt: 1 },
    ],
  );
});

test('a long line is cut between characters and says so', async (t) => {
  const { store, context, lines } = await setup(t);
  context.log('ü'.repeat(10_000));
  context.log('x'.repeat(8 * 1024));
  await store.clock.advance(200);
  const [cut, whole] = await lines();
  assert.ok(Buffer.byteLength(cut?.message ?? '') <= 8 * 1024);
  assert.match(cut?.message ?? '', /^ü+… \[cut: 20000 bytes\]$/);
  assert.equal(whole?.message.length, 8 * 1024);
});

test('a flood of lines is bounded: the oldest give way and the loss is counted', async (t) => {
  const { store, context, reports, lines } = await setup(t);
  for (let i = 0; i < 100_000; i++) context.log(`line ${i}`);
  await store.clock.advance(1_000);
  const kept = await lines();
  assert.ok(kept.length <= 1_000);
  assert.equal(kept.at(-1)?.message, 'line 99999');
  assert.ok(kept.some(({ level, message }) => level === 'warn' && /^\d+ lines .* dropped/.test(message)));
  assert.ok(reports() <= 2);
});

test('a report that could not be sent goes along with the next one', async (t) => {
  let isAway = false;
  const { store, id, context, lines } = await setup(t, (store) => ({
    engine: {
      ...store.engine,
      async report(input: ReportInput) {
        if (isAway) throw dulyError('store_full', { message: 'full' });
        return store.engine.report(input);
      },
    },
  }));
  isAway = true;
  context.log('kept');
  await context.progress(30);
  await store.clock.advance(50);
  isAway = false;
  await store.clock.advance(200);
  assert.equal((await store.job(id)).progress.percent, 30);
  assert.deepEqual(
    (await lines()).map(({ message }) => message),
    ['kept'],
  );
});

test('lines that give way while the store is away are counted, whichever way they went', async (t) => {
  let isAway = true;
  const { store, context, lines } = await setup(t, (store) => ({
    engine: {
      ...store.engine,
      async report(input: ReportInput) {
        if (isAway) throw dulyError('store_full', { message: 'full' });
        return store.engine.report(input);
      },
    },
  }));
  for (let i = 1; i <= 900; i++) context.log(`line ${i}`);
  await store.clock.advance(200);
  // Together with those that wait again these are too many, once when they come and once more after the next try.
  for (let i = 901; i <= 1_700; i++) context.log(`line ${i}`);
  await store.clock.advance(200);
  for (let i = 1_701; i <= 2_500; i++) context.log(`line ${i}`);
  isAway = false;
  await store.clock.advance(500);
  const kept = await lines();
  const notes = kept.filter(({ level }) => level === 'warn');
  const count = notes.reduce((sum, { message }) => sum + Number(/^(\d+) lines/.exec(message)?.[1]), 0);
  assert.equal(kept.length - notes.length + count, 2_500);
  assert.equal(kept.at(-1)?.message, 'line 2500');
});

test('a report on its way is waited for: a settlement does not overtake it', async (t) => {
  const gate = deferred();
  const { store, id, context, end, lines } = await setup(t, (store) => ({
    engine: {
      ...store.engine,
      async report(input: ReportInput) {
        await gate.promise;
        return store.engine.report(input);
      },
    },
  }));
  context.log('on its way');
  await store.clock.settle();
  context.log('not yet');
  end.resolve('done');
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'RUNNING');
  gate.resolve();
  await store.clock.settle();
  assert.equal((await store.job(id)).status, 'COMPLETED');
  assert.deepEqual(
    (await lines()).map(({ message }) => message),
    ['on its way', 'not yet'],
  );
});
