import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ServerContext, ServerEnv } from '../context.ts';
import { eventRoutes } from './events.ts';
import { healthRoutes } from './health.ts';
import { jobEventRoutes } from './job-events.ts';
import { jobRoutes } from './jobs.ts';
import { socketRoutes } from './socket.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every file of routes. An address with a fixed word must come before one with a name in its place. */
export const allRoutes: readonly ((context: ServerContext) => OpenAPIHono<ServerEnv>)[] = [
  eventRoutes,
  healthRoutes,
  jobEventRoutes,
  jobRoutes,
  socketRoutes,
  webhookRoutes,
];
