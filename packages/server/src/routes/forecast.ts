import type { ForecastOptions } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { duration, instant, json, name } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const loadSchema = z
  .strictObject({
    peak: z.int().openapi({ description: 'The most runs at one instant, by the second.' }),
    peak_at: instant.nullable(),
    step_ms: z.int(),
    steps: z.array(z.strictObject({ at: instant, starts: z.int(), peak: z.int(), mean: z.number() })),
    concurrency_needed: z
      .int()
      .openapi({ description: 'The fewest with which no run starts later than `lateness_ms`.' }),
  })
  .openapi('ForecastLoad');

const forecastSchema = z
  .strictObject({
    from: instant,
    to: instant,
    is_shortened: z
      .boolean()
      .openapi({ description: 'So many runs fall due that fewer hours than asked for were played.' }),
    schedules: z.int(),
    idle: z.int().openapi({ description: 'Schedules without a run in this time.' }),
    unreadable: z.int().openapi({ description: 'Schedules whose rule this server cannot read.' }),
    runs: z.int(),
    left_out: z.int().openapi({
      description: 'Slots without a run, because the one before still goes on or by another policy.',
    }),
    without_history: z
      .int()
      .openapi({ description: 'Schedules of which nothing is known: `takes_ms` was taken.' }),
    takes_ms: z.number(),
    lateness_ms: z.number(),
    work_ms: z.number(),
    load: loadSchema,
    with_concurrency: z
      .strictObject({
        concurrency: z.int(),
        wait_ms_p50: z.number(),
        wait_ms_p95: z.number(),
        wait_ms_max: z.number(),
        late: z.int().openapi({ description: 'Runs that start more than a second late.' }),
        done_at: instant.nullable(),
      })
      .nullable(),
    collisions: z.array(z.strictObject({ at: instant, runs: z.int(), names: z.array(z.string()) })),
    overlaps: z.array(
      z.strictObject({
        name: z.string(),
        left_out: z.int(),
        runs: z.int(),
        usual_ms: z.number(),
        without_history: z
          .boolean()
          .openapi({ description: 'Nothing is known of its runs: `usual_ms` is what was assumed.' }),
      }),
    ),
    clock_changes: z.array(
      z.strictObject({
        at: instant,
        kind: z.enum(['gap', 'repeat']),
        timezone: z.string(),
        schedules: z.int(),
        names: z.array(z.string()),
        date: z.string(),
        time: z.string(),
      }),
    ),
    jitter: z
      .strictObject({
        schedules: z.array(z.strictObject({ id: z.string(), name: z.string(), jitter_ms: z.int() })),
        count: z.int(),
        load: loadSchema,
      })
      .nullable()
      .openapi({
        description: 'Jitter that would lower the peak by a fifth or more, and the load it would give.',
      }),
  })
  .openapi('Forecast');

const wholeNumber = (max: number) =>
  z.coerce.number().int().min(1).max(max).optional().openapi({ type: 'integer' });

const read = createRoute({
  method: 'get',
  path: '/api/forecast',
  operationId: 'getForecast',
  tags: ['schedules'],
  summary:
    'Every schedule played forward, with durations drawn from history: load, concurrency needed, collisions',
  ...secured('read'),
  request: {
    query: z.strictObject({
      hours: wholeNumber(744).openapi({ description: 'How far. Default 24.' }),
      concurrency: wholeNumber(1_000_000).openapi({
        description: 'Runs at the same time, over all nodes: how late would they start?',
      }),
      lateness: duration.optional().openapi({ description: 'How late a run may start. Default 1 minute.' }),
      takes: duration
        .optional()
        .openapi({ description: 'How long a run lasts where history knows nothing. Default 10 seconds.' }),
      tenant: name.optional(),
    }),
  },
  responses: { 200: json(forecastSchema, 'The forecast.'), ...problems },
});

/** `/api/forecast`. */
export function forecastRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(read, async (c) => {
    const { tenant, ...asked } = c.req.valid('query');
    const whose = c.var.caller.tenant === null ? tenant : tenantFor(c.var.caller, tenant);
    const options = Object.fromEntries(
      Object.entries({ ...asked, tenant: whose }).filter(([, value]) => value !== undefined),
    ) as ForecastOptions;
    return c.json(toSnakeCase(await duly.forecast(options)) as z.infer<typeof forecastSchema>, 200);
  });
}
