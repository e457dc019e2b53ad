import { overError, type RecogniseTransaction } from './transaction.ts';

interface KyselyTransaction {
  readonly isTransaction: boolean;
  readonly isCommitted?: boolean;
  readonly isRolledBack?: boolean;
  executeQuery(query: object): Promise<{ rows: Record<string, unknown>[] }>;
}

/** A transaction of Kysely, from `transaction().execute` or `startTransaction`. */
export const recogniseKysely: RecogniseTransaction = (tx) => {
  const trx = tx as KyselyTransaction;
  if (typeof trx.executeQuery !== 'function' || trx.isTransaction !== true) return null;
  return {
    async query(text, values) {
      // What CompiledQuery.raw makes.
      const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
      const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'duly' } };
      try {
        return (await trx.executeQuery(compiled)).rows;
      } catch (error) {
        throw isOver(error) ? overError(error) : error;
      }
    },
    refusal: () => (trx.isCommitted === true || trx.isRolledBack === true ? 'it is over' : null),
  };
};

/** A transaction of `execute` has no flags; Kysely says so itself. */
function isOver(error: unknown): boolean {
  return /^Transaction is already (committed|rolled back)/.test((error as Error)?.message);
}
