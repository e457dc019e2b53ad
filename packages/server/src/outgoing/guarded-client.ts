import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import {
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

/** What came back. */
export interface OutgoingResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The body as text, cut at the limit. */
  body: string;
  /** Whether the body was longer than what was read. */
  isCut: boolean;
  durationMs: number;
}

/** Sends requests to addresses that others wrote. See `createGuardedClient`. */
export interface GuardedClient {
  /**
   * Sends one request. Follows no redirect: a 3xx is an answer like others. Throws `target_refused`, `target_invalid`,
   * `request_timeout` or `request_failed`.
   */
  send(request: OutgoingRequest): Promise<OutgoingResponse>;
  /** Closes what is kept open. */
  close(): void;
}

/** What a guarded client is made of. */
export interface GuardedClientOptions {
  clock: Clock;
  allowed: AllowedTargets;
  /** How names are looked up; the system's own unless given. */
  lookup?: Lookup;
  /** How much of an answer is read; default 64 KiB. */
  responseBytesMax?: number;
}

const timeoutMsDefault = 15_000;
const responseBytesDefault = 64 * 1_024;
const headerBytesMax = 16 * 1_024;
// Set by the connection itself; given by a caller they would make two readers disagree about where a request ends.
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
 * The one way out. An address is judged inside the lookup of the very socket that connects to it, so that a name that answers with a
 * public address first and a private one later does not pass; and once more when the socket is connected. No connection is used twice,
 * no proxy is asked, no redirect followed, and neither time nor bytes are without limit.
 */
export function createGuardedClient({
  clock,
  allowed,
  lookup = lookupBySystem,
  responseBytesMax = responseBytesDefault,
}: GuardedClientOptions): GuardedClient {
  const guardedLookup: LookupFunction = (host, options, done) => {
    lookup(host).then(
      (found) => {
        try {
          if (found.length === 0) throw noAddress(host);
          // All of them, and not only those that are used: a name with one foot inside is not to be trusted with the other.
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
  // Agents of our own: the global ones may be told by the environment to go through a proxy, behind which no address can be judged.
  const httpAgent = new HttpAgent({ keepAlive: false });
  const httpsAgent = new HttpsAgent({ keepAlive: false });

  return {
    async send(request) {
      const { body, signal, timeoutMs = timeoutMsDefault, method = 'POST' } = request;
      const url = parseTargetUrl(request.url);
      const host = hostOf(url);
      // A literal address is never looked up.
      if (parseIp(host) !== null) allowed.check(host, host);
      signal?.throwIfAborted();
      const sinceElapsed = clock.elapsed();
      const isSecure = url.protocol === 'https:';
      const { promise, resolve, reject } = Promise.withResolvers<OutgoingResponse>();
      const outgoing = (isSecure ? httpsRequest : httpRequest)({
        agent: isSecure ? httpsAgent : httpAgent,
        host,
        port: url.port === '' ? undefined : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method,
        headers: headersOf(request, url),
        lookup: guardedLookup,
        maxHeaderSize: headerBytesMax,
      });
      const fail = (error: unknown): void => {
        reject(readFailure(error, url));
        outgoing.destroy();
      };
      const timer = clock.after(timeoutMs, () => fail(timedOut(url, timeoutMs)));
      const abort = (): void => fail(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      outgoing.on('error', fail);
      outgoing.on('socket', (socket) => {
        socket.once('connect', () => {
          try {
            allowed.check(host, socket.remoteAddress ?? '');
          } catch (error) {
            fail(error);
          }
        });
      });
      outgoing.on('response', (incoming) => {
        readBody(incoming, responseBytesMax).then(
          ({ text, isCut }) =>
            resolve({
              status: incoming.statusCode as number,
              headers: plainHeaders(incoming),
              body: text,
              isCut,
              durationMs: Math.round(clock.elapsed() - sinceElapsed),
            }),
          fail,
        );
      });
      outgoing.end(body);
      try {
        return await promise;
      } finally {
        timer.cancel();
        signal?.removeEventListener('abort', abort);
        outgoing.destroy();
      }
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
    // Nothing is unpacked here: what a small answer grows to is its sender's choice.
    'accept-encoding': 'identity',
    ...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value])),
    host: url.host,
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  };
}

/** Values may be filled in from what others wrote: one with a line break would be the next header. */
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

async function readBody(
  incoming: IncomingMessage,
  bytesMax: number,
): Promise<{ text: string; isCut: boolean }> {
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
  return { text: Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8'), isCut };
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
