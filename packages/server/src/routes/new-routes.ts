import { OpenAPIHono } from '@hono/zod-openapi';
import type { ServerEnv } from '../context.ts';
import { invalidRequest } from '../request/issues.ts';

/** The beginning of every file of routes: refuses what does not fit a schema in the one way. */
export function newRoutes(): OpenAPIHono<ServerEnv> {
  return new OpenAPIHono<ServerEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.target, result.error as never);
    },
  });
}
