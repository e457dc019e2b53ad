import { type Clock, systemClock } from '../clock.ts';
import type { LockRenewals } from '../coordination/lock-renewal.ts';
import type { Engine } from '../engine.ts';
import { type Random, systemRandom } from '../random.ts';
import { openThreadStore } from '../store-thread/thread-store.ts';
import { type BeatNews, type Beats, createBeats } from '../worker/beats.ts';
import type { Standing, StandingOptions } from '../worker/standing.ts';
import { defaultPoolSize, defaultSchema, parseStoreAddress } from './address.ts';
import type { PoolStore } from './pool.ts';

/** What beats need besides the store itself. */
export interface StoreBeatsOptions {
  node: string;
  leaseMs: number;
  beatMs: number;
  onBeat(news: BeatNews): void;
  onError?(error: unknown): void;
}

/** An open store: its engine, and what keeps leases alive beside the main loop. */
export interface Store {
  engine: Engine;
  createBeats(options: StoreBeatsOptions): Beats;
  /** Lets claims of a worker stand; missing: a worker that hears of jobs asks for them by itself. */
  openStanding?(options: StandingOptions): Standing;
  /** Renews locks beside the main loop; missing: they are renewed in it. */
  locks?: LockRenewals;
  /** A call will follow at once, or so it seems. A thread that slept is awake by the time it comes. */
  expect?(): void;
}

/** How a store is opened. */
export interface OpenStoreOptions {
  clock?: Clock;
  random?: Random;
}

/** Where a store's schema stands. */
export interface SchemaStatus {
  /** Where the store is, without secrets. */
  place: string;
  /** The schema that is there; 0: none. */
  schema: number;
  /** The schema this code makes. */
  known: number;
  /** The lowest schema number whose code the store still serves; 0: there is no store. */
  lowestCode: number;
  /** The steps that are missing. */
  steps: string[];
}

/**
 * Opens the store an address names, or one behind a pool of the program's own. A file or a server is opened in a thread of its own, so
 * that commits and protocols never block the event loop, and heartbeats go on while it is blocked. A database in memory, and a
 * pool, which cannot leave its thread, run inline.
 */
export async function openStore(store: string | PoolStore, options: OpenStoreOptions = {}): Promise<Store> {
  if (typeof store === 'string' && !parseStoreAddress(store).inline) return openThreadStore(store);
  const { clock = systemClock, random = systemRandom } = options;
  const engine = await openEngine(store, clock);
  return { engine, createBeats: (beats) => createBeats({ ...beats, engine, clock, random }) };
}

/** Opens the engine itself, in this thread. */
export async function openEngine(store: string | PoolStore, clock: Clock = systemClock): Promise<Engine> {
  const address = typeof store === 'string' ? parseStoreAddress(store) : poolTarget(store);
  // Only the engine that is asked for is loaded.
  if (address.kind === 'postgres') {
    const { openPostgresEngine } = await import('./postgres/engine.ts');
    const migrate = address.existing ? 'existing' : 'make';
    return openPostgresEngine({ ...address, clock, random: systemRandom, migrate });
  }
  const { path, busyMs, exclusive } = address;
  const { openSqliteEngine } = await import('./sqlite/engine.ts');
  return openSqliteEngine({ path, clock, busyMs, exclusive });
}

/** Reads where a store's schema stands, without changing anything. */
export async function readSchemaStatus(url: string): Promise<SchemaStatus> {
  const address = parseStoreAddress(url);
  if (address.kind === 'postgres') {
    const { readPostgresStatus } = await import('./postgres/opened.ts');
    return readPostgresStatus({ ...address, clock: systemClock, random: systemRandom });
  }
  const { readSqliteStatus } = await import('./sqlite/migrate.ts');
  return readSqliteStatus(address.path);
}

function poolTarget({ pool, schema = defaultSchema, listenUrl }: PoolStore) {
  const rest = { listenUrl: listenUrl ?? null, poolSize: defaultPoolSize, existing: false };
  return { kind: 'postgres', connection: pool, schema, ...rest } as const;
}
