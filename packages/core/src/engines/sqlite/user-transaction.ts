import { realpathSync } from 'node:fs';
import type { Clock, Timer } from '../../base/clock.ts';
import { dulyError } from '../../base/errors.ts';
import type {
  Notification,
  Reply,
  Stamp,
  UserTransaction,
  WatchedTransaction,
} from '../../contract/engine.ts';
import { NotificationSet } from '../../contract/notifications.ts';
import { notOpen, otherStore, unknownTx } from '../shared/transaction-errors.ts';
import type { SqliteDatabase } from './database.ts';
import { openStoreClock, readBootId } from './store-clock.ts';
import { enqueue } from './verbs/enqueue.ts';
import { exchange } from './verbs/exchange.ts';
import { get, list } from './verbs/list.ts';
import { records } from './verbs/records.ts';
import { applySchedules, schedules } from './verbs/schedules.ts';
import { Connection, type Work } from './work.ts';

/** Which store the transaction must be of, and whom to notify. */
export interface UserTransactionOptions {
  path: string;
  clock: Clock;
  /** Names the boot of the machine; only tests set it. */
  boot?: string;
  /** As in the options of the engine. */
  hasPlainBranches?: boolean;
  watchTransaction(watched: WatchedTransaction): void;
}

/** Gives the store inside transactions of the user's own, on whichever connections of theirs. */
export type OpenSqliteTransaction = (tx: unknown) => UserTransaction;

// Looked at after a millisecond, then after a tenth of its age, at most a second apart.
const firstLookMs = 1;
const longestLookMs = 1_000;
const ageShare = 0.1;

/** Makes it for one store. A connection is prepared once, however many transactions it has. */
export function createSqliteUserTransactions(options: UserTransactionOptions): OpenSqliteTransaction {
  const { path, clock } = options;
  const connections = new WeakMap<object, UserConnection>();
  return (tx) => {
    const db = tx as SqliteDatabase;
    const isDatabase =
      typeof tx === 'object' &&
      tx !== null &&
      typeof db.prepare === 'function' &&
      typeof db.exec === 'function' &&
      typeof db.isTransaction === 'boolean';
    if (!isDatabase) {
      throw unknownTx(path, 'Give the DatabaseSync of node:sqlite on which you began the transaction.');
    }
    let connection = connections.get(tx);
    if (connection === undefined) {
      if (!isSameFile(db, path)) throw otherStore(path);
      connection = new UserConnection(db, options, clock);
      connections.set(tx, connection);
    }
    return connection.userTransaction();
  };
}

function isSameFile(db: SqliteDatabase, path: string): boolean {
  const rows = db.prepare('PRAGMA database_list').all() as unknown as { name: string; file: string }[];
  const file = rows.find(({ name }) => name === 'main')?.file ?? '';
  try {
    return file !== '' && path !== ':memory:' && realpathSync(file) === realpathSync(path);
  } catch {
    return false;
  }
}

/** A connection of the user's own. Everything on it is synchronous, like all of node:sqlite. */
class UserConnection {
  readonly #db: SqliteDatabase;
  readonly #path: string;
  readonly #options: UserTransactionOptions;
  readonly #clock: Clock;
  readonly #connection: Connection;
  /** What is to be told once the transaction is over; null: nothing is waited for. */
  #notifications: NotificationSet | null = null;
  #nextLook: Timer | null = null;

  constructor(db: SqliteDatabase, options: UserTransactionOptions, clock: Clock) {
    this.#db = db;
    this.#path = options.path;
    this.#options = options;
    this.#clock = clock;
    const ours: SqliteDatabase = {
      prepare(sql) {
        const statement = db.prepare(sql);
        // What the program chose for its own statements must not change ours.
        statement.setReadBigInts(false);
        return statement;
      },
      exec: (sql) => db.exec(sql),
      close: () => {},
      get isTransaction() {
        return db.isTransaction;
      },
    };
    this.#connection = new Connection(ours, options.path, options.hasPlainBranches);
    this.#connection.useClock(openStoreClock(ours, clock, options.boot ?? readBootId(clock)));
  }

  userTransaction(): UserTransaction {
    return {
      enqueue: async (input) => this.#run(input, (work) => enqueue(work, input)),
      applySchedules: async (input) => this.#run(input, (work) => applySchedules(work, input)),
      schedules: async (input) => this.#run(input, (work) => schedules(work, input)),
      get: async (input) => this.#run(input, (work) => get(work, input)),
      list: async (input) => this.#run(input, (work) => list(work, input)),
      records: async (input) => this.#run(input, (work) => records(work, input)),
      settle: async (input) => {
        const { now, settled } = this.#run(input, (work) =>
          exchange(work, { settle: [input.settlement], claim: null }),
        );
        if (settled[0] === 'done') return { now };
        // Even if the error is swallowed: what else was done in it must not stay.
        this.#db.exec('ROLLBACK');
        const { id, fence } = input.settlement;
        throw dulyError('lease_lost', {
          message: `Job "${id}" is no longer held by this attempt, so the transaction that should complete it was rolled back.`,
          hint: 'End the handler. The job is, or will be, taken by another worker, unless it is settled already.',
          details: { id, fence },
        });
      },
    };
  }

  #run<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Result & Reply {
    if (!this.#db.isTransaction) throw notOpen(this.#path, 'no transaction is open on this connection');
    const { reply, notifications } = this.#connection.userTransaction(stamp, verb);
    if (notifications.size > 0) this.#notifyLater(notifications);
    return reply;
  }

  #notifyLater(notifications: Iterable<Notification>): void {
    if (this.#notifications !== null) {
      this.#notifications.addAll(notifications);
      return;
    }
    this.#notifications = new NotificationSet().addAll(notifications);
    this.#watchEnd();
    this.#look(this.#clock.elapsed());
  }

  /** Nearly every program ends its transactions by `exec`. The news then goes out with the commit, and nobody has to look for it. */
  #watchEnd(): void {
    const db = this.#db;
    const { exec } = db;
    // Wrapped by somebody else, whom we would not take away again: then the looks do.
    if (Object.hasOwn(db, 'exec')) return;
    db.exec = (sql) => {
      exec.call(db, sql);
      if (!db.isTransaction) this.#notify();
    };
  }

  /** It is over. */
  #notify(): void {
    const notifications = [...(this.#notifications ?? [])];
    this.#notifications = null;
    this.#nextLook?.cancel();
    this.#nextLook = null;
    delete (this.#db as Partial<SqliteDatabase>).exec;
    if (notifications.length > 0) this.#options.watchTransaction({ transaction: null, notifications });
  }

  #look(sinceElapsed: number): void {
    const ageMs = this.#clock.elapsed() - sinceElapsed;
    const waitMs = Math.min(longestLookMs, Math.max(firstLookMs, ageMs * ageShare));
    this.#nextLook = this.#clock.after(waitMs, () => {
      if (!isTransactionOpen(this.#db)) {
        this.#notify();
        return;
      }
      // Also while one is open for long: it may be the next one, begun before anybody looked.
      if (ageMs >= longestLookMs)
        this.#options.watchTransaction({
          transaction: null,
          notifications: [...(this.#notifications ?? [])],
        });
      this.#look(sinceElapsed);
    });
  }
}

/** A connection that was closed has no transaction any more. */
function isTransactionOpen(db: SqliteDatabase): boolean {
  try {
    return db.isTransaction;
  } catch {
    return false;
  }
}
