/** A corpus of addresses that must not be called, against the client that sends every outgoing request, and against the API. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isDulyError, systemClock } from '@duly/core';
import { createAllowedTargets } from '../../src/outgoing/allowed-targets.ts';
import { createGuardedClient, type Lookup } from '../../src/outgoing/guarded-client.ts';
import { checkTargetUrl } from '../../src/outgoing/target-url.ts';
import { startServer } from '../fixture.ts';
import corpus from './ssrf-corpus.json' with { type: 'json' };

interface Inside {
  port: number;
  /** How many connections it got. */
  count: number;
}

/** Listens on every address of this machine that a test can have; nothing may connect to it. */
async function startInside(t: TestContext): Promise<Inside> {
  const inside: Inside = { port: 0, count: 0 };
  const server = createTcpServer((socket) => {
    inside.count++;
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  inside.port = (server.address() as AddressInfo).port;
  return inside;
}

function createClient(t: TestContext, { allow = [], lookup }: { allow?: string[]; lookup?: Lookup } = {}) {
  const client = createGuardedClient({
    clock: systemClock,
    allowed: createAllowedTargets(allow),
    ...(lookup === undefined ? {} : { lookup }),
  });
  t.after(() => client.close());
  return client;
}

/** Leads every name to these addresses. */
function leadingTo(addresses: readonly string[]): Lookup {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

const inPlace = (url: string, { port }: Inside): string => url.replaceAll('{port}', String(port));

test('the corpus is as large as it says', () => {
  const lists = [...Object.values(corpus.refused), ...Object.values(corpus.invalid)];
  const count = lists.flat().length + corpus.names.length + corpus.public.length;
  assert.ok(count >= 339, String(count));
});

test('no spelling of an address inside is called, neither by the client nor after the API', async (t) => {
  const inside = await startInside(t);
  // A name that is not the address it looks like leads inside as well.
  const client = createClient(t, { lookup: leadingTo(['127.0.0.1']) });
  const { ask } = await startServer(t, { server: { rateLimit: false } });
  for (const [kind, urls] of Object.entries({ ...corpus.refused, ...corpus.invalid })) {
    const isInvalid = kind in corpus.invalid;
    for (const url of urls.map((one) => inPlace(one, inside))) {
      const said = `${kind}: ${JSON.stringify(url)}`;
      await assert.rejects(
        client.send({ url, timeoutMs: 2_000 }),
        (error) =>
          isDulyError(error, 'target_invalid') || (!isInvalid && isDulyError(error, 'target_refused')),
        said,
      );
      const { status, json } = await ask('/api/webhooks', { body: { url } });
      const codes = ['target_refused', 'target_invalid', 'request_invalid'];
      assert.ok([400, 422].includes(status) && codes.includes(json.code), `${said}: ${status} ${json.code}`);
    }
  }
  assert.equal(inside.count, 0);
});

test('no name that leads inside is called, wherever among its addresses the one inside is', async (t) => {
  const inside = await startInside(t);
  for (const { why, addresses } of corpus.names) {
    const client = createClient(t, { lookup: leadingTo(addresses) });
    for (const scheme of ['http', 'https']) {
      await assert.rejects(
        client.send({ url: `${scheme}://name.example:${inside.port}/`, timeoutMs: 2_000 }),
        (error) => isDulyError(error, 'target_refused'),
        `${why}: ${addresses.join(', ')}`,
      );
    }
  }
  assert.equal(inside.count, 0);
});

test('what is public is not refused', () => {
  const allowed = createAllowedTargets([]);
  for (const url of corpus.public) assert.doesNotThrow(() => checkTargetUrl(url, allowed), url);
});

test('a name that changes its address between check and connect is judged by the address it connects to', async (t) => {
  const inside = await startInside(t);
  for (let firstCount = 0; firstCount < 4; firstCount++) {
    let asked = 0;
    // 127.0.0.2 stands for a public address; nothing listens there.
    const lookup: Lookup = async () => [
      { address: asked++ < firstCount ? '127.0.0.2' : '127.0.0.1', family: 4 },
    ];
    const client = createClient(t, { allow: ['127.0.0.2'], lookup });
    for (let i = 0; i < 6; i++) {
      await assert.rejects(client.send({ url: `http://rebind.example:${inside.port}/`, timeoutMs: 2_000 }));
    }
  }
  assert.equal(inside.count, 0);
});

test('a redirect inside is an answer and not followed, and takes no credentials along', async (t) => {
  const inside = await startInside(t);
  const targets = [
    ...Object.values(corpus.refused).flat().slice(0, 60),
    'http://other.example:{port}/',
    '//127.0.0.1:{port}/',
  ];
  let next = 0;
  const outside = createServer((_, response) => {
    const status = [301, 302, 303, 307, 308][next % 5] as number;
    const location = encodeURI(inPlace(targets[next++] as string, inside).replace(/[\t\n]/g, ''));
    response.writeHead(status, { Location: location, Refresh: `0; url=${location}` }).end();
  });
  outside.listen(0, '127.0.0.1');
  await once(outside, 'listening');
  t.after(() => outside.close());
  const { port } = outside.address() as AddressInfo;
  const lookup: Lookup = async (host) =>
    leadingTo([host === 'outside.example' ? '127.0.0.1' : '127.0.0.3'])(host);
  const client = createClient(t, { allow: ['outside.example'], lookup });
  for (const target of targets) {
    const { status } = await client.send({
      url: `http://outside.example:${port}/`,
      headers: { Authorization: 'Bearer secret', Cookie: 'a=b' },
    });
    assert.ok(status >= 301 && status <= 308, target);
  }
  assert.equal(inside.count, 0);
});

test('a proxy of the environment is not used', async (t) => {
  const inside = await startInside(t);
  const proxy = `http://127.0.0.1:${inside.port}`;
  const program = `
    import { systemClock } from '@duly/core';
    import { createAllowedTargets } from './src/outgoing/allowed-targets.ts';
    import { createGuardedClient } from './src/outgoing/guarded-client.ts';
    const client = createGuardedClient({
      clock: systemClock,
      allowed: createAllowedTargets(['127.0.0.2']),
      lookup: async () => [{ address: '127.0.0.2', family: 4 }],
    });
    for (const url of ['http://name.example:9/', 'https://name.example:9/']) {
      const { code } = await client.send({ url, timeoutMs: 2000 }).catch((error) => error);
      console.log(code);
    }`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    cwd: new URL('../..', import.meta.url),
    env: {
      ...process.env,
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: '',
      ...Object.fromEntries(names.map((name) => [name, proxy])),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  await once(child, 'close');
  assert.equal(out, 'request_failed\nrequest_failed\n');
  assert.equal(inside.count, 0);
});
