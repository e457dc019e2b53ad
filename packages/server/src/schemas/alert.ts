import { z } from '@hono/zod-openapi';
import { alertKinds } from '../alerts/alert-rule.ts';
import { duration, instant, name, note } from './answers.ts';

const milliseconds = z.number().openapi({ description: 'Milliseconds.' });
const ids = z.array(name).max(100);

/** What is the same for all kinds of rules. */
const common = {
  enabled: z.boolean().optional(),
  for: duration
    .optional()
    .openapi({ description: 'How long it has to hold before anybody is told; default 0.' }),
  types: ids.nullable().optional().openapi({ description: 'Only of these types; null: of all.' }),
  channels: ids
    .nullable()
    .optional()
    .openapi({ description: 'Ids of the channels to tell; null: all of them.' }),
};

/** What makes a rule; what is left out is as in the default rule of its kind. */
export const newAlertRuleSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('stuck'), id: name.optional(), after: duration.optional(), ...common }),
    z.strictObject({
      kind: z.literal('failure_rate'),
      id: name.optional(),
      above: z.number().min(0).max(100).optional().openapi({ description: 'Per cent.' }),
      window: duration.optional(),
      min_count: z.int().min(1).optional(),
      ...common,
    }),
    z.strictObject({
      kind: z.literal('failures_in_row'),
      id: name.optional(),
      count: z.int().min(1).max(1_000).optional(),
      ...common,
    }),
    z.strictObject({ kind: z.literal('schedule_deadline'), id: name.optional(), ...common }),
    z.strictObject({
      kind: z.literal('waiting'),
      id: name.optional(),
      after: duration.optional(),
      ...common,
    }),
    z.strictObject({
      kind: z.literal('no_worker'),
      id: name.optional(),
      after: duration.optional(),
      ...common,
    }),
    z.strictObject({
      kind: z.literal('dead_letters'),
      id: name.optional(),
      above: z.int().min(0).max(99).optional(),
      ...common,
    }),
  ])
  .openapi('NewAlertRule');

/** What changes a rule: fields of its kind. */
export const alertRuleChangeSchema = z
  .strictObject({
    after: duration.optional(),
    above: z.number().min(0).max(100).optional(),
    window: duration.optional(),
    min_count: z.int().min(1).optional(),
    count: z.int().min(1).max(1_000).optional(),
    ...common,
  })
  .openapi('AlertRuleChange');

/** A rule as it is shown. */
export const alertRuleSchema = z
  .strictObject({
    id: z.string(),
    kind: z.enum(alertKinds),
    enabled: z.boolean(),
    for: milliseconds,
    types: z.array(z.string()).nullable(),
    channels: z.array(z.string()).nullable(),
    after: milliseconds.optional(),
    above: z.number().optional(),
    window: milliseconds.optional(),
    min_count: z.int().optional(),
    count: z.int().optional(),
  })
  .openapi('AlertRule');

/** An alert that fires. */
export const alertSchema = z
  .strictObject({
    rule: z.string(),
    subject: z.string(),
    message: z.string(),
    fired_at: instant,
    muted: z.boolean().openapi({ description: 'Nobody was told of it: a maintenance window.' }),
  })
  .openapi('Alert');

const url = z.string().max(2_048);

/** What makes a channel. */
export const newAlertChannelSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('webhook'), url, note: note.nullable().optional() }),
    z.strictObject({ kind: z.literal('slack'), url, note: note.nullable().optional() }),
    z.strictObject({
      kind: z.literal('email'),
      to: z.array(z.email()).min(1).max(20),
      note: note.nullable().optional(),
    }),
    z.strictObject({
      kind: z.literal('command'),
      argv: z.array(z.string().max(4_096)).min(1).max(100),
      note: note.nullable().optional(),
    }),
  ])
  .openapi('NewAlertChannel');

/** A channel as it is shown; of an address only the host, because a path may be a secret. */
export const alertChannelSchema = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['webhook', 'slack', 'email', 'command']),
    note: z.string().nullable(),
    to: z.string().openapi({ description: 'The host, the addresses or the program.' }),
  })
  .openapi('AlertChannel');

/** What makes a maintenance window. */
export const newAlertWindowSchema = z
  .union([
    z.strictObject({
      from: z.string().max(100),
      until: z.string().max(100),
      rules: ids.nullable().optional(),
      note: note.nullable().optional(),
    }),
    z.strictObject({
      cron: z.string().max(200),
      timezone: name.optional(),
      duration,
      rules: ids.nullable().optional(),
      note: note.nullable().optional(),
    }),
  ])
  .openapi('NewAlertWindow');

/** A maintenance window as it is shown. */
export const alertWindowSchema = z
  .strictObject({
    id: z.string(),
    note: z.string().nullable(),
    rules: z.array(z.string()).nullable(),
    open: z.boolean().openapi({ description: 'Whether it mutes now.' }),
    from: instant.optional(),
    until: instant.optional(),
    cron: z.string().optional(),
    timezone: z.string().optional(),
    duration: milliseconds.optional(),
  })
  .openapi('AlertWindow');

/** Something of an alert in the path. */
export const alertPath = z.object({ id: z.string().min(1).max(200) });
