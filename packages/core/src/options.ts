import { hostname } from 'node:os';
import { type Clock, systemClock } from './base/clock.ts';
import { type Duration, parseDuration } from './base/duration.ts';
import { inputBytesMax } from './base/json.ts';
import { type Logger, quietLogger, stderrLogger } from './base/logger.ts';
import {
  type OptionNames,
  readFlag,
  readName,
  readOptions,
  readWholeNumber,
  readWord,
  refuseOption,
} from './base/option-reader.ts';
import { type Random, systemRandom } from './base/random.ts';
import { isPgPool, type PgPool, type PoolStore } from './engines/shared/pool.ts';
import type { Tracing } from './jobs/tracing.ts';
import { readSchemaName } from './store/store-url.ts';

/** The parts a node can play. */
export const roles = ['scheduler', 'worker', 'maintenance'] as const;

/** What a node does: decides due schedules, runs jobs, or keeps the store in order. */
export type Role = (typeof roles)[number];

/** What `new Duly` takes. */
export interface DulyOptions {
  /**
   * Where the promises are kept. Default `'sqlite:./duly.db'`; `'sqlite::memory:'` keeps them in this process only; `'postgres://…'`, a `pg.Pool` of
   * the program's own, or `{ pool, schema, listenUrl }`.
   */
  store?: string | PgPool | PoolStore;
  /** The name of the program, told in `why`, in the list of nodes and in the audit. Default `'default'`. */
  app?: string;
  /** The program's release, for schedules that are declared in code. */
  release?: string;
  /** How many attempts this node runs at the same time. Default 20. */
  concurrency?: number;
  /** Which queues this node takes from. Left out: all. */
  queues?: readonly string[];
  /** Where Duly says what it finds. Default: warnings and errors to stderr. `false`: nowhere. */
  logger?: Logger | false;
  /** Follows jobs from where they are created to their attempts: `openTelemetry(api)`. */
  tracing?: Tracing;
  /** Where time comes from; for tests. */
  clock?: Clock;
  /** Where chance comes from; for tests. */
  random?: Random;
  /** How long a node that says nothing keeps a job. Default 30 s; at least three heartbeats. */
  lease?: Duration;
  /** How often leases are renewed. Default a sixth of the lease, so 5 s. */
  heartbeat?: Duration;
  /** How long `stop()` lets running attempts finish. Default 30 s. */
  drain?: Duration;
  /** Who is named in the audit. Default `app@host:pid`. */
  actor?: string;
  limits?: LimitOptions;
  retention?: RetentionOptions;
}

/** How long the store keeps what belongs to no task. Finished jobs are kept by their task's `retention` and `deadRetention`. */
export interface RetentionOptions {
  /** The feed of changes: whoever was away for longer reads the jobs themselves again. Default 1 day; at least 1 s. */
  changes?: Duration;
  /** The audit: who did what to jobs and schedules. Default 400 days; at least 1 s. */
  audit?: Duration;
  /** Decisions about slots, before they are compacted into one row for each month. Default 400 days; at least 1 s. */
  ledger?: Duration;
}

/** Bounds on what callers hand in. */
export interface LimitOptions {
  /** Most bytes of a job's input as JSON. Default and maximum 1 MiB. */
  inputBytes?: number;
}

/** What `duly.start` takes. */
export interface StartOptions {
  /** Default: all three. */
  roles?: readonly Role[];
  concurrency?: number;
  queues?: readonly string[];
  /**
   * Stops, with a drain, on SIGTERM and SIGINT, and ends the process then unless the program listens to the signal too; the second signal
   * stops at once. Default false: the program may have its own ideas.
   */
  signals?: boolean;
}

/** What `duly.stop` takes. */
export interface StopOptions {
  /** How long running attempts may take to finish; then they are given back unspent. */
  drain?: Duration;
}

/** The options of a Duly with every choice made. */
export interface ResolvedOptions {
  readonly store: string | PoolStore;
  readonly app: string;
  readonly release: string | null;
  readonly concurrency: number;
  readonly queues: readonly string[] | null;
  readonly logger: Logger;
  readonly tracing: Tracing | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly drainMs: number;
  readonly actor: string;
  readonly inputBytesMax: number;
  readonly retention: ResolvedRetention;
}

/** The retention of what belongs to no task, with every choice made. */
export interface ResolvedRetention {
  readonly changesMs: number;
  readonly auditMs: number;
  readonly ledgerMs: number;
}

/** The options of a start with every choice made. */
export interface ResolvedStart {
  readonly roles: readonly Role[];
  readonly concurrency: number;
  readonly queues: readonly string[] | null;
  readonly signals: boolean;
}

const dulyNames: OptionNames<DulyOptions> = {
  store: true,
  app: true,
  release: true,
  concurrency: true,
  queues: true,
  logger: true,
  tracing: true,
  clock: true,
  random: true,
  lease: true,
  heartbeat: true,
  drain: true,
  actor: true,
  limits: true,
  retention: true,
};
const limitNames: OptionNames<LimitOptions> = { inputBytes: true };
const retentionNames: OptionNames<RetentionOptions> = { changes: true, audit: true, ledger: true };
const poolNames: OptionNames<PoolStore> = { pool: true, schema: true, listenUrl: true };
const startNames: OptionNames<StartOptions> = { roles: true, concurrency: true, queues: true, signals: true };
const stopNames: OptionNames<StopOptions> = { drain: true };

/** Where the store is when nobody says. */
export const defaultStore = 'sqlite:./duly.db';
const defaultConcurrency = 20;
const concurrencyMax = 100_000;
const defaultLeaseMs = 30_000;
// Six heartbeats to a lease: two may be lost on the way and one more be late before a live node loses its jobs.
const heartbeatsPerLease = 6;
// A lease shorter than this ends during an ordinary pause of the garbage collector.
const leaseMsMin = 100;
const defaultDrainMs = 30_000;
const dayMs = 86_400_000;
const defaultRetention: ResolvedRetention = { changesMs: dayMs, auditMs: 400 * dayMs, ledgerMs: 400 * dayMs };
// Nothing is pruned more often: a promise to keep something for less would not be kept.
const retentionMsMin = 1_000;

/** Checks the options of a Duly. Throws `invalid_option` or `invalid_duration`. */
export function resolveOptions(given: DulyOptions | undefined): ResolvedOptions {
  const options = readOptions(given, 'new Duly()', dulyNames);
  const limits = readOptions(options.limits, 'limits', limitNames);
  const app = options.app === undefined ? 'default' : readName(options.app, 'app');
  const leaseMs =
    options.lease === undefined
      ? defaultLeaseMs
      : parseDuration(options.lease, 'lease', { minMs: leaseMsMin });
  const heartbeatMs =
    options.heartbeat === undefined
      ? Math.floor(leaseMs / heartbeatsPerLease)
      : parseDuration(options.heartbeat, 'heartbeat', { minMs: 1 });
  if (heartbeatMs * 3 > leaseMs) {
    refuseOption(
      'heartbeat',
      options.heartbeat,
      `to be at most a third of the lease (${leaseMs} ms)`,
      'One late heartbeat must not lose a job.',
    );
  }
  return Object.freeze({
    store: options.store === undefined ? defaultStore : readStore(options.store),
    app,
    release: options.release === undefined ? null : readName(options.release, 'release'),
    concurrency: readConcurrency(options.concurrency, defaultConcurrency),
    queues: readQueues(options.queues, null),
    logger: readLogger(options.logger),
    tracing:
      options.tracing === undefined ? null : readMethods(options.tracing, 'tracing', ['enqueue', 'attempt']),
    clock: options.clock === undefined ? systemClock : readClock(options.clock),
    random: options.random === undefined ? systemRandom : readRandom(options.random),
    leaseMs,
    heartbeatMs,
    drainMs: options.drain === undefined ? defaultDrainMs : parseDuration(options.drain, 'drain'),
    actor:
      options.actor === undefined ? `${app}@${hostname()}:${process.pid}` : readName(options.actor, 'actor'),
    inputBytesMax:
      limits.inputBytes === undefined
        ? inputBytesMax
        : readWholeNumber(limits.inputBytes, 'limits.inputBytes', 2, inputBytesMax),
    retention: readRetention(options.retention),
  });
}

function readRetention(given: RetentionOptions | undefined): ResolvedRetention {
  const { changes, audit, ledger } = readOptions(given, 'retention', retentionNames);
  const read = (value: Duration | undefined, name: string, fallbackMs: number) =>
    value === undefined ? fallbackMs : parseDuration(value, `retention.${name}`, { minMs: retentionMsMin });
  return Object.freeze({
    changesMs: read(changes, 'changes', defaultRetention.changesMs),
    auditMs: read(audit, 'audit', defaultRetention.auditMs),
    ledgerMs: read(ledger, 'ledger', defaultRetention.ledgerMs),
  });
}

/** Checks the options of a start. */
export function resolveStart(given: StartOptions | undefined, defaults: ResolvedOptions): ResolvedStart {
  const options = readOptions(given, 'start()', startNames);
  return Object.freeze({
    roles: options.roles === undefined ? roles : readRoles(options.roles),
    concurrency: readConcurrency(options.concurrency, defaults.concurrency),
    queues: readQueues(options.queues, defaults.queues),
    signals: options.signals === undefined ? false : readFlag(options.signals, 'signals'),
  });
}

/** Checks the options of a stop; returns the drain limit. */
export function resolveStop(given: StopOptions | undefined, defaults: ResolvedOptions): number {
  const options = readOptions(given, 'stop()', stopNames);
  return options.drain === undefined ? defaults.drainMs : parseDuration(options.drain, 'drain');
}

function readStore(value: unknown): string | PoolStore {
  if (typeof value === 'string' && value !== '') return value;
  if (isPgPool(value)) return { pool: value };
  if (typeof value === 'object' && value !== null && 'pool' in value) return readPoolStore(value);
  refuseOption(
    'store',
    value,
    'to be an address or a pool of "pg"',
    `Write '${defaultStore}', or a postgres:// address.`,
  );
}

function readPoolStore(value: object): PoolStore {
  const { pool, schema, listenUrl } = readOptions(value as PoolStore, 'store', poolNames);
  if (!isPgPool(pool)) refuseOption('store.pool', pool, 'to be a pool of "pg"', 'Write: new pg.Pool({ … }).');
  return Object.freeze({
    pool,
    ...(schema === undefined ? {} : { schema: readSchemaName(readName(schema, 'store.schema')) }),
    ...(listenUrl === undefined ? {} : { listenUrl: readListenUrl(listenUrl) }),
  });
}

function readListenUrl(value: unknown): string {
  if (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value)) return value;
  // Never the value: it may hold a password.
  refuseOption('store.listenUrl', typeof value, 'to be a postgres:// address');
}

function readConcurrency(value: number | undefined, fallback: number): number {
  return value === undefined ? fallback : readWholeNumber(value, 'concurrency', 1, concurrencyMax);
}

function readQueues(
  value: readonly string[] | undefined,
  fallback: readonly string[] | null,
): readonly string[] | null {
  if (value === undefined) return fallback;
  if (!Array.isArray(value) || value.length === 0) {
    refuseOption('queues', value, 'to be a list of at least one queue', 'Leave it out for all queues.');
  }
  return Object.freeze([...new Set(value.map((queue, i) => readName(queue, `queues[${i}]`)))]);
}

function readRoles(value: readonly Role[]): readonly Role[] {
  if (!Array.isArray(value) || value.length === 0) {
    refuseOption('roles', value, `to be a list of some of ${roles.join(', ')}`);
  }
  return Object.freeze([...new Set(value.map((role, i) => readWord(role, `roles[${i}]`, roles)))]);
}

function readLogger(value: Logger | false | undefined): Logger {
  if (value === undefined) return stderrLogger;
  return value === false ? quietLogger : readMethods(value, 'logger', ['debug', 'info', 'warn', 'error']);
}

function readClock(value: Clock): Clock {
  return readMethods(value, 'clock', ['now', 'elapsed', 'sleep', 'after']);
}

function readRandom(value: Random): Random {
  return readMethods(value, 'random', ['next']);
}

/** Reads an object that others may have written: it must have these methods. */
function readMethods<Value extends object>(
  value: Value,
  field: string,
  methods: readonly (keyof Value & string)[],
): Value {
  if (methods.every((method) => typeof value?.[method] === 'function')) return value;
  const names = methods.length === 1 ? `the method ${methods[0]}` : `the methods ${methods.join(', ')}`;
  return refuseOption(field, value, `to be an object with ${names}`);
}
