import { DulyError, parseDuration, parseInstant } from '@duly/core';
import { toSnakeCase } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { findSchedule } from '../schedules/find.ts';
import { json, listJson, listOf, name } from '../schemas/answers.ts';
import { several } from '../schemas/job-filter.ts';
import { problems, refusal } from '../schemas/problem.ts';
import { scheduleStatsSchema, trendSchema, type trendStepSchema, typeStatsSchema } from '../schemas/stats.ts';
import { createCachedTrend } from '../stats/cached-trend.ts';
import { newRoutes } from './new-routes.ts';

const since = z.string().max(100).optional();
const scheduleCountMax = 500;
const stepCountMax = 500;
const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
/** The steps that are taken where none is asked for: the shortest of which no more than 60 are needed. */
const usualSteps = [
  ...[1, 5, 10, 30].map((n) => n * secondMs),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minuteMs),
  ...[1, 2, 3, 6, 12, 24, 168].map((n) => n * hourMs),
];

const byType = createRoute({
  method: 'get',
  path: '/api/stats',
  operationId: 'getStats',
  tags: ['stats'],
  summary: 'What became of the jobs that ended lately, by type, with the usual durations',
  ...secured('read', { tenant: 'refused' }),
  request: {
    query: z.strictObject({
      since: since.openapi({ description: 'An instant, or a duration like "1h". Default an hour.' }),
    }),
  },
  responses: { 200: json(listOf(typeStatsSchema), 'The types of which a job ended.'), ...problems },
});

const bySchedule = createRoute({
  method: 'get',
  path: '/api/stats/schedules',
  operationId: 'listScheduleStats',
  tags: ['stats'],
  summary: 'What became of the last runs of schedules, with the usual durations and the last success',
  ...secured('read', { tenant: 'refused' }),
  request: {
    query: z.strictObject({
      schedule: name
        .optional()
        .openapi({ description: `Its id, or its name. Left out: the first ${scheduleCountMax} by name.` }),
      ids: several('Only of the schedules with these ids, in this order'),
      since: since.openapi({ description: 'An instant, or a duration like "1h". Default 30 days.' }),
    }),
  },
  responses: {
    200: json(listOf(scheduleStatsSchema), 'By schedule, of its newest 200 runs at most.'),
    404: refusal(404),
    ...problems,
  },
});

const overTime = createRoute({
  method: 'get',
  path: '/api/stats/trend',
  operationId: 'getTrend',
  tags: ['stats'],
  summary: 'What ended over time: throughput by outcome, and percentiles of wait, lateness and duration',
  ...secured('read', { tenant: 'refused' }),
  request: {
    query: z.strictObject({
      since: since.openapi({ description: 'An instant, or a duration like "24h". Default an hour.' }),
      step: z
        .string()
        .max(100)
        .optional()
        .openapi({
          description: `How long a step is, like "5m"; at most ${stepCountMax} of them. Steps begin at multiples of it in UTC. Default: one of which 60 or fewer are needed.`,
        }),
      type: name.optional(),
      schedule: name.optional().openapi({ description: 'Its id, or its name.' }),
    }),
  },
  responses: { 200: json(trendSchema, 'The steps.'), 404: refusal(404), ...problems },
});

/** `/api/stats`. */
export function statsRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { duly, clock } = context;
  const trend = createCachedTrend(context);
  const sinceAt = (text: string): number =>
    /^\d{4}-/.test(text) ? parseInstant(text, 'since') : clock.now() - parseDuration(text, 'since');

  return newRoutes()
    .openapi(byType, async (c) => {
      const stats = await duly.stats({ since: sinceAt(c.req.valid('query').since ?? '1h') });
      return c.json(listJson(stats.map((one) => toSnakeCase(one) as z.infer<typeof typeStatsSchema>)), 200);
    })
    .openapi(bySchedule, async (c) => {
      const { schedule, ids: given, since: text = '30d' } = c.req.valid('query');
      const ids =
        given !== undefined
          ? [given].flat().flatMap((one) => one.split(','))
          : schedule === undefined
            ? (await duly.schedules.list({ limit: scheduleCountMax })).schedules.map(({ id }) => id)
            : [(await findSchedule(context, c.var.caller, schedule)).id];
      const stats = await duly.schedules.stats({ ids, since: sinceAt(text) });
      return c.json(
        listJson(stats.map((one) => toSnakeCase(one) as z.infer<typeof scheduleStatsSchema>)),
        200,
      );
    })
    .openapi(overTime, async (c) => {
      const { since: text = '1h', step, type, schedule } = c.req.valid('query');
      const now = clock.now();
      const fromAt = sinceAt(text);
      const stepMs = step === undefined ? usualStepMs(now - fromAt) : parseDuration(step, 'step');
      const firstAt = Math.floor(fromAt / stepMs) * stepMs;
      const stepCount = Math.floor((now - firstAt) / stepMs) + 1;
      if (stepMs < secondMs || stepCount > stepCountMax || stepCount < 1) {
        throw new DulyError('request_invalid', {
          message: `Expected 1 to ${stepCountMax} steps of a second or more between "since" and now.`,
          details: { issues: [{ in: 'query', path: 'step', message: 'is too short or too long' }] },
        });
      }
      const scheduleId =
        schedule === undefined ? null : (await findSchedule(context, c.var.caller, schedule)).id;
      const steps = await trend.read({ fromAt: firstAt, stepMs, stepCount, type: type ?? null, scheduleId });
      const data = steps.map((one) => toSnakeCase(one) as z.infer<typeof trendStepSchema>);
      return c.json({ now: new Date(now).toISOString(), step_ms: stepMs, data }, 200);
    });
}

function usualStepMs(rangeMs: number): number {
  return usualSteps.find((stepMs) => rangeMs / stepMs <= 60) ?? (usualSteps.at(-1) as number);
}
