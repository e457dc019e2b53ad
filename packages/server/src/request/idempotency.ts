import { createHash } from 'node:crypto';
import { DulyError } from '@duly/core';
import type { Context, MiddlewareHandler, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ServerEnv } from '../http/context.ts';

/** An answer as it is kept. */
interface StoredAnswer {
  /** Of the request, so that a key is not used for two things. */
  fingerprint: string;
  status: number;
  headers: Record<string, string>;
  /** null: it was too large to be kept. */
  body: string | null;
}

const keyHeader = 'idempotency-key';
const keyLengthMax = 255;
/** How long an answer is kept. */
export const storedFor = '24h';
const bodyLengthMax = 64 * 1024;
const storedHeaders = ['content-type', 'location', 'etag'];

/**
 * A request with an `Idempotency-Key` is done once: a caller who sends it again within 24 hours gets the first answer, marked
 * `Idempotency-Replayed: true`. Answers of 500 and above are not stored. Callers that come at the same time wait for the first. Fields of the
 * answer that hold a secret (`secrets`) are stored, and answered again, as null.
 */
export function idempotent(secrets: readonly string[] = []): MiddlewareHandler<ServerEnv> {
  return (c, next) => answerOnce(c, next, secrets);
}

async function answerOnce(
  c: Context<ServerEnv>,
  next: Next,
  secrets: readonly string[],
): Promise<Response | undefined> {
  const key = c.req.header(keyHeader);
  if (key === undefined || c.req.method === 'GET' || c.req.method === 'HEAD') {
    await next();
    return undefined;
  }
  if (key === '' || key.length > keyLengthMax) {
    throw new DulyError('request_invalid', {
      message: `Expected "Idempotency-Key" to have 1 to ${keyLengthMax} characters.`,
      details: { issues: [{ in: 'headers', path: keyHeader, message: 'is of the wrong length' }] },
    });
  }
  const fingerprint = hash(c.req.method, c.req.path, new URL(c.req.url).search, await bodyOf(c));
  let isFirst = false;
  const { duly } = c.get('context');
  const { actor, tenant } = c.get('caller');
  // With `authorize` an actor may stand for several tenants.
  const name = hash(actor, JSON.stringify(tenant), key);
  const stored = await duly
    .once(`http:${name}`, { for: storedFor }, async () => {
      isFirst = true;
      // Known before the job is made: should the process end before the answer is kept, the next try makes the same job.
      if (c.req.method === 'POST' && c.req.path === '/api/jobs') {
        const created = `http-job:${hash(name, fingerprint)}`;
        c.set('jobId', await duly.once(created, { for: storedFor }, () => duly.newJobId()));
      }
      await next();
      if (c.res.status >= 500) throw unanswered;
      return keep(c.res, fingerprint, secrets);
    })
    .catch((error: unknown) => {
      if (error !== unanswered) throw error;
      return null;
    });
  if (isFirst || stored === null) return undefined;
  if (stored.fingerprint !== fingerprint) {
    throw new DulyError('idempotency_conflict', {
      message: 'The Idempotency-Key was used before for another request.',
      hint: 'Use a new key for each thing that is to be done once.',
    });
  }
  return c.body(stored.body ?? '', stored.status as ContentfulStatusCode, {
    ...stored.headers,
    'Idempotency-Replayed': 'true',
  });
}

// Thrown so that an answer is not kept; never seen outside.
const unanswered = new DulyError('internal', { message: 'The answer is not stored.' });

async function keep(
  response: Response,
  fingerprint: string,
  secrets: readonly string[],
): Promise<StoredAnswer> {
  const body = withoutSecrets(await response.clone().text(), response.status < 300 ? secrets : []);
  const headers = storedHeaders.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return {
    fingerprint,
    status: response.status,
    headers: Object.fromEntries(headers),
    body: body.length > bodyLengthMax ? null : body,
  };
}

function withoutSecrets(text: string, fields: readonly string[]): string {
  if (fields.length === 0) return text;
  const hidden = Object.fromEntries(fields.map((field) => [field, null]));
  return JSON.stringify({ ...(JSON.parse(text) as object), ...hidden });
}

async function bodyOf(c: Context): Promise<string> {
  return (await c.req.bodyCache.text) ?? '';
}

function hash(...parts: string[]): string {
  const sum = createHash('sha256');
  // Lengths between the parts, so that "ab" and "c" are not "a" and "bc".
  for (const part of parts) sum.update(`${part.length}:${part}`);
  return sum.digest('hex');
}
