import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, startServer } from '../fixture.ts';

test('the answer that is stored for an Idempotency-Key never holds a secret', async (t) => {
  const { ask, duly, server } = await startServer(t);
  const kept: string[] = [];
  const once = duly.once.bind(duly);
  // What is given back here is what the store holds.
  duly.once = (async (key: string, options: object, fn: () => Promise<unknown>) => {
    const value = await once(key, options, fn);
    kept.push(JSON.stringify(value));
    return value;
  }) as typeof duly.once;
  const hook = await ask('/api/webhooks', { body: { url: 'https://example.com/' } });
  const routes: [string, Ask, string][] = [
    ['/api/keys', { body: { scope: 'admin', note: 'deploy' } }, 'key'],
    ['/api/webhooks', { body: { url: 'https://example.com/hook' } }, 'secret'],
    [`/api/webhooks/${hook.json.id}/rotate`, { body: {} }, 'secrets'],
    ['/api/webhooks/secrets/rotate', { body: {} }, 'secrets'],
    ['/api/webhooks/secrets/rotate?for=targets', { body: {} }, 'secrets'],
  ];
  for (const [i, [path, asked, field]] of routes.entries()) {
    const send = () => ask(path, { ...asked, headers: { 'Idempotency-Key': `k${i}` } });
    const first = await send();
    assert.ok(first.status < 300, first.text);
    const secrets = [first.json[field]].flat();
    assert.ok(secrets.every((secret) => /^(?:duly_|whsec_)/.test(secret)));
    const again = await send();
    assert.equal(again.status, first.status);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    // The same thing, without its secret: nothing was done twice.
    assert.deepEqual(again.json, { ...first.json, [field]: null });
    for (const secret of secrets) assert.equal(kept.join('\n').includes(secret), false, `${path} stores it`);
  }
  assert.equal((await server.keys.list()).filter(({ note }) => note === 'deploy').length, 1);
});

test('with authorize, an actor of two tenants gets each tenant its own answer', async (t) => {
  const { ask } = await startServer(t, {
    server: {
      authorize: (request) => {
        const tenant = request.headers.get('x-tenant');
        return tenant === null
          ? null
          : { actor: 'user:ada', scope: 'run', tenant: tenant === '' ? null : tenant };
      },
    },
  });
  const send = (tenant: string) =>
    ask('/api/jobs', {
      key: null,
      body: { type: 'mail', input: `x` },
      headers: { 'X-Tenant': tenant, 'Idempotency-Key': 'order-17' },
    });
  const [a, b, none] = [await send('a'), await send('b'), await send('')];
  assert.deepEqual([a.json.tenant, b.json.tenant, none.json.tenant], ['a', 'b', null]);
  assert.equal(new Set([a.json.id, b.json.id, none.json.id]).size, 3);
  assert.equal((await send('b')).json.id, b.json.id);
});

test('a read key cannot fill the store: no answers are stored for it, and its sessions are bounded', async (t) => {
  const { ask, duly, key, url } = await startServer(t);
  const reader = await key('read');
  let storedCount = 0;
  const once = duly.once.bind(duly);
  duly.once = ((...call: Parameters<typeof once>) => {
    storedCount += 1;
    return once(...call);
  }) as typeof duly.once;
  for (let i = 0; i < 3; i++) {
    const { status } = await ask('/api/schedules/preview', {
      key: reader,
      body: { cron: '0 0 * * *' },
      headers: { 'Idempotency-Key': `k${i}` },
    });
    assert.equal(status, 200);
  }
  const diff = { app: 'x', schedules: [] };
  assert.equal(
    (await ask('/api/schedules/diff', { body: diff, headers: { 'Idempotency-Key': 'd' } })).status,
    200,
  );
  const auditBefore = (await duly.audit()).length;
  const tokens: string[] = [];
  const signIn = async (): Promise<string> => {
    const { status, headers } = await ask('/api/session', {
      method: 'POST',
      key: reader,
      headers: { 'Idempotency-Key': `s${tokens.length}` },
    });
    assert.equal(status, 200);
    return /duly_session=([^;]+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
  };
  for (let i = 0; i < 30; i++) tokens.push(await signIn());
  assert.equal(storedCount, 0);
  assert.equal((await duly.records.list('session')).length, 20);
  // At the same time, too, once all of them are done.
  tokens.push(...(await Promise.all(Array.from({ length: 10 }, signIn))));
  assert.equal((await duly.records.list('session')).length, 20);
  assert.equal((await duly.audit()).length, auditBefore);
  const isIn = async (token: string | undefined): Promise<boolean> => {
    const answer = await fetch(new URL('/api/session', url), {
      headers: { Cookie: `duly_session=${token}` },
    });
    return answer.status === 200;
  };
  assert.equal(await isIn(tokens[0]), false, 'the oldest ended');
  assert.equal(await isIn(tokens[25]), true);
  // Another key has its own.
  const other = await ask('/api/session', { method: 'POST' });
  assert.equal(other.status, 200);
  assert.equal((await duly.records.list('session')).length, 21);
  for (const { value } of await duly.records.list('session')) {
    assert.ok(JSON.stringify(value).length < 140, JSON.stringify(value));
  }
});
