import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { callerOf, secured } from '../auth/secured.ts';
import { own } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { presentJob } from '../jobs/job-presenter.ts';
import { readJobPlace } from '../live/job-stream.ts';
import { sseResponse, sseType } from '../live/sse.ts';
import { jobPath, jobSchema } from '../schemas/job.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const read = createRoute({
  method: 'get',
  path: '/api/jobs/{id}/events',
  operationId: 'streamJobEvents',
  tags: ['following'],
  summary: 'Follow one job',
  description:
    'Server-sent events: a plain message with the job as `GET /api/jobs/{id}` shows it, now and whenever it changes; `log` for each line its handler logs; `end` when it is over, and then the stream ends. A client that comes back with `Last-Event-ID` receives what is new since; after the `end` it is answered 204, and an `EventSource` stops.',
  ...secured('read'),
  request: {
    params: jobPath,
    query: z.strictObject({
      logs: z
        .enum(['true', 'false'])
        .optional()
        .openapi({ description: 'Whether log lines are sent too. Default true.' }),
      last_event_id: z.string().max(100).optional().openapi({
        description: 'As the header `Last-Event-ID`, for clients that cannot send it.',
      }),
    }),
  },
  responses: {
    200: { description: 'The stream.', content: { [sseType]: { schema: jobSchema } } },
    204: { description: 'The end was sent, and nothing has happened since.' },
    ...problems,
  },
});

/** `/api/jobs/{id}/events`. */
export function jobEventRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { live, clock, options } = context;
  const routes = newRoutes();
  routes.openapi(read, async (c) => {
    const { caller } = c.var;
    const { signal } = c.req.raw;
    const { logs = 'true', last_event_id } = c.req.valid('query');
    const stream = await live.jobStream({
      actor: caller.actor,
      tenant: caller.tenant,
      id: c.req.valid('param').id,
      after: readJobPlace(c.req.header('last-event-id') ?? last_event_id),
      logs: logs === 'true',
      show: (job) => presentJob(context, caller, own(caller, job)),
    });
    if (stream === null) return c.body(null, 204);
    return sseResponse(stream, {
      clock,
      heartbeatMs: options.heartbeatMs,
      mayWatch: async () => (await callerOf(c)) !== null,
      signal,
    });
  });
  return routes;
}
