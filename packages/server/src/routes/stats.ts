import { parseDuration, parseInstant, toSnakeCase } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const typeStatsSchema = z
  .strictObject({
    type: z.string(),
    completed: z.int(),
    failed: z.int(),
    cancelled: z.int(),
    expired: z.int(),
    duration_ms_p50: z.number().nullable().openapi({ description: 'Of completed runs.' }),
    duration_ms_p95: z.number().nullable(),
    wait_ms_p50: z.number().nullable().openapi({ description: 'From due to start.' }),
    wait_ms_p95: z.number().nullable(),
  })
  .openapi('TypeStats');

const read = createRoute({
  method: 'get',
  path: '/api/stats',
  tags: ['stats'],
  summary: 'What became of the jobs that ended lately, by task, with the usual durations',
  ...secured('read', { tenant: 'refused' }),
  request: {
    query: z.strictObject({
      since: z
        .string()
        .max(100)
        .optional()
        .openapi({ description: 'An instant, or a duration like "1h". Default an hour.' }),
    }),
  },
  responses: { 200: json(listOf(typeStatsSchema), 'The tasks of which a job ended.'), ...problems },
});

/** `/api/stats`. */
export function statsRoutes({ duly, clock }: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(read, async (c) => {
    const { since = '1h' } = c.req.valid('query');
    const sinceAt = /^\d{4}-/.test(since)
      ? parseInstant(since, 'since')
      : clock.now() - parseDuration(since, 'since');
    const stats = await duly.stats({ since: sinceAt });
    return c.json(listJson(stats.map((one) => toSnakeCase(one) as z.infer<typeof typeStatsSchema>)), 200);
  });
}
