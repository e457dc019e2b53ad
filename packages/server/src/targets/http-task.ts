import { type Duly, DulyError, type Task, type TaskContext } from '@duly/core';
import { httpTaskName } from '@duly/core/internal';
import type { z } from '@hono/zod-openapi';
import { defineBuiltIn } from '../built-in/define-built-in.ts';
import type { GuardedClient, OutgoingResponse } from '../outgoing/guarded-client.ts';
import { describeStatus, retryAfterOf } from '../outgoing/refusal.ts';
import { type HttpTarget, httpJobInput } from '../schemas/targets.ts';
import type { SigningSecrets } from '../webhooks/signing.ts';
import { fillAddress, fillTemplate, fillText, type TemplateValues } from './template.ts';
import { templateValuesOf } from './template-values.ts';

type Input = z.infer<typeof httpJobInput>;

const resultBytesMax = 16_384;

/** Defines the task that sends HTTP requests. */
export function defineHttpTask(
  duly: Duly,
  { client, secrets }: { client: GuardedClient; secrets: SigningSecrets },
): Task<Input, unknown> {
  return defineBuiltIn(duly, {
    name: httpTaskName,
    input: httpJobInput,
    run: (context) => sendHttpJob(context, client, secrets),
  });
}

async function sendHttpJob(
  context: TaskContext<Input>,
  client: GuardedClient,
  secrets: SigningSecrets,
): Promise<{ status: number; content_type: string | null; body: string; duration_ms: number }> {
  const { http, input } = context.input;
  const values = templateValuesOf(context, input);
  const method = http.method ?? 'POST';
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(http, values);
  const signature =
    http.sign === true
      ? await secrets.signAs({ targetsOf: context.job.tenant }, { id: context.job.id, body: body ?? '' })
      : {};
  const response = await client.send({
    url: fillAddress(http.url, values),
    method,
    headers: {
      ...(body === undefined
        ? {}
        : { 'content-type': typeof http.body === 'string' ? 'text/plain' : 'application/json' }),
      ...headersOf(http, values),
      ...signature,
      'duly-job-id': context.job.id,
      'duly-attempt': String(context.attempt),
    },
    ...(body === undefined ? {} : { body }),
    signal: context.signal,
    ...(http.timeout_ms === undefined ? {} : { timeoutMs: http.timeout_ms }),
  });
  context.log.info(`${method} answered ${response.status} in ${response.durationMs} ms.`);
  if (!isExpected(http, response.status)) throw notExpected(response);
  return {
    status: response.status,
    content_type: response.headers['content-type'] ?? null,
    body: response.body.slice(0, resultBytesMax),
    duration_ms: response.durationMs,
  };
}

function bodyOf({ body }: HttpTarget, values: TemplateValues): string {
  if (body === undefined)
    return JSON.stringify({ job: values.job, slot: values.slot, input: values.input ?? null });
  return typeof body === 'string' ? fillText(body, values) : JSON.stringify(fillTemplate(body, values));
}

function headersOf({ headers = {} }: HttpTarget, values: TemplateValues): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), fillText(value, values)]),
  );
}

function isExpected({ expect_status = '2xx' }: HttpTarget, status: number): boolean {
  const patterns = Array.isArray(expect_status) ? expect_status : [expect_status];
  return patterns.some((one) => one === status || one === `${Math.floor(status / 100)}xx`);
}

function notExpected(response: OutgoingResponse): DulyError {
  const { status, body } = response;
  return new DulyError('unexpected_status', {
    message: `The answer was ${describeStatus(response)}, which is not expected.`,
    hint: 'Check the address, or say with "expect_status" what counts as a success.',
    details: { status, body: body.slice(0, 500), ...retryAfterOf(response) },
  });
}
