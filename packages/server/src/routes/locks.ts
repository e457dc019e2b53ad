import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { waitField, waitMs } from '../request/wait.ts';
import { body, cursor, duration, instant, json, limit, listJson, listOf, name } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['locks'];
const path = z.strictObject({ name: z.string().min(1).max(1_000) });
// Locks belong to the store and not to a tenant.
const run = secured('run', { tenant: 'refused' });
const fence = z.int().min(0).openapi({ description: 'The fence that `acquire` gave.' });
const ttl = duration
  .optional()
  .openapi({ description: 'How long it is held without renewal. Default 5 minutes.' });
const until = {
  until: instant,
  ttl_ms: z.number().openapi({ description: 'The time that remains, by the clock of the store.' }),
};

const holderSchema = z.strictObject({ host: z.string(), pid: z.int(), node: z.string() });

const acquiredSchema = z
  .strictObject({ acquired: z.literal(true), name: z.string(), fence, ...until })
  .openapi('AcquiredLock');
const takenSchema = z
  .strictObject({
    acquired: z.literal(false),
    name: z.string(),
    holder: holderSchema,
    ...until,
  })
  .openapi('TakenLock');

const lockSchema = z
  .strictObject({
    kind: z.enum(['lock', 'leader', 'once']).openapi({
      description:
        '`lock`: of `duly.lock` and of this API. `leader`: of `duly.leader`. `once`: of `duly.once`.',
    }),
    name: z.string(),
    fence: z.int(),
    holder: holderSchema,
    ...until,
  })
  .openapi('Lock');

const list = createRoute({
  method: 'get',
  path: '/api/locks',
  operationId: 'listLocks',
  tags,
  summary: 'Who holds which locks now, by kind and name',
  ...secured('read', { tenant: 'refused' }),
  request: {
    query: z.strictObject({
      kind: z.enum(['lock', 'leader', 'once']).optional(),
      prefix: z.string().max(1_000).optional().openapi({ description: 'Only those whose names begin so.' }),
      limit,
      cursor,
    }),
  },
  responses: { 200: json(listOf(lockSchema), 'A page of the locks that are held.'), ...problems },
});

const acquire = createRoute({
  method: 'post',
  path: '/api/locks/{name}/acquire',
  operationId: 'acquireLock',
  tags,
  summary: 'Take a lock if it is free',
  description:
    'The same locks as `duly.lock` of the library. Renew it at a third of its `ttl`, and give it back; the fence grows from holder to holder: guard writes elsewhere with it.',
  ...run,
  request: {
    params: path,
    ...body(
      z
        .strictObject({
          ttl,
          wait: waitField('it'),
          holder: name
            .optional()
            .openapi({ description: 'Who takes it, for those who ask. Left out: the key.' }),
          host: name.optional(),
          pid: z.int().min(0).optional(),
          token: name.optional().openapi({
            description:
              'Created by the caller. After an answer that was lost, the same token is given the same lock.',
          }),
        })
        .openapi('AcquireLock'),
      { required: false },
    ),
  },
  responses: {
    200: json(acquiredSchema, 'It is yours.'),
    409: json(takenSchema, 'Somebody else has it.'),
    ...problems,
  },
});

const renew = createRoute({
  method: 'post',
  path: '/api/locks/{name}/renew',
  operationId: 'renewLock',
  tags,
  summary: 'Hold a lock for longer',
  ...run,
  request: { params: path, ...body(z.strictObject({ fence, ttl }).openapi('RenewLock')) },
  responses: {
    200: json(
      z.strictObject({ name: z.string(), fence, ...until }).openapi('RenewedLock'),
      'It is still yours.',
    ),
    ...problems,
  },
});

const release = createRoute({
  method: 'post',
  path: '/api/locks/{name}/release',
  operationId: 'releaseLock',
  tags,
  summary: 'Give a lock back',
  ...run,
  request: { params: path, ...body(z.strictObject({ fence }).openapi('ReleaseLock')) },
  responses: { 204: { description: 'It is free.' }, ...problems },
});

/** `/api/locks`, and `/api/locks/{name}/acquire`, `renew` and `release`. */
export function lockRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();

  routes.openapi(list, async (c) => {
    const { kind, prefix, limit: size = 100, cursor: from = null } = c.req.valid('query');
    const page = await duly.locks.list({
      ...(kind === undefined ? {} : { kind }),
      ...(prefix === undefined ? {} : { prefix }),
      ...{ limit: size, cursor: from },
    });
    const data = page.locks.map(({ until: end, ttlMs, ...lock }) => ({
      ...lock,
      until: end.toISOString(),
      ttl_ms: ttlMs,
    }));
    return c.json(listJson(data, page.nextCursor), 200);
  });

  routes.openapi(acquire, async (c) => {
    const { name: of } = c.req.valid('param');
    const given = c.req.valid('json') ?? {};
    const lock = await duly.locks.acquire(of, {
      wait: waitMs(given.wait),
      holder: { host: given.host ?? 'http', pid: given.pid ?? 0, node: given.holder ?? c.var.caller.actor },
      signal: c.req.raw.signal,
      ...(given.ttl === undefined ? {} : { ttl: given.ttl }),
      ...(given.token === undefined ? {} : { token: given.token }),
    });
    const times = { until: lock.until.toISOString(), ttl_ms: lock.ttlMs };
    if (!lock.acquired)
      return c.json({ acquired: false as const, name: of, holder: lock.holder, ...times }, 409);
    return c.json({ acquired: true as const, name: of, fence: lock.fence, ...times }, 200);
  });

  routes.openapi(renew, async (c) => {
    const { name: of } = c.req.valid('param');
    const given = c.req.valid('json');
    const renewed = await duly.locks.renew(
      of,
      given.fence,
      given.ttl === undefined ? {} : { ttl: given.ttl },
    );
    return c.json(
      { name: of, fence: given.fence, until: renewed.until.toISOString(), ttl_ms: renewed.ttlMs },
      200,
    );
  });

  routes.openapi(release, async (c) => {
    await duly.locks.release(c.req.valid('param').name, c.req.valid('json').fence);
    return c.body(null, 204);
  });

  return routes;
}
