import type { RecogniseTransaction } from './transaction.ts';

interface KnexTransaction {
  readonly isTransaction: boolean;
  isCompleted(): boolean;
  raw(text: string, bindings: unknown[]): PromiseLike<{ rows: Record<string, unknown>[] }>;
}

/** A transaction of Knex on PostgreSQL. */
export const recogniseKnex: RecogniseTransaction = (tx) => {
  const trx = tx as KnexTransaction;
  const isKnex = typeof trx.raw === 'function' && typeof trx.isCompleted === 'function';
  if (!isKnex || trx.isTransaction !== true) return null;
  return {
    async query(text, values) {
      // Knex binds by order: every $n becomes a question mark, and its value is given where it stands.
      const bindings: unknown[] = [];
      const bound = text.replaceAll('?', '\\?').replaceAll(/\$(\d+)/g, (_, n: string) => {
        bindings.push(values[Number(n) - 1] ?? null);
        return '?';
      });
      return (await trx.raw(bound, bindings)).rows;
    },
    refusal: () => (trx.isCompleted() ? 'it is over' : null),
  };
};
