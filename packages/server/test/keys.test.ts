import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fixture, startServer } from './fixture.ts';

test('a key is created, works, is listed without its secret, and is revoked at once', async (t) => {
  const { ask, adminKey } = await startServer(t);
  const created = await ask('/api/keys', { body: { scope: 'run', tenant: 'a', note: 'the shop' } });
  assert.equal(created.status, 201);
  const { key, id } = created.json;
  assert.match(key, new RegExp(`^duly_${id}_[0-9a-z]{52}$`));
  assert.deepEqual((await ask('/api/session', { key })).json, {
    actor: `key:${id}`,
    scope: 'run',
    tenant: 'a',
  });
  const made2 = await ask('/api/jobs', { key, body: { type: 'work' } });
  assert.equal(made2.json.tenant, 'a');
  const list = await ask('/api/keys');
  assert.equal(list.json.data.length, 2);
  for (const secret of [key, adminKey]) assert.ok(!list.text.includes(secret.split('_')[2] as string));
  assert.ok(!list.text.includes('hash'));
  assert.equal((await ask(`/api/keys/${id}`, { method: 'DELETE' })).status, 204);
  assert.equal((await ask('/api/session', { key })).status, 401);
  const twice = await ask(`/api/keys/${id}`, { method: 'DELETE' });
  assert.deepEqual([twice.status, twice.json.code], [404, 'key_not_found']);

  const audit = await ask(`/api/audit?subject=record:key/${id}`);
  assert.deepEqual(
    audit.json.data.map((row: { action: string }) => row.action),
    ['delete', 'put'],
  );
  assert.equal(audit.json.data[1].after.hash, '[redacted]');
  assert.equal(audit.json.data[0].actor, `key:${adminKey.split('_')[1]}`);
});

test('a key ends at its time, and must not be over when it is created', async (t) => {
  const { ask, server } = await startServer(t);
  const over = await server.keys.create({ scope: 'admin', by: 'test', expiresAt: 1 });
  assert.equal((await ask('/api/session', { key: over.key })).status, 401);
  const past = await ask('/api/keys', { body: { scope: 'read', expires_at: '2020-01-01T00:00:00Z' } });
  assert.equal(past.status, 400);
  const later = await ask('/api/keys', { body: { scope: 'read', expires_at: '2100-01-01T00:00:00Z' } });
  assert.equal((await ask('/api/session', { key: later.json.key })).status, 200);
});

test('a key may be the user or the password of basic authentication', async (t) => {
  const { ask, adminKey } = await startServer(t);
  for (const text of [`${adminKey}:`, `duly:${adminKey}`]) {
    const headers = { Authorization: `Basic ${Buffer.from(text).toString('base64')}` };
    assert.equal((await ask('/api/session', { key: null, headers })).status, 200, text);
  }
});

/** Opens a link with a key, as a browser does: the answer's cookie goes along from then on. */
async function openLink({ ask }: Fixture, key: string): Promise<{ Cookie: string }> {
  const answer = await ask(`/signin?key=${key}`, { key: null });
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/signin']);
  const cookie = answer.headers.get('set-cookie') as string;
  assert.match(cookie, /^duly_signin=.*Max-Age=300; Path=\/signin; HttpOnly; SameSite=Lax/);
  return { Cookie: cookie.split(';')[0] as string };
}

test('a link with a key asks before it signs a browser in; then a strict cookie, and no key in the address', async (t) => {
  const fixture = await startServer(t);
  const { ask, adminKey, server } = fixture;
  const [, id, secret] = adminKey.split('_') as [string, string, string];
  const pending = await openLink(fixture, adminKey);
  const page = await ask('/signin', { key: null, headers: pending });
  assert.equal(page.status, 200);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=UTF-8');
  assert.match(page.headers.get('content-security-policy') as string, /frame-ancestors 'none'/);
  assert.ok(page.text.includes(id) && page.text.includes('admin') && !page.text.includes(secret));
  assert.equal(page.headers.get('set-cookie'), null, 'looking at it signs nobody in');

  const action = /<form method="post" action="([^"]+)">/.exec(page.text)?.[1] as string;
  const answer = await ask(action, { key: null, method: 'POST', headers: pending });
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/']);
  const [cookie = '', ended = ''] = answer.headers.getSetCookie();
  assert.match(cookie, /^duly_session=/);
  assert.match(cookie, /HttpOnly/);
  assert.match(cookie, /SameSite=Strict/);
  assert.match(ended, /^duly_signin=; Max-Age=0/);
  assert.ok(!cookie.includes(secret));
  const headers = { Cookie: cookie.split(';')[0] as string };
  const session = await ask('/api/session', { key: null, headers });
  assert.deepEqual([session.status, session.json.scope], [200, 'admin']);
  // With a wrong key beside it, the cookie does not count.
  assert.equal((await ask('/api/session', { key: 'duly_x', headers })).status, 401);
  // A page of another site gets nothing out of it.
  const forged = await ask('/api/jobs', {
    key: null,
    body: { type: 'x' },
    headers: { ...headers, 'Sec-Fetch-Site': 'cross-site' },
  });
  assert.equal(forged.status, 403);

  assert.equal((await ask('/api/session', { key: null, headers, method: 'DELETE' })).status, 204);
  assert.equal((await ask('/api/session', { key: null, headers })).status, 401);

  const again = await ask('/api/session', { method: 'POST' });
  const second = { Cookie: (again.headers.get('set-cookie') as string).split(';')[0] as string };
  assert.equal((await ask('/api/session', { key: null, headers: second })).status, 200);
  // A session ends with its key.
  await server.keys.revoke(id);
  assert.equal((await ask('/api/session', { key: null, headers: second })).status, 401);
  assert.equal((await ask(`/signin?key=${adminKey}`, { key: null })).status, 401);
  assert.equal((await ask('/signin', { key: null, headers: pending })).status, 401);
  assert.equal((await ask('/signin', { key: null, method: 'POST', headers: pending })).status, 401);
});

test('a page of another site cannot sign a browser in with a key of its choice', async (t) => {
  const fixture = await startServer(t);
  const { ask } = fixture;
  const pending = await openLink(fixture, await fixture.key('read', 'attacker'));
  const sites: [name: string, value: string][] = [
    ['Sec-Fetch-Site', 'cross-site'],
    ['Sec-Fetch-Site', 'same-site'],
    ['Origin', 'null'],
  ];
  for (const [name, value] of sites) {
    const headers = { ...pending, [name]: value };
    const answer = await ask('/signin', { key: null, method: 'POST', headers });
    assert.deepEqual([answer.status, answer.json.code], [403, 'cross_site']);
    assert.equal(answer.headers.get('set-cookie'), null);
  }
  // The strict session cookie does not come along from another site: the page warns without it.
  const page = await ask('/signin', { key: null, headers: pending });
  assert.match(page.text, /Signing in replaces the current session of this browser/);
  assert.ok(page.text.includes('attacker'));
  // A key that is held down must not press the button of a page that another site opened or moves.
  assert.doesNotMatch(page.text, /autofocus/);
  assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin');
  // Without a link there is nothing to confirm.
  assert.equal((await ask('/signin', { key: null, method: 'POST' })).status, 401);
  const bare = await ask('/signin', { key: null });
  assert.deepEqual([bare.status, bare.headers.get('location')], [303, '/']);
});

test('confirming a sign-in page takes the key that the page showed, and no other', async (t) => {
  const fixture = await startServer(t);
  const { ask, adminKey } = fixture;
  const mine = await openLink(fixture, adminKey);
  const page = await ask('/signin', { key: null, headers: mine });
  const action = /<form method="post" action="([^"]+)">/.exec(page.text)?.[1] as string;
  // Another site opens a link of its own meanwhile, which replaces the cookie.
  const theirs = await openLink(fixture, await fixture.key('read', 'attacker'));
  for (const path of [action, '/signin']) {
    const answer = await ask(path, { key: null, method: 'POST', headers: theirs });
    assert.deepEqual([answer.status, answer.json?.code], [400, 'request_invalid'], path);
    assert.equal(answer.headers.get('set-cookie'), null);
  }
  assert.equal((await ask(action, { key: null, method: 'POST', headers: mine })).status, 303);
});

test('a sign-in link that is not valid shows a page to a browser, and its cookie is cleared', async (t) => {
  const fixture = await startServer(t);
  const { ask, server } = fixture;
  const key = await fixture.key('read');
  const stale = await openLink(fixture, key);
  await server.keys.revoke(key.split('_')[1] as string);
  const asks: [path: string, method: string][] = [
    ['/signin?key=bad', 'GET'],
    ['/signin', 'GET'],
    ['/signin', 'POST'],
  ];
  for (const [path, method] of asks) {
    const headers = { ...stale, Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const page = await ask(path, { key: null, method, headers });
    assert.deepEqual(
      [page.status, page.headers.get('content-type')],
      [401, 'text/html; charset=UTF-8'],
      path,
    );
    assert.match(page.text, /The key in the link is not valid\./);
    assert.match(page.text, /<a href="\/">/);
    assert.match(page.headers.get('content-security-policy') as string, /frame-ancestors 'none'/);
    assert.match(page.headers.get('set-cookie') ?? '', /^duly_signin=; Max-Age=0; Path=\/signin/);
    const json = await ask(path, { key: null, method, headers: { ...stale, Accept: 'application/json' } });
    assert.deepEqual([json.status, json.json.code], [401, 'unauthenticated']);
    assert.match(json.headers.get('set-cookie') ?? '', /^duly_signin=; Max-Age=0/);
  }
});

test('a program with a sign-in of its own says who asks', async (t) => {
  const { ask, duly } = await startServer(t, {
    server: {
      authorize: (request) =>
        request.headers.get('x-user') === 'ada' ? { actor: 'user:ada', scope: 'run', tenant: 'a' } : null,
    },
  });
  const headers = { 'X-User': 'ada' };
  const { json } = await ask('/api/jobs', { key: null, headers, body: { type: 'x', delay: '1h' } });
  assert.equal(json.tenant, 'a');
  await ask(`/api/jobs/${json.id}/cancel`, { key: null, headers, method: 'POST' });
  assert.equal((await duly.audit())[0]?.actor, 'user:ada');
  assert.equal((await ask('/api/jobs', { key: null })).status, 401);
});

test('a key is read after "Bearer" in any case, and after no scheme but the documented ones', async (t) => {
  const { ask, adminKey } = await startServer(t);
  const status = async (authorization: string): Promise<number> =>
    (await ask('/api/session', { key: null, headers: { Authorization: authorization } })).status;
  for (const scheme of ['Bearer', 'bearer', 'BEARER'])
    assert.equal(await status(`${scheme} ${adminKey}`), 200);
  for (const scheme of ['Token', 'Digest', 'Negotiate', 'Key', 'x', 'Bearerx']) {
    assert.equal(await status(`${scheme} ${adminKey}`), 401, scheme);
  }
  assert.equal(await status(adminKey), 401, 'no scheme at all');
});

test('sessions that are over are cleared away by those who sign in', async (t) => {
  const { ask, duly } = await startServer(t);
  await duly.records.put('session', '0'.repeat(16), { hash: '', keyId: 'x', expiresAt: 1 });
  await duly.records.put('session', 'z'.repeat(16), { hash: '', keyId: 'x', expiresAt: 1 });
  await ask('/api/session', { method: 'POST' });
  const left = await duly.records.list('session');
  assert.equal(left.length, 1);
});

test('behind a proxy that is trusted, the cookie of a browser that came by HTTPS goes back by HTTPS only', async (t) => {
  const isSecure = async ({ ask, adminKey }: Fixture, proto?: string): Promise<boolean> => {
    const headers: Record<string, string> = proto === undefined ? {} : { 'X-Forwarded-Proto': proto };
    const answer = await ask('/api/session', { key: adminKey, method: 'POST', headers });
    assert.equal(answer.status, 200);
    return /;\s*secure/i.test(answer.headers.get('set-cookie') as string);
  };
  const direct = await startServer(t);
  assert.equal(await isSecure(direct, 'https'), false, 'anybody could say so');
  const behind = await startServer(t, { server: { trustProxy: true } });
  assert.equal(await isSecure(behind), false);
  assert.equal(await isSecure(behind, 'http'), false);
  assert.equal(await isSecure(behind, 'https'), true);
  assert.equal(await isSecure(behind, 'http, HTTPS'), true, 'the nearest proxy speaks last');
});
