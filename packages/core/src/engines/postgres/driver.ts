import { dulyError } from '../../base/errors.ts';
import type { PgPool, PgPoolClient, PgQuery, PgResult } from '../shared/pool.ts';

/** The slice of a client of `pg` that listens. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgResult>;
  end(): Promise<void>;
  /** Its socket, where it shows one: a half-open connection can only be destroyed. */
  readonly connection?: { stream?: { destroy(): unknown; resetAndDestroy?(): unknown } };
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
}

/** A pool that was made here: what it tells of its connections is a whole client. */
export interface OwnPool extends PgPool {
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect', listener: (client: PgPoolClient & PgClient) => void): unknown;
}

interface PgModule {
  Pool: new (options: object) => OwnPool;
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
