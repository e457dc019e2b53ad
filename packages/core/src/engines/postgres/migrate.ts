import type { Clock } from '../../base/clock.ts';
import { type DulyError, dulyError } from '../../base/errors.ts';
import { fencedPrefix } from '../shared/transfer-parts.ts';
import { migrations, statements } from './generated.ts';
import { type Database, inSchema } from './work.ts';

/** The schema this code writes. */
export const schemaVersion = migrations.length;

/** Days of history that are created ahead: the usual retention, and a little more for a node that was away. */
export const daysAhead = 9;

/**
 * The lowest schema number whose code may still work on a store that this code has migrated. Until the first release functions change in
 * place: raise it with a step after which they no longer understand what older code sends.
 */
const lowestCode = 18;

// A step changes tables, or it creates functions and views. Until the first release functions change in place.
const tableChange = /^(?:CREATE|ALTER|DROP) (?:TABLE|INDEX|SEQUENCE)/m;
const dropFunctions = `DROP VIEW IF EXISTS duly.live_1, duly.over_1 CASCADE;
DO $$
DECLARE v_function regprocedure;
BEGIN
  FOR v_function IN
    SELECT p.oid FROM pg_proc p JOIN pg_class c ON c.relnamespace = p.pronamespace WHERE c.oid = 'duly.meta'::regclass
  LOOP
    EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', v_function);
  END LOOP;
END $$`;

/** A store whose schema is read. */
export interface SchemaTarget {
  database: Database;
  schema: string;
  /** Where it is, without secrets. */
  place: string;
}

/** A store to be migrated. */
export interface MigrationTarget extends SchemaTarget {
  clock: Clock;
}

// The steps take as long as they take. Only they have this patience: whoever opens a store that is up to date, or waits for somebody else's
// migration, hears within the time of an ordinary call that nobody answers any more.
const stepsMs = 600_000;
// How often who comes second looks whether the first is done.
const lookAgainMs = 100;

/** Where a store stands. */
export interface SchemaState {
  /** 0: there is nothing yet. */
  version: number;
  lowestCode: number;
}

/** Reads where the store stands. Refuses a schema that holds something else. */
export async function readSchema({ database, schema, place }: SchemaTarget): Promise<SchemaState> {
  const [found] = await database.query<{ meta: boolean; jobs: boolean; others: boolean }>(
    `SELECT (SELECT count(*) = 2 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname IN ('key', 'value')) AS meta,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid IN (to_regclass($2), to_regclass($4)) AND attname = 'rank') AS jobs,
       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $3 AND c.relkind IN ('r', 'p', 'v', 'm')) AS others`,
    // While it is fenced its tables have other names. By their columns, because a program may have tables of these names too.
    [`"${schema}".meta`, `"${schema}".jobs`, schema, `"${schema}".${fencedPrefix}jobs`],
  );
  if (found?.meta === true && found.jobs) {
    const rows = await database.query<{ key: string; value: number }>(
      inSchema("SELECT key, value FROM duly.meta WHERE key IN ('schema_version', 'lowest_code')", schema),
    );
    const read = (key: string): number => rows.find((row) => row.key === key)?.value ?? 0;
    return { version: read('schema_version'), lowestCode: read('lowest_code') };
  }
  if (found?.others === true) {
    throw dulyError('store_not_a_database', {
      message: `The schema "${schema}" at ${place} holds tables, but not those of Duly.`,
      hint: 'Give Duly a schema of its own: add "?schema=…" to the address.',
      details: { place, schema },
    });
  }
  return { version: 0, lowestCode: 0 };
}

/** Refuses a store that serves newer code only. */
export function refuseTooNew(state: SchemaState, place: string): void {
  if (state.lowestCode <= schemaVersion) return;
  throw dulyError('schema_too_new', {
    message: `The store at ${place} is at schema ${state.version} and serves only code of schema ${state.lowestCode} or newer; this version of Duly has ${schemaVersion}.`,
    hint: 'Update Duly in this process. Nothing was changed.',
    details: { place, schema: state.version, lowestCode: state.lowestCode, code: schemaVersion },
  });
}

/** The names of the steps that a store at this version still needs. */
export function missingSteps(version: number): string[] {
  return migrations.filter((step) => step.number > version).map((step) => step.name);
}

/**
 * Runs the missing migrations, all in one transaction, or says what it would run. Whoever comes second looks again until nothing is left
 * to do. It does not stand in the line for the lock: only one that asks again and again notices that the server is gone. The lock is one of
 * the transaction, so it works behind a pooler and never stays behind.
 */
export async function migrateSchema(
  target: MigrationTarget,
  { dryRun }: { dryRun: boolean },
): Promise<{ from: number; steps: string[] }> {
  const sinceElapsed = target.clock.elapsed();
  for (;;) {
    const before = await readSchema(target);
    refuseTooNew(before, target.place);
    const todo = missingSteps(before.version);
    if (dryRun || todo.length === 0) return { from: before.version, steps: todo };
    const done = await target.database.transaction((inside, allow) => runSteps(inside, allow, target));
    if (done !== null) return done;
    if (target.clock.elapsed() - sinceElapsed > stepsMs) throw isBeingMigrated(target.place);
    await target.clock.sleep(lookAgainMs);
  }
}

/** Runs what is missing; null: somebody else is at it. */
async function runSteps(
  inside: Database,
  allow: (ms: number) => Promise<void>,
  { schema, place }: SchemaTarget,
): Promise<{ from: number; steps: string[] } | null> {
  const [lock] = await inside.query<{ held: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS held',
    [`duly.migrate.${schema}`],
  );
  if (lock?.held !== true) return null;
  await allow(stepsMs);
  const { version, lowestCode: lowest } = await readSchema({ database: inside, schema, place });
  refuseTooNew({ version, lowestCode: lowest }, place);
  // Asked first: making what is there already needs a right that the owner of the schema may not have.
  const [named] = await inside.query<{ exists: boolean }>(
    'SELECT to_regnamespace($1) IS NOT NULL AS exists',
    [`"${schema}"`],
  );
  if (named?.exists !== true) await inside.query(`CREATE SCHEMA "${schema}"`);
  const steps = migrations.filter((step) => step.number > version);
  if (steps.length > 0) {
    if (version > 0) await inside.query(inSchema(dropFunctions, schema));
    // Tables first: the functions are created anew with the lists of all columns.
    const inOrder = [...steps.filter(changesTables), ...migrations.filter((step) => !changesTables(step))];
    for (const step of inOrder) await inside.query(inSchema(step.sql, schema));
    const write = inSchema(
      'INSERT INTO duly.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      schema,
    );
    await inside.query(write, ['schema_version', schemaVersion]);
    await inside.query(write, ['lowest_code', lowestCode]);
    // From its first job on, history lies where it belongs, and need not be moved later.
    await inside.query(inSchema(statements.call.keepDays, schema), [null, daysAhead, 0]);
  }
  return { from: version, steps: steps.map((step) => step.name) };
}

function changesTables({ sql }: (typeof migrations)[number]): boolean {
  return tableChange.test(sql);
}

function isBeingMigrated(place: string): DulyError {
  return dulyError('store_busy', {
    message: `Somebody else has been migrating the store at ${place} for ${stepsMs / 60_000} minutes. Nothing was changed.`,
    hint: "Find the session that holds the lock: SELECT a.* FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory';",
    details: { place },
  });
}
