import { DulyError } from '@duly/core';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { KeyInfo } from '../auth/keys.ts';
import { keyTextOf, secured, sessionCookie, unsecured } from '../auth/secured.ts';
import { signInPage, signInPolicy, signInRefusedPage } from '../auth/sign-in-page.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { answerProblem, toProblem } from '../http/problem.ts';
import { json } from '../schemas/answers.ts';
import { sessionSchema } from '../schemas/key.ts';
import { problems, refusal } from '../schemas/problem.ts';
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

const openLink = createRoute({
  method: 'get',
  path: '/signin',
  operationId: 'openSignInLink',
  tags,
  summary: 'Open a link that carries a key: a page asks whether to sign in with it',
  ...unsecured,
  request: { query: z.strictObject({ key: z.string().max(200).optional() }) },
  responses: {
    200: { description: 'The page that asks.', content: { 'text/html': { schema: z.string() } } },
    303: {
      description:
        'With a key: to the page that asks, at an address without the key. Otherwise: to the dashboard.',
    },
    401: refusal(401),
    ...problems,
  },
});

const confirmLink = createRoute({
  method: 'post',
  path: '/signin',
  operationId: 'confirmSignInLink',
  tags,
  summary: 'Sign a browser in with the key of the link that it has opened',
  ...unsecured,
  request: {
    query: z.strictObject({
      key_id: z.string().max(100).optional().openapi({
        description: 'The id of the key that the page showed. If the link is of another key, it is refused.',
      }),
    }),
  },
  responses: { 303: { description: 'Signed in: to the dashboard.' }, 401: refusal(401), ...problems },
});

// The key of a link that was opened and not yet confirmed. Lax: a link in a mail must reach the page that asks.
const linkCookie = 'duly_signin';
const linkSeconds = 300;

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

  /** The key of a link; throws if it is none, or no longer valid. */
  async function keyOfLink(text: string | undefined): Promise<KeyInfo> {
    const key = text === undefined ? null : await keys.check(text);
    if (key !== null) return key;
    throw new DulyError('unauthenticated', {
      message: text === undefined ? 'No sign-in link was opened.' : 'The key in the link is not valid.',
      hint: 'Links expire after 5 minutes, and keys may be revoked. "duly keys add" creates a key.',
    });
  }

  const linkPath = `${options.basePath}/signin`;

  function html(c: Context, page: string, status: 200 | 400 | 401): Response {
    c.header('Content-Security-Policy', signInPolicy);
    // The site that opened the page gets no handle of its window, so it cannot move or close it.
    c.header('Cross-Origin-Opener-Policy', 'same-origin');
    // Not "no-referrer": the form would be sent with "Origin: null", which is refused.
    c.header('Referrer-Policy', 'same-origin');
    return c.html(page, status) as Response;
  }

  /** Answers a browser with a page, and a program with the problem. */
  function refuseLink(c: Context<ServerEnv>, error: unknown): Response {
    const problem = toProblem(error);
    if (problem.code === 'unauthenticated') deleteCookie(c, linkCookie, { path: linkPath });
    const isShown = problem.status < 500 && /\btext\/html\b/i.test(c.req.header('accept') ?? '');
    if (!isShown) return answerProblem(error, c);
    const page = signInRefusedPage({ problem, dashboard: `${options.basePath}/` });
    return html(c, page, problem.status as 400 | 401);
  }

  async function open(c: Context<ServerEnv>, text: string | undefined): Promise<Response> {
    if (text !== undefined) {
      await keyOfLink(text);
      setCookie(c, linkCookie, text, {
        httpOnly: true,
        sameSite: 'Lax',
        path: linkPath,
        maxAge: linkSeconds,
        secure: isByHttps(c, options.trustProxy),
      });
      // Browsers put the address after the redirect into their history, so the key is not in it.
      c.header('Referrer-Policy', 'no-referrer');
      return c.redirect(linkPath, 303);
    }
    const pending = getCookie(c, linkCookie);
    if (pending === undefined) return c.redirect(`${options.basePath}/`, 303);
    const key = await keyOfLink(pending);
    const action = `${linkPath}?key_id=${encodeURIComponent(key.id)}`;
    return html(c, signInPage({ key, action }), 200);
  }

  async function confirm(c: Context<ServerEnv>, shownId: string | undefined): Promise<Response> {
    const key = await keyOfLink(getCookie(c, linkCookie));
    // Another site can open a second link after the page was shown, which replaces the cookie.
    if (shownId !== key.id) {
      throw new DulyError('request_invalid', {
        message: 'The link that this browser opened last is of another key than the page showed.',
        hint: 'Open your link again, and confirm the page that it shows.',
      });
    }
    await context.duly.as(`key:${key.id}`, () => begin(c, key));
    deleteCookie(c, linkCookie, { path: linkPath });
    return c.redirect(`${options.basePath}/`, 303);
  }

  routes.openapi(
    openLink,
    (c) => open(c, c.req.valid('query').key).catch((error: unknown) => refuseLink(c, error)) as never,
  );

  // Another site can open a link, but it cannot send this request (`refuseCrossSite`) or frame the page.
  routes.openapi(
    confirmLink,
    (c) => confirm(c, c.req.valid('query').key_id).catch((error: unknown) => refuseLink(c, error)) as never,
  );

  return routes;
}

/** Whether the browser came by HTTPS: to this server, or to the proxy before it, whose last word is the nearest one's. */
function isByHttps(c: Context, trustProxy: boolean): boolean {
  const forwarded = trustProxy ? c.req.header('x-forwarded-proto')?.split(',').at(-1)?.trim() : undefined;
  return (forwarded ?? new URL(c.req.url).protocol.slice(0, -1)).toLowerCase() === 'https';
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
