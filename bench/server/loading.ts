// The clients of the load test, in a process of their own. They speak HTTP over plain sockets: a client that costs as much as the server would
// measure itself.
import { connect, type Socket } from 'node:net';
import { elapsed } from '../contestant.ts';
import { type Calls, serveCalls } from './parts.ts';

/** Where the server is. */
interface Address {
  url: string;
  key: string;
}

/** What a run of requests came to. */
export interface Load {
  tookMs: number;
  /** How long each took, in milliseconds. */
  latenciesMs: number[];
}

/** One connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket;
  #text = '';
  #answered: ((status: number) => void) | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.#take(chunk));
  }

  static open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) }, () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  send(request: string): Promise<number> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(request);
    });
  }

  #take(chunk: string): void {
    this.#text += chunk;
    const head = this.#text.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = /content-length: (\d+)/i.exec(this.#text.slice(0, head));
    const end = length === null ? this.#chunkedEnd(head + 4) : head + 4 + Number(length[1]);
    if (end < 0 || this.#text.length < end) return;
    const status = Number(this.#text.slice(9, 12));
    this.#text = this.#text.slice(end);
    this.#answered?.(status);
  }

  #chunkedEnd(from: number): number {
    const end = this.#text.indexOf('0\r\n\r\n', from);
    return end < 0 ? -1 : end + 5;
  }

  close(): void {
    this.#socket.destroy();
  }
}

const post = ({ url, key }: Address, n: number): string => {
  const body = JSON.stringify({ type: 'bench', input: { n } });
  return `POST /api/jobs HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
const get = ({ url, key }: Address, id: string): string =>
  `GET /api/jobs/${id} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Sends as fast as they are answered, with so many connections. */
async function flood(
  address: Address,
  count: number,
  inFlight: number,
  request: (n: number) => string,
): Promise<Load> {
  const connections = await Promise.all(Array.from({ length: inFlight }, () => Connection.open(address.url)));
  const latenciesMs: number[] = [];
  let n = 0;
  const from = elapsed();
  await Promise.all(
    connections.map(async (connection) => {
      while (n < count) {
        const text = request(n++);
        const sent = elapsed();
        const status = await connection.send(text);
        if (status >= 300) throw new Error(`A request was answered ${status}.`);
        latenciesMs.push(elapsed() - sent);
      }
    }),
  );
  const tookMs = elapsed() - from;
  for (const connection of connections) connection.close();
  return { tookMs, latenciesMs };
}

/** Sends so many a second, whether or not the last was answered. A latency counts from when the request was due. */
async function steady(
  address: Address,
  perSecond: number,
  forMs: number,
  request: (n: number) => string,
): Promise<Load> {
  const free = await Promise.all(Array.from({ length: 100 }, () => Connection.open(address.url)));
  const all = [...free];
  const due: number[] = [];
  const latenciesMs: number[] = [];
  const from = elapsed();
  let n = 0;
  const pump = (): void => {
    while (free.length > 0 && due.length > 0) {
      const connection = free.pop() as Connection;
      const dueElapsed = due.shift() as number;
      void connection.send(request(n++)).then(() => {
        latenciesMs.push(elapsed() - dueElapsed);
        free.push(connection);
        pump();
      });
    }
  };
  let created = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const passed = elapsed() - from;
      for (; created < Math.min(passed, forMs) * (perSecond / 1_000); created++) due.push(elapsed());
      pump();
      if (passed < forMs || latenciesMs.length < created) return;
      clearInterval(timer);
      resolve();
    }, 2);
  });
  for (const connection of all) connection.close();
  return { tookMs: elapsed() - from, latenciesMs };
}

let lagsMs: number[] = [];
const watchers: Socket[] = [];

/** Opens a stream of one job and notes how old each progress is when it arrives. */
function watch({ url, key }: Address, id: string): Promise<void> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    watchers.push(socket);
    socket.setEncoding('latin1');
    socket.write(
      `GET /api/jobs/${id}/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    let text = '';
    socket.on('data', (chunk: string) => {
      const now = elapsed();
      text += chunk;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        if (!event.includes('\ndata: ')) continue;
        resolve();
        const [, at] = /"current_step":"([\d.]+)"/.exec(event) ?? [];
        if (at !== undefined) lagsMs.push(now - Number(at));
      }
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The server closed a stream.')));
  });
}

/** What the clients' process can be asked. */
export interface LoadingCalls extends Calls {
  post(address: Address, count: number, inFlight: number): Promise<Load>;
  get(address: Address, ids: string[], count: number, inFlight: number): Promise<Load>;
  getSteadily(address: Address, ids: string[], perSecond: number, forMs: number): Promise<Load>;
  /** Opens a stream for each job, and answers when each was told its state. */
  watch(address: Address, ids: string[]): Promise<void>;
  /** How old each progress was that has arrived since the last time, in milliseconds. */
  lags(): Promise<number[]>;
  close(): Promise<void>;
}

const calls: LoadingCalls = {
  post: (address, count, inFlight) => flood(address, count, inFlight, (n) => post(address, n)),
  get: (address, ids, count, inFlight) =>
    flood(address, count, inFlight, (n) => get(address, ids[n % ids.length] as string)),
  getSteadily: (address, ids, perSecond, forMs) =>
    steady(address, perSecond, forMs, (n) => get(address, ids[n % ids.length] as string)),
  async watch(address, ids) {
    await Promise.all(ids.map((id) => watch(address, id)));
  },
  async lags() {
    const taken = lagsMs;
    lagsMs = [];
    return taken;
  },
  async close() {
    for (const socket of watchers) socket.removeAllListeners().destroy();
  },
};
serveCalls(calls);
