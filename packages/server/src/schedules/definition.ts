import {
  type DeclaredTask,
  DulyError,
  type RuleInput,
  type Schedule,
  type ScheduleChanges,
  type ScheduleDefinition,
} from '@duly/core';
import { builtInPrefix, callbackField } from '@duly/core/internal';
import type { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext } from '../http/context.ts';
import { refuseRedacted } from '../jobs/job-presenter.ts';
import { toRetry } from '../jobs/new-job.ts';
import type {
  declaredSetSchema,
  newScheduleSchema,
  rulePreviewBody,
  scheduleChangesSchema,
} from '../schemas/schedule.ts';
import type { Target } from '../schemas/targets.ts';
import { workOf } from '../targets/work.ts';
import { withCallback } from '../webhooks/callback.ts';

/** The library's definition of what a caller sent; the schedule of a tenant's key is its tenant's. */
export function definitionOf(
  context: ServerContext,
  caller: Caller,
  given: z.infer<typeof newScheduleSchema>,
): ScheduleDefinition {
  const { type, target, input, callback_url: callbackUrl, tenant, retry, ...rest } = given;
  if (target !== undefined && rest.name === undefined) {
    const message = 'A schedule with a "target" needs a "name".';
    throw new DulyError('request_invalid', {
      message,
      details: { issues: [{ in: 'body', path: 'name', message }] },
    });
  }
  const work = workOf(context, caller, { type, target, input });
  refuseRedacted(work.type, work.input, context.options.redact.input);
  const metadata = withCallback(context, given.metadata, callbackUrl);
  return {
    ...(camelFields({ ...rest, input: work.input, metadata }) as Omit<ScheduleDefinition, 'type'>),
    type: work.type,
    tenant: tenantFor(caller, tenant),
    ...(retry === undefined ? {} : { retry: toRetry(retry) }),
  };
}

/** What the code of another process says of a task, as the library takes it. */
export function declaredTaskOf({
  type,
  retry,
  ...rest
}: NonNullable<z.infer<typeof declaredSetSchema>['tasks']>[number]): DeclaredTask {
  return {
    ...camelFields(rest),
    name: type,
    ...(retry === undefined ? {} : { retry: toRetry(retry) }),
  };
}

/** The library's changes of what a caller sent for this schedule. */
export function changesOf(
  context: ServerContext,
  caller: Caller,
  schedule: Schedule,
  given: Omit<z.infer<typeof scheduleChangesSchema>, 'edit_note'>,
): ScheduleChanges {
  const { target, callback_url: callbackUrl, ...rest } = given;
  const changes = camelFields(rest) as ScheduleChanges;
  const { input } = changes;
  if (target !== undefined) changes.input = targetInput(context, caller, schedule, { target, input });
  else if (input !== undefined) changes.input = inputFor(schedule, input);
  if (changes.input !== undefined) {
    refuseRedacted(schedule.type, changes.input, context.options.redact.input);
  }
  if (callbackUrl !== undefined) {
    const { [callbackField]: _, ...metadata } = (changes.metadata ?? schedule.metadata) as Record<
      string,
      unknown
    >;
    changes.metadata = callbackUrl === null ? metadata : withCallback(context, metadata, callbackUrl);
  } else if (changes.metadata !== undefined && changes.metadata !== null) {
    changes.metadata = withCallback(context, changes.metadata as Record<string, unknown>, undefined);
  }
  return changes;
}

/** The input of a schedule's jobs of what a caller sent for it: of a target it is what its templates are filled from, and the target itself stays. */
export function inputFor({ type, input: stored }: Schedule, input: unknown): unknown {
  return type.startsWith(builtInPrefix) ? { ...(stored as object), input } : input;
}

function targetInput(
  context: ServerContext,
  caller: Caller,
  schedule: Schedule,
  { target, input }: { target: Target; input?: unknown },
): unknown {
  const stored = (schedule.input ?? {}) as { input?: unknown };
  const given = input === undefined ? stored.input : input;
  const work = workOf(context, caller, { target, ...(given === undefined ? {} : { input: given }) });
  if (work.type === schedule.type) return work.input;
  const message = 'A target takes the place of one of its kind; create another schedule for another kind.';
  throw new DulyError('request_invalid', {
    message,
    details: { issues: [{ in: 'body', path: 'target', message }] },
  });
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
