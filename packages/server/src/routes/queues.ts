import { DulyError, type Pause, type PauseTarget, type QueueLane } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { body, json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { pauseFields, pauseSchema, pauseTargetFields, queuesSchema } from '../schemas/queue.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['queues'];
const read = secured('read', { tenant: 'refused' });
const operate = secured('operate', { tenant: 'refused' });
const path = z.object({ name: z.string().min(1).max(200) });

const list = createRoute({
  method: 'get',
  path: '/api/queues',
  operationId: 'listQueues',
  tags,
  summary: 'What is ready in which queue, and how many jobs are in each status',
  ...read,
  responses: { 200: json(queuesSchema, 'The queues; each count stops at 10,000 and says so.'), ...problems },
});

const pauseQueue = createRoute({
  method: 'post',
  path: '/api/queues/{name}/pause',
  operationId: 'pauseQueue',
  tags,
  summary: 'Stop starting jobs of a queue; they are still accepted',
  ...operate,
  request: { params: path, ...body(z.strictObject(pauseFields), { required: false }) },
  responses: { 200: json(pauseSchema, 'The pause.'), ...problems },
});

const resumeQueue = createRoute({
  method: 'post',
  path: '/api/queues/{name}/resume',
  operationId: 'resumeQueue',
  tags,
  summary: 'End the pause of a queue',
  ...operate,
  request: { params: path },
  responses: { 200: json(z.strictObject({ resumed: z.boolean() }), 'false: there was none.'), ...problems },
});

const pauses = createRoute({
  method: 'get',
  path: '/api/pauses',
  operationId: 'listPauses',
  tags,
  summary: 'The pauses in force',
  ...read,
  responses: { 200: json(listOf(pauseSchema), 'The pauses.'), ...problems },
});

const pause = createRoute({
  method: 'post',
  path: '/api/pauses',
  operationId: 'pause',
  tags,
  summary: 'Stop starting jobs of a queue, of a type, or at all',
  ...operate,
  request: body(z.strictObject({ ...pauseTargetFields, ...pauseFields })),
  responses: { 200: json(pauseSchema, 'The pause.'), ...problems },
});

const resume = createRoute({
  method: 'post',
  path: '/api/pauses/resume',
  operationId: 'resume',
  tags,
  summary: 'End a pause',
  ...operate,
  request: body(z.strictObject(pauseTargetFields)),
  responses: { 200: json(z.strictObject({ resumed: z.boolean() }), 'false: there was none.'), ...problems },
});

/** `/api/queues` and `/api/pauses`. */
export function queueRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  const routes = newRoutes();

  routes.openapi(list, async (c) => {
    const { queues, status } = await duly.queues();
    const data = queues.map(({ queue, pause: found, lanes }) => ({
      queue,
      paused: found !== null,
      pause: found === null ? null : pauseJson(found),
      lanes: lanes.map(laneJson),
    }));
    return c.json({ ...listJson(data), status }, 200);
  });

  const begin = async (target: PauseTarget, how: { note?: string | undefined; until?: string | undefined }) =>
    pauseJson(
      await duly.pause(target, {
        ...(how.note === undefined ? {} : { note: how.note }),
        ...(how.until === undefined ? {} : { until: how.until }),
      }),
    );

  routes.openapi(pauseQueue, async (c) =>
    c.json(await begin({ queue: c.req.valid('param').name }, c.req.valid('json')), 200),
  );
  routes.openapi(resumeQueue, async (c) =>
    c.json({ resumed: await duly.resume({ queue: c.req.valid('param').name }) }, 200),
  );
  routes.openapi(pauses, async (c) => c.json(listJson((await duly.pauses()).map(pauseJson)), 200));
  routes.openapi(pause, async (c) => {
    const { note, until, ...target } = c.req.valid('json');
    return c.json(await begin(targetOf(target), { note, until }), 200);
  });
  routes.openapi(resume, async (c) =>
    c.json({ resumed: await duly.resume(targetOf(c.req.valid('json'))) }, 200),
  );
  return routes;
}

function targetOf({ queue, type, all }: z.infer<z.ZodObject<typeof pauseTargetFields>>): PauseTarget {
  const given = [queue, type, all].filter((one) => one !== undefined);
  if (given.length === 1) {
    if (queue !== undefined) return { queue };
    return type === undefined ? { all: true } : { type };
  }
  throw new DulyError('request_invalid', {
    message: 'Expected exactly one of "queue", "type" and "all".',
    details: { issues: [{ in: 'body', path: '', message: 'names none, or several' }] },
  });
}

function laneJson({ type, version, ready, oldestDueAt }: QueueLane) {
  return {
    type,
    version,
    ready,
    oldest_due_at: oldestDueAt === null ? null : oldestDueAt.toISOString(),
  };
}

function pauseJson(pause: Pause): z.infer<typeof pauseSchema> {
  return toSnakeCase(pause) as z.infer<typeof pauseSchema>;
}
