import { DulyError } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { KeyInfo } from '../auth/keys.ts';
import { keyTextOf, secured, sessionCookie } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { json } from '../schemas/answers.ts';
import { sessionSchema } from '../schemas/key.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const tags = ['session'];

const who = createRoute({
  method: 'get',
  path: '/api/session',
  operationId: 'getSession',
  tags,
  summary: 'Who the server takes the caller for',
  ...secured('read'),
  responses: { 200: json(sessionSchema, 'The caller.'), ...problems },
});

const signIn = createRoute({
  method: 'post',
  path: '/api/session',
  operationId: 'signIn',
  tags,
  summary: 'Sign a browser in: the key goes in the Authorization header, a cookie comes back',
  ...secured('read'),
  responses: { 200: json(sessionSchema, 'The caller; the cookie lasts 30 days.'), ...problems },
});

const signOut = createRoute({
  method: 'delete',
  path: '/api/session',
  operationId: 'signOut',
  tags,
  summary: 'Sign a browser out',
  ...secured('read'),
  responses: { 204: { description: 'The cookie is worth nothing any more.' }, ...problems },
});

const byAddress = createRoute({
  method: 'get',
  path: '/signin',
  operationId: 'signInByAddress',
  tags,
  summary: 'Sign a browser in by an address that carries a key; needs no other',
  request: { query: z.strictObject({ key: z.string().max(200) }) },
  responses: {
    303: { description: 'Signed in: to the dashboard, at an address without the key.' },
    ...problems,
  },
});

/** `/api/session` and `/signin`. */
export function sessionRoutes(context: ServerContext): OpenAPIHono<ServerEnv> {
  const { keys, sessions, options } = context;
  const routes = newRoutes();

  async function begin(c: Context, key: KeyInfo): Promise<void> {
    const { token, expiresAt } = await sessions.begin(key);
    setCookie(c, sessionCookie, token, {
      httpOnly: true,
      sameSite: 'Strict',
      path: options.basePath || '/',
      expires: new Date(expiresAt),
      secure: isByHttps(c, options.trustProxy),
    });
  }

  routes.openapi(who, (c) => c.json(sessionOf(c.var.caller), 200));

  routes.openapi(signIn, async (c) => {
    const text = keyTextOf(c);
    const key = text === null ? null : await keys.check(text);
    if (key === null) {
      throw new DulyError('request_invalid', {
        message: 'Signing in takes a key.',
        hint: 'Send "Authorization: Bearer duly_…".',
      });
    }
    await begin(c, key);
    return c.json(sessionOf(c.var.caller), 200);
  });

  routes.openapi(signOut, async (c) => {
    const token = getCookie(c, sessionCookie);
    if (token !== undefined) await sessions.end(token);
    deleteCookie(c, sessionCookie, { path: options.basePath || '/' });
    return c.body(null, 204);
  });

  routes.openapi(byAddress, async (c) => {
    const key = await keys.check(c.req.valid('query').key);
    if (key === null) {
      throw new DulyError('unauthenticated', {
        message: 'The key in the address is not valid.',
        hint: 'It may have been revoked. "duly keys add" makes one.',
      });
    }
    await context.duly.as(`key:${key.id}`, () => begin(c, key));
    // The key must not travel on to other servers.
    c.header('Referrer-Policy', 'no-referrer');
    return c.redirect(`${options.basePath}/`, 303) as never;
  });

  return routes;
}

/** Whether the browser came by HTTPS: to this server, or to the proxy before it, whose last word is the nearest one's. */
function isByHttps(c: Context, trustProxy: boolean): boolean {
  const told = trustProxy ? c.req.header('x-forwarded-proto')?.split(',').at(-1)?.trim() : undefined;
  return (told ?? new URL(c.req.url).protocol.slice(0, -1)).toLowerCase() === 'https';
}

function sessionOf({
  actor,
  scope,
  tenant,
}: {
  actor: string;
  scope: z.infer<typeof sessionSchema>['scope'];
  tenant: string | null;
}) {
  return { actor, scope, tenant };
}
