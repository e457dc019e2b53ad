// A way between a client and a server that can be cut without either of them being told.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy on loopback. */
export interface TcpProxy {
  readonly port: number;
  /** From now on nothing gets through, in either direction, and no connection is closed: packets are lost. */
  freeze(): void;
  /** Lets new connections through again; the frozen ones stay dead. */
  thaw(): void;
  stop(): Promise<void>;
}

/** Starts a proxy before a port of loopback. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => {});
    // Accepted by the kernel, answered by nobody.
    if (isFrozen) return;
    const target = connect(targetPort, '127.0.0.1');
    sockets.add(target);
    target.on('error', () => client.destroy());
    client.pipe(target);
    target.pipe(client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    thaw() {
      isFrozen = false;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same address by way of another port. */
export function throughPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}
