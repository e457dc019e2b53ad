import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { DulyError } from '@duly/core';
import type { Context, MiddlewareHandler } from 'hono';
import type { ServerEnv } from '../http/context.ts';

// Far beyond what programs write, and far below what makes a walk through it costly.
const depthMax = 64;
// What is too large is read to its end and dropped: a client that says `Connection: close` and only listens once it has said everything would
// find a closed connection instead of the answer. Beyond this it may.
const dropBytesMax = 16 * 1024 * 1024;

/** Under this name the node adapter hands over the request whose body nobody else reads. */
export const directBody: unique symbol = Symbol('body');

/** Reads the body once, before anything looks at it: its type, its size, its depth, and names that must not be there. */
export const readBody: MiddlewareHandler<ServerEnv> = async (c, next) => {
  const { method } = c.req;
  if (method !== 'GET' && method !== 'HEAD') {
    const text = await readText(c, c.get('context').options.bodyBytesMax);
    const type = c.req.header('content-type');
    if (text !== '') {
      refuseOtherTypes(type);
      c.req.bodyCache.json = Promise.resolve(parseBody(text));
    } else if (!isJsonType(type)) {
      // Without a body there is nothing that could be of another type: `curl -d ''` names forms. A stream that was read is a body to the framework,
      // and mounts make a stream of nothing too.
      c.req.raw = withoutBody(c.req.raw);
    }
    // Clients name the type out of habit, also where they send nothing.
    c.req.bodyCache.text = Promise.resolve(text === '' ? '{}' : text) as never;
  }
  await next();
};

function withoutBody({ url, method, headers: given, signal }: Request): Request {
  const headers = new Headers(given);
  headers.delete('content-type');
  return new Request(url, { method, headers, signal });
}

function isJsonType(type: string | undefined): boolean {
  return type !== undefined && /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

/** Refuses a body that is no JSON by its type. */
export function refuseOtherTypes(type: string | undefined): void {
  if (isJsonType(type)) return;
  throw new DulyError('content_type_unsupported', {
    message: type === undefined ? 'The body has no type.' : `The body is of type "${type.slice(0, 100)}".`,
    hint: 'Send JSON with "Content-Type: application/json".',
  });
}

async function readText(c: Context, maxBytes: number): Promise<string> {
  const stated = Number(c.req.header('content-length') ?? 0);
  if (stated > maxBytes + dropBytesMax) throw tooLarge(maxBytes);
  const incoming = (c.env as { [directBody]?: IncomingMessage } | undefined)?.[directBody];
  if (incoming !== undefined) return readIncoming(incoming, maxBytes);
  const { body, bodyUsed } = c.req.raw;
  if (bodyUsed) throw readBefore(stated);
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Not what was stated but what came: a length may be left out, or be a lie.
    if (bytes > maxBytes + dropBytesMax) throw tooLarge(maxBytes);
    if (bytes <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  if (bytes === 0 && stated > 0) throw readBefore(stated);
  return textOf(Buffer.concat(chunks));
}

/** JSON is UTF-8; anything else would be kept with its letters replaced. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new DulyError('body_invalid', { message: 'The body is not UTF-8.', hint: 'Send JSON in UTF-8.' });
}

/** Reads the body of a request of Node's own server, of at most so many bytes. */
export function readIncoming(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (): void => {
      incoming.off('data', take).off('end', end).off('error', fail).off('close', cut);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else if (bytes <= maxBytes + dropBytesMax) chunks.length = 0;
      else fail(tooLarge(maxBytes));
    };
    const end = (): void => {
      stop();
      try {
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        resolve(textOf(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    };
    const fail = (error: Error): void => {
      stop();
      incoming.pause();
      reject(error);
    };
    // Nobody reads the answer any more, but nobody should wait for the body either.
    const cut = (): void => fail(new DulyError('body_invalid', { message: 'The body was cut off.' }));
    incoming.on('data', take).on('end', end).on('error', fail).on('close', cut);
  });
}

/** Where Duly is mounted behind a parser of bodies, nothing is left of one; taken for empty it would be refused for what it lacks. */
function readBefore(bytes: number): DulyError {
  return new DulyError('body_invalid', {
    message: `The body of ${bytes === 0 ? 'the request' : `${bytes} bytes`} was read before it came to Duly.`,
    hint: 'Mount Duly before whatever reads bodies, as "express.json()" does.',
  });
}

function tooLarge(maxBytes: number): DulyError {
  return new DulyError('body_too_large', {
    message: `The body is larger than ${maxBytes} bytes.`,
    hint: 'Store large data elsewhere and send a reference.',
    details: { maxBytes },
  });
}

/** The JSON of a body. Refuses what is none, what is nested too deeply, and `__proto__`. */
export function parseBody(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new DulyError('body_invalid', { message: 'The body is not JSON.' });
  }
  refuseOdd(value);
  return value;
}

/** Refuses what is nested too deeply, and `__proto__`, which careless code of others takes for more than a field. */
function refuseOdd(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= depthMax) {
      throw new DulyError('body_invalid', {
        message: `The body is nested more than ${depthMax} levels deep.`,
        details: { depthMax },
      });
    }
    const below: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (Object.hasOwn(one, '__proto__')) {
        throw new DulyError('body_invalid', { message: 'The body has a field named "__proto__".' });
      }
      for (const inner of Object.values(one))
        if (typeof inner === 'object' && inner !== null) below.push(inner);
    }
    level = below;
  }
}
