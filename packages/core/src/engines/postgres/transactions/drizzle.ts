import { recognisePg } from './pg.ts';
import { recognisePostgresJs } from './postgres-js.ts';
import type { RecogniseTransaction } from './transaction.ts';

interface DrizzleTransaction {
  execute(query: unknown): unknown;
  rollback(): never;
  readonly session?: { readonly client?: unknown };
}

/** What `db.transaction` of Drizzle gives its callback, over `pg` or postgres.js: the connection underneath is used. */
export const recogniseDrizzle: RecogniseTransaction = (tx) => {
  const { execute, rollback, session } = tx as DrizzleTransaction;
  if (typeof execute !== 'function' || typeof rollback !== 'function') return null;
  const client = session?.client;
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null) return null;
  return recognisePg(client) ?? recognisePostgresJs(client);
};
