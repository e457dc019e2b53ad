import type { UpcomingOptions } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { presentBrief } from '../jobs/job-presenter.ts';
import { duration, instant, json, name } from '../schemas/answers.ts';
import { jobSchema } from '../schemas/job.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const upcomingSchema = z
  .strictObject({
    from: instant,
    to: instant,
    step_ms: z.int(),
    steps: z.array(z.strictObject({ from: instant, count: z.int() })).openapi({
      description: 'The steps in which some fall due.',
    }),
    capped: z.boolean().openapi({ description: 'There are more than were counted.' }),
    data: z
      .array(jobSchema)
      .openapi({ description: 'The earliest due first, as `brief=true` of `GET /api/jobs` shows them.' }),
  })
  .openapi('Upcoming');

const read = createRoute({
  method: 'get',
  path: '/api/upcoming',
  operationId: 'listUpcoming',
  tags: ['jobs'],
  summary: 'The jobs that wait for their time and fall due next: how many when, and the earliest',
  ...secured('read'),
  request: {
    query: z.strictObject({
      within: duration.optional().openapi({ description: 'How far to look. Default an hour.' }),
      step: duration.optional().openapi({ description: 'How long a step is. Default a sixtieth of it.' }),
      limit: z.coerce
        .number()
        .int()
        .min(0)
        .max(1_000)
        .optional()
        .openapi({ type: 'integer', description: 'How many jobs are shown individually. Default 20.' }),
      tenant: name.optional(),
    }),
  },
  responses: { 200: json(upcomingSchema, 'What falls due.'), ...problems },
});

/** `/api/upcoming`. */
export function upcomingRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(read, async (c) => {
    const { caller } = c.var;
    const { tenant, ...asked } = c.req.valid('query');
    const whose = caller.tenant === null ? tenant : tenantFor(caller, tenant);
    const options = Object.fromEntries(
      Object.entries({ ...asked, tenant: whose }).filter(([, value]) => value !== undefined),
    ) as UpcomingOptions;
    const { from, to, stepMs, steps, capped, jobs } = await context.duly.upcoming(options);
    return c.json(
      {
        from: from.toISOString(),
        to: to.toISOString(),
        step_ms: stepMs,
        steps: steps.map(({ from: at, count }) => ({ from: at.toISOString(), count })),
        capped,
        data: jobs.map((job) => presentBrief(context, caller, job)),
      },
      200,
    );
  });
}
