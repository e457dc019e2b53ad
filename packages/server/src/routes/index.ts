import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { alertRoutes } from './alerts.ts';
import { auditRoutes } from './audit.ts';
import { dayRoutes } from './day.ts';
import { deadRoutes } from './dead.ts';
import { eventRoutes } from './events.ts';
import { forecastRoutes } from './forecast.ts';
import { healthRoutes } from './health.ts';
import { jobEventRoutes } from './job-events.ts';
import { jobRoutes } from './jobs.ts';
import { keyRoutes } from './keys.ts';
import { lockRoutes } from './locks.ts';
import { metricRoutes } from './metrics.ts';
import { nodeRoutes } from './nodes.ts';
import { queueRoutes } from './queues.ts';
import { scheduleRoutes } from './schedules.ts';
import { sessionRoutes } from './session.ts';
import { socketRoutes } from './socket.ts';
import { statsRoutes } from './stats.ts';
import { taskRoutes } from './tasks.ts';
import { upcomingRoutes } from './upcoming.ts';
import { valueRoutes } from './values.ts';
import { webhookRoutes } from './webhooks.ts';
import { workerRoutes } from './worker.ts';

/** Every file of routes. Inside a file an address with a fixed word comes before one with a name in its place. */
export const allRoutes: readonly ((context: ServerContext) => OpenAPIHono<ServerEnv>)[] = [
  alertRoutes,
  auditRoutes,
  dayRoutes,
  deadRoutes,
  eventRoutes,
  forecastRoutes,
  upcomingRoutes,
  healthRoutes,
  jobEventRoutes,
  jobRoutes,
  keyRoutes,
  lockRoutes,
  metricRoutes,
  queueRoutes,
  scheduleRoutes,
  sessionRoutes,
  socketRoutes,
  statsRoutes,
  taskRoutes,
  valueRoutes,
  webhookRoutes,
  nodeRoutes,
  workerRoutes,
];
