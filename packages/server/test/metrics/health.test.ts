import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { freshSchema, inSchema, startPostgres, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import { startTcpProxy, throughPort } from '../../../../test/servers/tcp-proxy.ts';
import { startServer } from '../fixture.ts';

test('livez needs no key and no store; readyz tells of the store and of the loops', async (t) => {
  const { ask, key, duly } = await startServer(t, { start: true });
  assert.deepEqual((await ask('/livez', { key: null })).json, { status: 'ok' });
  assert.equal((await ask('/readyz', { key: null })).status, 401);
  const { status, json } = await ask('/readyz', { key: await key('read') });
  assert.equal(status, 200);
  assert.equal(json.status, 'ready');
  assert.deepEqual(json.reasons, []);
  const [node] = await duly.nodes();
  assert.deepEqual(
    json.nodes.map(({ id }: { id: string }) => id),
    [node?.id],
  );
  assert.ok(json.nodes[0].heartbeat_age_ms < 20_000);
});

test('a node that takes no work although it runs is not ready, and says why', async (t) => {
  const { ask, duly } = await startServer(t, { start: true });
  const [node] = await duly.nodes();
  const draining = duly.next('draining');
  await duly.drainNode(node?.id ?? '');
  await draining;
  const { status, json } = await ask('/readyz');
  assert.equal(status, 503);
  assert.equal(json.reasons[0], `Node ${node?.id}: It was asked to drain and takes no more work.`);
});

test('while the store stands still readyz says so in time, and is ready again afterwards', {
  timeout: 60_000,
}, async (t) => {
  const url = await testPostgresUrl();
  const proxy = await startTcpProxy(Number(new URL(url).port));
  t.after(() => proxy.stop());
  const store = inSchema(throughPort(url, proxy.port), freshSchema());
  const { ask } = await startServer(t, { store });
  assert.equal((await ask('/readyz')).status, 200);
  proxy.freeze();
  const stalled = await ask('/readyz');
  assert.equal(stalled.status, 503);
  assert.equal(stalled.json.status, 'not_ready');
  assert.match(stalled.json.reasons[0], /The store has not answered/);
  assert.equal((await ask('/livez', { key: null })).status, 200);
  proxy.thaw();
  proxy.cut();
  let again = await ask('/readyz');
  while (again.status !== 200) again = await ask('/readyz');
  assert.equal(again.json.status, 'ready');
});

test('a store that can be read and confirms no writes is not ready', { timeout: 60_000 }, async (t) => {
  const postgres = await startPostgres({ durable: true });
  t.after(() => postgres.stop());
  const { ask } = await startServer(t, { store: inSchema(postgres.url, freshSchema()) });
  assert.equal((await ask('/readyz')).status, 200);
  const waitFor = async (standby: string): Promise<void> => {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
    await client.query('SELECT pg_reload_conf()');
    await client.end();
  };
  await waitFor('one_that_is_away');
  let answer = await ask('/readyz');
  // The server hears of its new settings a moment later.
  while (answer.status === 200) answer = await ask('/readyz');
  assert.equal(answer.status, 503);
  assert.match(answer.json.reasons[0], /confirms no writes/);
  await waitFor('');
  while (answer.status !== 200) answer = await ask('/readyz');
});
