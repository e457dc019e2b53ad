// Requests that offer another protocol with what they ask. Java's own client and `curl --http2` do so with their first request, whatever it is.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { type Fixture, startServer } from './fixture.ts';

/** A connection that tells what has arrived until a pattern is in it. */
function open(t: { after(fn: () => void): void }, { listening }: Fixture) {
  const socket: Socket = connect(listening.port, listening.host);
  t.after(() => socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  return {
    socket,
    async until(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = pattern.exec(text);
        if (found !== null) {
          const taken = text.slice(0, found.index + found[0].length);
          text = text.slice(taken.length);
          return taken;
        }
        await once(socket, 'data');
      }
    },
  };
}

const http2Offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB';
const socketOffer =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

for (const [name, offer] of Object.entries({ http2: http2Offer, websocket: socketOffer })) {
  test(`a POST that offers ${name} creates its job, and the connection goes on`, async (t) => {
    const fixture = await startServer(t);
    const { socket, until } = open(t, fixture);
    const body = JSON.stringify({ type: 'x', input: { name: 'Zoë' }, delay: '1h' });
    const head = `Host: localhost\r\nAuthorization: Bearer ${fixture.adminKey}\r\nContent-Type: application/json\r\n`;
    const length = Buffer.byteLength(body);
    socket.write(`POST /api/jobs HTTP/1.1\r\n${head}${offer}\r\nContent-Length: ${length}\r\n\r\n`);
    // Apart from its head, as clients send it that do not gather.
    socket.write(body.slice(0, 10));
    socket.write(body.slice(10));
    const created = await until(/\r\n\r\n\{.*"deduped":false\}/);
    assert.match(created, /^HTTP\/1\.1 201 /);
    const [, id] = /Location: \/api\/jobs\/(job_\w+)/i.exec(created) ?? [];
    const { json } = await fixture.ask(`/api/jobs/${id}`);
    assert.deepEqual(json.input, { name: 'Zoë' });

    socket.write(`GET /api/jobs/${id} HTTP/1.1\r\n${head}\r\n`);
    assert.match(await until(/\r\n\r\n\{.*"dead":false\}/), /^HTTP\/1\.1 200 /);
    assert.equal((await fixture.ask('/api/jobs')).json.data.length, 1);
  });

  test(`a stream is served to a reader who offers ${name}, and ends with it`, async (t) => {
    const fixture = await startServer(t);
    const { socket, until } = open(t, fixture);
    const head = `Host: localhost\r\nAuthorization: Bearer ${fixture.adminKey}\r\n${offer}\r\n\r\n`;
    socket.write(`GET /api/events HTTP/1.1\r\n${head}`);
    assert.match(await until(/id: \d+\n/), /^HTTP\/1\.1 200 [\s\S]*text\/event-stream[\s\S]*retry: /);
    const { json } = await fixture.ask('/api/jobs', { body: { type: 'x', delay: '1h' } });
    await until(new RegExp(`"id":"${json.id}"`));
    socket.destroy();
  });
}

test('an address or a host that is none is refused as a problem', async (t) => {
  const fixture = await startServer(t);
  for (const head of [
    'GET /api/jobs HTTP/1.1\r\nHost: evil.example@localhost',
    'GET /api/jobs HTTP/1.1\r\nHost: localhost:port',
    'OPTIONS * HTTP/1.1\r\nHost: localhost',
  ]) {
    const { socket, until } = open(t, fixture);
    socket.write(`${head}\r\nAuthorization: Bearer ${fixture.adminKey}\r\n\r\n`);
    const answer = await until(/\r\n\r\n[^{]*\{.*\}/);
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*"code":"request_invalid"/);
  }
});
