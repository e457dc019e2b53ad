import { type DulyError, dulyError } from '../../base/errors.ts';
import type { Notification, UserTransaction, WatchedTransaction } from '../../contract/engine.ts';
import { notOpen, otherStore, unknownTx } from '../shared/transaction-errors.ts';
import { sqlStateOf, storeError } from './store-error.ts';
import { recogniseTransaction } from './transactions/recognise.ts';
import { type Transaction, unknownStatus } from './transactions/transaction.ts';
import { enqueue } from './verbs/enqueue.ts';
import { settleInTransaction } from './verbs/exchange.ts';
import { get, list } from './verbs/list.ts';
import { applySchedules, schedules } from './verbs/schedules.ts';
import { type Database, type Value, Work } from './work.ts';

/** Which store the transaction must be of, and whom to notify. */
export interface UserTransactionOptions {
  schema: string;
  place: string;
  /** The number that names the store. */
  id: number;
  watchTransaction(watched: WatchedTransaction): void;
}

const kinds =
  'Give a connected client of "pg" after BEGIN, or what postgres.js, Drizzle, Kysely, Knex or Prisma gives the callback of a transaction.';

/** The store inside a transaction of the user's own. Needs no connection but theirs, so it works in whichever thread they are. */
export function createPostgresUserTransaction(tx: unknown, options: UserTransactionOptions): UserTransaction {
  const { schema, place, watchTransaction } = options;
  const transaction = recogniseTransaction(tx);
  if (transaction === null) throw unknownTx(place, kinds);
  const database = new TransactionDatabase(transaction, options);
  const notify = (notifications: Notification[]): void => {
    const { xid } = database;
    if (transaction.onEnd === undefined || xid === null) {
      watchTransaction({ transaction: xid, notifications });
      return;
    }
    // Who hears the answer to COMMIT need not ask what became of it.
    transaction.onEnd(`${place} ${JSON.stringify(notifications)}`, (end) => {
      if (end !== 'rolled-back')
        watchTransaction({ transaction: end === 'committed' ? null : xid, notifications });
    });
  };
  const work = new Work(database, schema, notify, { where: 'user-transaction' });
  return {
    enqueue: (input) => enqueue(work, input),
    applySchedules: (input) => applySchedules(work, input),
    schedules: (input) => schedules(work, input),
    get: (input) => get(work, input),
    list: (input) => list(work, input),
    settle: (input) => settleInTransaction(work, input),
  };
}

/** What the verbs need, on the user's connection. Rows come as one JSON text: libraries differ in what they make of numbers. */
class TransactionDatabase implements Database {
  /** The server's number for the transaction, once something was written in it. */
  xid: string | null = null;
  readonly #transaction: Transaction;
  readonly #options: UserTransactionOptions;

  constructor(transaction: Transaction, options: UserTransactionOptions) {
    this.#transaction = transaction;
    this.#options = options;
  }

  async query<Row extends object>(text: string, values: readonly Value[] = []): Promise<Row[]> {
    const { schema, place, id } = this.#options;
    await this.#refuseClosed();
    // The number is looked at first: in another store nothing must be done at all. The space keeps libraries that look for JSON in texts
    // (ParseJSONResultsPlugin of Kysely) from reading it, with all that is inside.
    const wrapped = `SELECT CASE WHEN EXISTS (SELECT FROM "${schema}".meta WHERE key = 'store' AND value = $${values.length + 1}::text::bigint)
      THEN (SELECT ' ' || coalesce(json_agg(q), '[]')::text FROM (${asTexts(text)}) q) END AS rows, pg_current_xact_id_if_assigned()::text AS xid`;
    const rows = await this.#ask(wrapped, [...values.map(textOrNull), String(id)]);
    if (rows[0] === undefined)
      throw dulyError('internal', { message: 'A statement with one row answered none.' });
    // By their places: what columns are called afterwards is for the user's library to say.
    const [json, xid] = Object.values(rows[0]) as [string | null, string | null];
    if (json === null) throw otherStore(place);
    this.xid = xid;
    return JSON.parse(json) as Row[];
  }

  transaction<Result>(
    fn: (database: Database, allow: (ms: number) => Promise<void>) => Promise<Result>,
  ): Promise<Result> {
    return fn(this, async () => {});
  }

  /** On a connection without a transaction a call would be one of its own, and be kept whatever its caller does. */
  async #refuseClosed(): Promise<void> {
    const { schema, place } = this.#options;
    const refusal = this.#transaction.refusal();
    // Of the statements that the server takes in a transaction only, the one that does least: reading locks as much.
    if (refusal === unknownStatus) await this.#ask(`LOCK TABLE "${schema}".meta IN ACCESS SHARE MODE`, []);
    else if (refusal !== null) throw notOpen(place, refusal);
  }

  async #ask(text: string, values: (string | null)[]): Promise<Record<string, unknown>[]> {
    try {
      return await this.#transaction.query(text, values);
    } catch (error) {
      throw txError(error, this.#options.place);
    }
  }
}

/** Every value goes as a text: libraries differ in what they make of the types they know, and one would write JSON a second time. */
function asTexts(text: string): string {
  return text.replaceAll(/(\$\d+)::(\w+)/g, '$1::text::$2');
}

function textOrNull(value: Value): string | null {
  return value === null ? null : String(value);
}

const missing = new Set(['3F000', '42P01', '42883']);

/** What the user's library threw, as an error of Duly. Libraries wrap what the server said. */
function txError(error: unknown, place: string): DulyError {
  let said = error;
  for (let depth = 0; depth < 5 && sqlStateOf(said) === null; depth++) {
    said = (said as { cause?: unknown } | null | undefined)?.cause;
  }
  const state = sqlStateOf(said);
  if (state !== null && missing.has(state)) return otherStore(place, error);
  if (state === '25P01') return notOpen(place, 'it is over, or was never begun', error);
  if (state === '25P02') return notOpen(place, 'it has failed and can only be rolled back', error);
  if (state === '25006') return notOpen(place, 'it takes no writes (READ ONLY, or a standby)', error);
  return storeError(state === null ? error : said, { place, unknown: false });
}
