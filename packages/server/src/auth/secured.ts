import { DulyError } from '@duly/core';
import { allows, type Scope } from '@duly/core/internal/browser';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import type { ServerEnv } from '../http/context.ts';
import { readBody } from '../request/body.ts';
import { idempotent } from '../request/idempotency.ts';
import type { Caller } from './caller.ts';
import type { KeyInfo } from './keys.ts';

/** The cookie of a browser that is signed in. */
export const sessionCookie = 'duly_session';

/** What a route says about who may use it. */
export interface Secured {
  middleware: MiddlewareHandler<ServerEnv>[];
  security: { key: string[] }[];
  /** The least scope, for the document and for the matrix test, which is generated from it. */
  'x-duly-scope': Scope;
  /** `own`: a tenant's key sees what is its tenant's. `refused`: the route is about the whole store. */
  'x-duly-tenant': 'own' | 'refused';
}

/** What else a route says. */
export interface SecuredOptions {
  tenant?: 'own' | 'refused';
  /** Whether it changes something. If not, `Idempotency-Key` is ignored and nothing is stored for it; so for scope `read` unless given. */
  changes?: boolean;
  /** Fields of its answer that hold a secret, which is not stored for `Idempotency-Key`. */
  secrets?: readonly string[];
}

/**
 * Closes a route: whoever asks needs a key of this scope. Spread it into `createRoute({ … })`. A tenant's key passes unless `tenant` is `'refused'`; the
 * route itself then shows only what is the tenant's. What the route does is recorded in the name of the caller.
 */
export function secured(scope: Scope, options: SecuredOptions = {}): Secured {
  const { tenant = 'own', changes = scope !== 'read', secrets } = options;
  return {
    middleware: [guard(scope, tenant), readBody, ...(changes ? [idempotent(secrets)] : [])],
    security: [{ key: [] }],
    'x-duly-scope': scope,
    'x-duly-tenant': tenant,
  };
}

/** Leaves a route open to everybody, and says so in the document. Spread it into `createRoute({ … })`. */
export const unsecured = { security: [] };

function guard(scope: Scope, tenant: 'own' | 'refused'): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const caller = await callerOf(c);
    if (caller === null) {
      c.header('WWW-Authenticate', 'Bearer realm="duly"');
      throw new DulyError('unauthenticated', {
        message: hasCredentials(c) ? 'The key is not valid.' : 'The request carries no key.',
        hint: 'Send "Authorization: Bearer duly_…". "duly keys add" creates a key.',
      });
    }
    const { rateLimits } = c.get('context');
    if (rateLimits?.take(caller.actor) === false) throw rateLimits.refusal(caller.actor);
    if (!allows(caller.scope, scope)) {
      throw new DulyError('forbidden', {
        message: `This needs a key of scope "${scope}", and the key has "${caller.scope}".`,
        details: { needed: scope, scope: caller.scope },
      });
    }
    if (tenant === 'refused' && caller.tenant !== null) {
      throw new DulyError('forbidden', {
        message: 'This is about the whole store, and the key is bound to a tenant.',
        hint: 'Use a key without a tenant.',
      });
    }
    c.set('caller', caller);
    await c.get('context').duly.as(caller.actor, next);
  };
}

/** Who asks: as the program around the server says, by key, or by cookie; null: nobody knows. */
export async function callerOf(c: Context<ServerEnv>): Promise<Caller | null> {
  const { options, keys, sessions } = c.get('context');
  const given = (await options.authorize?.(c.req.raw)) ?? null;
  if (given !== null) return given;
  const text = keyTextOf(c);
  // A key that was sent decides alone: with a wrong one, a cookie must not let the request pass as somebody else.
  if (text !== null) return toCaller(await keys.check(text));
  const token = getCookie(c, sessionCookie);
  return token === undefined ? null : toCaller(await sessions.check(token));
}

/**
 * The key that the request carries, with the scheme `Bearer`, or as the user or password of `Basic`.
 * An empty string for any other scheme, null without the header.
 */
export function keyTextOf(c: Context): string | null {
  const header = c.req.header('authorization');
  if (header === undefined) return null;
  const [scheme = '', value = ''] = header.split(/\s+/, 2);
  const name = scheme.toLowerCase();
  if (name === 'bearer') return value;
  // An unknown scheme is a key that is not valid: a cookie beside it must not count.
  if (name !== 'basic') return '';
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  // curl -u duly_…: has it as the user.
  return text.slice(colon + 1) === '' ? text.slice(0, colon) : text.slice(colon + 1);
}

function hasCredentials(c: Context): boolean {
  return c.req.header('authorization') !== undefined || getCookie(c, sessionCookie) !== undefined;
}

function toCaller(key: KeyInfo | null): Caller | null {
  return key === null ? null : callerOfKey(key);
}

/** Whom a key stands for. */
export function callerOfKey({ id, scope, tenant }: KeyInfo): Caller {
  return { actor: `key:${id}`, scope, tenant };
}
