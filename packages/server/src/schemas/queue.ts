import { z } from '@hono/zod-openapi';
import { instant, name, note } from './answers.ts';
import { countSchema, statusCountsSchema } from './job-actions.ts';

/** What is ready in a queue, by type. */
const laneSchema = z.strictObject({
  type: z.string(),
  version: z.int(),
  ready: countSchema,
  oldest_due_at: instant.nullable().openapi({ description: 'Since when the oldest waits.' }),
});

/** A pause in force. */
export const pauseSchema = z
  .strictObject({
    scope: z.enum(['all', 'queue', 'type']),
    name: z.string().nullable(),
    by: z.string(),
    note: z.string().nullable(),
    since_at: instant,
    until_at: instant.nullable(),
  })
  .openapi('Pause');

/** A queue: known because something is ready in it, a node takes from it, or it is paused. */
export const queueSchema = z
  .strictObject({
    queue: z.string(),
    paused: z.boolean(),
    pause: z.union([pauseSchema, z.null()]).openapi({ description: 'Its own pause, or that of everything.' }),
    lanes: z.array(laneSchema),
  })
  .openapi('Queue');

/** All queues, and how many jobs are in each status. */
export const queuesSchema = z
  .strictObject({
    data: z.array(queueSchema),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    status: statusCountsSchema,
  })
  .openapi('Queues');

/** What to pause: exactly one of them. */
export const pauseTargetFields = {
  queue: name.optional(),
  type: name.optional(),
  all: z.literal(true).optional(),
};

/** How to pause. */
export const pauseFields = {
  note: note.optional(),
  until: z
    .string()
    .max(100)
    .optional()
    .openapi({ description: 'When it ends by itself: an instant, or after so long (`2h`).' }),
};

/** A live node. */
export const nodeSchema = z
  .strictObject({
    id: z.string(),
    app: z.string(),
    release: z.string().nullable(),
    host: z.string(),
    pid: z.int(),
    roles: z.array(z.string()),
    tasks: z.array(
      z.strictObject({ type: z.string(), version: z.int(), concurrency: z.int().nullable().optional() }),
    ),
    queues: z.array(z.string()).nullable(),
    concurrency: z.int(),
    running: z.int(),
    running_by_type: z.array(z.strictObject({ type: z.string(), count: z.int() })),
    not_ready: z.string().nullable(),
    started_at: instant,
    heartbeat_at: instant,
    silent: z.boolean().openapi({ description: 'It has missed a heartbeat, and may be gone.' }),
    drain_requested_at: instant.nullable(),
  })
  .openapi('Node');

/** Who did what to a job or schedule. */
export const auditSchema = z
  .strictObject({
    position: z.int(),
    at: instant,
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    before: z.unknown(),
    after: z.unknown(),
    note: z.string().nullable(),
  })
  .openapi('AuditEntry');
