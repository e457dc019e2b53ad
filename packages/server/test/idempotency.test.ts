import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DulyError } from '@duly/core';
import { startServer } from './fixture.ts';

test('a request with an Idempotency-Key is done once, also when it comes ten times at once', async (t) => {
  const { ask, duly } = await startServer(t);
  const send = () =>
    ask('/api/jobs', { body: { type: 'mail', input: 1 }, headers: { 'Idempotency-Key': 'order-17' } });
  const answers = await Promise.all(Array.from({ length: 10 }, send));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
  assert.equal(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true').length, 9);
  assert.equal((await duly.jobs().page()).jobs.length, 1);
  const again = await send();
  assert.equal(again.headers.get('location'), `/api/jobs/${again.json.id}`);
});

test('the same key for another request is refused; of another caller it is another key', async (t) => {
  const { ask, key, duly } = await startServer(t);
  const headers = { 'Idempotency-Key': 'k' };
  await ask('/api/jobs', { body: { type: 'mail', input: 1 }, headers });
  const other = await ask('/api/jobs', { body: { type: 'mail', input: 2 }, headers });
  assert.deepEqual([other.status, other.json.code], [422, 'idempotency_conflict']);
  const run = await key('run');
  const theirs = await ask('/api/jobs', { body: { type: 'mail', input: 2 }, headers, key: run });
  assert.equal(theirs.status, 201);
  assert.equal((await duly.jobs().page()).jobs.length, 2);
});

test('a refusal is kept too: what was wrong is wrong again, and nothing is created', async (t) => {
  const { ask, duly } = await startServer(t);
  const headers = { 'Idempotency-Key': 'k' };
  const send = () => ask('/api/jobs', { body: { type: 'mail', delay: 'soon' }, headers });
  const first = await send();
  const second = await send();
  assert.deepEqual([first.status, first.json.code], [400, 'invalid_duration']);
  assert.deepEqual([second.status, second.json], [400, first.json]);
  assert.equal((await duly.jobs().page()).jobs.length, 0);
});

test('a server that ends after the job is created and before its answer is kept: the next try makes the same job', async (t) => {
  const { ask, duly } = await startServer(t, { tasks: [{ name: 'mail', run: () => 'sent' }], start: true });
  const once = duly.once.bind(duly);
  let lost = 0;
  // As if the process had ended there: what was to be kept is not.
  duly.once = (async (key: string, options: object, fn: () => Promise<unknown>) => {
    if (!key.startsWith('http:') || lost > 0) return once(key, options, fn);
    lost += 1;
    await fn();
    throw new DulyError('store_unavailable', { message: 'The store went away.' });
  }) as typeof duly.once;
  const send = () =>
    ask('/api/jobs', { body: { type: 'mail', input: 1 }, headers: { 'Idempotency-Key': 'order-17' } });
  assert.equal((await send()).status, 503);
  const [first] = (await duly.jobs().page()).jobs;
  // Also when it is over by then, and in history.
  await duly.job(first?.id as string).wait();
  const again = await send();
  assert.deepEqual([again.status, again.json.id, again.json.status], [201, first?.id, 'COMPLETED']);
  assert.equal((await duly.jobs().page()).jobs.length, 1);
});
