import type { AuditEntry } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { shownInside } from '../jobs/job-presenter.ts';
import { redacted } from '../jobs/redact.ts';
import type { RedactOptions } from '../options.ts';
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
  summary: 'Who did what to jobs and schedules, newest first',
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

// What proves who somebody is stays out of sight, as a hash too; the address of a channel or a webhook may hold a secret.
const hidden = ['hash', 'secret', 'secrets', 'url'];

/** `/api/audit`. */
export function auditRoutes({ duly, options }: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(list, async (c) => {
    const { subject, limit: size = 100, cursor: before } = c.req.valid('query');
    const rows = await duly.audit({
      ...(subject === undefined ? {} : { subject }),
      ...(before === undefined ? {} : { before: readPosition(before) }),
      limit: size,
    });
    const last = rows.at(-1);
    const next = last === undefined || rows.length < size ? null : String(last.position);
    return c.json(
      listJson(
        rows.map((row) => auditJson(row, options.redact)),
        next,
      ),
      200,
    );
  });
}

function auditJson(row: AuditEntry, redact: Required<RedactOptions>): z.infer<typeof auditSchema> {
  const isRecord = row.subject.startsWith('record:');
  const shown = (value: unknown): unknown =>
    isRecord ? redacted(value, hidden) : shownInside(value, redact);
  return { ...row, at: row.at.toISOString(), before: shown(row.before), after: shown(row.after) };
}
