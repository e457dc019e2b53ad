import { isDulyError, type JobsFilter, parseDuration } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext } from '../http/context.ts';
import { findSchedule } from '../schedules/find.ts';
import type { jobFilterSchema, jobListQuery } from '../schemas/job-filter.ts';
import { refuseHiddenFilter } from './job-presenter.ts';

type FilterBody = z.infer<typeof jobFilterSchema>;

/** The library's filter of one in a query. */
export async function filterOfQuery(
  context: ServerContext,
  caller: Caller,
  query: z.infer<typeof jobListQuery>,
): Promise<JobsFilter> {
  const { status, type, queue, ids, dead, limit: _, cursor: __, count: ___, brief: ____, ...rest } = query;
  const input: NonNullable<FilterBody['input']> = {};
  const fields: FilterBody = {};
  for (const [field, value] of Object.entries(rest)) {
    if (field.startsWith('input.')) input[field.slice('input.'.length)] = scalarOf(value as string);
    else if (value !== undefined) Object.assign(fields, { [field]: value });
  }
  return filterOfBody(context, caller, {
    ...fields,
    ...(status === undefined ? {} : { status: splitList(status) }),
    ...(type === undefined ? {} : { type: splitList(type) }),
    ...(queue === undefined ? {} : { queue: splitList(queue) }),
    ...(ids === undefined ? {} : { ids: splitList(ids) }),
    ...(dead === undefined ? {} : { dead: dead === 'true' }),
    ...(Object.keys(input).length === 0 ? {} : { input }),
  });
}

/** The library's filter of one in a body. What a tenant's key asks for is always of its tenant. */
export async function filterOfBody(
  context: ServerContext,
  caller: Caller,
  filter: FilterBody,
): Promise<JobsFilter> {
  const { tenant, schedule, since, status, ...rest } = filter;
  if (rest.input !== undefined) {
    refuseHiddenFilter(
      rest.type === undefined ? undefined : [rest.type].flat(),
      rest.input,
      context.options.redact.input,
    );
  }
  const own = caller.tenant === null ? tenant : tenantFor(caller, tenant);
  return {
    ...(rest as JobsFilter),
    ...(status === undefined ? {} : { status: status as NonNullable<JobsFilter['status']> }),
    ...(own === undefined ? {} : { tenant: own }),
    ...(since === undefined ? {} : { since: readSince(context, since) }),
    ...(schedule === undefined ? {} : { schedule: await scheduleId(context, caller, schedule) }),
  };
}

function splitList(value: string | string[]): string[] {
  return [value].flat().flatMap((one) => one.split(',').filter((part) => part !== ''));
}

/** `42`, `true` and `null` are what they are in JSON; `"42"` is a text, and so is everything else. */
function scalarOf(text: string): string | number | boolean | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return value as string | number | boolean | null;
  } catch {
    // No JSON, so it is a text.
  }
  return text;
}

/** An instant, or so long ago. */
function readSince({ clock }: ServerContext, since: string): string | number {
  try {
    return clock.now() - parseDuration(since, 'since');
  } catch (error) {
    if (!isDulyError(error, 'invalid_duration')) throw error;
    return since;
  }
}

/** The id of the schedule that is named. One that was deleted still has its runs. */
async function scheduleId(context: ServerContext, caller: Caller, name: string): Promise<string> {
  if (/^sch_[0-9a-z]{26}$/.test(name)) return name;
  return (await findSchedule(context, caller, name, { deleted: true })).id;
}
