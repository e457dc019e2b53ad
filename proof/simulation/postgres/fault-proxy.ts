/** A proxy before PostgreSQL that reads the protocol, so that it can fail a chosen request and still know what the server replied. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** What the proxy does to one request. */
export type NetworkFault =
  /** Cuts the connection. The server never sees the request. */
  | 'cut before the request'
  /** Forwards half of the request, then cuts. The server has no complete request to commit. */
  | 'cut in the request'
  /** Forwards the request, drops the reply and cuts. */
  | 'cut before the reply'
  /** Forwards the request, passes half of the reply and cuts. */
  | 'cut in the reply'
  /** Forwards the request, then the server crashes and restarts. The reply is lost. */
  | 'crash before the reply'
  /** Holds the request back for some milliseconds. */
  | 'late request'
  /** Holds the reply back for some milliseconds. */
  | 'late reply'
  /** Passes the reply in small pieces. */
  | 'reply in pieces';

/** One request and what the server replied. */
export interface Exchange {
  fault: NetworkFault | null;
  /** The complete reply, up to "ready for query"; null if the server sent none. */
  reply: Buffer | null;
}

/** Settings of a proxy. */
export interface FaultProxyOptions {
  targetPort: number;
  /** Chooses the fault of the next request; null for none. */
  faultOf(): NetworkFault | null;
  /** Crashes the server and starts it again. */
  crash(): Promise<void>;
}

const lateMs = 3;
const pieceCount = 3;

/** The proxy. */
export class FaultProxy {
  /** The last request that a client sent, with its reply. */
  last: Exchange | null = null;
  readonly #options: FaultProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isDown = false;

  private constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Starts a proxy on a free port of loopback. */
  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Closes every connection. While it is down, new connections are closed at once. */
  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (isDown) this.cut();
  }

  /** Closes every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.#watch(client);
    if (this.#isDown) {
      client.destroy();
      return;
    }
    const target = connect(this.#options.targetPort, '127.0.0.1');
    this.#watch(target);
    const session = new Session(client, target, this.#options, (exchange) => {
      this.last = exchange;
    });
    client.on('data', (bytes) => session.fromClient(bytes));
    target.on('data', (bytes) => session.fromServer(bytes));
    client.on('close', () => target.destroy());
    target.on('close', () => session.serverClosed());
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    // The other side learns of it by the close.
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

const letter = (text: string): number => text.charCodeAt(0);
const simpleQuery = letter('Q');
const sync = letter('S');
const password = letter('p');
const terminate = letter('X');
const readyForQuery = letter('Z');

/** One connection. */
class Session {
  readonly #client: Socket;
  readonly #target: Socket;
  readonly #options: FaultProxyOptions;
  readonly #note: (exchange: Exchange) => void;
  /** Bytes of the client that are not a complete request yet. */
  #asked = Buffer.alloc(0);
  /** Bytes of the server that are not a complete reply yet. */
  #replied = Buffer.alloc(0);
  #hasStarted = false;
  #pending: Exchange | null = null;

  constructor(
    client: Socket,
    target: Socket,
    options: FaultProxyOptions,
    note: (exchange: Exchange) => void,
  ) {
    this.#client = client;
    this.#target = target;
    this.#options = options;
    this.#note = note;
  }

  fromClient(bytes: Buffer): void {
    this.#asked = Buffer.concat([this.#asked, bytes]);
    if (!this.#hasStarted) {
      // The first message has no type.
      if (this.#asked.length < 4 || this.#asked.length < this.#asked.readInt32BE(0)) return;
      this.#target.write(this.#take(this.#asked.readInt32BE(0)));
      this.#hasStarted = true;
    }
    for (let end = 0; ; ) {
      const type = this.#asked[end];
      const next = endOfMessage(this.#asked, end);
      if (type === undefined || next === null) return;
      end = next;
      if (type === simpleQuery || type === sync) void this.#request(this.#take(end));
      else if (type === password || type === terminate) this.#target.write(this.#take(end));
      else continue;
      end = 0;
    }
  }

  fromServer(bytes: Buffer): void {
    this.#replied = Buffer.concat([this.#replied, bytes]);
    let end = 0;
    for (let next = endOfMessage(this.#replied, 0); next !== null; next = endOfMessage(this.#replied, end)) {
      const isLast = this.#replied[end] === readyForQuery;
      end = next;
      if (!isLast || this.#pending === null) continue;
      const reply = this.#replied.subarray(0, end);
      this.#replied = this.#replied.subarray(end);
      end = 0;
      const exchange = this.#pending;
      this.#pending = null;
      exchange.reply = reply;
      void this.#reply(exchange.fault, reply);
    }
    if (this.#pending === null) this.#flush();
  }

  /** A server that ends a connection says why before it closes. */
  serverClosed(): void {
    if (this.#replied.length > 0) this.#client.write(this.#replied);
    this.#client.end();
  }

  async #request(bytes: Buffer): Promise<void> {
    const exchange: Exchange = { fault: this.#options.faultOf(), reply: null };
    this.#note(exchange);
    switch (exchange.fault) {
      case 'cut before the request':
        this.#cut();
        return;
      case 'cut in the request':
        this.#target.end(bytes.subarray(0, bytes.length >> 1));
        this.#client.destroy();
        return;
      case 'late request':
        await wait(lateMs);
    }
    this.#pending = exchange;
    this.#target.write(bytes);
  }

  async #reply(fault: NetworkFault | null, bytes: Buffer): Promise<void> {
    switch (fault) {
      case 'cut before the reply':
        this.#cut();
        return;
      case 'cut in the reply':
        this.#client.end(bytes.subarray(0, bytes.length >> 1));
        this.#target.destroy();
        return;
      case 'crash before the reply':
        await this.#options.crash();
        this.#cut();
        return;
      case 'late reply':
        await wait(lateMs);
        break;
      case 'reply in pieces': {
        const size = Math.ceil(bytes.length / pieceCount);
        for (let from = 0; from < bytes.length; from += size) {
          this.#client.write(bytes.subarray(from, from + size));
          await wait(1);
        }
        return;
      }
    }
    this.#client.write(bytes);
  }

  #flush(): void {
    if (this.#replied.length > 0) this.#client.write(this.#replied);
    this.#replied = Buffer.alloc(0);
  }

  #take(length: number): Buffer {
    const bytes = this.#asked.subarray(0, length);
    this.#asked = this.#asked.subarray(length);
    return bytes;
  }

  #cut(): void {
    this.#client.destroy();
    this.#target.destroy();
  }
}

/** Where the message that starts here ends; null if it is not complete. */
function endOfMessage(bytes: Buffer, from: number): number | null {
  if (bytes.length < from + 5) return null;
  const end = from + 1 + bytes.readInt32BE(from + 1);
  return end <= bytes.length ? end : null;
}

type Parsers = { getTypeParser(oid: number): (text: string) => unknown };

/** The rows of a reply; null if the server reported an error, so that nothing was committed. */
export function rowsOf(reply: Buffer, types: Parsers): Record<string, unknown>[] | null {
  const rows: Record<string, unknown>[] = [];
  let columns: { name: string; parse(text: string): unknown }[] = [];
  for (
    let from = 0, end = endOfMessage(reply, 0);
    end !== null;
    from = end, end = endOfMessage(reply, from)
  ) {
    const type = String.fromCharCode(reply[from] as number);
    const body = reply.subarray(from + 5, end);
    if (type === 'E') return null;
    if (type === 'T') columns = readColumns(body, types);
    if (type === 'D') rows.push(readRow(body, columns));
  }
  return rows;
}

function readColumns(body: Buffer, types: Parsers): { name: string; parse(text: string): unknown }[] {
  let at = 2;
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const nameEnd = body.indexOf(0, at);
    const name = body.toString('utf8', at, nameEnd);
    const parse = types.getTypeParser(body.readInt32BE(nameEnd + 7));
    at = nameEnd + 19;
    return { name, parse };
  });
}

function readRow(
  body: Buffer,
  columns: { name: string; parse(text: string): unknown }[],
): Record<string, unknown> {
  let at = 2;
  const fields = columns.map(({ name, parse }) => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length === -1) return [name, null];
    at += length;
    return [name, parse(body.toString('utf8', at - length, at))];
  });
  return Object.fromEntries(fields);
}
