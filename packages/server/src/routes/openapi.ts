import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerEnv } from '../http/context.ts';
import { json } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';

const route = createRoute({
  method: 'get',
  path: '/openapi.json',
  operationId: 'getOpenApi',
  tags: ['openapi'],
  summary: 'This document',
  ...secured('read'),
  responses: { 200: json(z.looseObject({ openapi: z.string() }), 'OpenAPI 3.1.'), ...problems },
});

/** The OpenAPI 3.1 document of all routes that were added so far. */
export function documentOf(
  app: OpenAPIHono<ServerEnv>,
  basePath: string,
): Record<string, unknown> & { openapi: string } {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Duly',
      version: '1',
      description: 'Durable jobs and schedules. Errors are application/problem+json with stable codes.',
      // The type of the library is that of OpenAPI 3.0, which has no `identifier`.
      license: { name: 'MIT', identifier: 'MIT' } as { name: string },
    },
    servers: [{ url: basePath || '/' }],
  }) as never;
}

/** Adds `/openapi.json`, which tells of all routes, itself among them. Made once, when it is first asked for. */
export function addDocument(app: OpenAPIHono<ServerEnv>, basePath: string): void {
  let document: ReturnType<typeof documentOf> | null = null;
  app.openapi(route, (c) => {
    document ??= documentOf(app, basePath);
    return c.json(document, 200);
  });
}
