import type { JobPolicy, Stamp, TransferMark } from '../../contract/engine.ts';
import type { JobStatus } from '../../contract/job-status.ts';
import { NotificationSet } from '../../contract/notifications.ts';
import { movedError } from '../../contract/transfer.ts';
import { createPolicies } from '../shared/policies.ts';
import type { SqliteDatabase, SqliteStatement } from './database.ts';
import { storeError } from './database.ts';
import { statements } from './generated.ts';
import { type Pauses, pausesAt } from './pauses.ts';
import type { StoreClock, StoreInstant } from './store-clock.ts';
import type { WalSpace } from './wal-space.ts';

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
  readonly notifications = new NotificationSet();
  /** Whether inserts and claims take their plain branch where they can. */
  readonly hasPlainBranches: boolean;
  #changes: ChangeEntry[] = [];
  #pauses: Pauses | null = null;
  #policy: JobPolicy | null = null;
  #policyText = '';
  #connection: Connection;

  constructor(connection: Connection, { now, steady }: StoreInstant) {
    this.#connection = connection;
    this.hasPlainBranches = connection.hasPlainBranches;
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

  /** The first row as a list of its columns. Half the price of an object; for what is read once or more per job. */
  tuple<Row extends readonly unknown[]>(sql: string, ...values: Value[]): Row | undefined {
    return this.#connection.tupleStatement(sql).get(...(values as [])) as unknown as Row | undefined;
  }

  /** All rows, each as a list of its columns. */
  tuples<Row extends readonly unknown[]>(sql: string, ...values: Values): Row[] {
    return this.#connection.tupleStatement(sql).all(...(values as [])) as unknown as Row[];
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

  /** What a stored policy says. Jobs of one task share one text, so it is read once and not per job. */
  policy(text: string): JobPolicy {
    return this.#connection.policy(text);
  }

  /** A policy as it is stored. Jobs that are created together share one, and then it is written out once. */
  policyText(policy: JobPolicy): string {
    if (policy !== this.#policy) {
      this.#policy = policy;
      this.#policyText = JSON.stringify(policy);
    }
    return this.#policyText;
  }

  /** What is paused now. Read once: no verb changes pauses and asks for them. */
  pauses(): Pauses {
    this.#pauses ??= pausesAt(this.now, this.tuples<[string, string]>(statements.claim.pauses));
    return this.#pauses;
  }

  /** Takes `count` fences; answers the first of them. */
  fences(count: number): number {
    const [last] = this.tuple<[number]>(statements.meta.lastFence) as [number];
    this.run(statements.meta.setLastFence, last + count);
    return last + 1;
  }

  /** What the store says of a move; null: it was never moved. */
  mark(): TransferMark | null {
    return this.#connection.mark();
  }

  /** Runs statements that are not worth keeping. */
  exec(sql: string): void {
    this.#connection.db.exec(sql);
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
  readonly hasPlainBranches: boolean;
  #clock: StoreClock | undefined;
  #walSpace: WalSpace | undefined;
  #statements = new Map<string, SqliteStatement>();
  #tupleStatements = new Map<string, SqliteStatement>();

  constructor(db: SqliteDatabase, path: string, hasPlainBranches = true) {
    this.db = db;
    this.path = path;
    this.hasPlainBranches = hasPlainBranches;
  }

  /** Sets the clock, once the schema that holds it is there. */
  useClock(clock: StoreClock): void {
    this.#clock = clock;
  }

  /** Keeps room in the WAL from now on. */
  useWalSpace(space: WalSpace): void {
    this.#walSpace = space;
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

  /** A stored policy, read once. */
  readonly policy = createPolicies();

  /** A prepared statement whose rows are lists, made once. */
  tupleStatement(sql: string): SqliteStatement {
    let statement = this.#tupleStatements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      statement.setReturnArrays(true);
      this.#tupleStatements.set(sql, statement);
    }
    return statement;
  }

  /** Runs a verb that writes. Answers its result and the notifications to send now that it is committed. */
  write<Result extends object>(
    stamp: Stamp,
    verb: (work: Work) => Result,
  ): { reply: Result & { now: number }; notifications: NotificationSet } {
    // Immediate: a transaction that began as a reader and then writes can fail without waiting for its turn.
    return this.#transaction('BEGIN IMMEDIATE', stamp, (work) => {
      const result = verb(work);
      work.writeChanges();
      this.#walSpace?.keepAhead();
      return result;
    });
  }

  /** Runs a verb inside the transaction that is open on this connection. If it throws, nothing of it stays, and the transaction goes on. */
  userTransaction<Result extends object>(
    stamp: Stamp,
    verb: (work: Work) => Result,
  ): { reply: Result & { now: number }; notifications: NotificationSet } {
    try {
      this.db.exec('SAVEPOINT duly_call');
      const work = new Work(this, this.#instant(stamp));
      const reply = Object.assign(verb(work), { now: work.now });
      work.writeChanges();
      this.db.exec('RELEASE duly_call');
      return { reply, notifications: work.notifications };
    } catch (error) {
      if (this.db.isTransaction) this.db.exec('ROLLBACK TO duly_call; RELEASE duly_call');
      throw this.#failure(error);
    }
  }

  /** Runs a verb that only reads, on one snapshot. */
  read<Result extends object>(stamp: Stamp, verb: (work: Work) => Result): Result & { now: number } {
    return this.#transaction('BEGIN', stamp, verb).reply;
  }

  /** Answers without a transaction if a few reads suffice; null: the verb needs its transaction. */
  readOnlyCheck<Result extends object>(
    stamp: Stamp,
    verb: (work: Work) => Result | null,
  ): (Result & { now: number }) | null {
    try {
      const work = new Work(this, this.#instant(stamp));
      const result = verb(work);
      return result && Object.assign(result, { now: work.now });
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Whether the machine's clock agrees with the store's, as it nearly always does; by what the last statement read of it. */
  isClockQuiet(stamp: Stamp): boolean {
    return stamp.now !== undefined || this.#clock === undefined || this.#clock.isQuiet();
  }

  /** Lets the store's clock follow the machine's, where it rules; tells whether they agree. Call inside a write. */
  observeClock(work: Work, stamp: Stamp): boolean {
    if (stamp.now !== undefined || this.#clock === undefined) return true;
    // Everyone sleeps by the monotonic clock until what was due next; after a step that is another instant.
    if (this.#clock.observe()) work.notifications.add('jobs').add('schedules');
    return this.#clock.isQuiet();
  }

  #transaction<Result extends object>(
    begin: string,
    stamp: Stamp,
    verb: (work: Work) => Result,
  ): { reply: Result & { now: number }; notifications: NotificationSet } {
    try {
      this.statement(begin).run();
      const work = new Work(this, this.#instant(stamp));
      const reply = Object.assign(verb(work), { now: work.now });
      this.statement('COMMIT').run();
      return { reply, notifications: work.notifications };
    } catch (error) {
      // A full disk may have ended the transaction already.
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      throw this.#failure(error);
    }
  }

  /** Why a call failed. A table that is not there was renamed when the store was fenced. */
  #failure(error: unknown): unknown {
    if (error instanceof Error && error.message.startsWith('no such table: ')) {
      const mark = this.mark();
      if (mark !== null) return movedError(mark, this.path);
    }
    return storeError(error, this.path);
  }

  /** What the store says of a move; null: it was never moved. */
  mark(): TransferMark | null {
    const row = this.statement('SELECT role, move, place, at FROM transfers').get();
    return row === undefined ? null : ({ ...row } as unknown as TransferMark);
  }

  #instant({ now }: Stamp): StoreInstant {
    if (now !== undefined) return { now, steady: now };
    return (this.#clock as StoreClock).read();
  }
}
