import { DulyError } from '@duly/core';
import type { MiddlewareHandler } from 'hono';
import type { ServerEnv } from '../http/context.ts';

/** Refuses an address with a NUL character, in its path or its query: no name or id has one, and not every store can even be asked for it. */
export const refuseNul: MiddlewareHandler<ServerEnv> = async (c, next) => {
  if (c.req.url.includes('%00')) {
    throw new DulyError('request_invalid', {
      message: 'The address holds a NUL character (%00).',
      details: { issues: [{ in: 'path', path: '', message: 'holds a NUL character' }] },
    });
  }
  await next();
};
