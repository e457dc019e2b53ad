import { DulyError, type ErrorCode, errorCodes, isDulyError, type Logger } from '@duly/core';
import { snakeName } from '@duly/core/internal';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { rateLimitHeaders } from '../request/rate-limit.ts';
import { newJobSchema } from '../schemas/job.ts';
import { newScheduleSchema } from '../schemas/schedule.ts';
import type { ServerEnv } from './context.ts';

/** An error as HTTP shows it: RFC 9457, with the code, the hint and the details of the `DulyError`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: ErrorCode;
  detail: string;
  hint?: string;
  details?: Record<string, unknown>;
}

/** Names of the library's options that are fields of requests, too. */
const fieldNames = new Set(
  [
    ...Object.keys(newJobSchema.shape),
    ...Object.keys(newScheduleSchema.shape),
    'max_delay',
    'max_wait',
    'retry_in',
  ].map((name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())),
);

/** The status of each code that is not 400. One that is not here was written by the caller. */
const statuses: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  unauthenticated: 401,
  forbidden: 403,
  cross_site: 403,
  store_denied: 500,
  host_unknown: 421,
  route_not_found: 404,
  method_not_allowed: 405,
  job_not_found: 404,
  schedule_not_found: 404,
  node_not_found: 404,
  key_not_found: 404,
  value_not_found: 404,
  webhook_not_found: 404,
  alert_not_found: 404,
  alert_channel_in_use: 409,
  commands_disabled: 403,
  target_refused: 422,
  job_pruned: 410,
  job_not_changeable: 409,
  too_many_match: 409,
  records_conflict: 409,
  schedule_conflict: 409,
  schedule_ambiguous: 409,
  schedule_disabled: 409,
  lease_lost: 409,
  lock_lost: 409,
  upgrade_required: 426,
  idempotency_conflict: 422,
  invalid_input: 422,
  body_too_large: 413,
  input_too_large: 413,
  backfill_too_large: 413,
  content_type_unsupported: 415,
  store_busy: 503,
  store_unavailable: 503,
  store_not_found: 503,
  store_closed: 503,
  store_full: 507,
  store_read_only: 503,
  too_many_watchers: 503,
  rate_limited: 429,
  request_header_too_large: 431,
  request_too_slow: 408,
  stopped: 503,
  shutdown: 503,
  store_corrupt: 500,
  rrule_library_missing: 501,
  internal: 500,
};

/** The HTTP status of a code. */
export function statusOf(code: ErrorCode): ContentfulStatusCode {
  return statuses[code] ?? 400;
}

/** Turns an error into a problem; one that is none of Duly's is `internal`, and tells nothing of itself, and neither does one of the store. */
export function toProblem(error: unknown): Problem {
  const known = isDulyError(error) ? error : fromHttpException(error);
  if (known === null) {
    return problem('internal', 'The server failed at this request.', 'Its log says why.', {});
  }
  // Whoever asks, even without a key: where the store is, and what it was asked, is for the log.
  if (known.code === 'internal' || (known.code.startsWith('store_') && statusOf(known.code) >= 500))
    return problem(known.code, 'The server failed at this request.', 'Its log says why.', {});
  return inSnakeCase(problem(known.code, known.message, known.hint, known.details));
}

/** Names of fields as the request has them: the library says "catchUpWindow" where the caller wrote "catch_up_window". */
function inSnakeCase(given: Problem): Problem {
  const rename = (text: string): string =>
    text.replace(
      /"([a-zA-Z]+(?:\.[a-zA-Z]+)*)"/g,
      (_, path: string) => `"${path.split('.').map(inField).join('.')}"`,
    );
  const { details } = given;
  return {
    ...given,
    detail: rename(given.detail),
    // The library's verb for a due instant is a field here, and most fields that take a duration have none.
    ...(given.hint === undefined ? {} : { hint: rename(given.hint).replace(' with at()', '') }),
    ...(typeof details?.field === 'string'
      ? { details: { ...details, field: details.field.split('.').map(snakeName).join('.') } }
      : {}),
  };
}

function inField(name: string): string {
  return fieldNames.has(name) ? snakeName(name) : name;
}

/** Answers with a problem. */
export function answerProblem(error: unknown, c: Context<ServerEnv>): Response {
  const { logger } = c.get('context');
  const { status, headers, body } = problemAnswer(error, { method: c.req.method, path: c.req.path, logger });
  return c.body(body, status, headers);
}

/** The answer to a request that failed. What is the server's own fault is logged. */
export function problemAnswer(
  error: unknown,
  { method, path, logger }: { method: string; path: string; logger: Logger },
): { status: ContentfulStatusCode; headers: Record<string, string>; body: string } {
  const shown = toProblem(error);
  if (shown.status >= 500) logger.error({ error, method, path }, 'A request failed.');
  return {
    status: shown.status as ContentfulStatusCode,
    headers: {
      'Content-Type': 'application/problem+json',
      ...(shown.status === 503 ? { 'Retry-After': '1' } : {}),
      ...(shown.code === 'rate_limited' ? rateLimitHeaders(shown.details ?? {}) : {}),
    },
    body: JSON.stringify(shown),
  };
}

function problem(
  code: ErrorCode,
  detail: string,
  hint: string | undefined,
  details: Record<string, unknown>,
): Problem {
  return {
    type: `urn:duly:error:${code}`,
    title: errorCodes[code],
    status: statusOf(code),
    code,
    detail,
    ...(hint === undefined ? {} : { hint }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  };
}

/** What the framework itself refuses. */
function fromHttpException(error: unknown): DulyError | null {
  if (!(error instanceof HTTPException)) return null;
  if (error.status === 415) {
    return new DulyError('content_type_unsupported', {
      message: 'The body is of a type that this route does not take.',
      hint: 'Send JSON with "Content-Type: application/json".',
    });
  }
  if (error.status === 400) return new DulyError('body_invalid', { message: 'The body is not JSON.' });
  return null;
}
