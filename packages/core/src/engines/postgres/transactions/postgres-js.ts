import { type RecogniseTransaction, unknownStatus } from './transaction.ts';

interface TransactionSql {
  unsafe(text: string, values: unknown[]): PromiseLike<Iterable<Record<string, unknown>>>;
  savepoint(...of: unknown[]): unknown;
}

/** What `sql.begin` of postgres.js gives its callback. `sql` itself is none: it has no savepoints. */
export const recognisePostgresJs: RecogniseTransaction = (tx) => {
  const sql = tx as TransactionSql;
  if (typeof tx !== 'function' || typeof sql.unsafe !== 'function' || typeof sql.savepoint !== 'function') {
    return null;
  }
  return {
    query: async (text, values) => [...(await sql.unsafe(text, [...values]))],
    // After the commit it still leads to a connection, on which everything would be a transaction of its own.
    refusal: () => unknownStatus,
  };
};
