import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { dulyError } from '../../src/base/errors.ts';
import { createInstrumentedEngine, type EngineCall } from '../../src/store/instrumented-engine.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createManualClock } from '../../src/testing/index.ts';

test('each call is timed, counted and told of', async () => {
  const engine = await openEngine('sqlite::memory:');
  const calls: EngineCall[] = [];
  const instrumented = createInstrumentedEngine({
    engine,
    clock: systemClock,
    rules: false,
    onCall: (call) => calls.push(call),
  });
  await instrumented.engine.get({ ids: [] });
  await instrumented.engine.get({ ids: [] });
  assert.equal(instrumented.counts().get, 2);
  assert.equal(instrumented.counts().enqueue, 0);
  assert.deepEqual(
    calls.map(({ verb, ok, code }) => [verb, ok, code]),
    [
      ['get', true, null],
      ['get', true, null],
    ],
  );
  assert.ok(calls.every(({ tookMs }) => tookMs >= 0));
  assert.equal(instrumented.engine.info().kind, 'sqlite');
  await instrumented.engine.close();
});

test('a call that the store created for a sleeping worker is counted and told of like any other', async () => {
  const engine = await openEngine('sqlite::memory:');
  const calls: EngineCall[] = [];
  const instrumented = createInstrumentedEngine({
    engine,
    clock: systemClock,
    rules: false,
    onCall: (call) => calls.push(call),
  });
  instrumented.record('exchange', 2, null);
  instrumented.record('exchange', 3, dulyError('store_busy', { message: 'Busy.' }));
  assert.equal(instrumented.counts().exchange, 2);
  assert.deepEqual(calls, [
    { verb: 'exchange', tookMs: 2, ok: true, code: null },
    { verb: 'exchange', tookMs: 3, ok: false, code: 'store_busy' },
  ]);
  await engine.close();
});

test('a clock that rules is told to the store, and a real one is not', async () => {
  const engine = await openEngine('sqlite::memory:');
  const clock = createManualClock(Date.parse('2100-01-01T00:00:00Z'));
  const virtual = createInstrumentedEngine({ engine, clock, rules: true, onCall() {} });
  assert.equal((await virtual.engine.get({ ids: [] })).now, clock.now());
  assert.equal((await virtual.engine.get({ ids: [], now: clock.now() + 5 })).now, clock.now() + 5);
  const own = await openEngine('sqlite::memory:');
  const real = createInstrumentedEngine({ engine: own, clock, rules: false, onCall() {} });
  assert.ok((await real.engine.get({ ids: [] })).now < Date.parse('2100-01-01T00:00:00Z'));
  await engine.close();
  await own.close();
});

test('a failure of the store without a code is given one; a code is kept', async () => {
  const engine = await openEngine('sqlite::memory:');
  const failures = [new Error('socket hang up'), dulyError('store_full', { message: 'The disk is full.' })];
  const calls: EngineCall[] = [];
  const broken = {
    ...engine,
    info: () => engine.info(),
    get: () => Promise.reject(failures.shift()),
  };
  const instrumented = createInstrumentedEngine({
    engine: broken,
    clock: systemClock,
    rules: false,
    onCall: (call) => calls.push(call),
  });
  await assert.rejects(instrumented.engine.get({ ids: [] }), {
    code: 'store_unavailable',
    message: 'The sqlite store failed while it did "get": socket hang up',
  });
  await assert.rejects(instrumented.engine.get({ ids: [] }), { code: 'store_full' });
  assert.deepEqual(
    calls.map(({ ok, code }) => [ok, code]),
    [
      [false, 'store_unavailable'],
      [false, 'store_full'],
    ],
  );
  await engine.close();
});
