import { jobStatuses } from '@duly/core';
import { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { EventFilter } from '../live/event-filter.ts';
import { name } from './answers.ts';

const listMax = 100;

/** A list in a query: repeated, or with commas. */
function listIn<Item extends z.ZodType>(item: Item) {
  return z
    .preprocess(
      (given) => (given === undefined ? undefined : [given].flat().flatMap((one) => String(one).split(','))),
      z.array(item).max(listMax).optional(),
    )
    .openapi({ type: 'string', description: 'One or more, with commas between them.' });
}

/** Which changes, as a query. */
export const eventQuery = z.strictObject({
  job: listIn(name),
  type: listIn(name),
  status: listIn(z.enum(jobStatuses)),
  event: listIn(name),
  queue: listIn(name),
  schedule: listIn(name),
  tenant: name.optional(),
  last_event_id: z.string().max(100).optional().openapi({
    description: 'As the header `Last-Event-ID`, for clients that cannot send it.',
  }),
});

/** Which changes, as JSON. */
export const eventFilterSchema = z.strictObject({
  job: z.array(name).max(listMax).optional(),
  type: z.array(name).max(listMax).optional(),
  status: z.array(z.enum(jobStatuses)).max(listMax).optional(),
  event: z.array(name).max(listMax).optional(),
  queue: z.array(name).max(listMax).optional(),
  schedule: z.array(name).max(listMax).optional(),
  tenant: name.optional(),
});

/** The filter of a caller: a tenant's key is told of its tenant only. Throws `forbidden`. */
export function filterFor(caller: Caller, given: z.infer<typeof eventFilterSchema>): EventFilter {
  const tenant = tenantFor(caller, given.tenant);
  const fields = Object.entries(given).filter(([field, value]) => field !== 'tenant' && value !== undefined);
  return { ...Object.fromEntries(fields), ...(tenant === null ? {} : { tenant }) };
}

/**
 * The place that `Last-Event-ID` names in the stream of changes; null: from now on. What names none was given by another stream or came to harm on the way,
 * and its reader has missed something: it is taken for a place that no store has, which is told as a gap.
 */
export function readPlace(text: string | undefined): number | null {
  if (text === undefined || text === '') return null;
  return /^\d{1,16}$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER;
}
