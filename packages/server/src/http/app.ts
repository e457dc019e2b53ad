import { DulyError } from '@duly/core';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { createDashboard } from '../dashboard/dashboard.ts';
import { refuseNul } from '../request/address.ts';
import { type AllowedMethods, createAllowedMethods, methodNotAllowed } from '../request/allowed-methods.ts';
import { refuseCrossSite } from '../request/cross-site.ts';
import { checkHost } from '../request/host.ts';
import { standardHeaders } from '../request/standard-headers.ts';
import { allRoutes } from '../routes/index.ts';
import { newRoutes } from '../routes/new-routes.ts';
import { addDocument } from '../routes/openapi.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import { answerProblem } from './problem.ts';

const standardEntries = Object.entries(standardHeaders);

/** Puts the application together: what holds for every request, then the routes. */
export function createApp(context: ServerContext): OpenAPIHono<ServerEnv> {
  const app = newRoutes(context.options.basePath);
  app.use('*', async (c, next) => {
    c.set('context', context);
    // Before the answer is made: a header that is added to a finished one makes it again, which costs more than everything else here.
    for (const [name, value] of standardEntries) c.header(name, value);
    await next();
    // What is not sent is let go of: a stream would be open for ever, and be one watcher more each time.
    if (c.req.method === 'HEAD') await c.res.body?.cancel();
  });
  app.use('*', measure(context));
  app.use('*', checkHost, refuseCrossSite, refuseNul);
  app.onError((error, c) => answerProblem(error, c));
  const dashboard = createDashboard(context.options);
  let allowedMethods: AllowedMethods | null = null;
  app.notFound(async (c) => {
    const page = await dashboard.answer(c);
    if (page !== null) return page;
    const { method, path } = c.req;
    allowedMethods ??= createAllowedMethods(app.routes);
    const allow = allowedMethods(path);
    if (allow.length > 0) {
      c.header('Allow', allow.join(', '));
      return answerProblem(methodNotAllowed(method, path, allow), c);
    }
    const missing = new DulyError('route_not_found', {
      message: `There is nothing at ${path.slice(0, 200)}.`,
      hint: 'GET /openapi.json lists what there is.',
    });
    return answerProblem(missing, c);
  });
  for (const routes of allRoutes) app.route('/', routes(context));
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key: duly_<id>_<secret>. Browsers that are signed in send a cookie instead.',
  });
  addDocument(app, context.options.basePath);
  return app;
}

/** Counts every answer under the pattern of its address; what has none is one. */
function measure({ clock, metrics }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const sinceElapsed = clock.elapsed();
    await next();
    const route = routePath(c, -1);
    metrics.request({
      method: c.req.method,
      route: route === '*' || route === '/*' ? 'none' : route,
      status: c.res.status,
      tookMs: clock.elapsed() - sinceElapsed,
    });
  };
}
