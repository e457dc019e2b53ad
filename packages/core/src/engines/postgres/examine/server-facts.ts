import type { Clock } from '../../../base/clock.ts';
import type { Database } from '../work.ts';

/** Settings and numbers of a server, as the role of the store sees them. */
export interface ServerFacts {
  version: string;
  number: number;
  standby: boolean;
  readonly: boolean;
  encoding: string;
  isolation: string;
  nulls: string;
  fsync: string;
  fullPageWrites: string;
  commit: string;
  syncNames: string;
  syncCount: number;
  asyncCount: number;
  autovacuum: string;
  trackCounts: string;
  /** Whether statements may be compiled, and from which cost on. */
  jit: boolean;
  jitCost: number;
  /** Plans that the planner must avoid, which makes every cost huge. */
  shut: string[] | null;
  checkInterval: string | null;
  statementMs: number;
  connections: number;
  connectionMax: number;
  frozenAge: number;
  /** The server's clock minus this machine's. */
  clockMs: number;
}

const facts = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
  pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS readonly,
  current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
  current_setting('array_nulls') AS nulls, current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
  current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS "syncNames",
  (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS "syncCount",
  (SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async') AS "asyncCount",
  current_setting('autovacuum') AS autovacuum, current_setting('track_counts') AS "trackCounts",
  pg_jit_available() AS jit, current_setting('jit_above_cost')::float8 AS "jitCost",
  (SELECT json_agg(name ORDER BY name) FROM pg_settings
    WHERE name IN ('enable_nestloop', 'enable_seqscan', 'enable_indexscan') AND setting = 'off') AS shut,
  current_setting('client_connection_check_interval', true) AS "checkInterval",
  (SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout') AS "statementMs",
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS "connectionMax",
  (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS "frozenAge",
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "at"`;

/** Reads the facts. */
export async function readServerFacts(database: Database, clock: Clock): Promise<ServerFacts> {
  // The first answer waits for a connection, which would look like a difference of the clocks.
  await database.query('SELECT 1');
  const before = clock.now();
  const [row] = (await database.query<ServerFacts & { at: number }>(facts)) as [ServerFacts & { at: number }];
  const after = clock.now();
  const offMs = row.at < before ? row.at - before : row.at > after ? row.at - after : 0;
  return { ...row, clockMs: offMs };
}
