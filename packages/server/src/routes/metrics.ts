import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const metrics = createRoute({
  method: 'get',
  path: '/metrics',
  operationId: 'getMetrics',
  tags: ['health'],
  summary: 'Metrics in the format of Prometheus',
  ...secured('read', { tenant: 'refused' }),
  responses: {
    200: { description: 'As text.', content: { 'text/plain': { schema: z.string() } } },
    ...problems,
  },
});

/** `/metrics`. */
export function metricRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(metrics, async (c) => {
    const { body, contentType } = await context.metrics.text();
    return c.body(body, 200, { 'Content-Type': contentType }) as never;
  });
}
