import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '@duly/core';
import { type Answer, type Ask, startServer } from '../fixture.ts';

// Whatever a request prefers is the application's to look at: it takes the framework, and what is preferred here means nothing.
const frameworkOnly = { Prefer: 'handling=lenient' };

// On a busy machine the seconds for which a key is known would be over between two requests.
const still: Clock = { ...systemClock, elapsed: () => 0 };

/** What of an answer must be the same, with what differs from job to job left out. */
function comparable({ status, headers, text }: Answer): unknown {
  const plain = (value: string): string =>
    value
      .replaceAll(/job_[0-9a-z]{20,}/g, 'job_ID')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'INSTANT')
      .replaceAll(/W\/"[\w-]+"/g, 'TAG');
  const shown = [...headers]
    .filter(([name]) => name !== 'date')
    .map(([name, value]) => `${name}: ${name === 'content-length' ? value.length : plain(value)}`);
  return { status, headers: shown.toSorted(), text: plain(text) };
}

test('the fast path answers like the framework for every request', async (t) => {
  const fixture = await startServer(t, {
    server: { clock: still, bodyBytesMax: 20_000, redact: { input: ['secret'], metadata: ['token'] } },
    duly: { limits: { inputBytes: 10_000 } },
    tasks: [
      { name: 'work', run: () => {} },
      {
        name: 'fail',
        retry: 1,
        run: () => {
          throw new Error('on purpose');
        },
      },
    ],
  });
  const { ask, key, duly, server } = fixture;
  const [read, run, operate] = [await key('read'), await key('run'), await key('operate')];
  const [ofA, ofB] = [await key('run', 'a'), await key('run', 'b')];
  const failing = await duly.taskNamed('fail').now({ secret: 1 }, { metadata: { token: 'x', of: 'me' } });
  await duly.start();
  await failing.wait();
  const mine = await duly.taskNamed('work').in('1h', [1, 'ä'], { tenant: 'a', dedupe: { key: 'held' } });
  const etag = (await ask(`/api/jobs/${mine.id}`)).headers.get('etag') as string;
  const fetched = t.mock.method(server, 'fetch');
  const sent = { 'Content-Type': 'application/json' };
  const post = (body: unknown, more: Ask = {}): [string, Ask] => ['/api/jobs', { key: run, body, ...more }];
  const raw = (text: string, headers: Record<string, string> = sent): [string, Ask] => [
    '/api/jobs',
    { key: run, raw: text, headers },
  ];
  const get = (id: string, more: Ask = {}): [string, Ask] => [`/api/jobs/${id}`, { key: read, ...more }];
  const cases: [string, Ask][] = [
    post({ type: 'work' }),
    post({ type: 'nobody-handles-it', input: { a: [1, { b: null }], secret: 'x' }, metadata: { token: 1 } }),
    post({
      ...{ type: 'work', queue: 'q', priority: 3, tenant: 't', serial: 's', delay: '1h' },
      ...{ start_deadline: '2h', retry: { attempts: 5, backoff: 'linear', max_delay: '1m' } },
      ...{ timeout: 'none', delivery: 'at-most-once', metadata: { current_step: 'mine' } },
    }),
    post({ type: 'work', run_at: '2050-01-01T00:00:00Z' }),
    post({ type: 'work', key: 'held', tenant: 'a' }),
    post({ type: 'work', key: 'held' }, { key: ofA }),
    post({ type: 'work' }, { key: ofB }),
    post({ type: 'work', tenant: 'a' }, { key: ofB }),
    post({ type: 'work', run_at: 'never' }),
    post({ type: 'work', run_at: '2050-01-01T00:00:00Z', delay: '1h' }),
    post({ type: 'work', key: 'k', dedupe: { key: 'k' } }),
    post({ type: 'work', delya: '1h' }),
    post({ type: '' }),
    post({}),
    post([]),
    post(null),
    post('work'),
    post({ type: 'work', input: 'a'.repeat(12_000) }),
    post({ type: 'work', input: 'a'.repeat(30_000) }),
    post({ type: 'duly:http' }),
    post({ type: 'work', target: { http: { url: 'https://example.com' } } }),
    post({ target: { http: { url: 'http://127.1/' } } }),
    post({ target: { command: { argv: ['true'] } } }),
    post({ type: 'work', callback_url: 'http://169.254.169.254/' }),
    post({ type: 'work' }, { key: read }),
    post({ type: 'work' }, { key: null }),
    post({ type: 'work' }, { key: `${run.slice(0, -1)}${run.endsWith('0') ? '1' : '0'}` }),
    raw('{'),
    raw('{"type":"work","__proto__":{}}'),
    raw(`{"type":"work","input":${'['.repeat(70)}${']'.repeat(70)}}`),
    raw('type=work', { 'Content-Type': 'application/x-www-form-urlencoded' }),
    raw('{"type":"work"}', { 'Content-Type': 'application/vnd.api+json; charset=utf-8' }),
    raw('\ufeff{"type":"work"}'),
    ['/api/jobs', { key: run, method: 'POST' }],
    get(mine.id),
    get(mine.id, { key: ofA }),
    get(mine.id, { key: ofB }),
    get(mine.id, { key: null }),
    get(mine.id, { headers: { 'If-None-Match': etag } }),
    get(mine.id, { headers: { 'If-None-Match': '"other", *' } }),
    get(mine.id, { headers: { 'If-None-Match': '"other"' } }),
    get(failing.id),
    get(failing.id, { key: operate }),
    get('job_00000000000000000000000000'),
    get('job_0'),
    get('nothing'),
    get(`${mine.id}?wait=0`),
    get(`${mine.id}?wiat=1`),
  ];
  let shortCount = 0;
  for (const [path, one] of cases) {
    const ways = [];
    for (const headers of [{}, frameworkOnly]) {
      const before = fetched.mock.callCount();
      const answer = await ask(path, { ...one, headers: { ...one.headers, ...headers } });
      const isShort = fetched.mock.callCount() === before;
      if (isShort) shortCount++;
      assert.ok(
        !isShort || headers !== frameworkOnly,
        `${path} took the fast path although it prefers something`,
      );
      ways.push(comparable(answer));
    }
    assert.deepEqual(ways[0], ways[1], `${path} ${JSON.stringify(one).slice(0, 200)}`);
  }
  // The first of each key, refusals of keys, bodies that are too large or not there, and what is no id or has a query take the framework.
  assert.ok(shortCount >= 32, `${shortCount} of ${cases.length} took the fast path`);

  await duly.stop({ drain: 0 });
  for (const [path, one] of [post({ type: 'work' }), get(mine.id)]) {
    const [short, long] = [await ask(path, one), await ask(path, { ...one, headers: frameworkOnly })];
    assert.deepEqual(comparable(short), comparable(long));
    assert.deepEqual([short.status, short.headers.get('retry-after')], [503, '1']);
  }
});

test('the fast path is not for pages of other sites, unknown hosts, sign-in of the program’s own or what is to be done once', async (t) => {
  const { ask, server, adminKey } = await startServer(t, { server: { clock: still } });
  await ask('/api/keys');
  const fetched = t.mock.method(server, 'fetch');
  const body = { type: 'work', delay: '1h' };
  const wayOf = async (headers: Record<string, string>): Promise<[isShort: boolean, status: number]> => {
    const before = fetched.mock.callCount();
    const { status } = await ask('/api/jobs', { body, headers });
    return [fetched.mock.callCount() === before, status];
  };
  assert.deepEqual(await wayOf({}), [true, 201]);
  assert.deepEqual(await wayOf({ Origin: 'https://evil.example' }), [false, 403]);
  assert.deepEqual(await wayOf({ 'Sec-Fetch-Site': 'cross-site' }), [false, 403]);
  assert.deepEqual(await wayOf({ 'Idempotency-Key': 'a' }), [false, 201]);
  assert.deepEqual(await wayOf({ Cookie: 'a=b' }), [false, 201]);
  assert.deepEqual(await wayOf({ Authorization: `bearer ${adminKey}` }), [false, 201]);
  assert.deepEqual(await wayOf({ Authorization: `Basic ${btoa(`:${adminKey}`)}` }), [false, 201]);
  const { keys } = server;
  await keys.revoke((adminKey.split('_') as [string, string])[1]);
  assert.deepEqual(
    await wayOf({}),
    [false, 401],
    'a key that was revoked here is not taken for a moment longer',
  );

  const own = await startServer(t, {
    server: { authorize: () => ({ actor: 'me', scope: 'admin', tenant: null }) },
  });
  const asked = t.mock.method(own.server, 'fetch');
  for (let n = 0; n < 2; n++) assert.equal((await own.ask('/api/jobs', { body })).status, 201);
  assert.equal(asked.mock.callCount(), 2);
});

test('requests by the fast path are counted like others', async (t) => {
  const { ask } = await startServer(t);
  for (let n = 0; n < 3; n++) {
    const { json } = await ask('/api/jobs', { body: { type: 'work', delay: '1h' } });
    await ask(`/api/jobs/${json.id}`);
  }
  const { text } = await ask('/metrics');
  assert.match(
    text,
    /duly_http_request_duration_seconds_count\{method="POST",route="\/api\/jobs",status="201"\} 3/,
  );
  assert.match(
    text,
    /duly_http_request_duration_seconds_count\{method="GET",route="\/api\/jobs\/:id",status="200"\} 3/,
  );
});
