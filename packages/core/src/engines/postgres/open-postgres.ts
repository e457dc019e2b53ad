import type { Clock } from '../../base/clock.ts';
import { dulyError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { EngineInfo, Notification } from '../../contract/engine.ts';
import { createConnector, type PostgresTarget } from './connect.ts';
import { createDatabase } from './database.ts';
import { createFallbackConnection } from './fallback-connection.ts';
import { functionSet } from './generated.ts';
import {
  type MigrationTarget,
  migrateSchema,
  missingSteps,
  readSchema,
  refuseTooNew,
  type SchemaTarget,
  schemaVersion,
} from './migrate.ts';
import { createNotifier } from './notifier.ts';
import { type Database, inSchema, ofSet } from './work.ts';

/** How a store on PostgreSQL is opened. */
export interface PostgresOptions extends PostgresTarget {
  clock: Clock;
  random: Random;
  /**
   * What becomes of a schema that is missing or old. `create`: it is brought up to this code. `existing`: the same, but where there is none the
   * store is refused. `never`: it stays as it is, and only `migrate` may be called.
   */
  migrate: 'create' | 'existing' | 'never';
  /** How long a call may take until its connection is given up as lost; default 10 s. */
  callMs?: number;
}

/** Where the schema at an address stands. */
export interface SchemaStatus {
  place: string;
  /** 0: there is none. */
  schema: number;
  known: number;
  lowestCode: number;
  code: number;
  steps: string[];
}

/** An open PostgreSQL, before any verb. */
export interface OpenedPostgres {
  database: Database;
  schema: string;
  clock: Clock;
  info: EngineInfo;
  /** What `migrate` of the engine does. */
  migrate(input: { dryRun: boolean }): Promise<{ from: number; steps: string[] }>;
  /** Sends notifications of something that was committed here: to this process at once, to others by NOTIFY. */
  notify(notifications: Iterable<Notification>): void;
  subscribe(listener: (notification: Notification) => void): () => void;
  probe(): Promise<void>;
  close(): Promise<void>;
}

const callMsDefault = 10_000;
// What waits longer for a lock stands behind somebody's open transaction, and should hear so.
const lockMs = 2_000;
// Longer than a node that has nothing to do is silent. To connect anew takes ten times as long as a call, and the first calls on a new connection
// plan every statement again.
const keepMsOwn = 60_000;
// As many as a node uses at once when there is much to do: one decides schedules, two bring work and hand in outcomes.
const readyCount = 3;
const versionMin = 130_000;
// The transaction is rolled back.
const warmUpStatement = `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ${ofSet('warm_up')}(); ROLLBACK`;

/** What is looked at before a server may hold a store. */
export interface ServerFacts {
  version: string;
  number: number;
  standby: boolean;
  readonly: boolean;
  encoding: string;
  isolation: string;
  nulls: string;
  fsync: string;
  commit: string;
  /** How long the oldest transaction of this database has been open that others must keep old rows for, and whose it is; null: none is seen. */
  old_minutes: number | null;
  old_session: string | null;
}

/** Reads them. */
export const serverFacts = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
  pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS readonly,
  current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
  current_setting('array_nulls') AS nulls, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, old.old_minutes, old.old_session
  FROM (SELECT 1) one LEFT JOIN LATERAL (
    SELECT floor(extract(epoch FROM clock_timestamp() - xact_start) / 60)::int AS old_minutes,
      pid || coalesce(' of ' || nullif(application_name, ''), '') AS old_session
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xmin IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 1) old ON true`;

// A report that reads for some minutes is usual; after that a busy store has more dead rows than live ones.
const oldMinutes = 10;

/** Connects, looks at the server, and brings the schema up to this code; or says why not and leaves nothing open. */
export async function openPostgres(options: PostgresOptions): Promise<OpenedPostgres> {
  const { schema, clock, random, callMs = callMsDefault } = options;
  const connector = await createConnector(options);
  const { pool, place, createFallback } = connector;
  const fallback =
    createFallback === null ? null : createFallbackConnection({ create: createFallback, clock });
  // A pool that was made here is used by nobody else.
  const keepMs = typeof options.connection === 'string' ? keepMsOwn : 0;
  const database = createDatabase({ pool, place, clock, random, callMs, lockMs, keepMs, fallback });
  const target: MigrationTarget = { database, schema, place, clock };
  let info: EngineInfo;
  try {
    const [server] = (await database.query<ServerFacts>(serverFacts)) as [ServerFacts];
    refuseUnfit(server, place);
    if (options.migrate !== 'never') await prepare(target, options.migrate === 'existing');
    const id = options.migrate === 'never' ? null : await readStoreId(target);
    info = {
      kind: 'postgres',
      ...(id === null ? {} : { id }),
      place,
      version: server.version,
      wake: 'push',
      isParallel: true,
      durable: true,
      warnings: warningsOf(server),
    };
  } catch (error) {
    await database.close();
    await connector.end();
    throw error;
  }

  const listeners = new Set<(notification: Notification) => void>();
  const deliver = (notification: Notification): void => {
    for (const listener of [...listeners]) listener(notification);
  };
  const notifier = createNotifier({
    ...{ database, schema, clock, random },
    createListener: connector.createListener,
    onNotification: deliver,
  });
  let closing: Promise<void> | null = null;

  return {
    database,
    schema,
    clock,
    info,
    migrate: (input) => migrateSchema(target, input),
    notify(notifications) {
      const list = [...notifications];
      for (const notification of list) deliver(notification);
      notifier.notify(list);
    },
    subscribe(listener) {
      listeners.add(listener);
      // A process that only creates jobs does not listen, and needs neither that connection nor warm ones.
      notifier.listen();
      database.warmUp(inSchema(warmUpStatement, schema), Math.min(readyCount, options.poolSize));
      return () => listeners.delete(listener);
    },
    probe: () => notifier.probe(),
    close() {
      closing ??= (async () => {
        // Notifications of what was committed a moment ago still go out.
        await notifier.close();
        await database.close();
        await connector.end();
      })();
      return closing;
    },
  };
}

/** The number that names this store; null: a schema that a newer Duly left without one. */
async function readStoreId({ database, schema }: SchemaTarget): Promise<number | null> {
  const [row] = await database.query<{ value: number }>(
    inSchema("SELECT value FROM duly.meta WHERE key = 'store'", schema),
  );
  return row?.value ?? null;
}

/** Nothing is missing as a rule, and then nobody has to be waited for. */
async function prepare(target: MigrationTarget, mustExist: boolean): Promise<void> {
  const { place, schema } = target;
  const state = await readSchema(target);
  refuseTooNew(state, place);
  if (mustExist && state.version === 0) {
    throw dulyError('store_not_found', {
      message: `There is no store at ${place}: the schema "${schema}" is not there.`,
      hint: 'Create it with "duly migrate", start one with "duly up", or name another with --store.',
      details: { place, schema },
    });
  }
  if (missingSteps(state).length > 0) await migrateSchema(target, { dryRun: false });
}

/** Reads where the schema at an address stands, without changing anything. */
export async function readPostgresStatus(options: Omit<PostgresOptions, 'migrate'>): Promise<SchemaStatus> {
  const opened = await openPostgres({ ...options, migrate: 'never' });
  try {
    const { place } = opened.info;
    const state = await readSchema({ ...opened, place });
    const { version, lowestCode } = state;
    return {
      ...{ place, schema: version, known: schemaVersion, lowestCode, code: functionSet.number },
      steps: missingSteps(state),
    };
  } finally {
    await opened.close();
  }
}

function refuseUnfit(server: ServerFacts, place: string): void {
  const details = { place, version: server.version };
  const refuse = (message: string, hint: string): never => {
    throw dulyError('postgres_unsupported', { message, hint, details });
  };
  if (server.number < versionMin) {
    refuse(
      `The PostgreSQL at ${place} is version ${server.version}; Duly needs 13 or newer.`,
      'Update the server.',
    );
  }
  if (server.encoding !== 'UTF8') {
    refuse(
      `The database at ${place} is encoded in ${server.encoding}; Duly needs UTF8.`,
      'Create a database with it: createdb --encoding UTF8 --template template0 <name>',
    );
  }
  if (server.isolation !== 'read committed') {
    refuse(
      `Transactions at ${place} are "${server.isolation}" by default; Duly needs "read committed".`,
      "Set it for Duly's role: ALTER ROLE <role> SET default_transaction_isolation = 'read committed'",
    );
  }
  // What has no value would be written as the text "NULL".
  if (server.nulls !== 'on') {
    refuse(
      `Lists at ${place} cannot hold NULL (array_nulls is off); Duly needs that they can.`,
      "Set it for Duly's role: ALTER ROLE <role> SET array_nulls = on",
    );
  }
  if (server.standby || server.readonly) {
    throw dulyError('store_read_only', {
      message: server.standby
        ? `The PostgreSQL at ${place} is a standby: it takes no writes.`
        : `The PostgreSQL at ${place} takes no writes: transactions are read-only by default.`,
      hint: server.standby
        ? 'Give the address of the primary.'
        : 'Set default_transaction_read_only to off for this database and role.',
      details,
    });
  }
}

/** What a person should know about a server. */
export function warningsOf({
  fsync,
  commit,
  old_minutes: minutes,
  old_session: session,
}: ServerFacts): string[] {
  const warnings: string[] = [];
  if (minutes !== null && minutes >= oldMinutes) {
    warnings.push(
      `Session ${session} has had a transaction open for ${minutes} minutes: nothing that ended since can leave the tables, and every claim has to step over it. Commit it, end the session, or set idle_in_transaction_session_timeout.`,
    );
  }
  if (fsync === 'off') {
    warnings.push(
      'The PostgreSQL runs with fsync=off: when its machine loses power, the whole database may be damaged.',
    );
  }
  if (commit === 'off') {
    warnings.push(
      'The PostgreSQL runs with synchronous_commit=off: when it crashes, promises of the last moments are lost although they were confirmed.',
    );
  }
  return warnings;
}
