// The server inside real frameworks, mounted as docs/guides/server.md says. They are not among the repository's own packages but installed into the folders beside, where
// the npm registry can be reached.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Duly } from '@duly/core';
import { getRequestListener } from '@hono/node-server';
import { installBeside } from '../../../../test/install-beside.ts';
import { createServer, type DulyServer } from '../../src/index.ts';
import { createFolder } from '../fixture.ts';

// Each framework has types of its own, and none of them is installed where types are checked.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Framework = any;

const folder = new URL('./frameworks/', import.meta.url);
const require = createRequire(new URL('package.json', folder));

async function load(name: string): Promise<Framework> {
  const found = (await import(pathToFileURL(require.resolve(name)).href)) as Framework;
  return found.default ?? found;
}

interface Mounted {
  url: string;
  key: string;
}

async function mountedServer(t: TestContext): Promise<{ server: DulyServer; key: string }> {
  const duly = new Duly({ store: 'sqlite::memory:', logger: false });
  const server = createServer({ duly, basePath: '/duly' });
  await server.start();
  t.after(async () => {
    await server.stop();
    await duly.stop({ drain: 0 });
  });
  return { server, key: (await server.keys.create({ scope: 'admin', by: 'test' })).key };
}

async function listening(t: TestContext, http: Server): Promise<string> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** A process that tells on a line of its own where it serves, until its input ends. */
async function childOf(t: TestContext, command: string, args: string[]): Promise<Mounted> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'development', NEXT_TELEMETRY_DISABLED: '1' },
  });
  let reported = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    reported += text;
  });
  t.after(async () => {
    if (child.exitCode !== null) return;
    const isOver = once(child, 'exit');
    child.stdin.end();
    await isOver;
  });
  const lines = createInterface(child.stdout);
  const line = await Promise.race([
    once(lines, 'line').then(([one]) => one as string),
    once(lines, 'close').then(() => assert.fail(`It ended before it served: ${reported}`)),
  ]);
  return JSON.parse(line) as Mounted;
}

const mounts: Record<string, (t: TestContext) => Promise<Mounted>> = {
  async Express(t) {
    const express = await load('express');
    const { server, key } = await mountedServer(t);
    const listener = getRequestListener(server.fetch);
    const app = express();
    app.use((request: Framework, response: Framework, next: () => void) =>
      request.url.startsWith('/duly') ? listener(request, response) : next(),
    );
    app.use(express.json());
    app.get('/', (_: Framework, response: Framework) => response.send('theirs'));
    return { url: await listening(t, createHttpServer(app as RequestListener)), key };
  },

  async 'Express, by app.use with a path'(t) {
    const express = await load('express');
    const { server, key } = await mountedServer(t);
    const app = express();
    // It takes the path off the address; both kinds are understood.
    app.use('/duly', getRequestListener(server.fetch));
    app.get('/', (_: Framework, response: Framework) => response.send('theirs'));
    return { url: await listening(t, createHttpServer(app as RequestListener)), key };
  },

  async Fastify(t) {
    const fastify = (await load('fastify'))();
    const { server, key } = await mountedServer(t);
    const listener = getRequestListener(server.fetch);
    fastify.get('/', (_: Framework, reply: Framework) => reply.send('theirs'));
    fastify.register(async (scope: Framework) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_: unknown, __: unknown, done: (error: null) => void) => done(null));
      scope.all('/duly/*', (request: Framework, reply: Framework) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
    });
    const url = await fastify.listen({ port: 0, host: '127.0.0.1' });
    t.after(() => {
      fastify.server.closeAllConnections();
      return fastify.close();
    });
    return { url, key };
  },

  async Bun(t) {
    const { platform, arch } = process;
    const bun = require.resolve(`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`);
    const store = `sqlite:${createFolder(t)}/duly.db`;
    const program = fileURLToPath(new URL('./bun-server.ts', import.meta.url));
    return childOf(t, bun, [program, store]);
  },

  async 'Next.js'(t) {
    const program = fileURLToPath(new URL('./next-server.ts', import.meta.url));
    return childOf(t, process.execPath, ['--disable-warning=ExperimentalWarning', program]);
  },
};

const missing = installBeside(folder);
// In a folder of its own, and installed by hand: it is larger than all other packages of the repository together.
const missingNext = existsSync(new URL('./next/node_modules/next', import.meta.url))
  ? null
  : 'Next.js is 340 MB: have it tested by "npm install" in packages/server/test/mounts/next';

for (const [name, mount] of Object.entries(mounts)) {
  test(`mounted in ${name}: jobs are created, shown and followed, and guards hold`, {
    skip: (name === 'Next.js' ? missingNext : missing) ?? false,
  }, async (t) => {
    const { url, key } = await mount(t);
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const post = (body: string, more: Record<string, string> = {}) =>
      fetch(`${url}/duly/api/jobs`, { method: 'POST', headers: { ...headers, ...more }, body });
    if (name !== 'Bun') assert.match(await (await fetch(url)).text(), /theirs/);
    const created = await post('{"type":"x","input":{"text":"ä"},"delay":"1h"}');
    assert.equal(created.status, 201);
    const location = created.headers.get('location') as string;
    assert.match(location, /^\/duly\/api\/jobs\/job_/);
    const shown = await fetch(`${url}${location}`, { headers });
    const job = (await shown.json()) as { status: string; input: { text: string } };
    assert.deepEqual([shown.status, job.status, job.input.text], [200, 'SCHEDULED', 'ä']);
    const etag = shown.headers.get('etag') as string;
    const same = await fetch(`${url}${location}`, { headers: { ...headers, 'If-None-Match': etag } });
    assert.equal(same.status, 304);
    assert.equal((await fetch(`${url}/duly/api/jobs`)).status, 401);
    assert.equal((await post('{')).status, 400);
    assert.equal((await post('{"type":"x"}', { 'Content-Type': 'text/plain' })).status, 415);
    assert.equal((await post(`{"type":"x","input":"${'a'.repeat(1024 * 1024)}"}`)).status, 413);
    assert.equal((await post('{"type":"x"}', { Origin: 'https://evil.example' })).status, 403);

    const leave = new AbortController();
    const stream = await fetch(`${url}${location}/events`, { headers, signal: leave.signal });
    assert.equal(stream.status, 200);
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    const { Authorization } = headers;
    const cancelled = await fetch(`${url}${location}/cancel`, { method: 'POST', headers: { Authorization } });
    assert.equal(cancelled.status, 200);
    let text = '';
    while (!text.includes('CANCELLED')) {
      const { value, done } = await reader.read();
      assert.ok(!done, `the stream ended: ${text}`);
      text += Buffer.from(value).toString();
    }
    leave.abort();
  });
}
