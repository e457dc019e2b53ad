import type { Stamp } from '../../engine.ts';

/** A value bound to a statement. Lists and objects are handed over as JSON text by whoever calls. */
export type Value = string | number | boolean | null;

/**
 * What the verbs need of a PostgreSQL connection. One `query` is one round trip and, outside of `transaction`, a transaction of its own.
 * Errors come out as a `DulyError` with a code of the store.
 */
export interface Database {
  /** Runs one statement with `$1`-style values and answers its rows. Statements are never named: a pooler may stand between. */
  query<Row extends object>(text: string, values?: readonly Value[]): Promise<Row[]>;
  /** Runs several statements on one connection, all or nothing. */
  transaction<Result>(fn: (database: Database) => Promise<Result>): Promise<Result>;
}

/** The schema that the SQL files are written for. */
const writtenSchema = /\bduly\./g;

/** The text of a statement or migration for a store's own schema. The name was checked where the address was read. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(writtenSchema, `"${schema}".`);
}

/** What every verb hands to its function of the schema beside the input: the instant that rules, or null for the store's clock. */
export function nowOf({ now }: Stamp): number | null {
  return now ?? null;
}
