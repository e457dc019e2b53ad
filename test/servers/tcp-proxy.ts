// A way between a client and a server that can be cut without either of them being told, slowed, or led to another server.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** How slow a way is. */
export interface Slowness {
  /** Added to every round trip. */
  delayMs: number;
  /** Of what is sent, this share of 100 is lost at first and comes only when TCP sends it again. */
  lossPercent: number;
  /** From 0 up to 1. */
  random(): number;
}

/** A proxy. */
export interface TcpProxy {
  readonly port: number;
  /** From now on nothing gets through, in either direction, and no connection is closed: packets are lost. */
  freeze(): void;
  /** Lets new connections through again; the frozen ones stay dead. */
  thaw(): void;
  /** Makes every connection slow, old and new; null: as fast as it can be. */
  slow(how: Slowness | null): void;
  /** New connections lead to this port; the old ones stay where they are. */
  lead(targetPort: number): void;
  /** Closes every connection. */
  cut(): void;
  stop(): Promise<void>;
}

// What TCP waits before it sends a lost packet again, at least.
const resendMs = 1_000;

/** Starts a proxy before a port of loopback, itself on loopback or on another address of this machine. */
export async function startTcpProxy(firstTargetPort: number, address = '127.0.0.1'): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const frozen = new WeakSet<Socket>();
  let targetPort = firstTargetPort;
  let isFrozen = false;
  let slowness: Slowness | null = null;

  /** Carries what one side sends to the other, in order, as late as the way is slow. */
  function carry(from: Socket, to: Socket): void {
    let last: Promise<unknown> = Promise.resolve();
    // What is late must not be overtaken by what comes after the way was mended.
    let waiting = 0;
    from.on('data', (bytes) => {
      const lateMs = latenessMs();
      if (slowness === null && waiting === 0) {
        if (!to.write(bytes)) {
          from.pause();
          to.once('drain', () => from.resume());
        }
        return;
      }
      waiting++;
      const arrived = wait(lateMs, undefined, { ref: false });
      last = last
        .then(() => arrived)
        .then(() => {
          waiting--;
          if (!to.destroyed && !frozen.has(to)) to.write(bytes);
        });
    });
  }

  function latenessMs(): number {
    if (slowness === null) return 0;
    const { delayMs, lossPercent, random } = slowness;
    let lateMs = delayMs / 2;
    for (let again = resendMs; random() * 100 < lossPercent; again *= 2) lateMs += again;
    return lateMs;
  }

  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    client.on('error', () => {});
    // Accepted by the kernel, answered by nobody.
    if (isFrozen) return;
    const target = connect(targetPort, '127.0.0.1');
    keep(target);
    target.on('error', () => client.destroy());
    carry(client, target);
    carry(target, client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  });
  server.listen(0, address);
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) {
        frozen.add(socket);
        socket.removeAllListeners('data');
        socket.pause();
      }
    },
    thaw() {
      isFrozen = false;
    },
    slow(how) {
      slowness = how;
    },
    lead(port) {
      targetPort = port;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same address by way of another port, and of another host if one is named. */
export function throughPort(url: string, port: number, host?: string): string {
  const changed = new URL(url);
  changed.port = String(port);
  if (host !== undefined) changed.hostname = host;
  return changed.href;
}
