import { jobStatuses } from '@duly/core';
import type { ComingSlotJson, LedgerSlotJson, ScheduleJson } from '@duly/core/internal';
import { catchUpModes, overlapModes } from '@duly/core/internal/browser';
import { z } from '@hono/zod-openapi';
import { anyOf } from '../request/issue-words.ts';
import { duration, instant, name, note, orNull } from './answers.ts';
import { jobSchema, retrySchema } from './job.ts';
import { target } from './targets.ts';

const moment = z
  .string()
  .max(100)
  .openapi({ description: 'An instant; with a `timezone` also a wall time or a date in it.' });

const ruleFields = {
  cron: z.string().max(500).optional().openapi({ example: '0 8 * * MON' }),
  rate: duration.optional().openapi({ description: 'From start to start.' }),
  delay: duration.optional().openapi({ description: 'From the end of a run to the next.' }),
  rrule: z.string().max(10_000).optional().openapi({ example: 'FREQ=WEEKLY;BYDAY=MO' }),
  timezone: z.string().max(100).optional().openapi({ example: 'Europe/Rome' }),
  anchor: z.string().max(20).optional().openapi({ description: 'Of a rate: "start" or "epoch".' }),
  dst: z
    .strictObject({ gap: z.string().max(20).optional(), repeat: z.string().max(20).optional() })
    .optional()
    .openapi({ description: 'gap: "next" or "skip"; repeat: "first", "last" or "both".' }),
  exclude: z
    .array(
      z.union([
        z.string().max(500),
        z.strictObject({ dates: z.array(z.string().max(100)).max(10_000) }),
        z.strictObject({ cron: z.string().max(500) }),
        z.strictObject({ rrule: z.string().max(10_000) }),
      ]),
    )
    .max(100)
    .optional(),
};

function quotedChoices(choices: readonly string[]): string {
  return anyOf(choices.map((choice) => `"${choice}"`));
}

const policyFields = {
  missed: z
    .string()
    .max(30)
    .optional()
    .openapi({ description: `${quotedChoices(catchUpModes)}.` }),
  catch_up_window: duration.optional(),
  catch_up_limit: z.int().optional(),
  overlap: z
    .string()
    .max(30)
    .optional()
    .openapi({
      description: `${quotedChoices(overlapModes)}.`,
    }),
  buffer_limit: z.int().optional(),
  start_deadline: duration.optional(),
  finish_deadline: duration.optional(),
  jitter: duration.optional(),
  jitter_mode: z.string().max(30).optional(),
  on_resume: z.string().max(30).optional(),
  on_edit: z.string().max(30).optional(),
  pause_after_failures: z.int().optional(),
  flag_after_failures: z.int().optional(),
  start_at: moment.optional(),
  end_at: moment.optional(),
  max_runs: z.int().optional(),
};

const jobFields = {
  input: z.unknown().optional(),
  queue: name.optional(),
  priority: z.int().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  serial: name.optional(),
  note: note.optional().openapi({ description: 'What a person should know about it.' }),
};

/** What creates a schedule: exactly one of cron, rate, delay and rrule. */
export const newScheduleSchema = z
  .strictObject({
    name: name.optional().openapi({ description: 'Default: the type.' }),
    type: name.optional().openapi({ description: 'The name of the task; left out beside `target`.' }),
    target: target
      .optional()
      .openapi({ description: 'An HTTP request or a command instead of a task in code.' }),
    callback_url: z
      .string()
      .max(2_048)
      .optional()
      .openapi({ description: 'Notified when each of its jobs ends.' }),
    tenant: name.nullable().optional(),
    ...ruleFields,
    ...policyFields,
    ...jobFields,
    retry: retrySchema.optional(),
    timeout: duration.optional(),
    delivery: z.enum(['at-least-once', 'at-most-once']).optional(),
  })
  .openapi('NewSchedule');

/** The same fields, each of which may also be null. */
function nullable(fields: Record<string, z.ZodType>): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, schema.nullable()]));
}

/** Changes to a schedule; null takes a field back to its default. */
export const scheduleChangesSchema = z
  .strictObject({
    ...nullable(ruleFields),
    ...nullable(policyFields),
    ...nullable(jobFields),
    target: target
      .optional()
      .openapi({ description: 'Of the kind that it has: an HTTP request stays one, a command too.' }),
    callback_url: z
      .string()
      .max(2_048)
      .nullable()
      .optional()
      .openapi({ description: 'Notified when each run ends; null: no URL.' }),
    edit_note: note.optional(),
  })
  .openapi('ScheduleChanges');

const deletion = z.strictObject({ at: instant, by: z.string(), note: z.string().nullable() }).nullable();

/** A schedule as it is shown. */
export const scheduleSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    type: z.string(),
    app: z.string().nullable().openapi({ description: 'The app whose code declares it; null: dynamic.' }),
    tenant: z.string().nullable(),
    status: z.enum(['active', 'paused', 'disabled', 'ended', 'deleted']),
    kind: z.enum(['cron', 'rate', 'delay', 'rrule']),
    cron: z.unknown().optional(),
    rate: z.unknown().optional(),
    anchor: z.unknown().optional(),
    delay: z.unknown().optional(),
    rrule: z.unknown().optional(),
    timezone: z.string(),
    dst: z.unknown().optional(),
    exclude: z.unknown().optional(),
    words: z.string().openapi({ description: 'The rule in words.' }),
    unreadable: z
      .strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() })
      .nullable(),
    next_slot: instant.nullable(),
    next_run_at: instant.nullable(),
    last_run: z
      .strictObject({
        slot: instant,
        job_id: z.string(),
        status: z.enum(jobStatuses).nullable(),
        started_at: instant.nullable(),
        finished_at: instant.nullable(),
        duration_ms: z.number().nullable(),
        lateness_ms: z.number().nullable(),
      })
      .nullable(),
    skips: z.array(instant),
    paused: z
      .strictObject({
        by: z.string().nullable(),
        note: z.string().nullable(),
        at: instant,
        until_at: instant.nullable(),
        cause: z.enum(['person', 'failures', 'disabled']),
      })
      .nullable(),
    disabled: z.strictObject({ at: instant, note: z.string().nullable() }).nullable(),
    deleted: deletion,
    flagged: z.strictObject({ at: instant, failure_count: z.int() }).nullable(),
    drift: z
      .strictObject({
        kind: z.enum(['overridden', 'undeclared']),
        fields: z.array(z.strictObject({ field: z.string(), declared: z.unknown(), stands: z.unknown() })),
        by: z.string().nullable(),
        at: instant.nullable(),
        note: z.string().nullable(),
      })
      .nullable(),
    policies: z.record(z.string(), z.unknown()),
    input: z.unknown(),
    queue: z.string(),
    priority: z.int(),
    metadata: z.record(z.string(), z.unknown()),
    generation: z.int(),
    fired_count: z.int(),
    failures_in_row: z.int(),
    release: z.string().nullable(),
    note: z.string().nullable(),
    created_at: instant,
    updated_at: instant,
    definition: z
      .record(z.string(), z.unknown())
      .optional()
      .openapi({ description: 'The body that creates the same schedule; only with `definition=true`.' }),
  })
  .openapi('Schedule');

/** A coming slot. */
export const comingSlotSchema = z
  .strictObject({
    slot: instant,
    local: z.string().openapi({ example: '2027-03-14T03:00-04:00' }),
    gap: z.strictObject({ date: z.string(), time: z.string() }).nullable(),
    repeat: z.enum(['first', 'last']).nullable(),
  })
  .openapi('ComingSlot');

const runSchema = z.strictObject({
  id: z.string(),
  slot: instant.nullable().openapi({ description: 'The slot that it ran for; null: none, as of a trigger.' }),
  origin: z.string(),
  status: z.string(),
  due_at: instant,
  started_at: instant.nullable(),
  finished_at: instant.nullable(),
  lateness_ms: z.number().nullable(),
  node: z.string().nullable(),
});

const compactedFields = {
  month: z.string(),
  counts: z.array(z.strictObject({ decision: z.string(), count: z.int(), at_least: z.boolean() })),
};

/** A line of the ledger. */
export const ledgerSlotSchema = z
  .strictObject({
    slot: instant,
    to: instant,
    count: z.int().nullable(),
    status: z.string(),
    decision: z.string().nullable(),
    reason: z.string().nullable(),
    compacted: z.strictObject(compactedFields).nullable(),
    node: z.string().nullable(),
    decided_at: instant.nullable(),
    last_decided_at: instant.nullable(),
    generation: z.int(),
    runs: z.array(runSchema),
    deleted: deletion,
  })
  .openapi('LedgerSlot');

/** What became of a slot and why. */
export const slotWhySchema = z
  .looseObject({
    schedule: z.string(),
    schedule_id: z.string(),
    slot: instant,
    status: z.string(),
    decision: z.string().nullable(),
    reason: z.string().nullable(),
    sentence: z.string(),
    runs: z.array(runSchema),
    as_of_at: instant,
  })
  .openapi('SlotWhy');

/** What became of a trigger. */
export const triggerResultSchema = z
  .strictObject({
    result: z.enum(['created', 'merged', 'skipped']),
    job: orNull(jobSchema),
    reason: z.string().nullable(),
  })
  .openapi('TriggerResult');

/** What a backfill created, or would. */
export const backfillResultSchema = z
  .strictObject({
    slots: z.array(instant),
    jobs: z.array(z.string()),
    completed_count: z.int(),
    compacted_count: z.int().openapi({ description: 'Slots of compacted months: left out.' }),
    unfinished_count: z.int(),
    dry_run: z.boolean(),
  })
  .openapi('BackfillResult');

/** One schedule in a comparison of what is declared with what is stored. */
export const scheduleDiffSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    tenant: z.string().nullable(),
    action: z.enum(['add', 'edit', 'enable', 'none', 'keep', 'disable', 'drift', 'remove']),
    fields: z.array(z.strictObject({ field: z.string(), stored: z.unknown(), declared: z.unknown() })),
    note: z.string().nullable(),
  })
  .openapi('ScheduleDiff');

const declaredTaskSchema = z
  .strictObject({
    type: name,
    version: z.int().min(1).optional(),
    queue: name.optional(),
    priority: z.int().optional(),
    retry: retrySchema.optional(),
    timeout: duration.optional().openapi({ description: 'A duration, or "none".' }),
    grace: duration.optional(),
    delivery: z.enum(['at-least-once', 'at-most-once']).optional(),
    start_deadline: duration.optional(),
    retention: duration.optional(),
    dead_retention: duration.optional(),
  })
  .openapi('DeclaredTask');

/** A declared set. */
export const declaredSetSchema = z
  .strictObject({
    app: name.openapi({ description: 'Whose declarations these are.' }),
    release: name.optional().openapi({
      description: 'Without it nothing is disabled: what is not declared is only shown as drift.',
    }),
    prune: z.boolean().optional().openapi({ description: 'Remove what is not declared.' }),
    tasks: z.array(declaredTaskSchema).max(10_000).optional().openapi({
      description: 'What the code says of the tasks of these schedules; the server need not have it.',
    }),
    schedules: z.array(newScheduleSchema).max(10_000),
  })
  .openapi('DeclaredSchedules');

/** What of a rule is shown before it is kept. */
export const rulePreviewBody = z.strictObject({
  ...ruleFields,
  start_at: moment.optional(),
  end_at: moment.optional(),
  after: moment.optional(),
  count: z.int().min(1).max(1_000).optional(),
});

/** A rule in words, and its next slots. */
export const rulePreviewSchema = z
  .strictObject({
    kind: z.string(),
    words: z.string(),
    timezone: z.string(),
    slots: z.array(comingSlotSchema),
  })
  .openapi('RulePreview');

/** The types of the schemas and of the library's JSON are the same: the compiler says so here. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const _agree: [
  Same<keyof z.infer<typeof scheduleSchema>, keyof ScheduleJson>,
  Same<keyof z.infer<typeof ledgerSlotSchema>, keyof LedgerSlotJson>,
  Same<keyof z.infer<typeof comingSlotSchema>, keyof ComingSlotJson>,
] = [true, true, true];
