import { jobStatuses } from '@duly/core';
import { z } from '@hono/zod-openapi';
import { cursor, limit, name } from './answers.ts';

/** One value, several with commas between them, or the field several times. */
export function several(what: string, example?: string) {
  return z
    .union([z.string().max(2_000), z.array(z.string().max(200)).max(100)])
    .optional()
    .openapi({ type: 'string', description: `${what}; several: commas, or repeat it.`, example });
}

/** The same, where none at all is a slip: `?status=` would list nothing, and look as if there were nothing. */
function atLeastOne(what: string, example?: string) {
  return several(what, example).refine(
    (given) => given === undefined || [given].flat().some((one) => /[^,]/.test(one)),
    'names none; leave it out for all',
  );
}

/** Jobs that one filter names at most, and one dry run reports. */
export const idsMax = 10_000;

const moment = z.string().max(100).optional();

/** Filters of jobs in a query. */
export const jobFilterFields = {
  status: atLeastOne(`Only in these statuses: ${jobStatuses.join(', ')}`, 'FAILED,RETRYING'),
  type: atLeastOne('Only of these types'),
  queue: atLeastOne('Only in these queues'),
  tenant: name.optional().openapi({ description: 'Only of this tenant.' }),
  key: name.optional().openapi({ description: 'Only with this dedupe key.' }),
  serial: name.optional(),
  parent: name.optional().openapi({ description: 'Only created in the handler of this job.' }),
  schedule: name.optional().openapi({ description: 'Only runs of this schedule: its id, or its name.' }),
  since: moment.openapi({ description: 'Created at or after this instant, or within this duration: "1h".' }),
  before: moment.openapi({ description: 'Created before this instant.' }),
  error: z.string().max(200).optional().openapi({ description: "A part of the error's name or message." }),
  text: z
    .union([z.string().min(1).max(200), z.array(z.string().min(1).max(200)).max(20)])
    .optional()
    .openapi({
      type: 'string',
      description:
        'A part of the type, the tenant or the error, or the whole status; any case. Repeat it: all must match.',
      example: 'send_mail',
    }),
  dead: z.enum(['true', 'false']).optional().openapi({ description: 'Only dead letters, or only others.' }),
  ids: several('Only these'),
};

const inputPath = /^input\.[^\s]{1,200}$/;

/** The query of a list of jobs; `input.<path>=<value>` filters on the input. */
export const jobListQuery = z
  .object({
    ...jobFilterFields,
    limit,
    cursor,
    count: z
      .enum(['true', 'false'])
      .optional()
      .openapi({ description: 'Also count all that match, up to 10,000: "total".' }),
    brief: z.enum(['true', 'false']).optional().openapi({
      description:
        'For looking at many: an input or result of more than 1,000 characters as JSON is shown as a string, its first 1,000 and "…"; messages of errors likewise, without causes and stacks.',
    }),
  })
  .catchall(z.union([z.string().max(1_000), z.array(z.string())]))
  .superRefine((query, check) => {
    const fields: Record<string, unknown> = { ...jobFilterFields, limit, cursor, count: true, brief: true };
    for (const [field, value] of Object.entries(query)) {
      if (Object.hasOwn(fields, field)) continue;
      if (!inputPath.test(field)) {
        check.addIssue({ code: 'unrecognized_keys', keys: [field], input: query });
      } else if (field.split('.').includes('__proto__')) {
        // Left to pass it would be lost on the way, and a filter that is lost matches everything.
        check.addIssue({ code: 'custom', path: [field], message: 'names "__proto__", which no input has' });
      } else if (Array.isArray(value)) {
        check.addIssue({ code: 'custom', path: [field], message: 'is there twice' });
      }
    }
  });

/** Filters of jobs in a body. */
export const jobFilterSchema = z
  .strictObject({
    ids: z.array(name).min(1).max(idsMax).optional(),
    status: z.union([z.string(), z.array(z.string())]).optional(),
    type: z.union([name, z.array(name)]).optional(),
    queue: z.union([name, z.array(name)]).optional(),
    tenant: name.nullable().optional(),
    key: name.optional(),
    serial: name.optional(),
    parent: name.optional(),
    schedule: name.optional(),
    since: moment,
    before: moment,
    error: z
      .string()
      .max(200)
      .refine((text) => !text.includes('\0'), 'holds a NUL character')
      .optional(),
    text: z
      .union([z.string().min(1).max(200), z.array(z.string().min(1).max(200)).min(1).max(20)])
      .optional()
      .openapi({
        description:
          'A part of the type, the tenant or the error, or the whole status; any case. Of a list all must match.',
      }),
    dead: z.boolean().optional(),
    input: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .refine((paths) => Object.keys(paths).length > 0, 'names no path: every job would match')
      .optional()
      .openapi({ minProperties: 1, description: 'Values at paths of the input: { "user.id": 42 }.' }),
  })
  .openapi('JobFilter');
