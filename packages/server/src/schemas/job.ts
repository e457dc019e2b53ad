import { jobStatuses } from '@duly/core';
import { type JobErrorJson, type JobFieldName, type JobJson, jobFields } from '@duly/core/internal';
import { z } from '@hono/zod-openapi';
import { duration, instant, name } from './answers.ts';
import { target } from './targets.ts';

/** The status of a job. */
export const jobStatus = z.enum(jobStatuses).openapi('JobStatus');

/** The error of a job; the stack is shown to operate and admin keys only. */
export const jobErrorSchema: z.ZodType<JobErrorJson> = z
  .strictObject({
    name: z.string(),
    message: z.string(),
    code: z.string().optional(),
    stack: z.string().optional().openapi({ description: 'Shown to operate and admin keys only.' }),
    get cause(): z.ZodOptional<z.ZodType<JobErrorJson>> {
      return jobErrorSchema.optional();
    },
  })
  .openapi('JobError');

/** The same where there may be none. A union, so that the document names the error itself and not an error or nothing. */
export const jobErrorOrNull = z.union([jobErrorSchema, z.null()]);

function described<Schema extends z.ZodType>(schema: Schema, field: JobFieldName): Schema {
  return schema.openapi({ description: jobFields[field].doc });
}

/** A job as it is shown. */
export const jobSchema = z
  .strictObject({
    id: z.string().openapi({ example: 'job_01k9zq6b1h8v2t4r6y8m0c2e4g' }),
    type: z.string().openapi({ example: 'video_transcode' }),
    // {{job.none version | %json: described(%schema, '%field'),}}
    version: described(z.int(), 'version'),
    // {{/job}}
    status: jobStatus,
    // {{job.none reason | %json: described(%schema, '%field'),}}
    reason: described(z.string().nullable(), 'reason'),
    // {{/job}}
    progress: z.number().min(0).max(100),
    attempts: z.int(),
    // {{job.shown -id -type -version -status -reason -origin | %json: described(%schema, '%field'),}}
    max_attempts: described(z.int(), 'maxAttempts'),
    losses: described(z.int(), 'losses'),
    queue: described(z.string(), 'queue'),
    tenant: described(z.string().nullable(), 'tenant'),
    priority: described(z.int(), 'priority'),
    key: described(z.string().nullable(), 'dedupeKey'),
    serial: described(z.string().nullable(), 'serial'),
    created_at: described(instant, 'createdAt'),
    due_at: described(instant, 'dueAt'),
    started_at: described(instant.nullable(), 'startedAt'),
    lateness_ms: described(z.number().nullable(), 'latenessMs'),
    updated_at: described(instant, 'updatedAt'),
    completed_at: described(instant.nullable(), 'finishedAt'),
    expire_at: described(instant.nullable(), 'expireAt'),
    node: described(z.string().nullable(), 'node'),
    cancel_requested_at: described(instant.nullable(), 'cancelRequestedAt'),
    cancelled_by: described(z.string().nullable(), 'cancelledBy'),
    input: described(z.unknown(), 'input'),
    result: described(z.unknown(), 'result'),
    copy_of: described(z.string().nullable(), 'copyOf'),
    // {{/job}}
    next_attempt_at: instant.nullable(),
    waiting_for: z
      .union([
        z.strictObject({ kind: z.enum(['time', 'retry']), until_at: instant }),
        z.strictObject({ kind: z.literal('worker') }),
        z.strictObject({
          kind: z.literal('gate'),
          gates: z.array(z.strictObject({ kind: z.string(), ref: z.string() })),
        }),
      ])
      .nullable(),
    metadata: z
      .looseObject({ current_step: z.unknown(), steps_completed: z.unknown(), steps_total: z.unknown() })
      .openapi({ description: "The caller's own fields, and what the handler shows of its steps." }),
    error: jobErrorOrNull,
    origin: z.enum(['event', 'schedule', 'trigger', 'backfill', 'retry', 'child']),
    parent_id: z.string().nullable(),
    parent_key: z.string().nullable(),
    schedule: z.string().nullable(),
    slot: instant.nullable(),
    fire_id: z.string().nullable(),
    lease_until_at: instant.nullable(),
    dead: z.boolean(),
  })
  .openapi('Job');

/** The types of the schema and of the library's JSON are the same: the compiler says so here. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const _fieldsAgree: Same<keyof z.infer<typeof jobSchema>, keyof JobJson> = true;

/** A job in the path. */
export const jobPath = z.object({ id: z.string().min(1).max(200) });

/** How often and how far apart a job is tried. */
export const retrySchema = z.union([
  z.int().min(1),
  z.strictObject({
    attempts: z.int().min(1).optional(),
    backoff: z.enum(['exponential', 'linear', 'fixed']).optional(),
    delay: duration.optional(),
    factor: z.number().optional(),
    max_delay: duration.optional(),
    jitter: z.number().min(0).max(1).optional(),
  }),
]);

const dedupeSchema = z.strictObject({
  key: name,
  for: duration
    .optional()
    .openapi({ description: 'How long a job holds the key. Left out: until it is over.' }),
  mode: z.enum(['drop', 'replace', 'extend']).optional(),
  max_wait: duration.optional(),
});

/** Options of a job, given by the caller that creates it. */
export const jobOptionFields = {
  metadata: z.record(z.string(), z.unknown()).optional(),
  queue: name.optional(),
  priority: z.int().min(-1_000).max(1_000).optional(),
  tenant: name.nullable().optional(),
  serial: name.optional(),
  start_deadline: duration.optional(),
  retry: retrySchema.optional(),
  timeout: duration.optional().openapi({ description: 'A duration, or "none".' }),
  delivery: z.enum(['at-least-once', 'at-most-once']).optional(),
};

/** What creates a job. */
export const newJobSchema = z
  .strictObject({
    type: name.optional().openapi({
      description: 'The name of the task; left out beside `target`.',
      example: 'video_transcode',
    }),
    target: target
      .optional()
      .openapi({ description: 'An HTTP request or a command instead of a task in code.' }),
    callback_url: z.string().max(2_048).optional().openapi({
      description: 'Notified when the job ends: a webhook.',
      example: 'https://example.com/hook',
    }),
    input: z
      .unknown()
      .optional()
      .openapi({ description: 'Any JSON.', example: 's3://uploads/video_789.mp4' }),
    run_at: z.string().max(100).optional().openapi({ format: 'date-time', description: 'When it is due.' }),
    delay: duration.optional(),
    key: name.optional().openapi({ description: 'Short for dedupe: { "key": … }.' }),
    dedupe: dedupeSchema.optional(),
    ...jobOptionFields,
  })
  .openapi('NewJob');

/** A job as it was created. */
export const createdJobSchema = z
  .strictObject({
    // Not by `extend`: the document would have it as both of two closed objects, which nothing can be.
    ...jobSchema.shape,
    deduped: z.boolean().openapi({ description: 'No new job was created: this one holds the key.' }),
  })
  .openapi('CreatedJob');
