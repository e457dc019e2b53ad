import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync as NodeDatabase, StatementSync } from 'node:sqlite';
import { systemClock } from '../../base/clock.ts';
import { DulyError, dulyError } from '../../base/errors.ts';
import { writeLockHolder } from './lock-holder.ts';
import { createPrivately } from './private-file.ts';

/** The slice of `node:sqlite` the engine uses. */
export type SqliteDatabase = Pick<NodeDatabase, 'prepare' | 'exec' | 'close' | 'isTransaction'>;

/** A prepared statement of that slice. */
export type SqliteStatement = StatementSync;

/** How a database file is opened. */
export interface DatabaseOptions {
  /** A path, or `:memory:`. */
  path: string;
  /** How long a write waits for another connection's transaction. */
  busyMs: number;
  /** Only this connection may open the file; a second process is refused. */
  exclusive: boolean;
}

/** An open database and what was found out about it. */
export interface OpenedDatabase {
  db: SqliteDatabase;
  version: string;
  /** Whether only this connection may have the file open. */
  exclusive: boolean;
  warnings: string[];
}

/**
 * Whether this SQLite can corrupt a WAL file that several connections reset: 3.7.0 to 3.51.2, but for the
 * patched 3.44.6 and 3.50.7.
 */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major !== 3) return major < 3;
  if (minor === 44 && patch >= 6) return false;
  if (minor === 50 && patch >= 7) return false;
  return minor < 51 || (minor === 51 && patch <= 2);
}

/** Opens the file with the settings that make a commit durable, or says why it cannot. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenedDatabase> {
  const { DatabaseSync } = await loadSqlite();
  const { path } = options;
  let db: NodeDatabase | undefined;
  try {
    createPrivately(path);
    db = new DatabaseSync(path, { timeout: options.busyMs });
    const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string };
    const affected = path !== ':memory:' && hasWalResetBug(version);
    const exclusive = affected || options.exclusive;
    // Must stand before the file is first read: then no other connection can come in between.
    if (exclusive) db.exec('PRAGMA locking_mode = EXCLUSIVE');
    useWal(db, options.busyMs);
    // FULL: a commit is on the disk when it returns. NORMAL would lose the last commits with the machine's power.
    db.exec('PRAGMA synchronous = FULL');
    db.exec('PRAGMA temp_store = MEMORY');
    db.exec('PRAGMA cache_size = -32000');
    // 16 MB instead of SQLite's 4: a burst writes the same pages again and again, and a checkpoint copies and flushes each once. A
    // drain costs about 8 % less, and a checkpoint of this size still takes some ten milliseconds.
    db.exec('PRAGMA wal_autocheckpoint = 4000');
    // After a burst the WAL file shrinks back to this, instead of keeping its largest size for good.
    db.exec('PRAGMA journal_size_limit = 67108864');
    // Found now and not with the first job. A write would tell too, but would wait for whoever is writing.
    if (path !== ':memory:' && !canWrite(path)) throw readOnlyError(path);
    const warnings = affected
      ? [
          `SQLite ${version} can corrupt a WAL file that several connections use, so this process keeps "${path}" to itself. Node 24.15 or newer, or 22.23.3, brings a SQLite that may share it.`,
        ]
      : [];
    return { db, version, exclusive, warnings };
  } catch (error) {
    db?.close();
    throw openError(error, path);
  }
}

/**
 * Switches the file to WAL. Of several processes that open a new file at once, SQLite refuses one without waiting, because each of them
 * would wait for the other. That one waits until the file is free and switches again.
 */
function useWal(db: SqliteDatabase, busyMs: number): void {
  const untilElapsed = systemClock.elapsed() + busyMs;
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (resultCode(error) !== result.busy || systemClock.elapsed() >= untilElapsed) throw error;
      db.exec('BEGIN IMMEDIATE');
      db.exec('COMMIT');
    }
  }
}

/** Opens a file that is there only to look into it. */
export async function openForReading(path: string): Promise<SqliteDatabase> {
  const { DatabaseSync } = await loadSqlite();
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    // Found now whether it is a database at all.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    throw openError(error, path);
  }
}

async function loadSqlite(): Promise<typeof import('node:sqlite')> {
  try {
    return await import('node:sqlite');
  } catch (cause) {
    throw dulyError('sqlite_unsupported', {
      message: `The SQLite engine needs "node:sqlite", which Node ${process.versions.node} does not have.`,
      hint: 'Run it with Node 22.18 or newer.',
      cause,
    });
  }
}

// Primary result codes of SQLite; the extended code carries them in its low byte.
const result = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  notadb: 26,
} as const;

function resultCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown })?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

function openError(error: unknown, path: string): DulyError {
  const code = resultCode(error);
  // Readers and writers share a WAL; only a connection that keeps the file to itself shuts out one that just opens it.
  if (code === result.busy || code === result.locked) {
    return dulyError('sqlite_second_process', {
      message: `The database file "${path}" is kept by another process, which does not share it.`,
      hint: 'That process uses an affected SQLite version, or `?exclusive=1`. Stop it, or run both with Node 24.15 or newer (or 22.23.3) and without `exclusive`.',
      details: { path },
      cause: error,
    });
  }
  if (code === result.cantopen && existsSync(path) && !canWrite(path)) return readOnlyError(path, error);
  if (code === result.cantopen) {
    return dulyError('store_unavailable', {
      message: `The database file "${path}" cannot be opened.`,
      hint: 'Check that its folder exists and that this user may write there.',
      details: { path },
      cause: error,
    });
  }
  return storeError(error, path);
}

// A WAL is made beside the file, so the folder counts as much as the file itself.
function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readOnlyError(path: string, cause?: unknown): DulyError {
  return dulyError('store_read_only', {
    message: `The database file "${path}" cannot be written.`,
    hint: 'Give this user the right to write the file and its folder (SQLite keeps its WAL beside the file).',
    details: { path },
    cause,
  });
}

/** Wraps what `node:sqlite` threw into an error with a code. Errors of Duly pass unchanged. */
export function storeError(error: unknown, path: string): DulyError {
  if (error instanceof DulyError) return error;
  const details = { path };
  switch (resultCode(error)) {
    case result.busy:
    case result.locked:
      return busyError(path, error);
    case result.readonly:
      return readOnlyError(path, error);
    case result.full:
      return dulyError('store_full', {
        message: `The disk that holds "${path}" is full. Nothing of this call was stored.`,
        hint: 'Free some space; the next call goes on as if nothing had happened.',
        details,
        cause: error,
      });
    case result.corrupt:
      return dulyError('store_corrupt', {
        message: `The database file "${path}" is damaged.`,
        hint: 'Restore it from a backup, or try ".recover" of the sqlite3 shell.',
        details,
        cause: error,
      });
    case result.notadb:
      return dulyError('store_not_a_database', {
        message: `The file "${path}" is not an SQLite database.`,
        hint: 'Name another file; Duly creates it when it is missing.',
        details,
        cause: error,
      });
    case result.cantopen:
    case result.ioerr:
      return dulyError('store_unavailable', {
        message: `The database file "${path}" cannot be read or written.`,
        hint: 'Check the disk, the folder and the rights.',
        details,
        cause: error,
      });
    default:
      return dulyError('internal', {
        message: `SQLite refused a statement of Duly on "${path}": ${(error as Error)?.message ?? String(error)}`,
        hint: 'This is a defect of Duly. Please report it with this message.',
        details,
        cause: error,
      });
  }
}

/** Says who holds the lock: Duly's own transactions last milliseconds, so whoever holds it for seconds is somebody else. */
function busyError(path: string, cause: unknown): DulyError {
  const holder = writeLockHolder(path);
  if (holder === process.pid) {
    return dulyError('store_locked_by_user_transaction', {
      message: `A transaction that this program opened itself on "${path}" holds the write lock, and Duly waits for it.`,
      hint: 'Commit or roll back your own transaction before you await a call of Duly.',
      details: { path },
      cause,
    });
  }
  return dulyError('store_busy', {
    message: `${holder === null ? 'Another connection' : `Process ${holder}`} holds the write lock of "${path}" for too long.`,
    hint: "Duly's own transactions last milliseconds. Look for an open transaction on this file, a backup or a shell that has it open, or a process that was stopped, and end it.",
    details: { path, holder },
    cause,
  });
}
