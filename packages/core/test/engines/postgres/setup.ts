import pg from 'pg';
import { testPostgresUrl } from '../../../../../test/servers/postgres.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { type ClosableDatabase, createDatabase } from '../../../src/engines/postgres/database.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/engine.ts';
import { openPostgres, type PostgresOptions } from '../../../src/engines/postgres/open-postgres.ts';

/** The address of the server of this run. */
export const url = await testPostgresUrl();

/** Runs statements as somebody who is not Duly. */
export async function ask(text: string, values: unknown[] = [], address = url): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Waits until so many connections wait for a lock that this one holds. Asks again and again: nothing else tells. */
export async function untilWaiting(count: number, holder: pg.Client): Promise<void> {
  const waiting =
    'SELECT count(*)::int AS n FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))';
  for (;;) {
    const { rows } = await holder.query(waiting);
    if (rows[0].n >= count) return;
    // Inside of a transaction its picture of the others stands still.
    await holder.query('SELECT pg_stat_clear_snapshot()');
  }
}

/**
 * Lets every function of a schema wait for locks without a limit. A call that has to wait while its test does something else may otherwise
 * be given up on a busy machine.
 */
export async function waitForLocks(schema: string): Promise<void> {
  const limited = await ask(
    `SELECT oid::regprocedure::text AS name FROM pg_proc
     WHERE pronamespace = $1::regnamespace AND array_to_string(proconfig, ',') LIKE '%lock_timeout%'`,
    [schema],
  );
  for (const { name } of limited) await ask(`ALTER FUNCTION ${name} SET lock_timeout = 0`);
}

interface DatabaseChoices {
  address?: string;
  max?: number;
  callMs?: number;
  lockMs?: number;
  keepMs?: number;
  clock?: Clock;
}

/** A database over a pool of its own, with short limits. On a manual clock only that clock limits anything. */
export function openDatabase(options: DatabaseChoices = {}): ClosableDatabase & { pool: pg.Pool } {
  const { address = url, max = 4, callMs = 5_000, lockMs = 1_000, keepMs = 0, clock = systemClock } = options;
  const connectionTimeoutMillis = clock === systemClock ? 2_000 : 0;
  const pool = new pg.Pool({ connectionString: address, max, connectionTimeoutMillis });
  pool.on('error', () => {});
  const database = createDatabase({
    ...{ pool, place: 'here', clock, random: systemRandom, callMs, lockMs, keepMs },
  });
  return {
    ...database,
    pool,
    async close() {
      await database.close();
      await pool.end();
    },
  };
}

/** Opens a store as the engine does. */
export function open(options: Partial<PostgresOptions> & { schema: string }) {
  return openPostgres({
    ...{ connection: url, listenUrl: null, poolSize: 4, migrate: 'create' as const },
    ...{ clock: systemClock, random: systemRandom },
    ...options,
  });
}

let engineCount = 0;
const schemas = new WeakMap<Engine, string>();

/** Opens an engine on a schema of its own, which goes with it. */
export async function openEngine(): Promise<Engine> {
  engineCount += 1;
  const schema = `engine_${process.pid}_${engineCount}`;
  const inner = createPostgresEngine(await open({ schema }));
  const engine: Engine = {
    ...inner,
    async close() {
      await inner.close();
      await ask(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    },
  };
  schemas.set(engine, schema);
  return engine;
}

/** The schema of an engine that `openEngine` gave. */
export function schemaOf(engine: Engine): string {
  return schemas.get(engine) as string;
}

/** Opens a second engine on the schema of one that `openEngine` gave. */
export async function openSecondEngine(first: Engine): Promise<Engine> {
  return createPostgresEngine(await open({ schema: schemas.get(first) as string }));
}
