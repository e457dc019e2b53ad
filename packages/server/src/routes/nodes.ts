import type { NodeView } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { nodeSchema } from '../schemas/queue.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['nodes'];
// A node sends a heartbeat every 10 s. One that has missed a heartbeat and half of the next may be gone; after 40 s it is no longer listed.
const silentMs = 15_000;

const list = createRoute({
  method: 'get',
  path: '/api/nodes',
  operationId: 'listNodes',
  tags,
  summary: 'The live nodes, and what they run',
  ...secured('read', { tenant: 'refused' }),
  responses: { 200: json(listOf(nodeSchema), 'The nodes.'), ...problems },
});

const drain = createRoute({
  method: 'post',
  path: '/api/nodes/{id}/drain',
  operationId: 'drainNode',
  tags,
  summary: 'Ask a node to take no more work',
  ...secured('operate', { tenant: 'refused' }),
  request: { params: z.object({ id: z.string().min(1).max(200) }) },
  responses: {
    202: json(z.strictObject({ id: z.string() }), 'The node is notified with its next heartbeat.'),
    ...problems,
  },
});

/** `/api/nodes`. */
export function nodeRoutes({ duly, clock }: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();

  routes.openapi(list, async (c) => {
    const [nodes, { running }] = await Promise.all([duly.nodes(), duly.counts()]);
    const now = clock.now();
    const data = nodes.map((node) => {
      // By the store: what a node says of itself is as old as its last heartbeat.
      const own = running.filter((one) => one.node === node.id).map(({ type, count }) => ({ type, count }));
      return nodeJson(node, own, now);
    });
    return c.json(listJson(data), 200);
  });

  routes.openapi(drain, async (c) => {
    const { id } = c.req.valid('param');
    await duly.drainNode(id);
    return c.json({ id }, 202);
  });

  return routes;
}

function nodeJson(
  node: NodeView,
  running: { type: string; count: number }[],
  now: number,
): z.infer<typeof nodeSchema> {
  const { declares: _, ...shown } = node;
  return {
    ...(toSnakeCase(shown) as z.infer<typeof nodeSchema>),
    running: running.reduce((sum, { count }) => sum + count, 0),
    running_by_type: running,
    silent: now - node.heartbeatAt.getTime() > silentMs,
  };
}
