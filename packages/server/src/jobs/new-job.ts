import { DulyError, type JobHandle, type JobOptions, parseInstant } from '@duly/core';
import type { z } from '@hono/zod-openapi';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant.ts';
import type { ServerContext } from '../http/context.ts';
import type { jobOptionFields, newJobSchema } from '../schemas/job.ts';
import { workOf } from '../targets/work.ts';
import { withCallback } from '../webhooks/callback.ts';
import { refuseRedacted } from './job-presenter.ts';

type NewJob = z.infer<typeof newJobSchema>;
type JobOptionFields = Partial<z.infer<z.ZodObject<typeof jobOptionFields>>>;

/** Creates a job of what a caller sent; with this id, if it is to be created once. */
export async function createJob(
  context: ServerContext,
  caller: Caller,
  given: NewJob,
  id: string | null = null,
): Promise<JobHandle> {
  const { type, input } = workOf(context, caller, given);
  refuseRedacted(type, input, context.options.redact.input);
  const task = context.duly.taskNamed(type);
  const metadata = withCallback(context, given.metadata, given.callback_url);
  const options = {
    ...readOptions(caller, metadata === undefined ? given : { ...given, metadata }),
    ...(id === null ? {} : { id }),
  };
  const { run_at: runAt, delay } = given;
  if (runAt !== undefined && delay !== undefined) {
    throw new DulyError('request_invalid', {
      message: 'Expected "run_at" or "delay", got both.',
      details: { issues: [{ in: 'body', path: 'delay', message: 'is not for use with "run_at"' }] },
    });
  }
  if (runAt !== undefined) return task.at(parseInstant(runAt, 'run_at'), input, options);
  return delay === undefined ? task.now(input, options) : task.in(delay, input, options);
}

function readOptions(caller: Caller, given: NewJob): JobOptions {
  const { key, dedupe } = given;
  if (key !== undefined && dedupe !== undefined) {
    throw new DulyError('request_invalid', {
      message: 'Expected "key" or "dedupe", got both.',
      details: { issues: [{ in: 'body', path: 'key', message: 'is not for use with "dedupe"' }] },
    });
  }
  const holds = dedupe ?? (key === undefined ? undefined : { key });
  return {
    ...toJobOptions(given),
    ...tenantOption(tenantFor(caller, given.tenant)),
    ...(holds === undefined ? {} : { dedupe: toDedupe(holds) }),
  };
}

/** The library's options of what was sent, the tenant left out. */
export function toJobOptions(given: JobOptionFields): JobOptions {
  const { metadata, queue, priority, serial, start_deadline, retry, timeout, delivery } = given;
  return {
    ...(metadata === undefined ? {} : { metadata }),
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(serial === undefined ? {} : { serial }),
    ...(start_deadline === undefined ? {} : { startDeadline: start_deadline }),
    ...(retry === undefined ? {} : { retry: toRetry(retry) }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(delivery === undefined ? {} : { delivery }),
  };
}

function tenantOption(tenant: string | null): JobOptions {
  return tenant === null ? {} : { tenant };
}

/** The library's retry policy of what was sent. */
export function toRetry(retry: NonNullable<JobOptionFields['retry']>): NonNullable<JobOptions['retry']> {
  if (typeof retry === 'number') return retry;
  const { max_delay, ...rest } = retry;
  return withoutUndefined({ ...rest, maxDelay: max_delay });
}

function toDedupe(dedupe: NonNullable<NewJob['dedupe']>): NonNullable<JobOptions['dedupe']> {
  const { max_wait, key, ...rest } = dedupe;
  return { key, ...withoutUndefined({ ...rest, maxWait: max_wait }) };
}

function withoutUndefined<Value extends object>(
  value: Value,
): { [Name in keyof Value]?: NonNullable<Value[Name]> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
}
