import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { ServerContext, ServerEnv } from '../context.ts';
import { json } from '../schemas/answers.ts';
import { newRoutes } from './new-routes.ts';

const livez = createRoute({
  method: 'get',
  path: '/livez',
  tags: ['health'],
  summary: 'Whether the process answers; needs no key',
  responses: { 200: json(z.strictObject({ status: z.literal('ok') }), 'It does.') },
});

/** `/livez`. */
export function healthRoutes(_context: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(livez, (c) => c.json({ status: 'ok' as const }, 200));
}
