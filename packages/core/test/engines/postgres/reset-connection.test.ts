// Ending a connection that was silent for too long, whatever its socket is.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { resetConnection } from '../../../src/engines/postgres/connect.ts';

for (const kind of ['TCP', 'Unix'] as const) {
  test(`a connection over a ${kind} socket is ended`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'duly-socket-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const server = createServer((socket) => socket.on('error', () => {}));
    t.after(() => server.close());
    if (kind === 'Unix') server.listen(join(folder, 'socket'));
    else server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const stream: Socket =
      typeof address === 'string' ? connect(address) : connect(address?.port ?? 0, '127.0.0.1');
    await once(stream, 'connect');
    resetConnection({ connection: { stream } });
    assert.equal(stream.destroyed, true);
  });
}

test('a client that shows no socket is left alone', () => {
  resetConnection({});
  resetConnection({ connection: {} });
});
