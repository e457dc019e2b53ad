import { DulyError } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { filterOfBody, filterOfQuery } from '../jobs/job-filter.ts';
import { presentJob } from '../present.ts';
import { body, json, listJson, listOf, note } from '../schemas/answers.ts';
import { jobSchema } from '../schemas/job.ts';
import { bulkResultSchema, countSchema } from '../schemas/job-actions.ts';
import { jobFilterSchema, jobListQuery } from '../schemas/job-filter.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['dead letters'];

const list = createRoute({
  method: 'get',
  path: '/api/dead',
  operationId: 'listDead',
  tags,
  summary: 'List dead letters: FAILED jobs that wait for a person, newest first',
  ...secured('read'),
  request: { query: jobListQuery },
  responses: {
    200: json(listOf(jobSchema).extend({ total: countSchema.optional() }), 'A page of dead letters.'),
    ...problems,
  },
});

const actBody = z
  .strictObject({
    filter: jobFilterSchema.optional(),
    all: z.literal(true).optional().openapi({ description: 'All of them, instead of a filter.' }),
    dry_run: z.boolean().optional(),
    note: note.optional(),
  })
  .openapi('DeadAction');

const act = (verb: 'replay' | 'discard', summary: string) =>
  createRoute({
    method: 'post',
    path: `/api/dead/${verb}`,
    operationId: `${verb}Dead`,
    tags,
    summary,
    ...secured('operate'),
    request: body(actBody),
    responses: { 200: json(bulkResultSchema, 'What it came to, or would.'), ...problems },
  });

const replay = act('replay', 'Bring dead letters back');
const discard = act('discard', 'Take dead letters off the list; they stay in history for their retention');

/** `/api/dead`. */
export function deadRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly } = context;
  const routes = newRoutes();

  routes.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const { dead: _, ...filter } = await filterOfQuery(context, c.var.caller, query);
    const jobs = duly.dead.list(filter);
    const [page, total] = await Promise.all([
      jobs.page({ limit: query.limit ?? 100, cursor: query.cursor ?? null }),
      query.count === 'true' ? jobs.count() : undefined,
    ]);
    const data = page.jobs.map((job) => presentJob(context, c.var.caller, job));
    return c.json({ ...listJson(data, page.nextCursor), ...(total === undefined ? {} : { total }) }, 200);
  });

  async function doTo(c: Context<ServerEnv>, verb: 'replay' | 'discard', given: z.infer<typeof actBody>) {
    const { filter = {}, all, dry_run: dryRun = false, note: why } = given;
    if ((Object.keys(filter).length === 0) === (all === undefined)) {
      throw new DulyError('request_invalid', {
        message: 'Expected either "filter" with at least one field, or "all": true.',
        details: { issues: [{ in: 'body', path: 'filter', message: 'is empty, or stands beside "all"' }] },
      });
    }
    const { dead: _, ...which } = await filterOfBody(context, c.var.caller, filter);
    const result = await duly.dead.list(which)[verb]({ dryRun, ...(why === undefined ? {} : { note: why }) });
    return { ...result, dry_run: dryRun };
  }

  routes.openapi(replay, async (c) => c.json(await doTo(c, 'replay', c.req.valid('json')), 200));
  routes.openapi(discard, async (c) => c.json(await doTo(c, 'discard', c.req.valid('json')), 200));
  return routes;
}
