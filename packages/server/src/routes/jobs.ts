import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import { own } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { makeJob } from '../jobs/new-job.ts';
import { presentJob } from '../present.ts';
import { body, json } from '../schemas/answers.ts';
import { jobPath, jobSchema, madeJobSchema, newJobSchema } from '../schemas/job.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['jobs'];

const create = createRoute({
  method: 'post',
  path: '/api/jobs',
  tags,
  summary: 'Make a job',
  ...secured('run'),
  request: body(newJobSchema),
  responses: {
    201: json(madeJobSchema, 'It was made.'),
    200: json(madeJobSchema, 'No new one was made: the job that holds the key.'),
    ...problems,
  },
});

const read = createRoute({
  method: 'get',
  path: '/api/jobs/{id}',
  tags,
  summary: 'Show a job',
  ...secured('read'),
  request: { params: jobPath },
  responses: { 200: json(jobSchema, 'The job.'), ...problems },
});

/** `/api/jobs` and what is below it, following a job excepted. */
export function jobRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly, options } = context;
  const routes = newRoutes();

  routes.openapi(create, async (c) => {
    const handle = await makeJob(context, c.var.caller, c.req.valid('json'));
    const job = own(c.var.caller, await handle.get());
    c.header('Location', `${options.basePath}/api/jobs/${job.id}`);
    const made = { ...presentJob(context, c.var.caller, job), deduped: handle.deduped };
    return c.json(made, handle.deduped ? 200 : 201);
  });

  routes.openapi(read, async (c) => {
    const job = own(c.var.caller, await duly.job(c.req.valid('param').id).get());
    return c.json(presentJob(context, c.var.caller, job), 200);
  });

  return routes;
}
