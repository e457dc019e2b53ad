/**
 * SQLite databases that worlds use one after the other. Creating the schema and preparing the statements takes longer
 * than emptying the tables.
 */

import type { OpenedDatabase } from '../../packages/core/src/engines/sqlite/database.ts';
import {
  openDatabase,
  type SqliteDatabase,
  type SqliteStatement,
} from '../../packages/core/src/engines/sqlite/database.ts';
import { migrateSchema } from '../../packages/core/src/engines/sqlite/migrate.ts';

/** A database that is returned to the pool when the engine closes it. */
interface Pooled {
  opened: OpenedDatabase;
  /** Empties the database. */
  reset(): void;
}

const free: Pooled[] = [];

/** Opens a database in memory with an empty schema. Closing it makes it available to the next world. */
export async function openPooledDatabase(): Promise<OpenedDatabase> {
  const pooled = free.pop() ?? (await createPooled());
  const { opened, reset } = pooled;
  let isClosed = false;
  const db: SqliteDatabase = {
    prepare: (sql) => opened.db.prepare(sql),
    exec: (sql) => opened.db.exec(sql),
    get isTransaction() {
      return opened.db.isTransaction;
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      // A transaction that is still open is a defect of the engine; this database is not used again.
      if (opened.db.isTransaction) {
        opened.db.close();
        return;
      }
      reset();
      free.push(pooled);
    },
  };
  return { ...opened, db };
}

async function createPooled(): Promise<Pooled> {
  const opened = await openDatabase({ path: ':memory:', busyMs: 0, exclusive: false });
  const { db } = opened;
  migrateSchema(db, ':memory:', { dryRun: false });
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all() as { name: string }[];
  const statements = tables.flatMap(({ name }) => {
    const empty = db.prepare(`DELETE FROM "${name}"`);
    const rows = db.prepare(`SELECT * FROM "${name}"`).all() as Record<string, string | number | null>[];
    return [
      () => empty.run(),
      ...rows.map((row) => {
        const columns = Object.keys(row);
        const insert = db.prepare(
          `INSERT INTO "${name}" (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        );
        return () => insert.run(...Object.values(row));
      }),
    ];
  });
  const restart = db.prepare('DELETE FROM sqlite_sequence');
  const cache = new StatementCache(db);
  const cached: SqliteDatabase = {
    prepare: (sql) => cache.prepare(sql),
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    get isTransaction() {
      return db.isTransaction;
    },
  };
  return {
    opened: { ...opened, db: cached },
    reset() {
      db.exec('BEGIN');
      for (const run of statements) run();
      restart.run();
      db.exec('COMMIT');
      cache.rewind();
    },
  };
}

/** Prepared statements by their SQL. A world that prepares the same SQL twice gets two statements, as from a new database. */
class StatementCache {
  readonly #db: SqliteDatabase;
  readonly #prepared = new Map<string, { statements: SqliteStatement[]; usedCount: number }>();

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  prepare(sql: string): SqliteStatement {
    let entry = this.#prepared.get(sql);
    if (entry === undefined) {
      entry = { statements: [], usedCount: 0 };
      this.#prepared.set(sql, entry);
    }
    const known = entry.statements[entry.usedCount++];
    if (known !== undefined) {
      known.setReturnArrays(false);
      return known;
    }
    const statement = this.#db.prepare(sql);
    entry.statements.push(statement);
    return statement;
  }

  /** Makes every statement available again. */
  rewind(): void {
    for (const entry of this.#prepared.values()) entry.usedCount = 0;
  }
}
