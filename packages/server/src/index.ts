// The public face of `@duly/server`.
export { type Scope, scopes } from '@duly/core/internal/browser';
export type { Caller } from './auth/caller.ts';
export type { CreatedKey, KeyInfo, Keys, NewKey } from './auth/keys.ts';
export { defaultPort, type Listening, type ListenOptions, listen } from './http/node.ts';
export type { Problem } from './http/problem.ts';
export { createLogger, type LoggerOptions } from './logs/logger.ts';
export type { RedactOptions, ServerOptions } from './options.ts';
export { createServer, type DulyServer } from './server.ts';
