import { jobStatuses } from '@duly/core';
import { z } from '@hono/zod-openapi';
import { duration, instant, note } from './answers.ts';
import { jobErrorOrNull, jobStatus } from './job.ts';
import { jobFilterSchema } from './job-filter.ts';

/** A count that may have been stopped. */
export const countSchema = z
  .strictObject({
    count: z.int(),
    capped: z.boolean().openapi({ description: 'There are more: counting was stopped.' }),
  })
  .openapi('Count');

/** What became of a job that was asked to change. */
export const jobChangeSchema = z
  .strictObject({
    id: z.string(),
    result: z.enum(['changed', 'asked', 'unchanged']).openapi({
      description: '`asked`: it runs, and its handler will be notified. `unchanged`: it was so already.',
    }),
    status: jobStatus,
    due_at: instant.nullable(),
  })
  .openapi('JobChange');

/** Only a note. */
export const noteBody = z.strictObject({ note: note.optional() });

/** How to cancel. */
export const cancelBody = z.strictObject({
  note: note.optional(),
  terminate: z
    .boolean()
    .optional()
    .openapi({ description: 'End a running job at once instead of asking it.' }),
});

/** When a job is to be due. */
export const rescheduleBody = z.strictObject({
  run_at: z.string().max(100).optional(),
  delay: duration.optional(),
});

/** Fields that limit an action to the jobs that a dry run has counted. */
export const guardFields = {
  as_of: z.string().max(100).optional().openapi({
    format: 'date-time',
    description:
      'Only jobs created at or before this instant and, if finished, finished at or before it: `as_of` of a dry run.',
  }),
  expected: z.int().min(0).optional().openapi({
    description:
      'If more jobs than this would change, change none and answer 409 `too_many_match`: `changed` of a dry run.',
  }),
};

/** An action on all jobs that match. */
export const bulkBody = z
  .strictObject({
    action: z.enum(['cancel', 'terminate', 'retry', 'discard', 'delete']),
    filter: jobFilterSchema,
    dry_run: z.boolean().optional().openapi({ description: 'Only count.' }),
    ...guardFields,
    note: note.optional(),
    limit: z.int().min(1).max(10_000).optional().openapi({
      description:
        'Act on so many at most, and answer where to go on. Left out: on all of them, however long that takes.',
    }),
    cursor: z.string().max(2_000).optional().openapi({ description: '`next_cursor` of the answer before.' }),
  })
  .openapi('JobBulk');

/** What it came to. */
export const bulkResultSchema = z
  .strictObject({
    changed: z.int(),
    refused: z.int().openapi({ description: 'They match, and their status does not allow it.' }),
    dry_run: z.boolean(),
    as_of: instant.optional().openapi({ description: 'Of a dry run: the instant it counted at.' }),
    ids: z.array(z.string()).optional().openapi({
      description: 'Of a dry run: the jobs that would change, newest created first, at most 10,000 of them.',
    }),
    next_cursor: z
      .string()
      .nullable()
      .optional()
      .openapi({ description: 'With `limit`: where to go on; null: that was all.' }),
  })
  .openapi('JobBulkResult');

/** A line that a handler logged. */
export const logLineSchema = z
  .strictObject({
    n: z.int(),
    attempt: z.int(),
    at: instant,
    level: z.enum(['debug', 'info', 'warn', 'error']),
    message: z.string(),
  })
  .openapi('LogLine');

/** An attempt. */
export const attemptSchema = z
  .strictObject({
    n: z.int(),
    node: z.string(),
    fence: z.int(),
    started_at: instant,
    ended_at: instant.nullable(),
    reason: z.string().nullable(),
    error: jobErrorOrNull,
  })
  .openapi('Attempt');

/** Why a job is where it is. */
export const whySchema = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    status: jobStatus,
    sentence: z.string(),
    waiting_for: z.looseObject({ kind: z.string() }).nullable(),
    waiting_for_all: z.array(z.looseObject({ kind: z.string() })),
    expected_start_at: instant.nullable(),
    attempts: z.int(),
    max_attempts: z.int(),
    node: z.string().nullable(),
    lease_until_at: instant.nullable(),
    timeout_ms: z.number().nullable(),
    error: jobErrorOrNull,
    as_of_at: instant,
  })
  .openapi('Why');

/** How many jobs are in each status. */
export const statusCountsSchema = z.strictObject(
  Object.fromEntries(jobStatuses.map((status) => [status, countSchema])) as Record<
    (typeof jobStatuses)[number],
    typeof countSchema
  >,
);
