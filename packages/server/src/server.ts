import type { OpenAPIHono } from '@hono/zod-openapi';
import { createKeys, type Keys } from './auth/keys.ts';
import { createSessions } from './auth/sessions.ts';
import { createBuiltIn } from './built-in/built-in.ts';
import { createApp } from './http/app.ts';
import type { ServerContext, ServerEnv } from './http/context.ts';
import { createLive } from './live/live.ts';
import { partsOf, resolveServerOptions, type ServerOptions } from './options.ts';
import { createRateLimits } from './request/rate-limit.ts';

/** The HTTP API of one Duly, as one fetch handler. */
export interface DulyServer {
  /** Answers a request; mounts into whatever speaks `Request` and `Response`. */
  fetch(request: Request, env?: unknown): Promise<Response>;
  /** The keys of the store, for programs that create them without HTTP. */
  readonly keys: Keys;
  /** Begins what runs beside requests. Called by `listen`; whoever mounts `fetch` calls it once. */
  start(): Promise<void>;
  /** Ends what `start` began, and lets those go who wait for news. The Duly itself goes on. */
  stop(): Promise<void>;
}

/** What the node adapter and the tests reach into. Not public. */
export const appOf = new WeakMap<DulyServer, { app: OpenAPIHono<ServerEnv>; context: ServerContext }>();

/** Creates a server. Nothing is opened or read before the first request. */
export function createServer(options: ServerOptions): DulyServer {
  const { duly } = options;
  const { clock, logger } = partsOf(options);
  const resolved = resolveServerOptions(options);
  const keys = createKeys({ duly, clock });
  const builtIn = createBuiltIn({ duly, clock, logger, options: resolved });
  const context: ServerContext = {
    duly,
    clock,
    logger,
    options: resolved,
    keys,
    sessions: createSessions({ duly, clock, keys }),
    live: createLive({ duly, clock, watchersMax: resolved.watchersMax, redact: resolved.redact }),
    builtIn,
    metrics: builtIn.metrics,
    rateLimits: createRateLimits(resolved.rateLimit, clock),
  };
  const app = createApp(context);
  const server: DulyServer = {
    keys,
    async fetch(request, env) {
      return app.fetch(request, env as never);
    },
    async start() {
      await builtIn.start();
    },
    async stop() {
      context.live.close();
      await builtIn.stop();
    },
  };
  appOf.set(server, { app, context });
  return server;
}
