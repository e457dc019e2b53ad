import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

test('a token that dies in 15 minutes: put, shown with the time that remains, extended, deleted', async (t) => {
  const { ask, key, duly } = await startServer(t);
  const run = await key('run');
  const path = '/api/values/reset-tokens/user%2F42';
  const put = await ask(path, { method: 'PUT', key: run, body: { value: { secret: 's' }, ttl: '15m' } });
  assert.equal(put.status, 200);
  assert.deepEqual(
    [put.json.name, put.json.key, put.json.value],
    ['reset-tokens', 'user/42', { secret: 's' }],
  );
  assert.ok(put.json.ttl_ms > 890_000 && put.json.ttl_ms <= 900_000, put.text);
  assert.equal(
    Math.abs(Date.parse(put.json.expires_at) - Date.parse(put.headers.get('date') ?? '') - 900_000) < 5_000,
    true,
  );
  const shown = await ask(path, { key: await key('read') });
  assert.deepEqual(shown.json.value, { secret: 's' });
  assert.deepEqual(
    await duly.expiring('reset-tokens').get('user/42'),
    { secret: 's' },
    'the library sees the same',
  );
  const longer = await ask(path, { method: 'PATCH', key: run, body: { ttl: '1h' } });
  assert.ok(longer.json.ttl_ms > 3_500_000);
  assert.equal((await ask(path, { method: 'DELETE', key: run })).status, 204);
  for (const method of ['GET', 'DELETE']) {
    const gone = await ask(path, { method, key: run });
    assert.deepEqual([gone.status, gone.json.code], [404, 'value_not_found']);
  }
  assert.equal((await ask(path, { method: 'PATCH', key: run, body: { ttl: '1h' } })).status, 404);
});

test('a value is gone at its instant, and its clean-up runs', async (t) => {
  const { ask, duly } = await startServer(t);
  let cleaned: (input: unknown) => void = () => {};
  const done = new Promise((resolve) => {
    cleaned = resolve;
  });
  duly.expiring('carts', { cleanup: ({ input }) => cleaned(input) });
  await duly.start();
  const put = await ask('/api/values/carts/ada', { method: 'PUT', body: { value: ['book'], ttl: 50 } });
  assert.equal(put.status, 200);
  assert.deepEqual(await done, { name: 'carts', key: 'ada', value: ['book'] });
  assert.equal((await ask('/api/values/carts/ada')).status, 404);
});

test('what is wrong with a value is refused', async (t) => {
  const { ask, key } = await startServer(t);
  const path = '/api/values/v/k';
  for (const body of [
    { value: 1 },
    { value: 1, ttl: '1m', expires_at: '2030-01-01T00:00:00Z' },
    { ttl: '1m' },
    { value: 1, ttl: 0 },
    { value: 1, ttl: 'soon' },
    { value: 1, expires_at: '2001-01-01T00:00:00Z' },
    { value: 1, ttl: '1m', more: 1 },
  ]) {
    assert.equal((await ask(path, { method: 'PUT', body })).status, 400, JSON.stringify(body));
  }
  // The refusal names the field of the request, not of the library underneath.
  for (const [field, end] of [
    ['ttl', { ttl: '-1s' }],
    ['expires_at', { expires_at: '2030-02-30T00:00:00Z' }],
  ] as const) {
    const { status, json } = await ask(path, { method: 'PUT', body: { value: 1, ...end } });
    assert.equal(status, 400);
    assert.ok(json.detail.includes(`"${field}"`), json.detail);
  }
  const body = { value: 1, ttl: '1m' };
  assert.equal((await ask(path, { method: 'PUT', body: { value: null, ttl: '1m' } })).status, 200);
  assert.equal((await ask(path, { method: 'PUT', key: await key('read'), body })).status, 403);
  assert.equal((await ask(path, { method: 'PUT', key: await key('run', 'acme'), body })).status, 403);
  assert.equal((await ask(path, { key: await key('read', 'acme') })).status, 403);
});

test('a lock is one caller’s: others hear who has it and for how long, until it is given back', async (t) => {
  const { ask, key, duly } = await startServer(t);
  const run = await key('run');
  const post = (verb: string, body: object) => ask(`/api/locks/nightly%2Fexport/${verb}`, { key: run, body });
  const first = await post('acquire', { ttl: '1m', holder: 'cron-1', host: 'web-1', pid: 7 });
  assert.deepEqual([first.status, first.json.acquired, first.json.name], [200, true, 'nightly/export']);
  assert.ok(first.json.fence > 0 && first.json.ttl_ms > 55_000 && first.json.ttl_ms <= 60_000);
  const second = await post('acquire', {});
  assert.deepEqual([second.status, second.json.acquired], [409, false]);
  assert.deepEqual(second.json.holder, { host: 'web-1', pid: 7, node: 'cron-1' });
  assert.equal(second.json.until, first.json.until);
  assert.deepEqual(
    (await duly.lock('nightly/export', {}, () => {})).acquired,
    false,
    'the library’s locks are the same',
  );
  const { fence } = first.json;
  const longer = await post('renew', { fence, ttl: '2m' });
  assert.ok(longer.status === 200 && longer.json.ttl_ms === 120_000);
  const waiting = post('acquire', { wait: 30, ttl: '1m' });
  assert.equal((await post('release', { fence })).status, 204);
  const next = await waiting;
  assert.ok(next.json.acquired && next.json.fence > fence);
  for (const verb of ['renew', 'release']) {
    const late = await post(verb, { fence });
    assert.deepEqual([late.status, late.json.code], [409, 'lock_lost']);
  }
});

test('a lock ends by itself; the same token is given the same one; and what is wrong is refused', async (t) => {
  const { ask, key } = await startServer(t);
  const post = (verb: string, body: object, of = 'a') => ask(`/api/locks/${of}/${verb}`, { body });
  const first = await post('acquire', { ttl: 100, token: 'mine' });
  const again = await post('acquire', { ttl: 100, token: 'mine' });
  assert.equal(again.json.fence, first.json.fence);
  const next = await post('acquire', { wait: '30s' });
  assert.ok(next.json.acquired && next.json.fence > first.json.fence);
  assert.equal((await ask('/api/locks/b/acquire', { method: 'POST' })).status, 200, 'a body is not needed');
  for (const body of [
    { ttl: 1 },
    { ttl: 'x' },
    { wait: 61 },
    { wait: '61s' },
    { wait: 'x' },
    { wait: '-1s' },
    { more: 1 },
  ]) {
    assert.equal((await post('acquire', body, 'c')).status, 400, JSON.stringify(body));
  }
  assert.equal((await post('release', {})).status, 400);
  const body = { ttl: '1m' };
  assert.equal((await ask('/api/locks/d/acquire', { key: await key('read'), body })).status, 403);
  assert.equal((await ask('/api/locks/d/acquire', { key: await key('run', 'acme'), body })).status, 403);
});

test('who holds which locks is listed by kind and name, page by page', async (t) => {
  const { ask, key, duly } = await startServer(t);
  const read = await key('read');
  const post = (name: string) => ask(`/api/locks/${name}/acquire`, { body: { ttl: '1m', holder: 'cron-1' } });
  for (const name of ['b', 'a', 'nightly']) assert.equal((await post(name)).status, 200);
  await duly.lock('own', { ttl: '10m' }, async () => {
    const { json, status } = await ask('/api/locks?kind=lock', { key: read });
    assert.equal(status, 200);
    assert.deepEqual(
      json.data.map((one: { name: string }) => one.name),
      ['a', 'b', 'nightly', 'own'],
    );
    const { until, ttl_ms: ttlMs, fence, ...rest } = json.data[0];
    assert.deepEqual(rest, {
      kind: 'lock',
      name: 'a',
      holder: { host: 'http', pid: 0, node: 'cron-1' },
    });
    assert.ok(fence > 0 && ttlMs > 0 && ttlMs <= 60_000 && Date.parse(until) > 0);
    assert.equal(json.data[3].holder.pid, process.pid);
  });
  const first = await ask('/api/locks?kind=lock&limit=2', { key: read });
  assert.deepEqual([first.json.data.length, first.json.has_more], [2, true]);
  const cursor = encodeURIComponent(first.json.next_cursor);
  const second = await ask(`/api/locks?kind=lock&limit=2&cursor=${cursor}`, { key: read });
  assert.deepEqual(
    [second.json.data.map((one: { name: string }) => one.name), second.json.has_more],
    [['nightly'], false],
  );
  const begun = await ask('/api/locks?prefix=ni', { key: read });
  assert.deepEqual(
    begun.json.data.map((one: { name: string }) => one.name),
    ['nightly'],
  );
  for (const query of ['kind=all', 'cursor=x', 'limit=0', 'more=1']) {
    assert.equal((await ask(`/api/locks?${query}`, { key: read })).status, 400, query);
  }
  assert.equal((await ask('/api/locks', { key: await key('read', 'acme') })).status, 403);
});

test('an end that is over is refused by the name that the caller gave it', async (t) => {
  const { ask } = await startServer(t);
  const past = { expires_at: '2020-01-01T00:00:00Z' };
  await ask('/api/values/tokens/a', { method: 'PUT', body: { value: 1, ttl: '1h' } });
  for (const [method, body] of [
    ['PUT', { value: 1, ...past }],
    ['PATCH', past],
  ] as const) {
    const { status, json } = await ask('/api/values/tokens/a', { method, body });
    assert.deepEqual([status, json.code, json.details.field], [400, 'invalid_instant', 'expires_at']);
    assert.match(json.detail, /^Expected "expires_at" /);
  }
});
