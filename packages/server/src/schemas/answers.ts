import { z } from '@hono/zod-openapi';

/** A JSON answer of a route. */
export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

/** A JSON body that a route takes. */
export function body<Schema extends z.ZodType>(schema: Schema, { required = true } = {}) {
  return { body: { required, content: { 'application/json': { schema } } } };
}

/** A list in the one shape that all lists have. */
export function listOf<Schema extends z.ZodType>(schema: Schema) {
  return z.strictObject({
    data: z.array(schema),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });
}

/** Puts a list into its shape; without a cursor it is whole. */
export function listJson<Item>(data: Item[], nextCursor: string | null = null) {
  return { data, has_more: nextCursor !== null, next_cursor: nextCursor };
}

/** Something that has a name of its own in the document, or null. `nullable` would be told there as both of it and of null. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.null()]);
}

/** An instant in an answer: ISO 8601 in UTC. */
export const instant = z.string().openapi({ format: 'date-time', example: '2027-01-15T10:00:05.112Z' });

/** A duration that a caller writes. */
export const duration = z
  .union([z.string().max(100), z.number()])
  .openapi({ description: 'Milliseconds, or a text like "15m", "3 days", "PT15M".', example: '15m' });

/** A text that every store can keep as it is: without NUL characters, and without half of a surrogate pair. */
export function text(lengthMax: number) {
  return z
    .string()
    .max(lengthMax)
    .refine((value) => !value.includes('\0'), 'holds a NUL character')
    .refine((value) => value.isWellFormed(), 'holds half of a surrogate pair');
}

/** A name: of a task, a queue, a tenant, a key. */
export const name = text(200).min(1);

/** Why something is done; kept in the audit. */
export const note = text(1_000).openapi({ description: 'Why; stored in the audit.' });

/** How many of a list. */
export const limit = z.coerce
  .number()
  .int()
  .min(1)
  .max(1_000)
  .optional()
  .openapi({ type: 'integer', description: '1 to 1000, default 100.' });

/** Where a list goes on. */
export const cursor = z
  .string()
  .max(2_000)
  .optional()
  .openapi({ description: '`next_cursor` of the page before.' });
