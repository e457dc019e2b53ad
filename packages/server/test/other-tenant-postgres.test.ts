/** What the store sends to the server for a job of another tenant. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { throughPort } from '../../../test/servers/tcp-proxy.ts';
import { startServer } from './fixture.ts';

/** A proxy before PostgreSQL that counts the bytes of its answers. */
async function startCounter(t: TestContext, targetPort: number) {
  const counter = { port: 0, bytes: 0 };
  const proxy = createServer((client) => {
    const server = connect(targetPort, '127.0.0.1');
    server.on('data', (part) => {
      counter.bytes += part.length;
    });
    for (const socket of [client, server]) socket.on('error', () => socket.destroy());
    client.pipe(server).pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  counter.port = (proxy.address() as AddressInfo).port;
  return counter;
}

test("nothing of another tenant's job is read, however large it is", async (t) => {
  const url = await testPostgresUrl();
  const counter = await startCounter(t, Number(new URL(url).port));
  const store = inSchema(throughPort(url, counter.port), freshSchema());
  const { ask, duly, key } = await startServer(t, { store });
  const large = 'a'.repeat(400_000);
  const { id } = await duly.taskNamed('work').in('1h', large, { tenant: 'a' });
  const unknown = `${id.slice(0, -4)}${id.endsWith('0000') ? '1111' : '0000'}`;
  const keys = { own: await key('admin', 'a'), other: await key('admin', 'b') };
  const paths: [method: string, path: string][] = [
    ['GET', ''],
    ['GET', '/why'],
    ['GET', '/logs'],
    ['GET', '/attempts'],
    ['GET', '/events'],
    ['POST', '/cancel'],
    ['POST', '/retry'],
    ['POST', '/run-again'],
  ];
  for (const [method, path] of paths) {
    const read = async (of: string) => {
      const before = counter.bytes;
      const { status, text } = await ask(`/api/jobs/${of}${path}`, { method, key: keys.other });
      return { status, text: text.replaceAll(of, 'ID'), bytes: counter.bytes - before };
    };
    await read(unknown);
    const [foreign, never] = [await read(id), await read(unknown)];
    assert.deepEqual([foreign.status, foreign.text], [404, never.text], path);
    assert.ok(foreign.bytes < 20_000, `${method} ${path} read ${foreign.bytes} bytes`);
  }
  const before = counter.bytes;
  assert.equal((await ask(`/api/jobs/${id}`, { key: keys.own })).json.input, large);
  assert.ok(counter.bytes - before > 400_000, 'the counter counts');
});
