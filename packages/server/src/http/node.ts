import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { DulyError, systemClock } from '@duly/core';
import { getRequestListener, RequestError } from '@hono/node-server';
import { WebSocketServer } from 'ws';
import { dismissSocket, type LiveSocket } from '../live/socket.ts';
import { directBody } from '../request/body.ts';
import { standardHeaders } from '../request/standard-headers.ts';
import { appOf, type DulyServer } from '../server.ts';
import type { ServerEnv } from './context.ts';
import { createFastPath } from './fast-path.ts';
import { toProblem } from './problem.ts';

/** Where to listen. */
export interface ListenOptions {
  /** Default `127.0.0.1`: this machine only. */
  host?: string;
  /** Default 4600; 0: any free one. */
  port?: number;
  /** How long `close` lets answers finish that are on their way, in milliseconds. Default 5 s. */
  closeMs?: number;
}

/** A server that listens. */
export interface Listening {
  /** Like `http://127.0.0.1:4600`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Node's own server, for what else one wants to do with it. */
  readonly http: Server;
  /** Takes no more requests, lets those on their way be answered, and stops the server. */
  close(): Promise<void>;
}

/** Where it listens unless told otherwise. */
export const defaultPort = 4600;

const loopback = new Set(['127.0.0.1', 'localhost', '::1']);
const patience = {
  // So long a client may take to send the head of a request, and all of it; slower ones only hold a socket. Answers may take as long as they like.
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
  // Longer than load balancers keep theirs (a minute): whoever lets go first may do so just while the other sends.
  keepAliveTimeout: 65_000,
  // Node would answer a request without a host with an empty body; `answerUnreadable` sends a problem.
  requireHostHeader: false,
};

/** A host as an address to go to names it. */
function hostInUrl(host: string): string {
  // These stand for every address of the machine, and are none that a browser could go to.
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Serves over HTTP with Node's own server. Refuses to listen beyond this machine while there is no key (`listen_refused`); a port that
 * is taken is `listen_failed` with `details.taken`.
 */
export async function listen(server: DulyServer, options: ListenOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = defaultPort, closeMs = 5_000 } = options;
  if (!loopback.has(host) && !(await server.keys.any())) {
    throw new DulyError('listen_refused', {
      message: `Without a key the server listens to this machine only, not on "${host}".`,
      hint: 'Create one first: duly keys add --scope admin',
      details: { host },
    });
  }
  const application = getRequestListener(directly(server), { errorHandler: answerUnreadable });
  const served = appOf.get(server);
  const fastPath = served === undefined ? null : createFastPath(served.context);
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (fastPath?.(incoming, outgoing) !== true) void application(incoming, outgoing);
  };
  const http = createHttpServer(patience, answer);
  // Node would answer 417 with an empty body. RFC 9110 lets servers ignore expectations that they do not know.
  http.on('checkExpectation', answer);
  http.on('clientError', answerParserError);
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error) => reject(listenFailed(host, port, error)));
    http.listen({ host, port }, resolve);
  });
  const sockets = acceptSockets(http, server);
  await server.start().catch((error: unknown) => {
    http.close();
    throw error;
  });
  const { port: taken } = http.address() as AddressInfo;
  let closing: Promise<void> | null = null;
  return {
    http,
    host,
    port: taken,
    url: `http://${hostInUrl(host)}:${taken}`,
    close() {
      closing ??= close(http, server, sockets, closeMs);
      return closing;
    },
  };
}

/** Lets the server read bodies from Node's own stream: making a web stream of each costs more than the rest of a small request. */
function directly(server: DulyServer): (request: Request, env: { incoming: unknown }) => Promise<Response> {
  return (request, env) => server.fetch(request, { ...env, [directBody]: env.incoming });
}

/** Answers what does not even come as far as the application: its address or its host is none. */
function answerUnreadable(error: unknown): Response {
  const shown = toProblem(
    error instanceof RequestError
      ? new DulyError('request_invalid', {
          message: `The head of the request cannot be read: ${error.message.slice(0, 100)}.`,
          hint: 'Send a path that begins with "/", and the name of this server as "Host".',
        })
      : error,
  );
  return new Response(JSON.stringify(shown), {
    status: shown.status,
    headers: { ...standardHeaders, 'Content-Type': 'application/problem+json' },
  });
}

/** Answers what Node's own parser refuses, which would otherwise get an empty answer. The connection ends. */
function answerParserError(error: NodeJS.ErrnoException, connection: Duplex): void {
  // A peer that is gone, or an answer that has begun: nothing can be sent any more.
  const isAnswered =
    ((connection as { _httpMessage?: ServerResponse })._httpMessage?.headersSent ?? false) === true;
  if (error.code === 'ECONNRESET' || !connection.writable || isAnswered) {
    connection.destroy();
    return;
  }
  endWithProblem(connection, parserError(error));
}

/** Answers a connection that has no `ServerResponse` with a problem, and closes it. */
function endWithProblem(connection: Duplex, error: DulyError, extra: Record<string, string> = {}): void {
  const shown = toProblem(error);
  const body = JSON.stringify(shown);
  const headers = {
    ...standardHeaders,
    ...extra,
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const start = `HTTP/1.1 ${shown.status} ${STATUS_CODES[shown.status] ?? ''}`;
  connection.end(`${[start, ...lines].join('\r\n')}\r\n\r\n${body}`, () => connection.destroy());
}

function parserError({ code }: NodeJS.ErrnoException): DulyError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new DulyError('request_header_too_large', {
      message: 'The request line and headers are larger than the server accepts.',
      hint: 'Send large data in the body, and fewer or smaller cookies.',
    });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new DulyError('request_too_slow', {
      message: 'The request did not arrive in time.',
      hint: 'Send it again; the connection is closed.',
    });
  }
  return new DulyError('request_invalid', {
    message: `The request is not valid HTTP${code === undefined ? '' : ` (${code})`}.`,
    hint: 'Use an HTTP client. TLS and HTTP/2 need a proxy in front of the server.',
  });
}

async function close(
  http: Server,
  server: DulyServer,
  sockets: WebSocketServer,
  closeMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()));
  // Lets those go who wait for news, so that their connections end.
  await server.stop();
  for (const socket of sockets.clients) dismissSocket(socket);
  http.closeIdleConnections();
  const timer = systemClock.after(
    closeMs,
    () => {
      http.closeAllConnections();
      for (const socket of sockets.clients) socket.terminate();
    },
    { unref: true },
  );
  await closed;
  timer.cancel();
}

// A message asks for a watch; the largest filter is a few kilobytes.
const messageBytesMax = 64 * 1024;

/**
 * Lets requests for a WebSocket through the same application as all others, with the same guards; what it refuses is answered over HTTP.
 */
function acceptSockets(http: Server, server: DulyServer): WebSocketServer {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: messageBytesMax });
  // Without a listener the library answers with a page of its own.
  sockets.on('wsClientError', (error, connection) => {
    const refused = new DulyError('request_invalid', {
      message: `The WebSocket handshake is not valid: ${error.message}.`,
      hint: 'Use a WebSocket client of RFC 6455, version 13.',
    });
    endWithProblem(connection, refused, { 'Sec-WebSocket-Version': '13' });
  });
  http.on('upgrade', (incoming, connection, head) => {
    if (!asksForSocket(incoming)) return ignoreUpgrade(http, incoming, connection, head);
    connection.on('error', () => connection.destroy());
    void answerUpgrade(server, incoming).then(
      ({ accept, response }) => {
        if (accept !== null) sockets.handleUpgrade(incoming, connection, head, accept);
        else connection.end(response);
      },
      () => connection.destroy(),
    );
  });
  return sockets;
}

function asksForSocket({ method, url = '', headers }: IncomingMessage): boolean {
  const [path = ''] = url.split('?', 1);
  return (
    method === 'GET' &&
    path.endsWith('/api/ws') &&
    /(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? '')
  );
}

/**
 * Answers a request as if it had not asked for another protocol. Java's own client and `curl --http2` offer HTTP/2 with their first request, whatever it is;
 * Node takes everything behind the head of such a request for the other protocol, so the head is read once more without the offer.
 */
function ignoreUpgrade(http: Server, incoming: IncomingMessage, connection: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = incoming;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'upgrade') lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  connection.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  http.emit('connection', connection);
}

async function answerUpgrade(
  server: DulyServer,
  incoming: IncomingMessage,
): Promise<{ accept: ((socket: LiveSocket) => void) | null; response: string }> {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const url = new URL(incoming.url ?? '/', `http://${headers.get('host') ?? 'localhost'}`);
  const socket: NonNullable<ServerEnv['Bindings']['socket']> = { accept: null };
  const response = await server.fetch(new Request(url, { headers }), { socket });
  if (socket.accept !== null) return { accept: socket.accept, response: '' };
  const body = await response.text();
  const head = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`, 'Connection: close'];
  for (const [name, value] of response.headers) head.push(`${name}: ${value}`);
  head.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return { accept: null, response: `${head.join('\r\n')}\r\n\r\n${body}` };
}

function listenFailed(host: string, port: number, error: NodeJS.ErrnoException): DulyError {
  const isTaken = error.code === 'EADDRINUSE';
  return new DulyError('listen_failed', {
    message: isTaken ? `Port ${port} of "${host}" is taken.` : `Cannot listen on "${host}", port ${port}.`,
    hint: isTaken
      ? 'Choose another with --port, or 0 for any free one.'
      : 'Is it an address of this machine?',
    details: { host, port, taken: isTaken },
    cause: error,
  });
}
