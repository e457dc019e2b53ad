/** What a query of `pg` answers, as far as we look. */
export interface PgResult {
  rows: unknown[];
  /** What was done, like `COMMIT`. */
  command: string;
}

/** One statement as `pg` takes it. It is never named: a prepared name would not outlive a transaction behind a pooler. */
export interface PgQuery {
  text: string;
  values?: unknown[];
  types?: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

/** The slice of a pooled client of `pg` that is used. */
export interface PgPoolClient {
  query(query: PgQuery): Promise<PgResult>;
  /** With true the connection is closed instead of going back to the pool. */
  release(destroy?: boolean): void;
  /** Whether it keeps the process alive. */
  ref?(): void;
  unref?(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/**
 * The slice of a pool of `pg` that is used: what `new pg.Pool(…)` makes fits. Its `options` and `Client`, where it has them, make the
 * connection of its own that listens for notifications.
 */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect', listener: (client: Pick<PgPoolClient, 'on'>) => void): unknown;
  readonly options?: object;
  readonly Client?: new (options: never) => object;
  /** How many of its connections nobody uses, where it tells. */
  readonly idleCount?: number;
}

/** A store on PostgreSQL that is reached through a pool of the program's own. */
export interface PoolStore {
  /** A `pg.Pool`, or anything that fits. Duly uses it and never ends it. */
  pool: PgPool;
  /** The schema that holds the store. Default `'duly'`. */
  schema?: string;
  /** A direct connection to listen on, where the pool goes through a pooler. */
  listenUrl?: string;
}

/** Whether this is a pool of `pg` rather than an address. */
export function isPgPool(store: unknown): store is PgPool {
  const pool = store as Partial<PgPool> | null;
  return (
    typeof pool === 'object' &&
    pool !== null &&
    typeof pool.connect === 'function' &&
    typeof pool.end === 'function' &&
    typeof pool.on === 'function'
  );
}

// An address may leave the server out behind a user ("postgres://me:secret@/app?host=/run/postgresql"): `pg` reads it, a URL may not be so.
const noServer = 'no-server.invalid';

/** Takes an address of a PostgreSQL apart; null: it cannot be read. Its text again: `textOfPostgresUrl`. */
export function readPostgresUrl(text: string): URL | null {
  const url = URL.parse(text) ?? URL.parse(text.replace(/^(\w+:\/\/[^/]*@)\//, `$1${noServer}/`));
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) ? url : null;
}

/** The address as `pg` reads it. */
export function textOfPostgresUrl(url: URL): string {
  return url.href.replace(`@${noServer}/`, '@/');
}

/** Host, port, database and schema of an address: what may be shown. */
export function placeOfUrl(text: string, schema: string): string {
  const url = readPostgresUrl(text);
  if (url === null) return `postgres://?schema=${schema}`;
  // A folder with the server's socket is named behind the question mark.
  const named = url.searchParams.get('host');
  const server = named === null ? url.host.replace(noServer, '') : encodeURIComponent(named);
  return `postgres://${server}${url.pathname}?schema=${schema}`;
}

/** The same of a pool, as far as it tells. */
export function placeOfPool({ options }: PgPool, schema: string): string {
  const { host, port, database, connectionString } = (options ?? {}) as Record<string, unknown>;
  if (typeof connectionString === 'string') return placeOfUrl(connectionString, schema);
  const server = `${host ?? process.env.PGHOST ?? 'localhost'}:${port ?? process.env.PGPORT ?? 5432}`;
  return `postgres://${server}/${database ?? process.env.PGDATABASE ?? ''}?schema=${schema}`;
}
