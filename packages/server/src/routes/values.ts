import { DulyError, isDulyError, parseDuration, parseInstant } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { body, duration, instant, json } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['values'];
const path = z.strictObject({ name: z.string().min(1).max(1_000), key: z.string().min(1).max(1_000) });
// Values belong to the store and not to a tenant.
const tenant = 'refused';

const expiry = {
  ttl: duration.optional().openapi({ description: 'How long it lives from now.', example: '15m' }),
  expires_at: z
    .string()
    .max(100)
    .optional()
    .openapi({ format: 'date-time', description: 'Its end, instead of `ttl`.' }),
};
const expiryMessage = 'expected either "ttl" or "expires_at"';
const hasOneEnd = (given: { ttl?: unknown; expires_at?: unknown }): boolean =>
  (given.ttl === undefined) !== (given.expires_at === undefined);

const valueSchema = z
  .strictObject({
    name: z.string(),
    key: z.string(),
    value: z.unknown(),
    expires_at: instant,
    ttl_ms: z.number().openapi({ description: 'The time that remains, by the clock of the store.' }),
  })
  .openapi('Value');

const put = createRoute({
  method: 'put',
  path: '/api/values/{name}/{key}',
  operationId: 'putValue',
  tags,
  summary: 'Store a value until its time',
  ...secured('run', { tenant }),
  request: {
    params: path,
    ...body(
      z
        .strictObject({ value: z.unknown().refine((value) => value !== undefined, 'is missing'), ...expiry })
        .refine(hasOneEnd, expiryMessage)
        .openapi('NewValue'),
    ),
  },
  responses: { 200: json(valueSchema, 'It is stored.'), ...problems },
});

const read = createRoute({
  method: 'get',
  path: '/api/values/{name}/{key}',
  operationId: 'getValue',
  tags,
  summary: 'Show a value and the time that remains',
  ...secured('read', { tenant }),
  request: { params: path },
  responses: { 200: json(valueSchema, 'The value.'), ...problems },
});

const extend = createRoute({
  method: 'patch',
  path: '/api/values/{name}/{key}',
  operationId: 'extendValue',
  tags,
  summary: 'Move the end of a value',
  ...secured('run', { tenant }),
  request: {
    params: path,
    ...body(z.strictObject(expiry).refine(hasOneEnd, expiryMessage).openapi('NewEnd')),
  },
  responses: { 200: json(valueSchema, 'Its end is moved, and its clean-up with it.'), ...problems },
});

const remove = createRoute({
  method: 'delete',
  path: '/api/values/{name}/{key}',
  operationId: 'deleteValue',
  tags,
  summary: 'Remove a value before its time',
  ...secured('run', { tenant }),
  request: { params: path },
  responses: { 204: { description: 'It is gone, and its clean-up cancelled.' }, ...problems },
});

/** `/api/values/{name}/{key}`. */
export function valueRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();

  async function shown({ name, key }: z.infer<typeof path>): Promise<z.infer<typeof valueSchema>> {
    const entry = await duly.expiring(name).entry(key);
    if (entry === null) throw notFound(name, key);
    return {
      name,
      key,
      value: entry.value,
      expires_at: entry.expiresAt.toISOString(),
      ttl_ms: entry.ttlMs,
    };
  }

  routes.openapi(put, async (c) => {
    const named = c.req.valid('param');
    const { value, ...end } = c.req.valid('json');
    const { expiresAt, ttlMs } = await duly
      .expiring(named.name)
      .put(named.key, value, expiryOf(end))
      .catch(renamed);
    return c.json({ ...named, value, expires_at: expiresAt.toISOString(), ttl_ms: ttlMs }, 200);
  });

  routes.openapi(read, async (c) => c.json(await shown(c.req.valid('param')), 200));

  routes.openapi(extend, async (c) => {
    const named = c.req.valid('param');
    const isThere = await duly
      .expiring(named.name)
      .extend(named.key, expiryOf(c.req.valid('json')))
      .catch(renamed);
    if (!isThere) throw notFound(named.name, named.key);
    return c.json(await shown(named), 200);
  });

  routes.openapi(remove, async (c) => {
    const { name, key } = c.req.valid('param');
    if (!(await duly.expiring(name).delete(key))) throw notFound(name, key);
    return c.body(null, 204);
  });

  return routes;
}

function expiryOf({
  ttl,
  expires_at,
}: {
  ttl?: string | number | undefined;
  expires_at?: string | undefined;
}) {
  // Read here, so that a refusal calls the field as the caller does.
  return expires_at === undefined
    ? { for: parseDuration(ttl as string | number, 'ttl', { minMs: 1 }) }
    : { at: parseInstant(expires_at, 'expires_at') };
}

/** An instant that is over is refused by the store's clock, under the library's name for the field. */
function renamed(error: unknown): never {
  if (!isDulyError(error, 'invalid_instant')) throw error;
  const { message, hint, details, cause } = error;
  throw new DulyError('invalid_instant', {
    message: message.replace('"at"', '"expires_at"'),
    ...(hint === undefined ? {} : { hint }),
    details: { ...details, field: 'expires_at' },
    cause,
  });
}

function notFound(name: string, key: string): DulyError {
  return new DulyError('value_not_found', {
    message: `There is no value "${key.slice(0, 100)}" of "${name.slice(0, 100)}", or its time is over.`,
    details: { name, key },
  });
}
