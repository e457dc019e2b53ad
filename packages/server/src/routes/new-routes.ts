import { OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import { getPath } from 'hono/utils/url';
import type { ServerEnv } from '../http/context.ts';
import { invalidRequest } from '../request/issues.ts';
import { refusalsOf } from '../schemas/problem.ts';

/**
 * The beginning of every file of routes: refuses what does not fit a schema in the one way. The application itself says where it is
 * mounted, and reads addresses as if it stood at the root.
 */
export function newRoutes(basePath = ''): OpenAPIHono<ServerEnv> {
  const routes = new OpenAPIHono<ServerEnv>({
    ...(basePath === '' ? {} : { getPath: (request: Request) => below(getPath(request), basePath) }),
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.target, result.error as never);
    },
  });
  const add = routes.openapi;
  const addStrictly = (route: RouteConfig, ...rest: unknown[]) =>
    add(withRefusals(strict(route)) as never, ...(rest as [never]));
  routes.openapi = addStrictly as unknown as typeof add;
  return routes;
}

/** A route of the API that takes no query refuses every one: `GET /api/keys?tenant=a` must not look like a filter. */
function strict(route: RouteConfig): RouteConfig {
  if (route.request?.query !== undefined || !route.path.startsWith('/api/')) return route;
  return { ...route, request: { ...route.request, query: noQuery } };
}

/** Documents what a route refuses by its nature; what it says of a status itself counts. */
function withRefusals(route: RouteConfig): RouteConfig {
  return { ...route, responses: { ...refusalsOf(route), ...route.responses } };
}

const noQuery = z.strictObject({});

/** A path without where the server is mounted; one that does not have it came through a mount that took it off already. */
function below(path: string, basePath: string): string {
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return path;
  return path.slice(basePath.length) || '/';
}
