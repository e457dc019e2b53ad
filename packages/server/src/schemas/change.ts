import { z } from '@hono/zod-openapi';
import { instant } from './answers.ts';
import { jobStatus } from './job.ts';

/** One change of one job. */
export const changeSchema = z
  .strictObject({
    id: z.string().openapi({ description: 'The job.' }),
    type: z.string(),
    status: jobStatus,
    event: z.string().openapi({
      description: 'What happened: `created`, `claimed`, `progress`, `log`, `completed` …',
      example: 'progress',
    }),
    progress: z.number().nullable(),
    at: instant,
    tenant: z.string().nullable(),
    queue: z.string().nullable(),
    schedule: z.string().nullable(),
  })
  .openapi('Change');
