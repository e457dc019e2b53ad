import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { secured, unsecured } from '../auth/secured.ts';
import { type Readiness, readReadiness, storePatienceMs, unready } from '../health/readiness.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { json } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const readinessSchema = z
  .strictObject({
    status: z.enum(['ready', 'not_ready']),
    reasons: z.array(z.string()),
    store_ms: z
      .number()
      .nullable()
      .openapi({ description: 'How long the store took to answer; null: it did not.' }),
    nodes: z.array(
      z.strictObject({ id: z.string(), heartbeat_age_ms: z.number(), not_ready: z.string().nullable() }),
    ),
  })
  .openapi('Readiness');

const livez = createRoute({
  method: 'get',
  path: '/livez',
  operationId: 'getLiveness',
  tags: ['health'],
  summary: 'Whether the process answers; needs no key',
  ...unsecured,
  responses: { 200: json(z.strictObject({ status: z.literal('ok') }), 'It does.') },
});

/** A store that stands still keeps the key from being read too: then the answer is that it does. */
const answerInTime: MiddlewareHandler<ServerEnv> = (c, next) => {
  const { clock } = c.var.context;
  const over = new AbortController();
  // A little more than the store is given below, where there is more to say.
  const late = clock.sleep(storePatienceMs + 500, over.signal).then(() => {
    if (over.signal.aborted) return;
    return c.json(toJson(unready('The store has not answered; not even the key could be read.')), 503);
  });
  return Promise.race([next().finally(() => over.abort()), late]);
};

const guarded = secured('read', { tenant: 'refused' });
const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  tags: ['health'],
  summary: 'Whether the store answers and the loops of this process move',
  ...guarded,
  middleware: [answerInTime, ...guarded.middleware],
  responses: {
    200: json(readinessSchema, 'It can do its work.'),
    503: json(readinessSchema, 'It cannot, and why.'),
    ...problems,
  },
});

/** `/livez` and `/readyz`. */
export function healthRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();
  routes.openapi(livez, (c) => c.json({ status: 'ok' as const }, 200));
  routes.openapi(readyz, async (c) => {
    const readiness = await readReadiness(context);
    return c.json(toJson(readiness), readiness.ready ? 200 : 503);
  });
  return routes;
}

function toJson({ ready, reasons, storeMs, nodes }: Readiness): z.infer<typeof readinessSchema> {
  return {
    status: ready ? 'ready' : 'not_ready',
    reasons,
    store_ms: storeMs,
    nodes: nodes.map(({ id, heartbeatAgeMs, notReady }) => ({
      id,
      heartbeat_age_ms: heartbeatAgeMs,
      not_ready: notReady,
    })),
  };
}
