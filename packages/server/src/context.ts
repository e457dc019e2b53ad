import type { Clock, Duly, Logger } from '@duly/core';
import type { Caller } from './auth/caller.ts';
import type { Keys } from './auth/keys.ts';
import type { Sessions } from './auth/sessions.ts';
import type { ResolvedServerOptions } from './options.ts';

/** What every route is given. */
export interface ServerContext {
  readonly duly: Duly;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: ResolvedServerOptions;
  readonly keys: Keys;
  readonly sessions: Sessions;
}

/** The types of hono's context in all routes. */
export interface ServerEnv {
  Variables: {
    context: ServerContext;
    /** Who asks; there on every route that is `secured`. */
    caller: Caller;
  };
}
