import type { OutgoingResponse } from './guarded-client.ts';

const waitMsMax = 86_400_000;

/**
 * How long an answer of 429 or 503 asks to be left alone, as the details of the error for it: the worker then waits at least so long, and as long as the
 * job's own policy says if that is longer. Seconds only: a date would have to be compared with somebody's clock. At most a day.
 */
export function retryAfterOf({ status, headers }: OutgoingResponse): { retryAfterMs?: number } {
  const given = headers['retry-after']?.trim() ?? '';
  if ((status !== 429 && status !== 503) || !/^\d{1,9}$/.test(given)) return {};
  return { retryAfterMs: Math.min(Number(given) * 1_000, waitMsMax) };
}

/** A status that was not wanted, for the message of an error. */
export function describeStatus(response: OutgoingResponse): string {
  const { status, headers } = response;
  if (status >= 300 && status < 400) return `${status} (redirects are not followed)`;
  return retryAfterOf(response).retryAfterMs === undefined
    ? String(status)
    : `${status} (Retry-After: ${headers['retry-after']?.trim()})`;
}
