import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { DulyError } from '@duly/core';
import { toProblem } from '../src/http/problem.ts';
import { type Fixture, startServer } from './fixture.ts';

/** Sends with headers that `fetch` would not let through. */
function rawStatus(
  { url, adminKey }: Fixture,
  headers: Record<string, string>,
  method = 'GET',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL('/api/jobs', url), {
      method,
      headers: { Authorization: `Bearer ${adminKey}`, ...headers },
    });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode as number);
    });
    request.once('error', reject);
    request.end();
  });
}

test('a body that is too large is refused, whether it says so or not', async (t) => {
  const { ask, url, adminKey } = await startServer(t, { server: { bodyBytesMax: 1_000 } });
  const said = await ask('/api/jobs', { body: { type: 'x', input: 'a'.repeat(2_000) } });
  assert.deepEqual([said.status, said.json.code], [413, 'body_too_large']);
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += 500;
      controller.enqueue(new TextEncoder().encode(' '.repeat(500)));
    },
  });
  const response = await fetch(new URL('/api/jobs', url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
    body: endless,
    duplex: 'half',
  } as RequestInit).catch(() => null);
  // The server may close the connection before the answer is read; it must not read on in any case.
  if (response !== null) assert.equal(response.status, 413);
  // What was sent is what fits into the buffers on the way; the stream itself never ends.
  assert.ok(sent < 64_000_000, `${sent} bytes were sent`);
});

test('who listens only after it has said everything hears that it was too much', async (t) => {
  const { listening, adminKey } = await startServer(t);
  for (const path of ['/api/jobs', '/api/worker/settle']) {
    const socket = connect(listening.port, listening.host);
    t.after(() => socket.destroy());
    socket.pause();
    const body = 'a'.repeat(4 * 1024 * 1024);
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${listening.host}`,
      `Authorization: Bearer ${adminKey}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, (error) => (error ? reject(error) : resolve()));
    });
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    const ended = once(socket, 'end');
    socket.resume();
    await ended;
    assert.match(answer, /^HTTP\/1.1 413 [\s\S]*body_too_large/, path);
  }
});

test('a body that is not UTF-8 is refused, instead of being kept with its letters replaced', async (t) => {
  const { ask } = await startServer(t);
  const headers = { 'Content-Type': 'application/json' };
  for (const path of ['/api/jobs', '/api/jobs?']) {
    const raw = Uint8Array.from(Buffer.from('{"type":"x","input":"caf\u00e9"}', 'latin1'));
    const { status, json } = await ask(path, { raw, headers });
    assert.deepEqual([status, json.code], [400, 'body_invalid'], path);
  }
});

test('one mebibyte is the limit unless told otherwise', async (t) => {
  const { ask } = await startServer(t);
  const of = (length: number) => ask('/api/jobs', { body: { type: 'x', input: 'a'.repeat(length) } });
  assert.equal((await of(1024 * 1024)).status, 413);
  assert.equal((await of(1024 * 1024 - 1_000)).status, 201);
});

test('what is no JSON, too deep, or named __proto__ is refused', async (t) => {
  const { ask } = await startServer(t);
  const send = (raw: string) => ask('/api/jobs', { raw, headers: { 'Content-Type': 'application/json' } });
  const deep = (levels: number) => `{"type":"x","input":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  for (const raw of [
    '{',
    '{"type":"x","input":{"__proto__":{"admin":true}}}',
    '{"type":"x","input":[{"a":{"\\u005f_proto__":1}}]}',
    '{"__proto__":{"type":"x"}}',
    deep(64),
    deep(100_000),
  ]) {
    const answer = await send(raw);
    assert.deepEqual([answer.status, answer.json.code], [400, 'body_invalid'], raw.slice(0, 60));
  }
  assert.equal((await send(deep(60))).status, 201);
  assert.equal(({} as { admin?: boolean }).admin, undefined);
});

test('another type of body is refused with 415, also where no body is needed', async (t) => {
  const { ask } = await startServer(t);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const answer = await ask('/api/jobs', { raw: '{"type":"x"}', headers: { 'Content-Type': type } });
    assert.deepEqual([answer.status, answer.json.code], [415, 'content_type_unsupported'], type);
  }
  const bare = await ask('/api/jobs', { raw: new TextEncoder().encode('{"type":"x"}') });
  assert.equal(bare.status, 415);
  const { json } = await ask('/api/jobs', {
    raw: '{"type":"x","delay":"1h"}',
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
  });
  assert.equal(
    (await ask(`/api/jobs/${json.id}/cancel`, { raw: 'note=x', headers: { 'Content-Type': 'text/plain' } }))
      .status,
    415,
  );
  const empty = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
  assert.equal((await ask(`/api/jobs/${json.id}/cancel`, empty)).status, 200, 'a type, and no body');
  assert.equal((await ask(`/api/jobs/${json.id}/cancel`, { method: 'POST' })).status, 200);
  assert.equal((await ask('/api/jobs', empty)).status, 400);
  // What `curl -d ''` sends.
  const form = { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
  assert.equal((await ask(`/api/jobs/${json.id}/cancel`, form)).status, 200, 'another type, and no body');
  assert.equal((await ask('/api/jobs', form)).json.code, 'request_invalid');
});

test('unknown fields are refused by name', async (t) => {
  const { ask } = await startServer(t);
  const answer = await ask('/api/jobs', { body: { type: 'x', delya: '1h' } });
  assert.deepEqual([answer.status, answer.json.code], [400, 'request_invalid']);
  assert.deepEqual(answer.json.details.issues, [{ in: 'body', path: 'delya', message: 'is not known here' }]);
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  assert.equal(answer.json.type, 'urn:duly:error:request_invalid');
});

test('a query is refused where a route takes none, so that nobody takes it for a filter', async (t) => {
  const { ask } = await startServer(t);
  for (const [path, body] of [
    ['/api/keys?tenant=a'],
    ['/api/dead/groups?type=x'],
    ['/api/nodes?limit=1'],
    ['/api/jobs?delay=1h', { type: 'x' }],
    ['/api/queues/mail/pause?until=1h', {}],
  ] as const) {
    const { status, json } = await ask(path, body === undefined ? {} : { body });
    assert.deepEqual([status, json.code], [400, 'request_invalid'], path);
    const [, field] = /\?(\w+)=/.exec(path) ?? [];
    assert.deepEqual(json.details.issues, [{ in: 'query', path: field, message: 'is not known here' }]);
  }
  assert.deepEqual((await ask('/api/jobs')).json.data, []);
  // Whoever asks these adds things of their own, against caches for one.
  for (const path of ['/livez?x=1', '/readyz?x=1', '/metrics?x=1', '/openapi.json?x=1']) {
    assert.equal((await ask(path)).status, 200, path);
  }
});

test('what is wrong is told by the name that the caller gave it, also inside one of several forms', async (t) => {
  const { ask } = await startServer(t);
  const http = { url: 'https://example.com/' };
  const cases: [body: object, path: string][] = [
    [{ target: { http: { ...http, method: 'CONNECT' } } }, 'target.http.method'],
    [{ target: { http: { ...http, headers: { 'a\r\nb': 'c' } } } }, 'target.http.headers'],
    [{ target: { http: { ...http, nope: 1 } } }, 'target.http.nope'],
    [{ target: { command: { argv: [] } } }, 'target.command.argv'],
    [{ target: { ftp: {} } }, 'target'],
    [{ type: 'x', delay: {} }, 'delay'],
  ];
  for (const [body, path] of cases) {
    const { status, json } = await ask('/api/jobs', { body });
    assert.equal(status, 400, path);
    assert.ok(json.details.issues[0].path.startsWith(path), `${json.details.issues[0].path} for ${path}`);
  }
  for (const [body, field] of [
    [{ type: 'x', retry: { max_delay: -1 } }, 'retry.max_delay'],
    [{ type: 'x', dedupe: { key: 'k', mode: 'extend', max_wait: 'zz' } }, 'dedupe.max_wait'],
    [{ type: 'x', start_deadline: -1 }, 'start_deadline'],
  ] as const) {
    const { json } = await ask('/api/jobs', { body });
    assert.match(json.detail, new RegExp(`^Expected "${field}" `));
    assert.equal(json.details.field, field);
  }
  const early = await ask('/api/jobs', { body: { type: 'x', run_at: 'tomorrow' } });
  assert.match(early.json.detail, /"run_at"/);
  for (const path of ['/api/schedules', '/api/audit', '/api/jobs', '/api/dead', '/api/locks']) {
    const { status, json } = await ask(`${path}?cursor=zzz`);
    assert.deepEqual([status, json.code], [400, 'invalid_cursor'], path);
  }
});

test('what is wrong is said in words: what was expected, and what came', async (t) => {
  const { ask } = await startServer(t);
  const said = async (path: string, body?: object): Promise<string> => {
    const { status, json } = await ask(path, body === undefined ? {} : { body });
    assert.deepEqual([status, json.code], [400, 'request_invalid'], path);
    return json.detail;
  };
  assert.equal(await said('/api/jobs?limit=ten'), '"limit" of the query: expected a number.');
  assert.equal(await said('/api/jobs?limit=1.5'), '"limit" of the query: expected a whole number.');
  assert.equal(
    await said('/api/jobs?limit=1001'),
    '"limit" of the query: expected a number of at most 1000.',
  );
  assert.equal(await said('/api/jobs?count=yes'), '"count" of the query: expected "true" or "false".');
  assert.equal(
    await said('/api/jobs?status=&type=x'),
    '"status" of the query: names none; leave it out for all.',
  );
  assert.equal(await said('/api/day?to=2027-01-01T00:00:00Z'), '"from" of the query: is missing.');
  assert.equal(await said('/api/jobs', { type: 7 }), '"type" of the body: expected a text, got a number.');
  assert.equal(await said('/api/jobs', { type: '' }), '"type" of the body: expected at least 1 character.');
  assert.equal(
    await said('/api/jobs', { type: 'x', delay: {} }),
    '"delay" of the body: expected a text or a number.',
  );
  assert.equal(
    await said('/api/worker/settle', { outcomes: [{ id: 'job_1', fence: 1, outcome: 'exploded' }] }),
    '"outcomes.0.outcome" of the body: expected "completed", "failed", "snoozed", "cancelled" or "released".',
  );
  assert.equal(
    await said('/api/worker/settle', { outcomes: [{ id: 'job_1', fence: 1, outcome: 'failed' }] }),
    '"outcomes.0.error" of the body: is missing.',
  );
});

test('hints speak of what can be sent, not of code', async (t) => {
  const { ask } = await startServer(t);
  const rule = { name: 'n', type: 't' };
  const asked: [string, object, RegExp][] = [
    ['/api/jobs', { type: 't', run_at: 'noon' }, /Write it like "2027/],
    ['/api/jobs', { type: 't', delay: '1 month' }, /or give the instant itself\.$/],
    ['/api/schedules', { ...rule, cron: 'every 5m' }, /write { "rate": "5m" }/],
    ['/api/schedules', { ...rule, cron: 'FREQ=DAILY' }, /"rrule": "FREQ=…", "start_at"/],
    ['/api/schedules', { ...rule, cron: 'TZ=UTC 0 0 * * *' }, /"timezone"/],
    ['/api/schedules', { ...rule, cron: '0 0 * * *', rate: '1h' }, /{ "rate": "10m" }/],
    ['/api/schedules', { ...rule, cron: '0 0 * * *', start_at: 'x' }, /Write it like/],
    ['/api/queues/q/pause', { until: 'x' }, /Write it like/],
    ['/api/nodes/nobody/drain', {}, /silent for 40 s/],
    ['/api/alerts/windows', { from: 'x', until: 'y' }, /Write it like/],
  ];
  for (const [path, body, expected] of asked) {
    const { json } = await ask(path, { body });
    assert.match(json.hint, expected, path);
    assert.doesNotMatch(json.hint, /\w\(\)|duly\.\w|\bDate\b|{ \w+:/, path);
  }
});

test('a host that is not known to be this server is refused; addresses and localhost are known', async (t) => {
  const fixture = await startServer(t, { server: { hosts: ['duly.example.com'] } });
  const { port } = fixture.listening;
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, '[::1]', 'DULY.example.com', '10.1.2.3:80']) {
    assert.equal(await rawStatus(fixture, { Host: host }), 200, host);
  }
  for (const host of [
    'evil.example',
    'duly.example.com.evil.example',
    'localhost.evil.example',
    'a b',
    '[::1',
  ]) {
    // What is no host at all does not get as far as that.
    const isHost = /^[a-z.]+$/.test(host);
    const status = await rawStatus(fixture, { Host: host });
    assert.ok(status === 421 || (!isHost && status === 400), `"${host}": ${status}`);
  }
});

test('changes that pages of other sites ask for are refused, reads are not', async (t) => {
  const fixture = await startServer(t);
  const { ask, url } = fixture;
  const send = (headers: object) =>
    ask('/api/jobs', { body: { type: 'x' }, headers: headers as Record<string, string> });
  for (const headers of [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://127.0.0.1:1' },
  ]) {
    const answer = await send(headers);
    assert.deepEqual([answer.status, answer.json.code], [403, 'cross_site'], JSON.stringify(headers));
  }
  for (const headers of [
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
    { Origin: url },
    {},
  ]) {
    assert.equal((await send(headers)).status, 201, JSON.stringify(headers));
  }
  assert.equal((await ask('/api/jobs', { headers: { Origin: 'https://evil.example' } })).status, 200);
});

test('what is not there is 404 as a problem, and a failure tells nothing of itself', async (t) => {
  const { ask, duly } = await startServer(t);
  const missing = await ask('/api/nothing');
  assert.deepEqual([missing.status, missing.json.code], [404, 'route_not_found']);
  await duly.stop();
  const stopped = await ask('/api/jobs');
  assert.equal(stopped.status, 503);
  assert.equal(stopped.headers.get('retry-after'), '1');
});

test('a method that is not taken is 405 and told which are', async (t) => {
  const { ask } = await startServer(t);
  const cases: [method: string, path: string, allow: string][] = [
    ['DELETE', '/api/jobs', 'GET, HEAD, POST'],
    ['PUT', '/api/jobs/job_x', 'GET, HEAD'],
    ['GET', '/api/jobs/job_x/cancel', 'POST'],
    ['OPTIONS', '/api/schedules/nightly', 'DELETE, GET, HEAD, PATCH'],
    ['POST', '/api/values/a/b', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['POST', '/livez', 'GET, HEAD'],
    ['PATCH', '/metrics', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of cases) {
    const { status, headers, json } = await ask(path, { method });
    assert.deepEqual(
      [status, json.code, headers.get('allow'), json.details.allow.join(', ')],
      [405, 'method_not_allowed', allow, allow],
      `${method} ${path}`,
    );
  }
  assert.equal((await ask('/api/jobs/job_x/nothing', { method: 'POST' })).status, 404);
  assert.equal((await ask('/api/values/a/b/c', { method: 'POST' })).status, 404);
});

test('a failure of the store tells nobody where the store is', () => {
  for (const code of ['internal', 'store_unavailable', 'store_denied', 'store_corrupt'] as const) {
    const message = 'PostgreSQL at postgres://10.0.0.5:5432/duly refused: SELECT 1';
    const shown = toProblem(new DulyError(code, { message, hint: message, details: { store: message } }));
    assert.equal(shown.code, code);
    assert.ok(!JSON.stringify(shown).includes('postgres://'), code);
  }
});

test('an id of another tenant cannot be told from one that never was', async (t) => {
  const { ask, key, duly } = await startServer(t);
  const job = await duly.taskNamed('work').in('1h', 1, { tenant: 'a' });
  const schedule = await duly.schedules.put({ type: 'work', cron: '0 0 * * *', tenant: 'a' });
  const other = await key('read', 'b');
  const never = (id: string) => `${id.slice(0, -4)}0000`;
  for (const [path, id] of [
    ['/api/jobs/', job.id],
    ['/api/schedules/', schedule.id],
  ] as const) {
    const theirs = await ask(`${path}${id}`, { key: other });
    const unknown = await ask(`${path}${never(id)}`, { key: other });
    assert.equal(theirs.status, 404);
    assert.equal(theirs.text.replaceAll(id, 'ID'), unknown.text.replaceAll(never(id), 'ID'));
  }
});
