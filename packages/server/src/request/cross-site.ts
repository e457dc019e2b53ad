import { DulyError } from '@duly/core';
import type { MiddlewareHandler } from 'hono';
import type { ServerEnv } from '../http/context.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a page of another site asks for, whatever the request carries. Browsers say where a request comes from and pages
 * cannot change it; programs say nothing, and pass.
 */
export const refuseCrossSite: MiddlewareHandler<ServerEnv> = async (c, next) => {
  if (!safeMethods.has(c.req.method)) refuseOtherOrigin(c.req.raw.headers);
  await next();
};

/** Refuses a request of a page of another site. */
export function refuseOtherOrigin(headers: Headers): void {
  if (!isFromElsewhere(headers)) return;
  throw new DulyError('cross_site', {
    message: 'A page of another site asked for a change, or for a connection.',
    hint: 'Those are taken from pages of this server and from programs, not from pages of other sites.',
  });
}

function isFromElsewhere(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const origin = headers.get('origin');
  if (origin === null) return false;
  // "null" is the origin of sandboxed pages and files.
  try {
    return new URL(origin).host !== headers.get('host');
  } catch {
    return true;
  }
}
