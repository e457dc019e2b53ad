import { z } from '@hono/zod-openapi';
import { instant } from './answers.ts';

const percentile = z.number().nullable();

const outcomes = {
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  expired: z.int(),
  duration_ms_p50: percentile.openapi({ description: 'Of completed runs, their last attempt.' }),
  duration_ms_p95: percentile,
  wait_ms_p50: percentile.openapi({ description: 'From due to start.' }),
  wait_ms_p95: percentile,
};

const lastCompletedAt = instant.nullable().openapi({ description: 'When the last of them completed.' });

/** How the jobs of a type ended lately. */
export const typeStatsSchema = z
  .strictObject({ type: z.string(), ...outcomes, last_completed_at: lastCompletedAt })
  .openapi('TypeStats');

/** How the runs of a schedule ended lately. */
export const scheduleStatsSchema = z
  .strictObject({ schedule_id: z.string(), ...outcomes, last_completed_at: lastCompletedAt })
  .openapi('ScheduleStats');

/** What ended in one step of time. */
export const trendStepSchema = z
  .strictObject({
    from: instant,
    ...outcomes,
    wait_ms_p99: percentile,
    lateness_ms_p50: percentile.openapi({
      description: 'From due to start, of the runs that schedules created at their slots.',
    }),
    lateness_ms_p95: percentile,
    lateness_ms_p99: percentile,
    sampled: z.boolean().openapi({
      description:
        'More than a thousand jobs ended: percentiles are those of a sample. How many ended is still counted; with `type` or `schedule` it is estimated.',
    }),
  })
  .openapi('TrendStep');

/** A stretch of time in steps. */
export const trendSchema = z
  .strictObject({
    now: instant,
    step_ms: z.int(),
    data: z.array(trendStepSchema).openapi({ description: 'Oldest first; the last one is not over yet.' }),
  })
  .openapi('Trend');
