// The public face of `@duly/server`.
export { type Caller, type Scope, scopes } from './auth/caller.ts';
export type { KeyInfo, Keys, MadeKey, NewKey } from './auth/keys.ts';
export { createLogger, type LoggerOptions } from './logs/logger.ts';
export { defaultPort, type Listening, type ListenOptions, listen } from './node.ts';
export type { RedactOptions, ServerOptions } from './options.ts';
export type { Problem } from './problem.ts';
export { createServer, type DulyServer } from './server.ts';
