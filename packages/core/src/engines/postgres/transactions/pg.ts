import { type RecogniseTransaction, untold } from './transaction.ts';

interface PgClient {
  query(text: string, values: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  release?(): void;
  /** `I`: none is open, `T`: one is, `E`: it has failed; null: not connected. Not in old versions. */
  getTransactionStatus?(): string | null;
}

/** A client of `pg` on which BEGIN was sent. A pool is none: it gives every statement another connection. */
export const recognisePg: RecogniseTransaction = (tx) => {
  const client = tx as PgClient & { totalCount?: unknown };
  const isClient =
    typeof client.query === 'function' && typeof (tx as { connect?: unknown }).connect === 'function';
  if (!isClient || client.totalCount !== undefined) return null;
  return {
    query: async (text, values) => (await client.query(text, values)).rows,
    refusal() {
      if (typeof client.getTransactionStatus !== 'function') return untold;
      const status = client.getTransactionStatus();
      if (status === 'I') return 'no transaction is open on this client';
      if (status === 'E') return 'it has failed and can only be rolled back';
      return null;
    },
  };
};
