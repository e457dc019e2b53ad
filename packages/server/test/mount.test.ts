import assert from 'node:assert/strict';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Duly } from '@duly/core';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { createServer } from '../src/index.ts';

async function mounted(t: TestContext) {
  const duly = new Duly({ store: 'sqlite::memory:' });
  const server = createServer({ duly, basePath: '/duly', hosts: ['app.example'] });
  await server.start();
  t.after(async () => {
    await server.stop();
    await duly.stop();
  });
  const { key } = await server.keys.create({ scope: 'admin', by: 'test' });
  return { server, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } };
}

test('the fetch handler answers below its base path, and gives addresses that have it', async (t) => {
  const { server, headers } = await mounted(t);
  const created = await server.fetch(
    new Request('http://app.example/duly/api/jobs', { method: 'POST', headers, body: '{"type":"x"}' }),
  );
  assert.equal(created.status, 201);
  const location = created.headers.get('location') as string;
  assert.match(location, /^\/duly\/api\/jobs\/job_/);
  const shown = await server.fetch(new Request(`http://app.example${location}`, { headers }));
  assert.equal(shown.status, 200);
  const document = await server.fetch(new Request('http://app.example/duly/openapi.json', { headers }));
  assert.deepEqual(((await document.json()) as { servers: unknown }).servers, [{ url: '/duly' }]);
  const elsewhere = await server.fetch(new Request('http://other.example/duly/livez'));
  assert.equal(elsewhere.status, 421);
});

test('it mounts into another hono application', async (t) => {
  const { server, headers } = await mounted(t);
  const app = new Hono().get('/', (c) => c.text('theirs')).all('/duly/*', (c) => server.fetch(c.req.raw));
  assert.equal(await (await app.request('http://app.example/')).text(), 'theirs');
  const answer = await app.request('http://app.example/duly/api/jobs', {
    method: 'POST',
    headers,
    body: '{"type":"x","input":{"a":1}}',
  });
  assert.equal(answer.status, 201);
});

test("it mounts into a handler of Node's own kind, as Express and Fastify have them", async (t) => {
  const { server, headers } = await mounted(t);
  const listener = getRequestListener(server.fetch);
  const http = createHttpServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/duly')) listener(request, response);
    else response.end('theirs');
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise<void>((resolve) => http.close(() => resolve())));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  assert.equal(await (await fetch(url)).text(), 'theirs');
  const created = await fetch(`${url}/duly/api/jobs`, { method: 'POST', headers, body: '{"type":"x"}' });
  assert.equal(created.status, 201);
  assert.equal((await fetch(`${url}/duly/api/jobs`)).status, 401);
  const cancel = `${url}${created.headers.get('location')}/cancel`;
  const { Authorization } = headers;
  for (const more of [{}, { 'Content-Length': '0', 'Content-Type': 'application/x-www-form-urlencoded' }]) {
    const answer = await fetch(cancel, { method: 'POST', headers: { Authorization, ...more } });
    assert.equal(answer.status, 200, 'neither a body nor a type of one is needed');
  }
});

test('a body that somebody else has read is told as such, and not refused for what it lacks', async (t) => {
  const { server, headers } = await mounted(t);
  const listener = getRequestListener(server.fetch);
  const http = createHttpServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume().once('end', () => void listener(request, response));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise<void>((resolve) => http.close(() => resolve())));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const late = await fetch(`${url}/duly/api/jobs`, { method: 'POST', headers, body: '{"type":"x"}' });
  const used = new Request('http://app.example/duly/api/jobs', {
    method: 'POST',
    headers,
    body: '{"type":"x"}',
  });
  await used.text();
  for (const answer of [late, await server.fetch(used)]) {
    const { code, detail, hint } = (await answer.json()) as Record<string, string>;
    assert.deepEqual([answer.status, code], [400, 'body_invalid']);
    assert.match(detail ?? '', /was read before it came to Duly/);
    assert.match(hint ?? '', /express\.json/);
  }
});
