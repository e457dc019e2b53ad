import type { RecogniseTransaction } from './transaction.ts';

type Rows = Record<string, unknown>[];

interface KnexTransaction {
  readonly isTransaction: boolean;
  isCompleted(): boolean;
  raw(text: string, bindings: unknown[]): PromiseLike<{ rows: Rows } | Rows>;
}

/** A text between dollar quotes, as a whole, or the place of a value. */
const places = /\$([a-z]+)\$.*?\$\1\$|\$(\d+)/gs;

/** A transaction of Knex on PostgreSQL. */
export const recogniseKnex: RecogniseTransaction = (tx) => {
  const trx = tx as KnexTransaction;
  const isKnex = typeof trx.raw === 'function' && typeof trx.isCompleted === 'function';
  if (!isKnex || trx.isTransaction !== true) return null;
  return {
    async query(text, values) {
      // Knex binds by order: every $n becomes a question mark, and its value is given where it stands. What is between dollar quotes is a text,
      // a statement with places of its own.
      const bindings: unknown[] = [];
      const bound = text.replaceAll('?', '\\?').replaceAll(places, (found, _tag, n: string | undefined) => {
        if (n === undefined) return found;
        bindings.push(values[Number(n) - 1] ?? null);
        return '?';
      });
      const answer = await trx.raw(bound, bindings);
      // A program may have made something else of answers (`postProcessResponse`), most likely their rows.
      return Array.isArray(answer) ? answer : answer.rows;
    },
    refusal: () => (trx.isCompleted() ? 'it is over' : null),
  };
};
