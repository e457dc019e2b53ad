import type { Hint, Stamp } from '../../engine.ts';
import type { JobStatus } from '../../job.ts';
import type { SqliteDatabase, SqliteStatement } from './database.ts';
import { storeError } from './database.ts';
import { statements } from './generated.ts';
import type { StoreClock, StoreInstant } from './store-clock.ts';

/** What can be bound to a statement. */
export type Value = string | number | null;

/** Values by position, or by name. */
export type Values = Value[] | [Record<string, Value>];

/** Changes of one call, as kept in the feed: id, type, status, event, percent. */
export type ChangeEntry = [
  id: string,
  type: string,
  status: JobStatus,
  event: string,
  percent: number | null,
];

/**
 * One transaction at work: its instant, its statements, and what it will tell others once it is committed.
 * Everything in an engine's verb goes through it, and all of it is synchronous: a transaction never waits.
 */
export class Work {
  readonly now: number;
  readonly steady: number;
  readonly hints = new Set<Hint>();
  #changes: ChangeEntry[] = [];
  #connection: Connection;

  constructor(connection: Connection, { now, steady }: StoreInstant) {
    this.#connection = connection;
    this.now = now;
    this.steady = steady;
  }

  /** The first row, or undefined. */
  get<Row>(sql: string, ...values: Values): Row | undefined {
    return this.#connection.statement(sql).get(...(values as [])) as Row | undefined;
  }

  /** All rows. */
  all<Row>(sql: string, ...values: Values): Row[] {
    return this.#connection.statement(sql).all(...(values as [])) as Row[];
  }

  /** Runs a statement and answers how many rows it changed. */
  run(sql: string, ...values: Values): number {
    return Number(this.#connection.statement(sql).run(...(values as [])).changes);
  }

  /** Inserts a row and answers its number; null: a conflict left everything as it was. */
  insert(sql: string, ...values: Values): number | null {
    const { changes, lastInsertRowid } = this.#connection.statement(sql).run(...(values as []));
    return changes === 0 ? null : Number(lastInsertRowid);
  }

  /** Runs `fn` so that it can be undone alone: if it throws, nothing of it stays, and the rest goes on. */
  attempt<Result>(fn: () => Result): Result {
    const changeCount = this.#changes.length;
    this.#connection.db.exec('SAVEPOINT part');
    try {
      const value = fn();
      this.#connection.db.exec('RELEASE part');
      return value;
    } catch (error) {
      this.#connection.db.exec('ROLLBACK TO part; RELEASE part');
      this.#changes.length = changeCount;
      throw error;
    }
  }

  /** Takes `count` fences; answers the first of them. */
  fences(count: number): number {
    const { value } = this.get<{ value: number }>(statements.meta.takeFences, count) as { value: number };
    return value - count + 1;
  }

  /** Notes a change for the feed. */
  changed(...entry: ChangeEntry): void {
    this.#changes.push(entry);
  }

  /** Writes the feed's row. Called once, before the commit. */
  writeChanges(): void {
    if (this.#changes.length === 0) return;
    this.run(statements.changes.append, this.now, JSON.stringify(this.#changes));
  }
}

/** A connection with its prepared statements and its clock. */
export class Connection {
  readonly db: SqliteDatabase;
  readonly path: string;
  #clock: StoreClock | undefined;
  #statements = new Map<string, SqliteStatement>();

  constructor(db: SqliteDatabase, path: string) {
    this.db = db;
    this.path = path;
  }

  /** Sets the clock, once the schema that holds it is there. */
  useClock(clock: StoreClock): void {
    this.#clock = clock;
  }

  /** A prepared statement, made once. */
  statement(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** Runs a verb that writes. Answers its result and the hints to send now that it is committed. */
  write<Result extends object>(
    stamp: Stamp,
    verb: (work: Work) => Result,
  ): { reply: Result & { now: number }; hints: Set<Hint> } {
    // Immediate: a transaction that began as a reader and then writes can fail without waiting for its turn.
    return this.#transaction('BEGIN IMMEDIATE', stamp, (work) => {
      const result = verb(work);
      work.writeChanges();
      return result;
    });
  }

  /** Runs a verb that only reads, on one snapshot. */
  read<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Result & { now: number } {
    return this.#transaction('BEGIN', stamp, verb).reply;
  }

  /** Lets the store's clock follow the machine's, where it rules. Call inside a write. */
  observeClock(stamp: Stamp): void {
    if (stamp.now === undefined) this.#clock?.observe();
  }

  #transaction<Result extends object>(
    begin: string,
    stamp: Stamp,
    verb: (work: Work) => Result,
  ): { reply: Result & { now: number }; hints: Set<Hint> } {
    try {
      this.statement(begin).run();
      const work = new Work(this, this.#instant(stamp));
      const reply = Object.assign(verb(work), { now: work.now });
      this.statement('COMMIT').run();
      return { reply, hints: work.hints };
    } catch (error) {
      // A full disk may have ended the transaction already.
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      throw storeError(error, this.path);
    }
  }

  #instant({ now }: Stamp): StoreInstant {
    if (now !== undefined) return { now, steady: now };
    return (this.#clock as StoreClock).read();
  }
}
