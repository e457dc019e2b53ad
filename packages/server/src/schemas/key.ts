import { scopes } from '@duly/core/internal/browser';
import { z } from '@hono/zod-openapi';
import { instant, name, note } from './answers.ts';

const scope = z.enum(scopes).openapi({ description: `Each holds those before it: ${scopes.join(', ')}.` });

/** A key as it is shown. */
export const keySchema = z
  .strictObject({
    id: z.string(),
    scope,
    tenant: z.string().nullable(),
    note: z.string().nullable(),
    created_at: instant,
    created_by: z.string(),
    expires_at: instant.nullable(),
  })
  .openapi('Key');

/** What creates a key. */
export const newKeySchema = z
  .strictObject({
    scope,
    tenant: name.nullable().optional().openapi({ description: 'The one tenant that it is for.' }),
    note: note.optional().openapi({ description: 'What it is for.' }),
    expires_at: z.string().max(100).optional(),
  })
  .openapi('NewKey');

/** A key that was just created. */
export const createdKeySchema = z
  .strictObject({
    ...keySchema.shape,
    key: z.string().nullable().openapi({
      description:
        'The key itself. It is never shown again: in an answer that is repeated for an `Idempotency-Key` it is null. Revoke a key whose answer was lost.',
    }),
  })
  .openapi('CreatedKey');

/** Who asks. */
export const sessionSchema = z
  .strictObject({ actor: z.string(), scope, tenant: z.string().nullable() })
  .openapi('Session');
