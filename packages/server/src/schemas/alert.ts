import { z } from '@hono/zod-openapi';
import type { AlertField } from '../alerts/alert-kind.ts';
import { alertKinds } from '../alerts/rules/index.ts';
import { duration, instant, name, note } from './answers.ts';

const milliseconds = z.number().openapi({ description: 'Milliseconds.' });
const ids = z.array(name).max(100);

/** What is the same for all kinds of rules. */
const common = {
  enabled: z.boolean().optional(),
  for: duration
    .optional()
    .openapi({ description: 'How long it must hold before channels are notified; default 0.' }),
  types: ids.nullable().optional().openapi({ description: 'Only of these types; null: of all.' }),
  channels: ids
    .nullable()
    .optional()
    .openapi({ description: 'Ids of the channels to notify; null: all of them.' }),
};

type FieldKind = Pick<AlertField, 'type' | 'min' | 'max' | 'doc'>;

/** A field that a caller writes. */
function written({ type, min, max, doc }: FieldKind): z.ZodOptional {
  if (type === 'duration') return duration.optional();
  let number: z.ZodNumber = type === 'integer' ? z.int() : z.number();
  if (min !== undefined) number = number.min(min);
  if (max !== undefined) number = number.max(max);
  return doc === undefined ? number.optional() : number.optional().openapi({ description: doc });
}

/** A field in an answer. */
function shown({ type }: FieldKind): z.ZodOptional {
  if (type === 'duration') return milliseconds.optional();
  return (type === 'integer' ? z.int() : z.number()).optional();
}

/** The fields of all kinds by name. A name that kinds share accepts what any of them accepts. */
const fieldsOfAll: Record<string, FieldKind> = {};
for (const { json, type, min, max } of alertKinds.flatMap((kind): AlertField[] =>
  Object.values(kind.fields),
)) {
  const other = fieldsOfAll[json] ?? { type, min, max };
  fieldsOfAll[json] = {
    type: type === other.type ? type : 'number',
    min: min === undefined || other.min === undefined ? undefined : Math.min(min, other.min),
    max: max === undefined || other.max === undefined ? undefined : Math.max(max, other.max),
  };
}

function mapFields<Schema>(
  fields: Record<string, FieldKind>,
  schemaOf: (field: FieldKind) => Schema,
): Record<string, Schema> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]));
}

const newRuleSchemas = alertKinds.map(({ kind, fields }) => {
  const byJson = Object.fromEntries(Object.values<AlertField>(fields).map((field) => [field.json, field]));
  return z.strictObject({
    kind: z.literal(kind),
    id: name.optional(),
    ...mapFields(byJson, written),
    ...common,
  });
});
type NewRuleSchema = (typeof newRuleSchemas)[number];

/** What creates a rule; what is left out is as in the default rule of its kind. */
export const newAlertRuleSchema = z
  .discriminatedUnion('kind', newRuleSchemas as [NewRuleSchema, ...NewRuleSchema[]])
  .openapi('NewAlertRule');

/** What changes a rule: fields of its kind. */
export const alertRuleChangeSchema = z
  .strictObject({ ...mapFields(fieldsOfAll, written), ...common })
  .openapi('AlertRuleChange');

/** A rule as it is shown. */
export const alertRuleSchema = z
  .strictObject({
    id: z.string(),
    kind: z.enum(alertKinds.map(({ kind }) => kind)),
    enabled: z.boolean(),
    for: milliseconds,
    types: z.array(z.string()).nullable(),
    channels: z.array(z.string()).nullable(),
    ...mapFields(fieldsOfAll, shown),
  })
  .openapi('AlertRule');

/** An alert that fires. */
export const alertSchema = z
  .strictObject({
    rule: z.string(),
    subject: z.string(),
    message: z.string(),
    fired_at: instant,
    muted: z.boolean().openapi({ description: 'No channel was notified: a maintenance window.' }),
  })
  .openapi('Alert');

const url = z.string().max(2_048);

/** What creates a channel. */
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

/** What creates a maintenance window. */
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
