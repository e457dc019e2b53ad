// What a connection does with a client that asks and does not listen. Sockets of real clients are in following.test.ts; how full the buffers of the system between two of them are is nobody's to say.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import { serveSocket } from '../../src/live/socket.ts';
import { appOf } from '../../src/server.ts';
import { startServer } from '../fixture.ts';

/** A connection whose other end takes what is sent only when it is told to. */
class SlowSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  isPaused = false;
  readonly sent: { text: string; taken(): void }[] = [];

  send(text: string, taken: () => void): void {
    this.sent.push({ text, taken });
    this.emit('sent');
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
    this.emit('resumed');
  }
  ping(): void {}
  close(): void {}
  terminate(): void {}
}

test('no more is read from a connection until the answer to what was said is taken', async (t) => {
  const { server } = await startServer(t);
  const { context } = appOf.get(server) as { context: Parameters<typeof serveSocket>[0] };
  const socket = new SlowSocket();
  t.after(() => socket.emit('close'));
  serveSocket(context, {
    socket: socket as unknown as WebSocket,
    caller: { actor: 'test', scope: 'read', tenant: null },
    mayWatch: async () => true,
  });
  const said = once(socket, 'sent');
  socket.emit('message', Buffer.from('{"watch":"x"}'), false);
  assert.equal(socket.isPaused, true);
  await said;
  assert.equal(JSON.parse(socket.sent[0]?.text ?? '').event, 'error');
  assert.equal(socket.isPaused, true, 'the answer is on its way');
  const resumed = once(socket, 'resumed');
  socket.sent[0]?.taken();
  await resumed;

  // An open watch holds nothing up: its first event waits to be taken, and the next message is read all the same.
  const opened = once(socket, 'resumed');
  socket.emit('message', Buffer.from('{"watch":"all","filter":{}}'), false);
  await opened;
  assert.equal(socket.isPaused, false);
});
