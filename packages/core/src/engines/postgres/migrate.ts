import type { Clock } from '../../base/clock.ts';
import { type DulyError, dulyError } from '../../base/errors.ts';
import { fencedPrefix } from '../shared/transfer-parts.ts';
import { functionSet, schemaSteps, statements } from './generated.ts';
import { type Database, inSchema } from './work.ts';

/** The schema this code writes. */
export const schemaVersion = schemaSteps.length;

/** Days of history that are created ahead: the usual retention, and a little more for a node that was away. */
export const daysAhead = 9;

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
  /** The lowest function set whose code the store serves. */
  lowestCode: number;
  /** The function sets that the store has: by number, a hash of the text. */
  sets: ReadonlyMap<number, number>;
  /** Those that a release created: their text must stay. */
  released: ReadonlySet<number>;
  /** Whether a move fences it. Its tables have other names then, so nothing can be migrated. */
  fenced: boolean;
}

const noStore: SchemaState = {
  version: 0,
  lowestCode: 0,
  sets: new Map(),
  released: new Set(),
  fenced: false,
};
const setKey = 'functions_';
const releasedKey = 'released_';
const lowestSetKey = 'lowest_set';
// What code from before the first release reads of `lowest_code`: it compares the number of its migrations, and refuses the store.
const beforeRelease = 1_000;

/** Reads where the store stands. Refuses a schema that holds something else, or a store from before the first release. */
export async function readSchema({ database, schema, place }: SchemaTarget): Promise<SchemaState> {
  const [found] = await database.query<{ meta: boolean; jobs: boolean; fenced: boolean; others: boolean }>(
    `SELECT (SELECT count(*) = 2 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname IN ('key', 'value')) AS meta,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($2) AND attname = 'rank') AS jobs,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($4) AND attname = 'rank') AS fenced,
       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $3 AND c.relkind IN ('r', 'p', 'v', 'm')) AS others`,
    // While it is fenced its tables have other names. By their columns, because a program may have tables of these names too.
    [`"${schema}".meta`, `"${schema}".jobs`, schema, `"${schema}".${fencedPrefix}jobs`],
  );
  if (found?.meta === true && (found.jobs || found.fenced)) {
    const rows = await database.query<{ key: string; value: number }>(
      inSchema(
        `SELECT key, value FROM duly.meta WHERE key IN ('schema_version', '${lowestSetKey}') OR starts_with(key, '${setKey}') OR starts_with(key, '${releasedKey}')`,
        schema,
      ),
    );
    const read = (key: string): number => Number(rows.find((row) => row.key === key)?.value ?? 0);
    const sets = rows.filter(({ key }) => key.startsWith(setKey));
    const released = rows.filter(({ key }) => key.startsWith(releasedKey));
    if (sets.length === 0) throw isFromBefore(schema, place);
    return {
      version: read('schema_version'),
      lowestCode: read(lowestSetKey),
      sets: new Map(sets.map(({ key, value }) => [Number(key.slice(setKey.length)), Number(value)])),
      released: new Set(released.map(({ key }) => Number(key.slice(releasedKey.length)))),
      fenced: !found.jobs,
    };
  }
  if (found?.others === true) {
    throw dulyError('store_not_a_database', {
      message: `The schema "${schema}" at ${place} holds tables, but not those of Duly.`,
      hint: 'Give Duly a schema of its own: add "?schema=…" to the address.',
      details: { place, schema },
    });
  }
  return noStore;
}

/** Refuses a store that serves newer code only, or whose released set of this number has another text. */
export function refuseTooNew(state: SchemaState, place: string): void {
  refuseOtherRelease(state, place);
  if (state.lowestCode <= functionSet.number) return;
  throw dulyError('schema_too_new', {
    message: `The store at ${place} is at schema ${state.version} and ${servesOnly(state)}.`,
    hint: 'Update Duly in this process. Nothing was changed.',
    details: {
      ...{ place, schema: state.version, lowestCode: state.lowestCode },
      code: functionSet.number,
    },
  });
}

/** Nodes of the release run on its functions, so no other text may replace them. */
function refuseOtherRelease(
  { version, sets, released, lowestCode, fenced }: SchemaState,
  place: string,
): void {
  const { number, hash } = functionSet;
  const found = sets.get(number);
  if (fenced || found === undefined || found === hash || !released.has(number)) return;
  throw dulyError('schema_too_new', {
    message: `The store at ${place} has function set ${number} of another release, and this version of Duly has a different set ${number}.`,
    hint: 'Run the release that created the set, or a later one. A build from source needs sql/released.json of that release, and then: npm run generate. Nothing was changed.',
    details: { place, schema: version, lowestCode, code: number },
  });
}

/** Which code the store serves, for a message to code that is older. */
export function servesOnly({ lowestCode }: SchemaState): string {
  return `serves only code of function set ${lowestCode} or newer; this version of Duly has ${functionSet.number}`;
}

/** The names of the steps that a store still needs; none while it is fenced. */
export function missingSteps(state: SchemaState): string[] {
  if (state.fenced) return [];
  const steps = schemaSteps.filter((step) => step.number > state.version).map((step) => step.name);
  const { number, hash } = functionSet;
  return state.sets.get(number) === hash ? steps : [...steps, `${setKey}${number}`];
}

/**
 * Runs the missing steps, or returns their names. A new store is created in one transaction. In a store that exists, the steps of the schema
 * are committed before the functions are created, so that running nodes wait for the locks of DDL alone. A second process polls until
 * nothing is left to do: it does not wait for the lock, because only repeated statements notice that the server is gone. The lock is one of
 * the transaction, so it works behind a pooler and never stays behind.
 */
export async function migrateSchema(
  target: MigrationTarget,
  { dryRun }: { dryRun: boolean },
): Promise<{ from: number; steps: string[] }> {
  const sinceElapsed = target.clock.elapsed();
  let from: number | null = null;
  const steps: string[] = [];
  for (;;) {
    const before = await readSchema(target);
    refuseTooNew(before, target.place);
    from ??= before.version;
    const todo = missingSteps(before);
    if (dryRun) return { from, steps: todo };
    if (todo.length === 0) return steps.length > 0 ? { from, steps } : { from: before.version, steps };
    const done = await target.database.transaction((inside, allow) => runSteps(inside, allow, target));
    if (done === null) {
      if (target.clock.elapsed() - sinceElapsed > stepsMs) throw isBeingMigrated(target.place);
      await target.clock.sleep(lookAgainMs);
    } else steps.push(...done);
  }
}

/** Runs the steps of one transaction and returns their names; null: another process runs them. */
async function runSteps(
  inside: Database,
  allow: (ms: number) => Promise<void>,
  { schema, place }: SchemaTarget,
): Promise<string[] | null> {
  const [lock] = await inside.query<{ held: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))
       AND pg_try_advisory_xact_lock_shared(hashtextextended($2, 0)) AS held`,
    // No move may rename the tables meanwhile.
    [`duly.migrate.${schema}`, 'duly.move'],
  );
  if (lock?.held !== true) return null;
  await allow(stepsMs);
  const state = await readSchema({ database: inside, schema, place });
  refuseTooNew(state, place);
  if (state.fenced) return [];
  if (state.version === 0) {
    // Asked first: making what is there already needs a right that the owner of the schema may not have.
    const [named] = await inside.query<{ exists: boolean }>(
      'SELECT to_regnamespace($1) IS NOT NULL AS exists',
      [`"${schema}"`],
    );
    if (named?.exists !== true) await inside.query(`CREATE SCHEMA "${schema}"`);
  }
  const steps = schemaSteps.filter((step) => step.number > state.version);
  for (const step of steps) await inside.query(inSchema(step.sql, schema));
  if (steps.length > 0) await writeMeta(inside, schema, 'schema_version', schemaVersion);
  const isNew = state.version === 0;
  const set = isNew || steps.length === 0 ? await createFunctions(inside, schema, state) : [];
  return [...steps.map((step) => step.name), ...set];
}

/** Creates the functions of this code, beside those of the releases whose nodes may still run. */
async function createFunctions(inside: Database, schema: string, state: SchemaState): Promise<string[]> {
  const { number, hash, sql } = functionSet;
  if (state.sets.get(number) === hash) return [];
  const newest = Math.max(0, ...state.sets.keys());
  const isUpgrade = number > newest;
  const unused = isUpgrade ? [...state.sets.keys()].filter((set) => set < state.lowestCode) : [];
  // Of its own number there may be an older text.
  for (const set of [...unused, number]) {
    await inside.query(inSchema(dropSet(set), schema));
    await inside.query(inSchema('DELETE FROM duly.meta WHERE key IN ($1, $2)', schema), [
      `${setKey}${set}`,
      `${releasedKey}${set}`,
    ]);
  }
  await inside.query(inSchema(sql, schema));
  await writeMeta(inside, schema, `${setKey}${number}`, hash);
  if (functionSet.isReleased) await writeMeta(inside, schema, `${releasedKey}${number}`, 1);
  // Nodes of the release before go on; nodes of an older one are refused when they open the store.
  if (isUpgrade) await writeMeta(inside, schema, lowestSetKey, state.sets.size === 0 ? number : newest);
  await writeMeta(inside, schema, 'lowest_code', beforeRelease);
  // From its first job on, history lies where it belongs, and need not be moved later.
  await inside.query(inSchema(statements.call.keepDays, schema), [null, daysAhead, 0]);
  return [`${setKey}${number}`];
}

/** Drops every function and view of a set. An older text of the set may have had others. */
function dropSet(set: number): string {
  return `DO $$
    DECLARE
      v_schema oid := (SELECT relnamespace FROM pg_class WHERE oid = 'duly.meta'::regclass);
      v_what text;
    BEGIN
      FOR v_what IN
        SELECT format('FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = v_schema AND proname ~ '_f${set}$'
        UNION ALL
        SELECT format('VIEW %s', oid::regclass) FROM pg_class
        WHERE relnamespace = v_schema AND relkind = 'v' AND relname ~ '_f${set}$'
      LOOP
        EXECUTE format('DROP %s CASCADE', v_what);
      END LOOP;
    END $$`;
}

async function writeMeta(inside: Database, schema: string, key: string, value: number): Promise<void> {
  await inside.query(
    inSchema(
      'INSERT INTO duly.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      schema,
    ),
    [key, value],
  );
}

function isFromBefore(schema: string, place: string): DulyError {
  return dulyError('schema_too_old', {
    message: `The store at ${place} was created by a version of Duly from before the first release, and cannot be upgraded.`,
    hint: `Create a new store: name another schema with "?schema=…", or delete this one with all its jobs: DROP SCHEMA "${schema}" CASCADE`,
    details: { place, schema },
  });
}

function isBeingMigrated(place: string): DulyError {
  return dulyError('store_busy', {
    message: `Somebody else has been migrating the store at ${place} for ${stepsMs / 60_000} minutes. Nothing was changed.`,
    hint: "Find the session that holds the lock: SELECT a.* FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory';",
    details: { place },
  });
}
