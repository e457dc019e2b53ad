import { DulyError } from '@duly/core';
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { callerOf, secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { serveSocket } from '../live/socket.ts';
import { refuseOtherOrigin } from '../request/cross-site.ts';
import { problems, refusal } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const open = createRoute({
  method: 'get',
  path: '/api/ws',
  operationId: 'openSocket',
  tags: ['following'],
  summary: 'Follow jobs over a WebSocket',
  description:
    'Send `{"watch": "a", "job": "job_…", "logs": true}` or `{"watch": "a", "filter": {"type": ["video_transcode"]}}`, with `"after"` to go on from the `id` of an event, and `{"unwatch": "a"}`. The server sends `{"watch": "a", "event": "job" | "log" | "end" | "change" | "gap" | "place" | "error", "id", "data"}`, with the data of the streams of the same names.',
  ...secured('read'),
  responses: {
    101: { description: 'The connection is a WebSocket from now on.' },
    426: refusal(426),
    ...problems,
  },
});

/** `/api/ws`. The adapter brings the socket; without one that can, following works by the other ways. */
export function socketRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();
  routes.openapi(open, (c) => {
    const { caller } = c.var;
    // A page of another site may open a WebSocket with this server's cookie, and read it.
    refuseOtherOrigin(c.req.raw.headers);
    const socket = c.env?.socket;
    if (socket === undefined) {
      c.header('Upgrade', 'websocket');
      throw new DulyError('upgrade_required', {
        message:
          'The request does not ask for a WebSocket, or this server was mounted without a way to give one.',
        hint: 'Open it with a WebSocket client, or follow by server-sent events: GET /api/events.',
      });
    }
    socket.accept = (opened) =>
      serveSocket(context, { socket: opened, caller, mayWatch: async () => (await callerOf(c)) !== null });
    return c.body(null, 204);
  });
  return routes;
}
