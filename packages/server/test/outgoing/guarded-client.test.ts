import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isDulyError, systemClock } from '@duly/core';
import { createAllowedTargets } from '../../src/outgoing/allowed-targets.ts';
import { createGuardedClient, type GuardedClientOptions } from '../../src/outgoing/guarded-client.ts';

/** A server on loopback that counts who came, and a client for it. */
async function setup(
  t: TestContext,
  handler: RequestListener,
  { allow = [], ...options }: Partial<GuardedClientOptions> & { allow?: string[] } = {},
) {
  const seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = createGuardedClient({
    clock: systemClock,
    allowed: createAllowedTargets(allow),
    ...options,
  });
  t.after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, seen, port: (server.address() as AddressInfo).port };
}

const loopback = { allow: ['127.0.0.0/8'] };

test('a request to a private server is refused before it connects, by address and by name', async (t) => {
  let connections = 0;
  const { client, port } = await setup(t, (_, response) => {
    connections++;
    response.end();
  });
  for (const host of ['127.0.0.1', '127.1', '2130706433', 'localhost', '[::1]', '[::ffff:7f00:1]']) {
    await assert.rejects(
      client.send({ url: `http://${host}:${port}/` }),
      (error) => isDulyError(error, 'target_refused'),
      host,
    );
  }
  assert.equal(connections, 0);
});

test('a name that answers public first and private later does not pass', async (t) => {
  // The first stands for a public address: it is allowed, and nobody outside is called by a test.
  const answers = ['127.0.0.2', '127.0.0.1'];
  let asked = 0;
  const { client, port, seen } = await setup(t, (_, response) => response.end('secret'), {
    allow: ['127.0.0.2'],
    lookup: async () => [{ address: answers[asked++] ?? '127.0.0.1', family: 4 }],
  });
  // Whoever checks a name first and then lets the socket look it up again asks twice, and is led inside by the second answer.
  await assert.rejects(client.send({ url: `http://rebind.example:${port}/` }));
  assert.equal(asked, 1, 'one request, one lookup: the address that was judged is the one that is used');
  await assert.rejects(client.send({ url: `http://rebind.example:${port}/` }), (error) =>
    isDulyError(error, 'target_refused'),
  );
  assert.equal(seen.length, 0);
});

test('a name with one private address among public ones is refused', async (t) => {
  const { client, port, seen } = await setup(t, (_, response) => response.end(), {
    lookup: async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '::ffff:127.0.0.1', family: 6 },
    ],
  });
  await assert.rejects(client.send({ url: `http://mixed.example:${port}/` }), (error) => {
    assert.ok(isDulyError(error, 'target_refused'));
    assert.equal(error.details.address, '127.0.0.1');
    return true;
  });
  assert.equal(seen.length, 0);
});

test('what is allowed is sent as asked, with the host as it was written', async (t) => {
  const { client, port, seen } = await setup(
    t,
    (_, response) => response.writeHead(201, { 'x-a': 'b' }).end('made'),
    {
      ...loopback,
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    },
  );
  const response = await client.send({
    url: `http://hook.example:${port}/a?b=c`,
    method: 'PUT',
    headers: {
      'X-Own': 'yes',
      Host: 'evil.example',
      'Content-Length': '1',
      'Transfer-Encoding': 'chunked',
      Connection: 'upgrade',
    },
    body: 'häl',
  });
  assert.equal(response.status, 201);
  assert.equal(response.body, 'made');
  assert.equal(response.headers['x-a'], 'b');
  const [request] = seen;
  assert.equal(request?.method, 'PUT');
  assert.equal(request?.url, '/a?b=c');
  assert.equal(request?.body, 'häl');
  assert.equal(request?.headers.host, `hook.example:${port}`);
  assert.equal(request?.headers['content-length'], '4');
  assert.equal(request?.headers['x-own'], 'yes');
  assert.equal(request?.headers['transfer-encoding'], undefined);
});

test('a redirect is an answer, and is not followed', async (t) => {
  const { client, port, seen } = await setup(
    t,
    (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end(),
    loopback,
  );
  const { status } = await client.send({ url: `http://127.0.0.1:${port}/` });
  assert.equal(status, 302);
  assert.equal(seen.length, 1);
});

test('an answer longer than the limit is cut, and its sender is not heard to the end', async (t) => {
  const { client, port } = await setup(
    t,
    (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    },
    { ...loopback, responseBytesMax: 1_000 },
  );
  const { body, isCut } = await client.send({ url: `http://127.0.0.1:${port}/` });
  assert.equal(body.length, 1_000);
  assert.equal(isCut, true);
});

test('who does not answer, or answers drop by drop, is left after the time', async (t) => {
  const silent = await setup(t, () => {}, loopback);
  await assert.rejects(
    silent.client.send({ url: `http://127.0.0.1:${silent.port}/`, timeoutMs: 100 }),
    (error) => isDulyError(error, 'request_timeout'),
  );
  const slow = await setup(
    t,
    (_, response) => {
      const drop = (): void => {
        if (response.destroyed) return;
        response.write('x');
        systemClock.after(20, drop);
      };
      drop();
    },
    loopback,
  );
  await assert.rejects(slow.client.send({ url: `http://127.0.0.1:${slow.port}/`, timeoutMs: 200 }), (error) =>
    isDulyError(error, 'request_timeout'),
  );
});

test('an abort ends the request with its reason; a closed port is a failure with the system code', async (t) => {
  const { client, port } = await setup(t, () => abort.abort(), loopback);
  const abort = new AbortController();
  await assert.rejects(client.send({ url: `http://127.0.0.1:${port}/`, signal: abort.signal }), (error) =>
    isDulyError(error, 'request_failed'),
  );
  await assert.rejects(client.send({ url: 'http://127.0.0.1:1/' }), (error) => {
    assert.ok(isDulyError(error, 'request_failed'));
    assert.equal(error.details.code, 'ECONNREFUSED');
    return true;
  });
});
