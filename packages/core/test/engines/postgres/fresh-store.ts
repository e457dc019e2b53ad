// Empty stores for many tests. Making a schema takes a tenth of a second, nearly all of a test's time, so one that a test has
// left is emptied and given to the next. A connection costs as much again: its first call of a function compiles and plans all that is in
// it. So engines that go straight to the server share a pool, as those of a program may, and the functions of a schema are known to it.

import type { EngineConformanceOptions } from '@duly/conformance';
import pg from 'pg';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { notTogether } from '../../../src/engines/postgres/work.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { url } from './setup.ts';

/** A schema as it was when it was new. */
interface NewSchema {
  name: string;
  tables: string[];
  /** The rows a migration made, by table, as JSON. */
  rows: Map<string, string>;
}

/** Opens engines on empty stores. */
export interface FreshStores {
  /** For `engineConformance`: an engine on an empty store. */
  open(): Promise<Engine>;
  /** For `engineConformance`: another one on the same store. */
  openSecond(first: Engine): Promise<Engine>;
  /** For `engineConformance`: a transaction on a connection of its own, by the same way. */
  begin: NonNullable<EngineConformanceOptions['begin']>;
  /** Call it after the tests. */
  close(): Promise<void>;
}

// As many as all that run at the same time could want: each test has up to three engines and some transactions of its own.
const connectionCountMax = 40;

/** How stores are opened. */
export interface FreshStoreOptions {
  /** How engines with connections of their own reach the server of this run, through a pooler. Without it they share one pool. */
  address?: string | null;
  /** Whether the plain branches of the functions may be taken. Default true. */
  allowsPlain?: boolean;
}

/** Makes them. */
export function createFreshStores({
  address = null,
  allowsPlain = true,
}: FreshStoreOptions = {}): FreshStores {
  const admin = new pg.Pool({ connectionString: url, max: connectionCountMax });
  // A server of this file's own may end before the pool does.
  admin.on('error', () => {});
  const schemas = new WeakMap<Engine, NewSchema>();
  const left: NewSchema[] = [];

  async function openOn(schema: NewSchema): Promise<Engine> {
    const { name } = schema;
    const engine = await openEngine(
      address === null ? { pool: admin, schema: name } : inSchema(address, name),
    );
    const close = engine.close.bind(engine);
    let closing: Promise<void> | null = null;
    engine.close = () => {
      closing ??= close();
      return closing;
    };
    schemas.set(engine, schema);
    return engine;
  }

  /** One that can be used again, emptied. One that was fenced for a move has other names for its tables, and is removed. */
  async function takeLeft(): Promise<NewSchema | undefined> {
    for (let used = left.pop(); used !== undefined; used = left.pop()) {
      if (await empty(admin, used)) return used;
      await admin.query(`DROP SCHEMA ${used.name} CASCADE`);
    }
    return undefined;
  }

  return {
    async open() {
      const used = await takeLeft();
      const engine = await openOn(used ?? { name: freshSchema(), tables: [], rows: new Map() });
      const schema = schemas.get(engine) as NewSchema;
      if (used === undefined) await remember(admin, schema);
      if (used === undefined && !allowsPlain) await forbidPlain(admin, schema.name);
      const { close } = engine;
      let isLeft = false;
      // The suite closes the other engines of a test before this one.
      engine.close = async () => {
        await close();
        if (!isLeft) left.push(schema);
        isLeft = true;
      };
      return engine;
    },
    openSecond: (first) => openOn(schemas.get(first) as NewSchema),
    async begin() {
      // The store's own parameters mean nothing to `pg`.
      const client = new pg.Client({ connectionString: (address ?? url).replace(/\?.*/, '') });
      await client.connect();
      await client.query('BEGIN');
      if (!allowsPlain) addSavepoints(client);
      return {
        tx: client,
        commit: async () => (await client.query('COMMIT')).command === 'COMMIT',
        async rollback() {
          await client.query('ROLLBACK');
        },
        end: () => client.end(),
      };
    },
    close: () => admin.end(),
  };
}

/** Makes every call take the full branches. */
async function forbidPlain(admin: pg.Pool, schema: string): Promise<void> {
  await admin.query(
    `CREATE OR REPLACE FUNCTION ${schema}.allows_plain_f${functionSet.number}() RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false'`,
  );
}

/** A refused batch of plain jobs is sent again one by one, so in a user's transaction it must not end the transaction. */
function addSavepoints(client: pg.Client): void {
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<pg.QueryResult>;
  const saved = async (...given: unknown[]): Promise<pg.QueryResult> => {
    if (!/enqueue_f/.test(JSON.stringify(given[0]))) return query(...given);
    await query('SAVEPOINT before_plain');
    try {
      return await query(...given);
    } catch (error) {
      if ((error as { code?: string }).code === notTogether) await query('ROLLBACK TO before_plain');
      throw error;
    }
  };
  Object.assign(client, { query: saved });
}

async function tablesOf(admin: pg.Pool, schema: string): Promise<string[]> {
  const { rows } = await admin.query(
    "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')",
    [schema],
  );
  return rows.map(({ name }) => name as string);
}

async function remember(admin: pg.Pool, schema: NewSchema): Promise<void> {
  schema.tables = await tablesOf(admin, schema.name);
  for (const table of schema.tables) {
    const { rows } = await admin.query(`SELECT json_agg(t)::text AS rows FROM ${schema.name}.${table} t`);
    if (rows[0].rows !== null) schema.rows.set(table, rows[0].rows);
  }
}

/** Makes it as it was when it was new; false: its tables are not there. */
async function empty(admin: pg.Pool, { name, tables, rows }: NewSchema): Promise<boolean> {
  const found = await tablesOf(admin, name);
  if (!tables.every((table) => found.includes(table))) return false;
  const created = found.filter((table) => !tables.includes(table));
  const client = await admin.connect();
  try {
    await client.query('BEGIN');
    for (const table of created) await client.query(`DROP TABLE IF EXISTS ${name}.${table} CASCADE`);
    await client.query(tables.map((table) => `DELETE FROM ${name}.${table}`).join(';'));
    for (const [table, json] of rows) {
      await client.query(
        `INSERT INTO ${name}.${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}.${table}, $1)`,
        [json],
      );
    }
    await client.query(
      "SELECT setval(s.oid::regclass, 1, false) FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace WHERE n.nspname = $1 AND s.relkind = 'S'",
      [name],
    );
    // The rows that are there again took numbers; the next one must not take the same.
    for (const [table, json] of rows) await skipTaken(client, name, table, json);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
  return true;
}

async function skipTaken(client: pg.PoolClient, name: string, table: string, json: string): Promise<void> {
  const { rows } = await client.query(
    'SELECT attname AS column, pg_get_serial_sequence($1, attname) AS sequence FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND pg_get_serial_sequence($1, attname) IS NOT NULL',
    [`${name}.${table}`],
  );
  for (const { column, sequence } of rows) {
    const taken = (JSON.parse(json) as Record<string, number>[]).map((row) => row[column] as number);
    await client.query('SELECT setval($1::regclass, $2)', [sequence, Math.max(...taken)]);
  }
}
