import type { Clock, Duly, Logger } from '@duly/core';
import type { Caller } from '../auth/caller.ts';
import type { Keys } from '../auth/keys.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { BuiltIn } from '../built-in/built-in.ts';
import type { Live } from '../live/live.ts';
import type { LiveSocket } from '../live/socket.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ResolvedServerOptions } from '../options.ts';
import type { RateLimits } from '../request/rate-limit.ts';

/** What every route is given. */
export interface ServerContext {
  readonly duly: Duly;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: ResolvedServerOptions;
  readonly keys: Keys;
  readonly sessions: Sessions;
  /** Tells what happens to jobs while it happens. */
  readonly live: Live;
  readonly builtIn: BuiltIn;
  readonly metrics: Metrics;
  /** null: no limit. */
  readonly rateLimits: RateLimits | null;
}

/** The types of hono's context in all routes. */
export interface ServerEnv {
  Bindings: {
    /** There when the request asks for a WebSocket and the adapter can give one: set to what is done with it. */
    socket?: { accept: ((socket: LiveSocket) => void) | null };
  };
  Variables: {
    context: ServerContext;
    /** Who asks; there on every route that is `secured`. */
    caller: Caller;
    /** The id that a job created by this request is to have, if it is to be created once; null: any. */
    jobId: string | null;
  };
}
