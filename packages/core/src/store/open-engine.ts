import { type Clock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { Engine } from '../contract/engine.ts';
import type { PoolStore } from '../engines/shared/pool.ts';
import { defaultPoolSize, defaultSchema, parseStoreAddress } from './store-url.ts';

/** Where a store's schema stands. */
export interface SchemaStatus {
  /** Where the store is, without secrets. */
  place: string;
  /** The schema that is there; 0: none. */
  schema: number;
  /** The schema this code makes. */
  known: number;
  /** The lowest `code` that the store still serves; 0: there is no store. */
  lowestCode: number;
  /** The number of this code: its function set on PostgreSQL, its schema on SQLite. */
  code: number;
  /** The steps that are missing. */
  steps: string[];
}

/** Opens the engine itself, in this thread. */
export async function openEngine(store: string | PoolStore, clock: Clock = systemClock): Promise<Engine> {
  const address = typeof store === 'string' ? parseStoreAddress(store) : poolTarget(store);
  // Only the engine that is asked for is loaded.
  if (address.kind === 'postgres') {
    const { openPostgresEngine } = await import('../engines/postgres/engine.ts');
    const migrate = address.existing ? 'existing' : 'create';
    return openPostgresEngine({ ...address, clock, random: systemRandom, migrate });
  }
  const { path, busyMs, exclusive } = address;
  const { openSqliteEngine } = await import('../engines/sqlite/engine.ts');
  return openSqliteEngine({ path, clock, busyMs, exclusive });
}

/** Reads where a store's schema stands, without changing anything. */
export async function readSchemaStatus(url: string): Promise<SchemaStatus> {
  const address = parseStoreAddress(url);
  if (address.kind === 'postgres') {
    const { readPostgresStatus } = await import('../engines/postgres/open-postgres.ts');
    return readPostgresStatus({ ...address, clock: systemClock, random: systemRandom });
  }
  const { readSqliteStatus } = await import('../engines/sqlite/migrate.ts');
  return readSqliteStatus(address.path);
}

function poolTarget({ pool, schema = defaultSchema, listenUrl }: PoolStore) {
  const rest = { listenUrl: listenUrl ?? null, poolSize: defaultPoolSize, existing: false };
  return { kind: 'postgres', connection: pool, schema, ...rest } as const;
}
