import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { callerOf, secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { sseResponse, sseType } from '../live/sse.ts';
import { changeSchema } from '../schemas/change.ts';
import { eventQuery, filterFor, readPlace } from '../schemas/event-filter.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const read = createRoute({
  method: 'get',
  path: '/api/events',
  operationId: 'streamEvents',
  tags: ['following'],
  summary: 'Follow the changes of all jobs that match',
  description:
    'Server-sent events: `change` for every change, in order, without gaps; `gap` where changes are missing that are past their retention. A client that comes back with `Last-Event-ID` goes on where it was cut off.',
  ...secured('read'),
  request: { query: eventQuery },
  responses: {
    200: { description: 'The stream.', content: { [sseType]: { schema: changeSchema } } },
    ...problems,
  },
});

/** `/api/events`. */
export function eventRoutes({ live, clock, options }: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();
  routes.openapi(read, (c) => {
    const { last_event_id, ...given } = c.req.valid('query');
    const after = readPlace(c.req.header('last-event-id') ?? last_event_id);
    const { caller } = c.var;
    const stream = live.eventStream({ actor: caller.actor, filter: filterFor(caller, given), after });
    return sseResponse(stream, {
      clock,
      heartbeatMs: options.heartbeatMs,
      mayWatch: async () => (await callerOf(c)) !== null,
      signal: c.req.raw.signal,
    });
  });
  return routes;
}
