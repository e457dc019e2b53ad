import type { Clock } from '../../base/clock.ts';
import { type PgPool, type PgPoolClient, placeOfPool, placeOfUrl } from '../shared/pool.ts';
import { loadPg, type PgClient } from './driver.ts';

/** Where a PostgreSQL is, or the pool that leads there. */
export interface PostgresTarget {
  /** `postgres://…` without Duly's own parameters, or a pool of the program's own. */
  connection: string | PgPool;
  /** Where to listen for notifications, when the connection goes through a pooler that gives no session of one's own. */
  listenUrl: string | null;
  /** The schema that holds the store. */
  schema: string;
  /** How many connections Duly makes at most; a pool of the program's own has its own bound. */
  poolSize: number;
}

/** The way to a server: connections for calls, and one apart for notifications. */
export interface PostgresConnector {
  pool: PgPool;
  /** Where it is, without secrets. */
  place: string;
  /** Makes a client, not connected yet, that no pool knows of; null: nobody said where to. */
  createListener(): PgClient | null;
  /** Creates an unconnected client for when the program's own pool is used up; null: the pool is Duly's, or has no client class. */
  createFallback: (() => PgClient) | null;
  /** Ends the pool if it was made here. */
  end(): Promise<void>;
}

// How long a new connection may take: as long as a call. A server that is up answers in milliseconds, and a pool that is used up may need a
// moment; but a way that is two seconds long is gone four times until a connection stands.
const connectMs = 10_000;
// TCP notices a peer that is gone only if it asks, and by default not within two hours.
const aliveMs = 10_000;
// How long a server may take to say goodbye.
const goodbyeMs = 1_000;

/** Loads the driver and makes a pool, or takes the one that is given. Connects to nothing yet. */
export async function createConnector(target: PostgresTarget & { clock: Clock }): Promise<PostgresConnector> {
  const { connection, listenUrl, schema, poolSize } = target;
  const common = {
    application_name: 'duly',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: aliveMs,
  };
  if (typeof connection !== 'string') {
    const { Client, options } = connection;
    const pg = listenUrl === null ? null : await loadPg();
    watch(connection);
    return {
      pool: connection,
      place: placeOfPool(connection, schema),
      createListener() {
        if (pg !== null) return new pg.Client({ ...common, connectionString: listenUrl });
        if (Client === undefined || options === undefined) return null;
        return new Client(options as never) as PgClient;
      },
      createFallback:
        Client === undefined || options === undefined ? null : () => new Client(options as never) as PgClient,
      async end() {},
    };
  }
  const pg = await loadPg();
  const pool = new pg.Pool({ ...common, connectionString: connection, max: poolSize });
  pool.on('error', () => {});
  pool.on('connect', listenFromTheStart);
  const open = new Set<PgClient>();
  pool.on('connect', (client) => {
    open.add(client);
    client.on('end', () => open.delete(client));
  });
  return {
    pool,
    place: placeOfUrl(connection, schema),
    createListener: () => new pg.Client({ ...common, connectionString: listenUrl ?? connection }),
    createFallback: null,
    end: () => endPool(pool, open, target.clock),
  };
}

const watchedPools = new WeakSet<PgPool>();

/**
 * Listens for what nobody else may listen for, once for each pool of the program's own, however many stores are opened behind it. A pool
 * without a listener for errors ends the process when an idle connection breaks; the next call finds out by itself.
 */
function watch(pool: PgPool): void {
  if (watchedPools.has(pool)) return;
  watchedPools.add(pool);
  pool.on('error', () => {});
  pool.on('connect', listenFromTheStart);
}

/**
 * Ends a pool. A connection that was cut off without a word does not answer to a goodbye: it would keep the process alive until TCP gives it
 * up, a quarter of an hour later.
 */
async function endPool(pool: PgPool, open: ReadonlySet<PgClient>, clock: Clock): Promise<void> {
  await pool.end();
  if (open.size === 0) return;
  clock.after(goodbyeMs, () => {
    for (const client of open) client.connection?.stream?.destroy();
  });
}

/**
 * Ends a connection that was silent for too long. A reset discards what was not sent yet; after an ordinary close TCP would go on sending it,
 * and the server would execute a call that was repeated on another connection meanwhile. Only a plain TCP socket can be reset: TLS and Unix
 * sockets are closed.
 */
export function resetConnection(client: object): void {
  const stream = (client as Pick<PgClient, 'connection'>).connection?.stream;
  try {
    stream?.resetAndDestroy?.();
  } catch {
    stream?.destroy();
  }
}

/**
 * A server may end a connection in the same breath in which it is made: then the error comes after the pool has let go of the connection and
 * before whoever asked for it has it, and an error that nobody listens for ends the process, or the store's thread.
 */
function listenFromTheStart(client: Pick<PgPoolClient, 'on'>): void {
  client.on('error', () => {});
}
