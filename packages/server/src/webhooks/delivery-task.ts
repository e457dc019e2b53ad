import {
  type Clock,
  type Duly,
  DulyError,
  type Duration,
  internalQueue,
  isDulyError,
  type Job,
  type Task,
  type TaskContext,
} from '@duly/core';
import { builtInPrefix, toJobJson } from '@duly/core/internal';
import { z } from '@hono/zod-openapi';
import { defineBuiltIn } from '../built-in/define-built-in.ts';
import { withoutHidden } from '../jobs/job-presenter.ts';
import type { RedactOptions } from '../options.ts';
import type { GuardedClient } from '../outgoing/guarded-client.ts';
import { describeStatus, retryAfterOf } from '../outgoing/refusal.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';
import type { Receiver } from './matching.ts';
import type { SigningSecrets } from './signing.ts';

/** The task that delivers webhooks. */
export const deliveryTaskName = `${builtInPrefix}webhook`;

const deliveryInput = z.strictObject({
  job_id: z.string(),
  status: z.string(),
  finished_at: z.number(),
  /** The endpoint of a subscription, or the address of the job's own. */
  endpoint: z.string().nullable(),
  url: z.string().nullable(),
  /** The status JSON at the job's end; null: it is large, and read when it is sent. */
  body: z.unknown(),
});

/** What a delivery is told. */
export type DeliveryInput = z.infer<typeof deliveryInput>;

// As the convention recommends: at once, then over three days with ever longer waits.
const delaysDefault: readonly Duration[] = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'];
const bodyLengthMax = 256 * 1_024;

/** What the task needs. */
export interface DeliveryDeps {
  clock: Clock;
  client: GuardedClient;
  endpoints: Endpoints;
  secrets: SigningSecrets;
  redact: Required<RedactOptions>;
  /** Waits between the tries. */
  delays?: readonly Duration[];
}

/** Defines the task: one job is one delivery, with all its tries. Its id is the `webhook-id`, so that a receiver knows a try that it has seen. */
export function defineDeliveryTask(duly: Duly, deps: DeliveryDeps): Task<DeliveryInput, unknown> {
  const delays = deps.delays ?? delaysDefault;
  return defineBuiltIn(duly, {
    name: deliveryTaskName,
    queue: internalQueue,
    input: deliveryInput,
    retry: {
      attempts: delays.length + 1,
      backoff: (attempt) => delays[Math.min(attempt, delays.length) - 1] ?? '1m',
    },
    timeout: '1m',
    run: (context) => deliver(duly, context, deps),
  });
}

/** The delivery of a job's end to a receiver. */
export function deliveryOf(job: Job, receiver: Receiver, redact: Required<RedactOptions>): DeliveryInput {
  const body = bodyOf(job, redact);
  return {
    job_id: job.id,
    status: job.status,
    finished_at: job.finishedAt?.getTime() ?? 0,
    endpoint: 'endpoint' in receiver ? receiver.endpoint : null,
    url: 'url' in receiver ? receiver.url : null,
    body: JSON.stringify(body).length > bodyLengthMax ? null : body,
  };
}

/** The status JSON as it leaves the server. */
function bodyOf(job: Job, redact: Required<RedactOptions>): Record<string, unknown> {
  return { ...withoutHidden(toJobJson(job), redact) };
}

async function deliver(duly: Duly, context: TaskContext<DeliveryInput>, deps: DeliveryDeps): Promise<object> {
  const { input, job, signal } = context;
  const endpoint = input.endpoint === null ? null : await endpointOf(deps.endpoints, input.endpoint);
  if (input.endpoint !== null && (endpoint === null || !endpoint.isEnabled)) {
    return { delivered: false, reason: endpoint === null ? 'endpoint deleted' : 'endpoint disabled' };
  }
  const url = endpoint?.url ?? (input.url as string);
  const body = JSON.stringify(input.body ?? bodyOf(await duly.job(input.job_id).get(), deps.redact));
  const owner = endpoint === null ? { tenant: job.tenant } : { endpoint: endpoint.id };
  const response = await deps.client.send({
    url,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'duly-event': `job.${input.status.toLowerCase()}`,
      ...(await deps.secrets.signAs(owner, { id: job.id, body })),
    },
    body,
    signal,
  });
  const { status, durationMs } = response;
  context.log.info(`${new URL(url).origin} answered ${status} in ${durationMs} ms.`);
  if (status >= 200 && status < 300) return { delivered: true, status, duration_ms: durationMs };
  if (status === 410) {
    // Whoever says that it is gone for good is not asked again.
    if (endpoint !== null) {
      await deps.endpoints.change(endpoint.id, (value) => ({
        ...value,
        isEnabled: false,
        disabledReason: 'It answered 410 Gone.',
      }));
    }
    return { delivered: false, status, reason: 'gone' };
  }
  throw new DulyError('unexpected_status', {
    message: `The webhook answered ${describeStatus(response)}.`,
    hint: 'Expected a status from 200 to 299; 410 ends deliveries to an endpoint.',
    details: { status, ...retryAfterOf(response) },
  });
}

async function endpointOf(endpoints: Endpoints, id: string): Promise<Endpoint | null> {
  try {
    return await endpoints.get(id);
  } catch (error) {
    if (isDulyError(error, 'webhook_not_found')) return null;
    throw error;
  }
}
