import { existsSync } from 'node:fs';
import { dulyError } from '../../base/errors.ts';
import { fencedPrefix } from '../shared/transfer-parts.ts';
import { openForReading, type SqliteDatabase } from './database.ts';
import { schemaSteps, statements } from './generated.ts';

/** The schema this code writes. */
export const schemaVersion = schemaSteps.length;

/** The lowest schema number whose code may still work on a store that this code has migrated. */
const lowestCode = 1;
// What code from before the first release reads of `lowest_code`: it has schema 1 too, and refuses the file.
const beforeRelease = 1_000;

/** Where a database stands. */
export interface SchemaState {
  version: number;
  lowestCode: number;
}

/** Reads the schema's version; 0: an empty database. */
export function readSchema(db: SqliteDatabase, path: string): SchemaState {
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all() as {
    name: string;
  }[];
  if (tables.length === 0) return { version: 0, lowestCode: 0 };
  const hasColumn = db.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?');
  // While it is fenced its tables have other names.
  const hasJobs = ['jobs', `${fencedPrefix}jobs`].some(
    (table) => hasColumn.get(table, 'rank_offset') !== undefined,
  );
  if (hasColumn.get('meta', 'value') === undefined || !hasJobs) {
    throw dulyError('store_not_a_database', {
      message: `The file "${path}" is an SQLite database, but not one of Duly: it holds other tables.`,
      hint: 'Name a file of its own for Duly.',
      details: { path },
    });
  }
  if (['nodes', `${fencedPrefix}nodes`].some((table) => hasColumn.get(table, 'beat_at') !== undefined)) {
    throw dulyError('schema_too_old', {
      message: `The store "${path}" was created by a version of Duly from before the first release, and cannot be upgraded.`,
      hint: 'Create a new store: name another file, or delete this one with all its jobs.',
      details: { path },
    });
  }
  const read = (key: string) =>
    (db.prepare(statements.meta.read).get(key) as { value: number } | undefined)?.value;
  return { version: read('schema_version') ?? 0, lowestCode: read('lowest_schema') ?? 0 };
}

/** Whether everything this code needs is there. Refuses a schema that serves newer code only. */
export function isSchemaReady(db: SqliteDatabase, path: string): boolean {
  const { version, lowestCode: lowest } = readSchema(db, path);
  if (lowest > schemaVersion) {
    throw dulyError('schema_too_new', {
      message: `The store "${path}" is at schema ${version} and serves only code of schema ${lowest} or newer; this version of Duly has ${schemaVersion}.`,
      hint: 'Update Duly in this process. Nothing was changed.',
      details: { path, schema: version, lowestCode: lowest, code: schemaVersion },
    });
  }
  return version >= schemaVersion;
}

/** Runs the missing steps. Call inside a write transaction. Answers the names of the steps. */
export function migrateSchema(
  db: SqliteDatabase,
  path: string,
  { dryRun }: { dryRun: boolean },
): { from: number; steps: string[] } {
  const isReady = isSchemaReady(db, path);
  const { version } = readSchema(db, path);
  const steps = isReady ? [] : schemaSteps.filter((step) => step.number > version);
  if (!dryRun && steps.length > 0) {
    for (const step of steps) db.exec(step.sql);
    const write = db.prepare(statements.meta.write);
    write.run('schema_version', schemaVersion);
    write.run('lowest_schema', lowestCode);
    write.run('lowest_code', beforeRelease);
  }
  return { from: version, steps: steps.map((step) => step.name) };
}

/** Reads where the schema of a file stands, without changing anything. */
export async function readSqliteStatus(path: string) {
  const named = { place: path, known: schemaVersion, code: schemaVersion };
  const stepsFrom = (version: number) =>
    schemaSteps.filter((step) => step.number > version).map((step) => step.name);
  if (path === ':memory:' || !existsSync(path))
    return { ...named, schema: 0, lowestCode: 0, steps: stepsFrom(0) };
  const db = await openForReading(path);
  try {
    const { version, lowestCode: lowest } = readSchema(db, path);
    return { ...named, schema: version, lowestCode: lowest, steps: stepsFrom(version) };
  } finally {
    db.close();
  }
}
