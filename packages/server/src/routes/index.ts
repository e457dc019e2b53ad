import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ServerContext, ServerEnv } from '../context.ts';
import { healthRoutes } from './health.ts';
import { jobRoutes } from './jobs.ts';

/** Every file of routes. An address with a fixed word must come before one with a name in its place. */
export const allRoutes: readonly ((context: ServerContext) => OpenAPIHono<ServerEnv>)[] = [
  healthRoutes,
  jobRoutes,
];
