/** Transactions of the user's own on the store's file, in worlds that have one: rows of the program beside jobs that are made and completed. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { HistoryEvent, OwnRows, WriteEvent } from '../history.ts';
import type { Process, World } from './world.ts';

/** An open transaction. */
export interface UserTransaction {
  readonly db: DatabaseSync;
  readonly number: number;
  readonly process: Process;
  /** What the store was asked in it: it happened if it is committed. */
  readonly events: HistoryEvent[];
}

/** A file in memory for one world. A notifier cannot be opened beside it: notifications of a real file come when the machine pleases. */
export function createWorldFile(): { path: string; remove(): void } {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'duly-world-'));
  const path = join(folder, 'duly.db');
  mkdirSync(`${path}-bell`);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The user's transactions of a world: one at a time, as SQLite has it, and everybody else who writes waits for its end. */
export class UserTransactions {
  readonly path: string;
  readonly #world: World;
  readonly #write: WriteEvent;
  #open: UserTransaction | null = null;
  #sinceAt = 0;
  #count = 0;
  #waiting: (() => void)[] = [];

  constructor(path: string, world: World, write: WriteEvent) {
    this.path = path;
    this.#world = world;
    this.#write = write;
    this.#using((db) =>
      db.exec('CREATE TABLE marks (tx INTEGER PRIMARY KEY); CREATE TABLE effects (job TEXT, fence INTEGER)'),
    );
  }

  /** Whether nobody else may write now. */
  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Calls back when the transaction that is open is over. */
  whenOver(fn: () => void): void {
    this.#waiting.push(fn);
  }

  /** The transaction that is open on this connection. */
  of(db: unknown): UserTransaction | null {
    return this.#open?.db === db ? this.#open : null;
  }

  /** Begins one; null: another is open. */
  begin(process: Process): UserTransaction | null {
    if (this.#open !== null || process.isDead) return null;
    const db = new DatabaseSync(this.path, { timeout: 0 });
    db.exec('BEGIN IMMEDIATE');
    this.#open = { db, number: ++this.#count, process, events: [] };
    this.#sinceAt = this.#world.storeAt();
    db.prepare('INSERT INTO marks VALUES (?)').run(this.#open.number);
    this.note(this.#open, 'begun', []);
    return this.#open;
  }

  /** Writes into the history what becomes of it. */
  note(
    { number: tx, process }: UserTransaction,
    state: 'begun' | 'created' | 'committed' | 'rolledBack',
    ids: string[],
  ): void {
    this.#write({ kind: 'transacted', at: this.#world.storeAt(), node: process.name, tx, state, ids });
  }

  /** Commits, if it is still open: a completion that came too late has rolled it back. */
  commit(transaction: UserTransaction): void {
    if (this.#open !== transaction) return;
    if (!transaction.db.isTransaction) {
      this.rollBack(transaction);
      return;
    }
    transaction.db.exec('COMMIT');
    const at = this.#world.storeAt();
    for (const event of transaction.events) {
      const isCall = event.kind === 'changed' || event.kind === 'created';
      this.#write(isCall ? { ...event, at, calledAt: event.at } : { ...event, at });
    }
    this.note(transaction, 'committed', []);
    this.#end(transaction);
  }

  /** Rolls back. */
  rollBack(transaction: UserTransaction): void {
    if (this.#open !== transaction) return;
    if (transaction.db.isTransaction) transaction.db.exec('ROLLBACK');
    this.note(transaction, 'rolledBack', []);
    this.#end(transaction);
  }

  /** What the machine does with the transaction of a process that is gone; nobody tells. */
  abandon(process: Process): void {
    if (this.#open?.process === process) this.#end(this.#open);
  }

  /** The program's own rows. */
  rows(): OwnRows {
    return this.#using((db) => ({
      marks: db
        .prepare('SELECT tx FROM marks')
        .all()
        .map(({ tx }) => tx as number),
      effects: db.prepare('SELECT job, fence FROM effects').all() as unknown as OwnRows['effects'],
    }));
  }

  #using<Result>(fn: (db: DatabaseSync) => Result): Result {
    const db = new DatabaseSync(this.path);
    try {
      return fn(db);
    } finally {
      db.close();
    }
  }

  #end({ db, number }: UserTransaction): void {
    db.close();
    this.#open = null;
    const untilAt = this.#world.storeAt();
    const detail = `by transaction ${number}`;
    this.#write({ kind: 'fault', at: this.#sinceAt, node: '*', fault: 'store-locked', untilAt, detail });
    for (const fn of this.#waiting.splice(0)) fn();
  }
}
