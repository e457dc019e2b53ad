import { type Duration, parseDuration } from '@duly/core';
import { createRoute, type OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { secured } from '../auth/secured.ts';
import { sees, tenantFor } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { checkTargetUrl } from '../outgoing/target-url.ts';
import { body, json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import {
  createdWebhookSchema,
  newWebhookSchema,
  rotatedSchema,
  rotateSchema,
  secretsQuery,
  secretsSchema,
  webhookChangeSchema,
  webhookPath,
  webhookSchema,
} from '../schemas/webhook.ts';
import { type Endpoint, notFound } from '../webhooks/endpoints.ts';
import type { SecretOwner } from '../webhooks/signing.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['webhooks'];
const overlapDefault = '1 day';
const nothing = { 204: { description: 'It is done.' } };

const list = createRoute({
  method: 'get',
  path: '/api/webhooks',
  operationId: 'listWebhooks',
  tags,
  summary: 'List webhooks',
  ...secured('admin'),
  responses: { 200: json(listOf(webhookSchema), 'All of them.'), ...problems },
});

const create = createRoute({
  method: 'post',
  path: '/api/webhooks',
  operationId: 'createWebhook',
  tags,
  summary: 'Create a webhook: a URL that is notified when jobs end',
  ...secured('admin', { secrets: ['secret'] }),
  request: body(newWebhookSchema),
  responses: { 201: json(createdWebhookSchema, 'It was created.'), ...problems },
});

const readSecrets = createRoute({
  method: 'get',
  path: '/api/webhooks/secrets',
  operationId: 'getSigningSecrets',
  tags,
  summary: 'Show the secrets that sign callbacks, or HTTP targets',
  ...secured('admin'),
  request: { query: secretsQuery },
  responses: {
    200: json(secretsSchema, 'Of the tenant of the key, or of jobs without a tenant.'),
    ...problems,
  },
});

const rotateSecrets = createRoute({
  method: 'post',
  path: '/api/webhooks/secrets/rotate',
  operationId: 'rotateSigningSecrets',
  tags,
  summary: 'Sign callbacks, or HTTP targets, with a new secret',
  ...secured('admin', { secrets: ['secrets'] }),
  request: { query: secretsQuery, ...body(rotateSchema, { required: false }) },
  responses: { 200: json(rotatedSchema, 'The new one, and the one before for a while.'), ...problems },
});

const read = createRoute({
  method: 'get',
  path: '/api/webhooks/{id}',
  operationId: 'getWebhook',
  tags,
  summary: 'Show a webhook',
  ...secured('admin'),
  request: { params: webhookPath },
  responses: { 200: json(webhookSchema, 'The webhook.'), ...problems },
});

const change = createRoute({
  method: 'patch',
  path: '/api/webhooks/{id}',
  operationId: 'updateWebhook',
  tags,
  summary: 'Change a webhook, or enable it again',
  ...secured('admin'),
  request: { params: webhookPath, ...body(webhookChangeSchema) },
  responses: { 200: json(webhookSchema, 'As it is now.'), ...problems },
});

const remove = createRoute({
  method: 'delete',
  path: '/api/webhooks/{id}',
  operationId: 'deleteWebhook',
  tags,
  summary: 'Delete a webhook',
  ...secured('admin'),
  request: { params: webhookPath },
  responses: { ...nothing, ...problems },
});

const secretsOfOne = createRoute({
  method: 'get',
  path: '/api/webhooks/{id}/secrets',
  operationId: 'getWebhookSecrets',
  tags,
  summary: 'Show the secrets of a webhook',
  ...secured('admin'),
  request: { params: webhookPath },
  responses: { 200: json(secretsSchema, 'Those in use.'), ...problems },
});

const rotate = createRoute({
  method: 'post',
  path: '/api/webhooks/{id}/rotate',
  operationId: 'rotateWebhookSecrets',
  tags,
  summary: 'Sign with a new secret, and with the one before for a while',
  ...secured('admin', { secrets: ['secrets'] }),
  request: { params: webhookPath, ...body(rotateSchema, { required: false }) },
  responses: { 200: json(rotatedSchema, 'The new one, and the one before for a while.'), ...problems },
});

/** `/api/webhooks` and what is below it. */
export function webhookRoutes({ builtIn, clock }: ServerContext): OpenAPIHono<ServerEnv> {
  const { endpoints, secrets, allowed } = builtIn;
  const routes = newRoutes();

  /** The endpoint, if it is the caller's. */
  async function own(caller: Caller, id: string): Promise<Endpoint> {
    const endpoint = await endpoints.get(id);
    if (!sees(caller, endpoint.tenant)) throw notFound(id);
    return endpoint;
  }

  async function rotated(owner: SecretOwner, overlap: Duration | undefined): Promise<{ secrets: string[] }> {
    await secrets.rotate(owner, parseDuration(overlap ?? overlapDefault, 'overlap'));
    return { secrets: await secrets.secretsOf(owner) };
  }

  routes.openapi(list, async (c) => {
    const all = await endpoints.list();
    return c.json(listJson(all.filter((one) => sees(c.var.caller, one.tenant)).map(toJson)), 200);
  });

  routes.openapi(create, async (c) => {
    const { caller } = c.var;
    const given = c.req.valid('json');
    checkTargetUrl(given.url, allowed);
    const endpoint = await endpoints.create({
      url: given.url,
      note: given.note ?? null,
      tenant: tenantFor(caller, given.tenant),
      types: given.types ?? null,
      schedules: given.schedules ?? null,
      statuses: given.statuses ?? null,
      isEnabled: given.enabled ?? true,
      disabledReason: null,
      createdAt: clock.now(),
      createdBy: caller.actor,
    });
    const [secret] = await secrets.secretsOf({ endpoint: endpoint.id });
    return c.json({ ...toJson(endpoint), secret: secret as string }, 201);
  });

  routes.openapi(readSecrets, async (c) =>
    c.json({ secrets: await secrets.secretsOf(ownerFor(c.var.caller, c.req.valid('query'))) }, 200),
  );

  routes.openapi(rotateSecrets, async (c) =>
    c.json(await rotated(ownerFor(c.var.caller, c.req.valid('query')), c.req.valid('json')?.overlap), 200),
  );

  routes.openapi(read, async (c) => c.json(toJson(await own(c.var.caller, c.req.valid('param').id)), 200));

  routes.openapi(change, async (c) => {
    const { id } = c.req.valid('param');
    const { url, note, types, schedules, statuses, enabled } = c.req.valid('json');
    await own(c.var.caller, id);
    if (url !== undefined) checkTargetUrl(url, allowed);
    const changed = await endpoints.change(id, (value) => ({
      ...value,
      ...(url === undefined ? {} : { url }),
      ...(note === undefined ? {} : { note }),
      ...(types === undefined ? {} : { types }),
      ...(schedules === undefined ? {} : { schedules }),
      ...(statuses === undefined ? {} : { statuses }),
      // Whoever says how it is to be has seen why it was so.
      ...(enabled === undefined ? {} : { isEnabled: enabled, disabledReason: null }),
    }));
    return c.json(toJson(changed), 200);
  });

  routes.openapi(remove, async (c) => {
    const { id } = c.req.valid('param');
    await own(c.var.caller, id);
    await endpoints.delete(id);
    return c.body(null, 204);
  });

  routes.openapi(secretsOfOne, async (c) => {
    const { id } = await own(c.var.caller, c.req.valid('param').id);
    return c.json({ secrets: await secrets.secretsOf({ endpoint: id }) }, 200);
  });

  routes.openapi(rotate, async (c) => {
    const { id } = await own(c.var.caller, c.req.valid('param').id);
    return c.json(await rotated({ endpoint: id }, c.req.valid('json')?.overlap), 200);
  });

  return routes;
}

function ownerFor({ tenant }: Caller, query: z.infer<typeof secretsQuery>): SecretOwner {
  return query.for === 'targets' ? { targetsOf: tenant } : { tenant };
}

function toJson(endpoint: Endpoint): z.infer<typeof webhookSchema> {
  const { id, url, note, tenant, types, schedules, statuses, isEnabled, disabledReason } = endpoint;
  return {
    id,
    url,
    note,
    tenant,
    types: types === null ? null : [...types],
    schedules: schedules === null ? null : [...schedules],
    statuses: statuses === null ? null : [...statuses],
    enabled: isEnabled,
    disabled_reason: disabledReason,
    created_at: new Date(endpoint.createdAt).toISOString(),
    created_by: endpoint.createdBy,
  };
}
