import { DulyError, parseDuration } from '@duly/core';
import { z } from '@hono/zod-openapi';

/** So long a request waits at most; longer, and something on the way takes the connection for dead. */
export const waitSecondsMax = 60;

/** How long a request waits, in a body. Seconds as in `?wait=30`, or a duration as everywhere else. */
export function waitField(forWhat: string) {
  return z
    .union([z.number().min(0).max(waitSecondsMax), z.string().max(100)])
    .optional()
    .openapi({
      description: `How long to wait for ${forWhat}: seconds, or a text like "10s"; at most a minute. Default 0.`,
    });
}

/** The milliseconds of it. Throws `request_invalid` beyond a minute. */
export function waitMs(wait: number | string | undefined): number {
  if (wait === undefined) return 0;
  const ms = typeof wait === 'number' ? wait * 1_000 : parseDuration(wait, 'wait');
  if (ms <= waitSecondsMax * 1_000) return ms;
  const message = `Expected "wait" to be at most ${waitSecondsMax} seconds, got "${wait}".`;
  throw new DulyError('request_invalid', {
    message,
    hint: 'Ask again when the answer comes.',
    details: { issues: [{ in: 'body', path: 'wait', message }] },
  });
}
