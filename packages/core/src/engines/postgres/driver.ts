import { dulyError } from '../../errors.ts';

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
}

/** The slice of a client of `pg` that listens. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgResult>;
  end(): Promise<void>;
  /** Its socket, where it shows one: a half-open connection can only be destroyed. */
  readonly connection?: { stream?: { destroy(): unknown } };
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
}

/**
 * The slice of a pool of `pg` that is used: what `new pg.Pool(…)` makes fits. Its `options` and `Client`, where it has them, make the
 * connection of its own that listens for hints.
 */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly options?: object;
  readonly Client?: new (options: never) => object;
}

interface PgModule {
  Pool: new (options: object) => PgPool;
  Client: new (options: object) => PgClient;
}

/** Loads `pg`, which is only needed by those who use PostgreSQL. */
export async function loadPg(): Promise<PgModule> {
  try {
    const { default: pg } = (await import('pg' as string)) as { default: PgModule };
    return pg;
  } catch (cause) {
    throw dulyError('driver_missing', {
      message: 'The PostgreSQL engine needs the "pg" package, which is not installed.',
      hint: 'Run: npm install pg',
      details: { package: 'pg' },
      cause,
    });
  }
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

/**
 * Makes numbers of what fits into one. `pg` gives 64-bit integers as text unless told otherwise, and what a program told it for
 * its own queries must not change ours.
 */
export const rowTypes: NonNullable<PgQuery['types']> = {
  getTypeParser: (oid) => parsers.get(oid) ?? asText,
};

const asText = (text: string): unknown => text;
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'],
  ...[20, 21, 23, 26, 700, 701, 1700].map((oid): [number, (text: string) => unknown] => [oid, Number]),
  ...[114, 3802].map((oid): [number, (text: string) => unknown] => [oid, (text) => JSON.parse(text)]),
]);
