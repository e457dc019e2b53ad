import { DulyError, parseInstant } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { KeyInfo } from '../auth/keys.ts';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { body, json, listJson, listOf } from '../schemas/answers.ts';
import { createdKeySchema, keySchema, newKeySchema } from '../schemas/key.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['keys'];
const admin = secured('admin', { tenant: 'refused' });

const list = createRoute({
  method: 'get',
  path: '/api/keys',
  operationId: 'listKeys',
  tags,
  summary: 'List keys',
  ...admin,
  responses: { 200: json(listOf(keySchema), 'All keys, without their secrets.'), ...problems },
});

const create = createRoute({
  method: 'post',
  path: '/api/keys',
  operationId: 'createKey',
  tags,
  summary: 'Create a key',
  ...secured('admin', { tenant: 'refused', secrets: ['key'] }),
  request: body(newKeySchema),
  responses: { 201: json(createdKeySchema, 'The key; it is shown only here.'), ...problems },
});

const revoke = createRoute({
  method: 'delete',
  path: '/api/keys/{id}',
  operationId: 'revokeKey',
  tags,
  summary: 'Revoke a key',
  description:
    'At once on this server, within 5 s on others of the same store. Browsers that signed in with it are out, too.',
  ...admin,
  request: { params: z.object({ id: z.string().min(1).max(100) }) },
  responses: { 204: { description: 'It is no longer valid.' }, ...problems },
});

/** `/api/keys`. */
export function keyRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { keys, clock } = context;
  const routes = newRoutes();

  routes.openapi(list, async (c) => c.json(listJson((await keys.list()).map(keyJson)), 200));

  routes.openapi(create, async (c) => {
    const { scope, tenant, note, expires_at: expires } = c.req.valid('json');
    const expiresAt = expires === undefined ? null : parseInstant(expires, 'expires_at');
    if (expiresAt !== null && expiresAt <= clock.now()) {
      throw new DulyError('request_invalid', { message: 'Expected "expires_at" to be in the future.' });
    }
    const { key, ...created } = await keys.create({
      scope,
      tenant: tenant ?? null,
      note: note ?? null,
      expiresAt,
      by: c.var.caller.actor,
    });
    return c.json({ ...keyJson(created), key }, 201);
  });

  routes.openapi(revoke, async (c) => {
    await keys.revoke(c.req.valid('param').id);
    return c.body(null, 204);
  });

  return routes;
}

function keyJson(key: KeyInfo): z.infer<typeof keySchema> {
  return {
    id: key.id,
    scope: key.scope,
    tenant: key.tenant,
    note: key.note,
    created_at: new Date(key.createdAt).toISOString(),
    created_by: key.createdBy,
    expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
  };
}
