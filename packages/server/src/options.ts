import type { Clock, Duly, Duration, Logger } from '@duly/core';
import { DulyError, parseDuration, systemClock } from '@duly/core';
import { quietLogger } from '@duly/core/internal';
import type { SmtpOptions } from './alerts/mailer.ts';
import type { Caller } from './auth/caller.ts';
import type { Lookup } from './outgoing/guarded-client.ts';
import type { RateLimit } from './request/rate-limit.ts';

/** What of inputs and results is not shown, by path: `user.token`; `*` stands for any field or index. */
export interface RedactOptions {
  input?: readonly string[];
  result?: readonly string[];
  metadata?: readonly string[];
}

/** How a server is made. */
export interface ServerOptions {
  /** The Duly that it serves. It is the caller's: the server neither starts nor stops it. */
  duly: Duly;
  /** Where it is mounted, like `/duly`; all addresses begin with it. Default: at the root. */
  basePath?: string;
  /**
   * Names by which it is reached, like `duly.example.com`, without a port. Addresses (`10.0.0.7`), `localhost` and the machine's own name are known. `'any'`: something in front
   * of it checks the name.
   */
  hosts?: readonly string[] | 'any';
  /**
   * Whether a proxy stands before it that says by `X-Forwarded-Proto` how the browser came, and lets nobody else say so. Then cookies of browsers that came by HTTPS go
   * back by HTTPS only. Default false.
   */
  trustProxy?: boolean;
  /** The largest body it takes, in bytes. Default 1 MiB. */
  bodyBytesMax?: number;
  /** What is not shown of jobs to anybody. */
  redact?: RedactOptions;
  /**
   * Says who asks, for a program that has its own sign-in. Asked before keys are looked at; null: it does not know, so a key is needed.
   */
  authorize?: (request: Request) => Caller | null | Promise<Caller | null>;
  /**
   * How many requests and WebSocket messages one key may send to this process. Default: 1,000 per second, with a
   * burst of 2,000. false: no limit.
   */
  rateLimit?: Partial<RateLimit> | false;
  /** How many may watch jobs at the same time, by streams and long polls. Default 10,000; a key may have a quarter of them. */
  watchersMax?: number;
  /** After so long without news a watcher is sent a sign of life, and their key is looked at again, in milliseconds. Default 15 s. */
  heartbeatMs?: number;
  /** What webhooks, alerts and HTTP targets may call beyond the public internet: names of hosts, addresses, ranges. */
  allowTargets?: readonly string[];
  /** Whether jobs may run programs on this machine. Default false. */
  allowCommands?: boolean;
  /** How names are looked up by outgoing requests; the system's way unless given. */
  lookup?: Lookup;
  /** Waits between the tries of a webhook. Default: over three days, as Standard Webhooks recommends. */
  webhookDelays?: readonly Duration[];
  /** How alerts are sent by e-mail; left out, they are not. */
  smtp?: SmtpOptions;
  /** How often the alert rules are looked at. Default 30 s. */
  alertEvery?: Duration;
  logger?: Logger;
  clock?: Clock;
}

/** The options with every choice made. */
export interface ResolvedServerOptions {
  readonly basePath: string;
  readonly hosts: ReadonlySet<string> | 'any';
  readonly trustProxy: boolean;
  readonly bodyBytesMax: number;
  readonly redact: Required<RedactOptions>;
  readonly authorize: NonNullable<ServerOptions['authorize']> | null;
  readonly rateLimit: RateLimit | null;
  readonly watchersMax: number;
  readonly heartbeatMs: number;
  readonly allowTargets: readonly string[];
  readonly allowCommands: boolean;
  readonly lookup: Lookup | null;
  readonly webhookDelays: readonly Duration[] | null;
  readonly smtp: SmtpOptions | null;
  readonly alertEveryMs: number;
}

/** The largest body unless told otherwise. */
export const bodyBytesMaxDefault = 1024 * 1024;

/** Settles the options. */
export function resolveServerOptions(options: ServerOptions): ResolvedServerOptions {
  const { basePath = '', hosts = [], bodyBytesMax = bodyBytesMaxDefault, redact = {}, authorize } = options;
  return Object.freeze({
    basePath: basePath.replace(/\/+$/, ''),
    hosts: hosts === 'any' ? 'any' : new Set(hosts.map((host) => host.toLowerCase())),
    trustProxy: options.trustProxy ?? false,
    bodyBytesMax,
    redact: { input: redact.input ?? [], result: redact.result ?? [], metadata: redact.metadata ?? [] },
    authorize: authorize ?? null,
    rateLimit: readRateLimit(options.rateLimit),
    watchersMax: options.watchersMax ?? 10_000,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    allowTargets: options.allowTargets ?? [],
    allowCommands: options.allowCommands ?? false,
    lookup: options.lookup ?? null,
    webhookDelays: options.webhookDelays ?? null,
    smtp: options.smtp ?? null,
    alertEveryMs: parseDuration(options.alertEvery ?? '30s', 'alertEvery'),
  });
}

function readRateLimit(given: ServerOptions['rateLimit'] = {}): RateLimit | null {
  if (given === false) return null;
  const { perSecond = 1_000, burst = 2 * perSecond } = given;
  if (perSecond > 0 && burst >= 1) return { perSecond, burst };
  throw new DulyError('invalid_option', {
    message: `Expected "rateLimit" to have "perSecond" above 0 and "burst" of at least 1, got ${perSecond} and ${burst}.`,
    hint: 'Use rateLimit: false for no limit.',
    details: { field: 'rateLimit' },
  });
}

/** The logger and the clock that were given, or the usual ones. */
export function partsOf({ logger = quietLogger, clock = systemClock }: ServerOptions): {
  logger: Logger;
  clock: Clock;
} {
  return { logger, clock };
}
