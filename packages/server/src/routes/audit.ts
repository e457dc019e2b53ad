import type { AuditEntry } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { redacted } from '../redact.ts';
import { readPosition } from '../request/position.ts';
import { cursor, json, limit, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { auditSchema } from '../schemas/queue.ts';
import { newRoutes } from './new-routes.ts';

const list = createRoute({
  method: 'get',
  path: '/api/audit',
  operationId: 'listAudit',
  tags: ['audit'],
  summary: 'Who did what to promises already made, newest first',
  ...secured('operate', { tenant: 'refused' }),
  request: {
    query: z.strictObject({
      subject: z
        .string()
        .max(3_000)
        .optional()
        .openapi({ description: 'Only about this.', example: 'job:job_01k9…' }),
      limit,
      cursor,
    }),
  },
  responses: { 200: json(listOf(auditSchema), 'A page of the audit.'), ...problems },
});

// What proves who somebody is stays out of sight, as a hash too.
const hidden = ['hash', 'secret', 'secrets'];

/** `/api/audit`. */
export function auditRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(list, async (c) => {
    const { subject, limit: size = 100, cursor: before } = c.req.valid('query');
    const rows = await duly.audit({
      ...(subject === undefined ? {} : { subject }),
      ...(before === undefined ? {} : { before: readPosition(before) }),
      limit: size,
    });
    const last = rows.at(-1);
    const next = last === undefined || rows.length < size ? null : String(last.position);
    return c.json(listJson(rows.map(auditJson), next), 200);
  });
}

function auditJson(row: AuditEntry): z.infer<typeof auditSchema> {
  const isSecret = row.subject.startsWith('record:');
  const shown = (value: unknown): unknown => (isSecret ? redacted(value, hidden) : value);
  return { ...row, at: row.at.toISOString(), before: shown(row.before), after: shown(row.after) };
}
