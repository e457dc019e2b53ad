import { z } from '@hono/zod-openapi';

/** An error, as every route may answer. */
export const problemSchema = z
  .strictObject({
    type: z.string().openapi({ example: 'urn:duly:error:job_not_found' }),
    title: z.string(),
    status: z.int(),
    code: z.string().openapi({ description: 'Stable; docs/reference/errors.md explains each.' }),
    detail: z.string(),
    hint: z.string().optional(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .openapi('Problem');

/** What every route may answer beside its own. Spread it into `responses`. */
export const problems = {
  default: {
    description: 'What went wrong.',
    content: { 'application/problem+json': { schema: problemSchema } },
  },
} as const;
