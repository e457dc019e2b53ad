import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { type Clock, DulyError, isDulyError } from '@duly/core';
import type { AllowedTargets } from './allowed-targets.ts';
import { parseIp } from './ip-address.ts';
import { hostOf, parseTargetUrl } from './target-url.ts';

/** Finds the addresses of a name, as `dns.lookup` with `all` does. */
export type Lookup = (host: string) => Promise<LookupAddress[]>;

/** One outgoing request. */
export interface OutgoingRequest {
  url: string;
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Aborts the request. */
  signal?: AbortSignal;
  /** From the first byte sent to the last one read; default 15 s. */
  timeoutMs?: number;
}

/** The response to an outgoing request. */
export interface OutgoingResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The body as text, cut at the limit. */
  body: string;
  /** Whether the body was longer than what was read. */
  isCut: boolean;
  durationMs: number;
}

/** Sends requests to addresses that users have configured. See `createGuardedClient`. */
export interface GuardedClient {
  /**
   * Sends one request. Follows no redirect: a 3xx is an answer like others. Throws `target_refused`, `target_invalid`,
   * `request_timeout` or `request_failed`.
   */
  send(request: OutgoingRequest): Promise<OutgoingResponse>;
  /** Closes its agents with their open connections. */
  close(): void;
}

/** The options of a guarded client. */
export interface GuardedClientOptions {
  clock: Clock;
  allowed: AllowedTargets;
  /** How names are looked up; the system's own unless given. */
  lookup?: Lookup;
  /** How much of a response is read; default 64 KiB. */
  responseBytesMax?: number;
}

const timeoutMsDefault = 15_000;
const responseBytesDefault = 64 * 1_024;
const headerBytesMax = 16 * 1_024;
// The client sets these itself. With a second value, servers and proxies could disagree about where a request ends.
const ownHeaders = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
  'proxy-connection',
  'expect',
]);

/**
 * The only way to send outgoing requests. The lookup of the socket that connects checks the address, so a name that answers with a public
 * address first and a private one later is refused; the connected socket is checked once more. No connection is used twice, no proxy is
 * used, no redirect is followed, and both time and bytes are limited.
 */
export function createGuardedClient({
  clock,
  allowed,
  lookup = lookupBySystem,
  responseBytesMax = responseBytesDefault,
}: GuardedClientOptions): GuardedClient {
  const agents = createAgents();
  const guardedLookup = guardLookup(lookup, allowed);
  return {
    async send(request) {
      const { body, signal, timeoutMs = timeoutMsDefault } = request;
      const url = parseTargetUrl(request.url);
      const host = hostOf(url);
      // A literal address is never looked up.
      if (parseIp(host) !== null) allowed.check(host, host);
      signal?.throwIfAborted();
      const sinceElapsed = clock.elapsed();
      const { promise, resolve, reject } = Promise.withResolvers<Omit<OutgoingResponse, 'durationMs'>>();
      const outgoing = agents.open(request, { url, host, lookup: guardedLookup });
      const fail = (error: unknown): void => {
        reject(readFailure(error, url));
        outgoing.destroy();
      };
      const timer = clock.after(timeoutMs, () => fail(timedOut(url, timeoutMs)));
      const abort = (): void => fail(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      outgoing.on('error', fail);
      checkWhenConnected(outgoing, { host, allowed, onRefused: fail });
      outgoing.on('response', (incoming) => readResponse(incoming, responseBytesMax).then(resolve, fail));
      outgoing.end(body);
      try {
        const response = await promise;
        return { ...response, durationMs: Math.round(clock.elapsed() - sinceElapsed) };
      } finally {
        timer.cancel();
        signal?.removeEventListener('abort', abort);
        outgoing.destroy();
      }
    },
    close: () => agents.close(),
  };
}

/** Looks names up with `lookup` and refuses a name with any address that is not allowed. */
function guardLookup(lookup: Lookup, allowed: AllowedTargets): LookupFunction {
  return (host, options, done) => {
    lookup(host).then(
      (found) => {
        try {
          if (found.length === 0) throw noAddress(host);
          // All of them, not only the one that is used: a name with one private address is not to be trusted.
          for (const { address } of found) allowed.check(host, address);
        } catch (error) {
          done(error as Error, '', 0);
          return;
        }
        const first = found[0] as LookupAddress;
        if (options.all === true) done(null, found);
        else done(null, first.address, first.family);
      },
      (error: unknown) => done(error as Error, '', 0),
    );
  };
}

/** Checks the address that a request has connected to. */
function checkWhenConnected(
  outgoing: ClientRequest,
  { host, allowed, onRefused }: { host: string; allowed: AllowedTargets; onRefused(error: unknown): void },
): void {
  outgoing.on('socket', (socket) => {
    socket.once('connect', () => {
      try {
        allowed.check(host, socket.remoteAddress ?? '');
      } catch (error) {
        onRefused(error);
      }
    });
  });
}

/** Opens requests with agents of its own: the environment can give the global ones a proxy, which would hide the address. */
function createAgents() {
  const httpAgent = new HttpAgent({ keepAlive: false });
  const httpsAgent = new HttpsAgent({ keepAlive: false });
  return {
    open(
      request: OutgoingRequest,
      { url, host, lookup }: { url: URL; host: string; lookup: LookupFunction },
    ): ClientRequest {
      const isSecure = url.protocol === 'https:';
      return (isSecure ? httpsRequest : httpRequest)({
        agent: isSecure ? httpsAgent : httpAgent,
        host,
        port: url.port === '' ? undefined : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method: request.method ?? 'POST',
        headers: headersOf(request, url),
        lookup,
        maxHeaderSize: headerBytesMax,
      });
    },
    close() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

function lookupBySystem(host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
  });
}

function headersOf({ headers = {}, body }: OutgoingRequest, url: URL): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !ownHeaders.has(name.toLowerCase()));
  for (const [name, value] of own) checkHeader(name, value);
  return {
    'user-agent': 'Duly',
    // Responses are not decompressed, because a small one could grow without limit.
    'accept-encoding': 'identity',
    ...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value])),
    host: url.host,
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  };
}

/** Values can contain data of users. A line break in one would start another header. */
function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new DulyError('target_invalid', {
      message: `The header "${name.slice(0, 100)}" of an outgoing request holds a character that a header cannot have.`,
      hint: 'Line breaks and letters beyond Latin-1 cannot be sent in a header; encode them, or send them in the body.',
      details: { header: name.slice(0, 100) },
    });
  }
}

async function readResponse(
  incoming: IncomingMessage,
  bytesMax: number,
): Promise<Omit<OutgoingResponse, 'durationMs'>> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  let isCut = false;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    byteCount += chunk.length;
    if (byteCount > bytesMax) {
      isCut = true;
      break;
    }
  }
  return {
    status: incoming.statusCode as number,
    headers: plainHeaders(incoming),
    body: Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8'),
    isCut,
  };
}

function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

function readFailure(error: unknown, url: URL): unknown {
  if (isDulyError(error)) return error;
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  const said = error instanceof Error && error.message !== '' ? error.message : String(code ?? error);
  return new DulyError('request_failed', {
    message: `The request to "${url.origin}" failed: ${said.slice(0, 200)}`,
    hint: 'Check that the address answers from the machine that Duly runs on.',
    details: { origin: url.origin, ...(code === undefined ? {} : { code }) },
    cause: error,
  });
}

function timedOut(url: URL, timeoutMs: number): DulyError {
  return new DulyError('request_timeout', {
    message: `The request to "${url.origin}" was not answered within ${timeoutMs} ms.`,
    hint: 'Answer at once and do the work afterwards, or give the request more time.',
    details: { origin: url.origin, timeoutMs },
  });
}

function noAddress(host: string): DulyError {
  return new DulyError('request_failed', {
    message: `No address is known for "${host}".`,
    hint: 'Check the name of the host.',
    details: { host },
  });
}
