import type { RuleInput, ScheduleChanges, ScheduleDefinition } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant.ts';
import { toRetry } from '../jobs/new-job.ts';
import type { newScheduleSchema, rulePreviewBody, scheduleChangesSchema } from '../schemas/schedule.ts';

/** The library's definition of what a caller sent; the schedule of a tenant's key is its tenant's. */
export function definitionOf(caller: Caller, given: z.infer<typeof newScheduleSchema>): ScheduleDefinition {
  const { type, tenant, retry, ...rest } = given;
  return {
    ...(camelFields(rest) as Omit<ScheduleDefinition, 'task'>),
    task: type,
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
