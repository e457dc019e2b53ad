import { terminalStatuses } from '@duly/core';
import { z } from '@hono/zod-openapi';
import { duration, instant, name, note } from './answers.ts';

const names = z.array(name).min(1).max(100);
const statuses = z.array(z.enum(terminalStatuses)).min(1).max(terminalStatuses.length);

const unstored =
  'null in an answer that is repeated for an `Idempotency-Key`: secrets are not stored with it. `GET` shows them.';

/** A webhook as it is shown. */
export const webhookSchema = z
  .strictObject({
    id: z.string().openapi({ example: 'wh_01k9zq6b1h8v' }),
    url: z.string(),
    note: z.string().nullable(),
    tenant: z
      .string()
      .nullable()
      .openapi({ description: 'The tenant whose jobs it is notified of; null: all.' }),
    types: z.array(z.string()).nullable(),
    schedules: z.array(z.string()).nullable(),
    statuses: z.array(z.enum(terminalStatuses)).nullable(),
    enabled: z.boolean(),
    disabled_reason: z.string().nullable(),
    created_at: instant,
    created_by: z.string(),
  })
  .openapi('Webhook');

/** A webhook with the secret that its deliveries are signed with. */
export const createdWebhookSchema = z
  .strictObject({ ...webhookSchema.shape, secret: z.string().nullable().openapi({ description: unstored }) })
  .openapi('CreatedWebhook');

/** What a webhook is created from, or changed to. */
const webhookFields = {
  url: z.string().max(2_048),
  note: note.nullable().optional(),
  types: names.nullable().optional(),
  schedules: names.nullable().optional(),
  statuses: statuses.nullable().optional(),
  enabled: z.boolean().optional(),
};

/** What creates a webhook. */
export const newWebhookSchema = z
  .strictObject({ ...webhookFields, tenant: name.nullable().optional() })
  .openapi('NewWebhook');

/** What changes one. */
export const webhookChangeSchema = z
  .strictObject({ ...webhookFields, url: webhookFields.url.optional() })
  .openapi('WebhookChange');

/** A webhook in the path. */
export const webhookPath = z.object({ id: z.string().min(1).max(100) });

/** The secrets in use, the newest first. */
export const secretsSchema = z
  .strictObject({ secrets: z.array(z.string()).min(1).max(2) })
  .openapi('SigningSecrets');

/** The secrets after a rotation. */
export const rotatedSchema = z
  .strictObject({
    secrets: z.array(z.string()).min(1).max(2).nullable().openapi({ description: unstored }),
  })
  .openapi('RotatedSecrets');

/** Which of a tenant's secrets. */
export const secretsQuery = z.strictObject({
  for: z.enum(['callbacks', 'targets']).optional().openapi({
    description:
      '`callbacks`: calls to `callback_url`. `targets`: HTTP targets with `sign`, whose bodies callers choose. Default `callbacks`.',
  }),
});

/** How to rotate. */
export const rotateSchema = z
  .strictObject({
    overlap: duration
      .optional()
      .openapi({ description: 'How long the secret before is used too; default 1 day.' }),
  })
  .openapi('Rotate');
