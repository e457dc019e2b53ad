import type { RemoteJob, RemoteOutcome } from '@duly/core';
import { z } from '@hono/zod-openapi';
import { waitField } from '../request/wait.ts';
import { duration, instant, name, orNull } from './answers.ts';
import { jobStatus } from './job.ts';

const leasesMax = 1_000;
const fence = z.int().min(0).openapi({ description: 'The fence that the claim gave.' });
const lease = { id: name, fence };

/** Asks for work. */
export const claimBody = z
  .strictObject({
    worker: name.openapi({
      description: 'A name of its own; two workers must not share it.',
      example: 'python-1',
    }),
    tasks: z
      .array(z.strictObject({ type: name, version: z.int().min(1).optional() }))
      .min(1)
      .max(leasesMax)
      .openapi({ description: 'What it handles; a version that is left out is 1.' }),
    queues: z.array(name).max(leasesMax).optional().openapi({ description: 'Left out: all.' }),
    limit: z.int().min(1).max(leasesMax).optional().openapi({ description: 'At most so many. Default 1.' }),
    wait: waitField('work'),
    running: z.int().min(0).optional().openapi({ description: 'How many jobs it runs now. Default 0.' }),
    concurrency: z.int().min(1).optional().openapi({ description: 'How many it runs at most. Default 1.' }),
    host: name.optional(),
    pid: z.int().min(0).optional(),
    token: name.optional().openapi({
      description:
        'Created by the worker for this claim. After an answer that was lost, the same token is given the same jobs.',
    }),
  })
  .openapi('WorkerClaim');

/** A job under lease. */
export const claimedJobSchema = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    version: z.int(),
    queue: z.string(),
    tenant: z.string().nullable(),
    priority: z.int(),
    input: z.unknown(),
    metadata: z.record(z.string(), z.unknown()),
    fence,
    attempt: z.int(),
    attempts: z.int().openapi({ description: 'Attempts that count, this one included.' }),
    max_attempts: z.int(),
    created_at: instant,
    due_at: instant,
    claimed_at: instant,
    timeout_ms: z.number().nullable(),
    origin: z.string(),
    schedule: z.string().nullable(),
    slot: instant.nullable(),
    fire_id: z.string().nullable(),
    parent_id: z.string().nullable(),
    // {{job.passive +claim +json | %json: %schema,}}
    // {{/job}}
  })
  .openapi('ClaimedJob');

/** What a claim was given. */
export const claimedSchema = z
  .strictObject({
    jobs: z.array(claimedJobSchema),
    drain: z.boolean().openapi({ description: 'Somebody asked this worker to take no more work.' }),
    lease_ms: z.number(),
    heartbeat_ms: z.number().openapi({ description: 'How often to renew the leases.' }),
  })
  .openapi('WorkerClaimed');

/** Renews leases. */
export const heartbeatBody = z
  .strictObject({
    worker: name.optional(),
    running: z.int().min(0).optional(),
    leases: z.array(z.strictObject(lease)).max(leasesMax),
  })
  .openapi('WorkerHeartbeat');

/** What the leases are told. */
export const heartbeatsSchema = z
  .strictObject({
    leases: z.array(
      z.strictObject({
        id: z.string(),
        state: z.enum(['kept', 'cancel', 'timeout', 'lost']).openapi({
          description:
            '`cancel`: stop, and settle as cancelled. `timeout`: it has run too long. `lost`: nothing that is said about this attempt counts any more.',
        }),
      }),
    ),
  })
  .openapi('WorkerHeartbeats');

const reportFields = {
  progress: z
    .strictObject({
      percent: z.number().min(0).max(100),
      message: z.string().max(1_000).optional(),
      step: z.number().min(0).optional(),
      of: z.number().min(0).optional(),
    })
    .optional(),
  logs: z
    .array(
      z.strictObject({
        line: z.int().min(1).openapi({
          description: 'Numbers the lines of this attempt from 1: one that is sent twice is stored once.',
        }),
        message: z.string().max(8 * 1024),
        level: z.enum(['debug', 'info', 'warn', 'error']).optional(),
      }),
    )
    .max(leasesMax)
    .optional(),
};

/** Shows progress and log lines. */
export const reportBody = z
  .strictObject({ reports: z.array(z.strictObject({ ...lease, ...reportFields })).max(leasesMax) })
  .openapi('WorkerReport');

/** What became of the reports. */
export const reportedSchema = z
  .strictObject({ reports: z.array(z.strictObject({ id: z.string(), result: z.enum(['kept', 'lost']) })) })
  .openapi('WorkerReported');

const settled = { ...lease, ...reportFields };
const errorBody = z.strictObject({
  message: z.string(),
  name: z.string().optional(),
  stack: z.string().optional(),
  code: z.string().optional(),
});

const outcomeBody = z.discriminatedUnion('outcome', [
  z.strictObject({ ...settled, outcome: z.literal('completed'), result: z.unknown().optional() }),
  z.strictObject({
    ...settled,
    outcome: z.literal('failed'),
    error: errorBody,
    retry_in: duration.optional().openapi({ description: 'Instead of the backoff of the job.' }),
  }),
  z.strictObject({ ...settled, outcome: z.literal('snoozed'), in: duration }),
  z.strictObject({ ...settled, outcome: z.literal('cancelled') }),
  z.strictObject({ ...settled, outcome: z.literal('released'), started: z.boolean().optional() }),
]);

/** Hands outcomes in. */
export const settleBody = z
  .strictObject({ outcomes: z.array(outcomeBody).min(1).max(leasesMax) })
  .openapi('WorkerSettle');

/** What became of them. */
export const settledSchema = z
  .strictObject({
    outcomes: z.array(
      z.strictObject({
        id: z.string(),
        result: z.enum(['done', 'lost']).openapi({
          description: '`lost`: the lease was no longer this attempt’s, and nothing was written.',
        }),
        status: orNull(jobStatus),
      }),
    ),
  })
  .openapi('WorkerSettled');

/** An outcome of the body as the library takes it. */
export function toOutcome(given: z.infer<typeof outcomeBody>): RemoteOutcome {
  switch (given.outcome) {
    case 'completed':
      return { kind: 'completed', result: given.result };
    case 'failed': {
      const { message, name: called, stack, code } = given.error;
      const error = {
        message,
        ...(called === undefined ? {} : { name: called }),
        ...(stack === undefined ? {} : { stack }),
        ...(code === undefined ? {} : { code }),
      };
      return { kind: 'failed', error, ...(given.retry_in === undefined ? {} : { retryIn: given.retry_in }) };
    }
    case 'snoozed':
      return { kind: 'snoozed', in: given.in };
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'released':
      return { kind: 'released', started: given.started ?? true };
  }
}

/** A report of the body as the library takes it. */
export function toReport(given: z.infer<typeof reportBody>['reports'][number]) {
  const { id, fence: of, progress, logs } = given;
  return {
    id,
    fence: of,
    ...(progress === undefined
      ? {}
      : {
          progress: {
            percent: progress.percent,
            ...(progress.message === undefined ? {} : { message: progress.message }),
            ...(progress.step === undefined ? {} : { step: progress.step }),
            ...(progress.of === undefined ? {} : { of: progress.of }),
          },
        }),
    ...(logs === undefined
      ? {}
      : {
          logs: logs.map(({ line, message, level }) => ({
            line,
            message,
            ...(level === undefined ? {} : { level }),
          })),
        }),
  };
}

/** A claimed job as JSON. */
export function toClaimedJson(job: RemoteJob): z.infer<typeof claimedJobSchema> {
  return {
    id: job.id,
    type: job.type,
    version: job.version,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    input: job.input,
    metadata: job.metadata,
    fence: job.fence,
    attempt: job.attempt,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    created_at: job.createdAt.toISOString(),
    due_at: job.dueAt.toISOString(),
    claimed_at: job.claimedAt.toISOString(),
    timeout_ms: job.timeoutMs,
    origin: job.origin,
    schedule: job.schedule,
    slot: text(job.slot),
    fire_id: job.fireId,
    parent_id: job.parentId,
    // {{job.passive +claim +json | %json: %iso(job.%field),}}
    // {{/job}}
  };
}

function text(instant: Date | null): string | null {
  return instant === null ? null : instant.toISOString();
}
