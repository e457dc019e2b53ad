import { DulyError, type RuleInput, type ScheduleChanges, type ScheduleDefinition } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext } from '../context.ts';
import { toRetry } from '../jobs/new-job.ts';
import type { newScheduleSchema, rulePreviewBody, scheduleChangesSchema } from '../schemas/schedule.ts';
import { workOf } from '../targets/work.ts';
import { withCallback } from '../webhooks/callback.ts';

/** The library's definition of what a caller sent; the schedule of a tenant's key is its tenant's. */
export async function definitionOf(
  context: ServerContext,
  caller: Caller,
  given: z.infer<typeof newScheduleSchema>,
): Promise<ScheduleDefinition> {
  const { type, target, input, callback_url: callbackUrl, tenant, retry, ...rest } = given;
  if (target !== undefined && rest.name === undefined) {
    const message = 'A schedule with a "target" needs a "name".';
    throw new DulyError('request_invalid', {
      message,
      details: { issues: [{ in: 'body', path: 'name', message }] },
    });
  }
  const work = workOf(context, caller, { type, target, input });
  const metadata = await withCallback(context, given.metadata, callbackUrl);
  return {
    ...(camelFields({ ...rest, input: work.input, metadata }) as Omit<ScheduleDefinition, 'task'>),
    task: work.type,
    tenant: tenantFor(caller, tenant),
    ...(retry === undefined ? {} : { retry: toRetry(retry) }),
  };
}

/** The library's changes of what a caller sent. */
export function changesOf(given: Omit<z.infer<typeof scheduleChangesSchema>, 'edit_note'>): ScheduleChanges {
  return camelFields(given) as ScheduleChanges;
}

/** The library's rule of what a caller sent. */
export function ruleOf(given: Omit<z.infer<typeof rulePreviewBody>, 'after' | 'count'>): RuleInput {
  return camelFields(given) as RuleInput;
}

/** The outer names in camel case; what is inside is the same in both. */
function camelFields(given: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [field.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), value]),
  );
}
