import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { errorCodes } from '@duly/core';
import { WebSocket } from 'ws';
import { type Fixture, startServer } from './fixture.ts';

test('every answer keeps pages of other origins from embedding it', async (t) => {
  const { ask, url, duly, adminKey } = await startServer(t);
  const { id } = await duly.taskNamed('work').in('1h');
  const page = await ask('/');
  const asset = /"(assets\/[^"]+\.js)"/.exec(page.text)?.[1];
  const answers: [string, Headers][] = [['dashboard', page.headers]];
  const paths = [
    '/livez',
    '/api/none',
    '/api/jobs',
    `/api/jobs/${id}`,
    '/openapi.json',
    '/metrics',
    `/${asset}`,
  ];
  for (const path of paths) answers.push([path, (await ask(path)).headers]);
  answers.push(['no key', (await ask('/api/jobs', { key: null })).headers]);
  answers.push(['made', (await ask('/api/jobs', { body: { type: 'work', delay: '1h' } })).headers]);
  const stream = await fetch(new URL('/api/events', url), {
    headers: { Authorization: `Bearer ${adminKey}` },
  });
  answers.push(['stream', stream.headers]);
  await stream.body?.cancel();
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`);
  socket.on('error', () => {});
  const [, refused] = await once(socket, 'unexpected-response');
  answers.push(['refused socket', new Headers(refused.headers as Record<string, string>)]);
  for (const [what, headers] of answers) {
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin', what);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', what);
    assert.equal(headers.get('referrer-policy'), 'no-referrer', what);
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, what);
  }
});

/** Sends bytes as they are and reads the answer until the server closes the connection. */
async function sendRaw({ url }: Fixture, text: string): Promise<string> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    answer += part;
  });
  socket.on('error', () => {});
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

test("what Node's parser refuses is answered with a problem and a code", async (t) => {
  const fixture = await startServer(t);
  const head = `GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${fixture.adminKey}\r\n`;
  const cases: [what: string, text: string, status: number, code: string][] = [
    ['no HTTP', 'hello\r\n\r\n', 400, 'request_invalid'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'request_invalid'],
    ['a bad header', `${head}bad header\r\n\r\n`, 400, 'request_invalid'],
    ['two lengths', `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400, 'request_invalid'],
    ['a large header', `${head}X-Large: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'request_header_too_large'],
    ['after a good request', `${head}\r\nnonsense\r\n\r\n`, 400, 'request_invalid'],
  ];
  for (const [what, text, status, code] of cases) {
    const answers = await sendRaw(fixture, text);
    const start = answers.lastIndexOf('HTTP/1.1 ');
    const [top = '', body = ''] = answers.slice(start).split('\r\n\r\n');
    assert.match(top, new RegExp(`^HTTP/1.1 ${status} `), `${what}: ${answers}`);
    assert.match(top, /content-type: application\/problem\+json/i, what);
    const problem = JSON.parse(body) as { code: string; status: number };
    assert.deepEqual([problem.status, problem.code], [status, code], what);
    assert.ok(problem.code in errorCodes);
  }
  assert.equal((await fixture.ask('/api/session')).status, 200, 'the server goes on');
});

test('what Node or the WebSocket library would answer by itself has the headers and a code as well', async (t) => {
  const fixture = await startServer(t);
  const key = `Authorization: Bearer ${fixture.adminKey}\r\n`;
  const upgrade = `GET /api/ws HTTP/1.1\r\nHost: localhost\r\n${key}Connection: Upgrade\r\nUpgrade: websocket\r\n`;
  const valid = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
  const close = 'Connection: close\r\n\r\n';
  const cases: [what: string, text: string, status: number, code: string][] = [
    ['no host', `GET /api/jobs HTTP/1.1\r\n${key}${close}`, 400, 'request_invalid'],
    [
      'an unknown expectation',
      `GET /api/none HTTP/1.1\r\nHost: localhost\r\n${key}Expect: foo\r\n${close}`,
      404,
      'route_not_found',
    ],
    [
      'a bad socket key',
      `${upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bad\r\n\r\n`,
      400,
      'request_invalid',
    ],
    ['no socket key', `${upgrade}Sec-WebSocket-Version: 13\r\n\r\n`, 400, 'request_invalid'],
    [
      'an unknown socket version',
      `${upgrade}Sec-WebSocket-Version: 99\r\n${valid}\r\n`,
      400,
      'request_invalid',
    ],
  ];
  for (const [what, text, status, code] of cases) {
    const [top = '', ...rest] = (await sendRaw(fixture, text)).split('\r\n\r\n');
    assert.match(top, new RegExp(`^HTTP/1.1 ${status} `), `${what}: ${top}`);
    assert.match(top, /content-type: application\/problem\+json/i, what);
    assert.match(top, /cross-origin-resource-policy: same-origin/i, what);
    assert.match(top, /x-content-type-options: nosniff/i, what);
    assert.match(rest.join(''), new RegExp(`"code":"${code}"`), what);
  }
  assert.equal((await fixture.ask('/api/session')).status, 200, 'the server goes on');
});

test('a request that does not arrive in time is answered 408', async (t) => {
  const fixture = await startServer(t);
  const { http } = fixture.listening;
  const answered = sendRaw(fixture, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n');
  const [connection] = await once(http, 'connection');
  // The parser's own timer waits for 15 s; it reports what it finds by this event.
  http.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), connection);
  const answer = await answered;
  assert.match(answer, /^HTTP\/1\.1 408 /);
  assert.equal(JSON.parse(answer.split('\r\n\r\n')[1] as string).code, 'request_too_slow');
});
