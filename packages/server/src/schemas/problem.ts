import { type RouteConfig, z } from '@hono/zod-openapi';

/** An error, as every route may answer. */
export const problemSchema = z
  .strictObject({
    type: z.string().openapi({ example: 'urn:duly:error:job_not_found' }),
    title: z.string(),
    status: z.int(),
    code: z.string().openapi({ description: 'Stable; docs/reference/errors.md explains each.' }),
    detail: z.string(),
    hint: z.string().optional(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .openapi('Problem');

const refusals = {
  400: 'The request does not fit this route.',
  401: 'The request carries no key, or one that is not valid.',
  403: 'The key may not do this, or a page of another site asked for it.',
  404: 'There is no such thing, or it is of another tenant.',
  409: 'Its state does not allow this now.',
  410: 'The job was here and is past its retention.',
  413: 'The body, or what it asks for, is too large.',
  415: 'The body is not JSON.',
  421: 'The host in the request is not known to be this server.',
  422: 'The request is understood and cannot be carried out.',
  426: 'The request does not ask for a WebSocket.',
  429: 'The key has sent too many requests: wait as long as "Retry-After" says.',
} as const;

/** A refusal with this status, for `responses`. */
export function refusal(status: keyof typeof refusals) {
  return {
    description: refusals[status],
    content: { 'application/problem+json': { schema: problemSchema } },
  };
}

/** The refusals that follow from what a route is: whether it needs a key, has a name in its path, takes a body. */
export function refusalsOf({ path, method, security }: RouteConfig): RouteConfig['responses'] {
  const isOpen = security?.length === 0;
  const changes = method !== 'get';
  const statuses = [
    400,
    421,
    ...(isOpen ? [] : [401, 403, 429]),
    // What a change refers to may be gone, even if its path has no name: a schedule that is being put, for instance.
    ...(path.includes('{') || (changes && !isOpen) ? [404] : []),
    ...(path.startsWith('/api/jobs/{') ? [410] : []),
    // A body is read wherever something changes, and an `Idempotency-Key` may have been used before (422).
    ...(changes && !isOpen ? [409, 413, 415, 422] : []),
    ...(changes && isOpen ? [403] : []),
  ] as (keyof typeof refusals)[];
  return Object.fromEntries(statuses.map((status) => [status, refusal(status)]));
}

/** What every route may answer beside its own. Spread it into `responses`. */
export const problems = {
  default: {
    description: 'What went wrong.',
    content: { 'application/problem+json': { schema: problemSchema } },
  },
} as const;
