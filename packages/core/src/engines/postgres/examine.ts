import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import {
  examinationOf,
  failureOf,
  found,
  ok,
  type SettingCheck,
  type StoreExamination,
} from '../shared/setting-check.ts';
import { createConnector, type PostgresTarget } from './connect.ts';
import { createDatabase } from './database.ts';
import { functionSet } from './generated.ts';
import { missingSteps, readSchema, type SchemaState, schemaVersion, servesOnly } from './migrate.ts';
import { openPostgres, type PostgresOptions } from './open-postgres.ts';
import type { Database } from './work.ts';

/** How a store on PostgreSQL is examined. */
export interface ExamineOptions extends PostgresTarget, Pick<PostgresOptions, 'clock' | 'random'> {
  /** From which age on an open transaction is told. */
  transactionMsMax?: number;
}

// Vacuum cannot clean up behind a transaction of this age, and no sound program has one open for so long.
const transactionMsMaxDefault = 600_000;
const callMs = 10_000;
// A probe takes a millisecond; its connection takes about ten.
const probeTimeoutMs = 3_000;
const clockMsMax = 1_000;
// A claim that steps over so many dead rows is noticeably slower.
const deadRowMax = 200_000;
// Short statements cost less than this, by the planner's own measure.
const jitCostMin = 10_000;
const frozenAgeMax = 1_000_000_000;

/** See `examineStore`. */
export async function examinePostgres(options: ExamineOptions): Promise<StoreExamination> {
  const connector = await createConnector(options);
  const { place, pool } = connector;
  const { clock, random, schema } = options;
  const database = createDatabase({ pool, place, clock, random, callMs, lockMs: 2_000 });
  const checks: SettingCheck[] = [];
  try {
    const facts = await readFacts(database, clock);
    checks.push(...serverFindings(facts), ...commitFindings(facts), ...roomFindings(facts));
    checks.push(...(await transactionFindings(database, options.transactionMsMax)));
    const state = await readSchema({ database, schema, place });
    checks.push(...schemaFindings(state, schema));
    if (state.version > 0) checks.push(...(await tableFindings(database, schema, facts)));
    if (!checks.some(({ name, state }) => state === 'failing' && unfit.has(name))) {
      checks.push(await listenFinding(options));
    }
  } catch (error) {
    checks.push(failureOf(error));
  } finally {
    await database.close();
    await connector.end();
  }
  return examinationOf(place, checks);
}

/** With one of these the engine refuses the store. */
const unfit = new Set(['version', 'standby', 'encoding', 'isolation', 'array_nulls', 'schema']);

interface Facts {
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
  /** Whether statements may be compiled, from which cost on, and which ways of the planner are shut, which makes every cost huge. */
  jit: boolean;
  jitCost: number;
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

async function readFacts(database: Database, clock: Clock): Promise<Facts> {
  // The first answer waits for a connection, and would look like a difference of clocks.
  await database.query('SELECT 1');
  const before = clock.now();
  const [row] = (await database.query<Facts & { at: number }>(facts)) as [Facts & { at: number }];
  const after = clock.now();
  const offMs = row.at < before ? row.at - before : row.at > after ? row.at - after : 0;
  return { ...row, clockMs: offMs };
}

function serverFindings(facts: Facts): SettingCheck[] {
  const { version, number, standby, readonly, encoding, isolation, nulls, clockMs } = facts;
  const findings: SettingCheck[] = [
    number < 130_000
      ? found(
          'failing',
          'version',
          `The server is PostgreSQL ${version}; Duly needs 13.`,
          'Update the server.',
        )
      : ok('version', `PostgreSQL ${version}.`),
  ];
  if (standby) {
    const fix = 'Give the address of the primary.';
    findings.push(found('failing', 'standby', 'The server is a standby: it takes no writes.', fix));
  } else if (readonly) {
    const fix = 'ALTER ROLE <role> SET default_transaction_read_only = off';
    findings.push(found('failing', 'standby', 'Transactions are read-only by default.', fix));
  } else findings.push(ok('standby', 'The server is a primary and takes writes.'));
  if (encoding !== 'UTF8') {
    const fix = 'createdb --encoding UTF8 --template template0 <name>';
    findings.push(found('failing', 'encoding', `The database is encoded in ${encoding}, not UTF8.`, fix));
  }
  if (isolation !== 'read committed') {
    const fix = "ALTER ROLE <role> SET default_transaction_isolation = 'read committed'";
    findings.push(found('failing', 'isolation', `Transactions are "${isolation}" by default.`, fix));
  }
  if (nulls !== 'on') {
    const fix = 'ALTER ROLE <role> SET array_nulls = on';
    findings.push(found('failing', 'array_nulls', 'Lists cannot hold NULL (array_nulls is off).', fix));
  }
  findings.push(
    Math.abs(clockMs) <= clockMsMax
      ? ok('clock', "This machine's clock agrees with the server's.")
      : found(
          Math.abs(clockMs) > 60_000 ? 'warning' : 'note',
          'clock',
          `This machine's clock is ${formatDuration(Math.abs(clockMs))} ${clockMs > 0 ? 'behind' : 'ahead of'} the server's. Nothing starts early or late by it, the server's clock rules; but times in its logs do not fit those of jobs.`,
          'Synchronise both clocks (chrony, systemd-timesyncd).',
        ),
  );
  return findings;
}

/** What is left of a promise when the server, or its machine, dies. */
function commitFindings(facts: Facts): SettingCheck[] {
  const { fsync, fullPageWrites, commit, syncNames, syncCount, asyncCount } = facts;
  const findings: SettingCheck[] = [];
  findings.push(
    fsync === 'off'
      ? found(
          'warning',
          'fsync',
          'fsync is off: when the machine loses power, the whole database may be damaged.',
          'ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();',
        )
      : ok('fsync', 'Commits reach the disk (fsync = on).'),
  );
  if (fullPageWrites === 'off') {
    findings.push(
      found(
        'warning',
        'full_page_writes',
        'full_page_writes is off: a crash in the middle of a write may damage pages, unless the file system writes them whole.',
        'ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();',
      ),
    );
  }
  if (commit === 'off') {
    findings.push(
      found(
        'warning',
        'synchronous_commit',
        'synchronous_commit is off: when the server crashes, promises of the last moments are lost although they were confirmed.',
        'ALTER ROLE <role> SET synchronous_commit = on',
      ),
    );
  } else if (syncNames !== '' && commit === 'local') {
    findings.push(
      found(
        'warning',
        'synchronous_commit',
        'synchronous_commit is local although there are synchronous standbys: a failover to one of them may lose confirmed promises.',
        'ALTER ROLE <role> SET synchronous_commit = on',
      ),
    );
  } else findings.push(ok('synchronous_commit', `synchronous_commit = ${commit}.`));
  if (syncNames !== '' && syncCount === 0) {
    findings.push(
      found(
        'failing',
        'replication',
        'Commits wait for a synchronous standby, and none is connected, as far as this role may see: every call that writes stands still.',
        'Bring the standby back, or take it out of synchronous_standby_names.',
      ),
    );
  } else if (syncNames === '' && asyncCount > 0) {
    findings.push(
      found(
        'note',
        'replication',
        'The standbys are asynchronous: a failover loses the last commits. Jobs created then are gone, jobs finished then run again, and fences given then may be given again.',
        'For no loss: set synchronous_standby_names.',
      ),
    );
  }
  return findings;
}

function roomFindings(facts: Facts): SettingCheck[] {
  const { autovacuum, trackCounts, number, checkInterval, statementMs, connections, connectionMax } = facts;
  const findings: SettingCheck[] = [];
  findings.push(
    autovacuum === 'off' || trackCounts === 'off'
      ? found(
          'warning',
          'autovacuum',
          `${autovacuum === 'off' ? 'autovacuum' : 'track_counts'} is off: rows of jobs that are over stay where claims must step over them, and everything gets slower.`,
          'ALTER SYSTEM SET autovacuum = on; ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();',
        )
      : ok('autovacuum', 'autovacuum is on.'),
  );
  if (facts.frozenAge > frozenAgeMax) {
    findings.push(
      found(
        'warning',
        'wraparound',
        `The oldest transaction that was not frozen is ${facts.frozenAge} transactions back; at two thousand million the server stops taking writes.`,
        'Find what holds vacuum back (see "transactions"), then VACUUM FREEZE.',
      ),
    );
  }
  if (connections > connectionMax * 0.8) {
    findings.push(
      found(
        'warning',
        'connections',
        `${connections} of ${connectionMax} connections are in use; when none is left, nodes cannot connect.`,
        'Raise max_connections, lower "?pool=" of the processes, or put a pooler between.',
      ),
    );
  } else findings.push(ok('connections', `${connections} of ${connectionMax} connections are in use.`));
  if (statementMs > 0 && statementMs < 5_000) {
    findings.push(
      found(
        'warning',
        'statement_timeout',
        `statement_timeout is ${statementMs} ms for this role: a large claim or a page of history may be ended before it is done.`,
        "ALTER ROLE <role> SET statement_timeout = '30s'",
      ),
    );
  } else if (statementMs === 0) {
    findings.push(
      found(
        'note',
        'statement_timeout',
        'No statement_timeout: a statement that stalls goes on in the server after its node has given it up (10 s).',
        "ALTER ROLE <role> SET statement_timeout = '30s'",
      ),
    );
  }
  if (facts.jit && (facts.shut !== null || (facts.jitCost >= 0 && facts.jitCost < jitCostMin))) {
    const why = facts.shut === null ? `jit_above_cost = ${facts.jitCost}` : `${facts.shut.join(', ')} = off`;
    findings.push(
      found(
        'warning',
        'jit',
        `With ${why} the server compiles nearly every statement before it runs it: reads of a millisecond take a second.`,
        'ALTER ROLE <role> SET jit = off',
      ),
    );
  }
  if (number >= 140_000 && checkInterval === '0') {
    findings.push(
      found(
        'note',
        'client_connection_check_interval',
        'The server does not look whether a node is still there while it works for it.',
        "ALTER SYSTEM SET client_connection_check_interval = '5s'; SELECT pg_reload_conf();",
      ),
    );
  }
  return findings;
}

interface OldTransaction {
  what: string;
  who: string;
  ageMs: number;
  /** For pg_terminate_backend; null: it has no process. */
  pid: number | null;
}

const oldTransactions = `SELECT * FROM (
  SELECT 'transaction' AS what, trim(concat_ws(' ', usename, nullif(application_name, ''), state)) AS who, pid,
    floor(extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS "ageMs"
  FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  UNION ALL
  SELECT 'prepared transaction', gid, NULL, floor(extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint
  FROM pg_prepared_xacts) t
  WHERE "ageMs" >= $1 ORDER BY "ageMs" DESC LIMIT 5`;

async function transactionFindings(
  database: Database,
  ageMsMax = transactionMsMaxDefault,
): Promise<SettingCheck[]> {
  const old = await database.query<OldTransaction>(oldTransactions, [ageMsMax]);
  const slots = await database.query<{ name: string }>(
    'SELECT slot_name AS name FROM pg_replication_slots WHERE NOT active AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL)',
  );
  const findings = old.map(({ what, who, ageMs, pid }) =>
    found(
      'warning',
      'transactions',
      `A ${what} (${who}${pid === null ? '' : `, pid ${pid}`}) is open for ${formatDuration(ageMs)}: nothing that ended since then can be cleaned up, and claims get slower.`,
      pid === null
        ? `ROLLBACK PREPARED '${who}'`
        : `SELECT pg_terminate_backend(${pid}); and against the next one: ALTER ROLE <its role> SET idle_in_transaction_session_timeout = '5min'`,
    ),
  );
  for (const { name } of slots) {
    findings.push(
      found(
        'warning',
        'transactions',
        `The replication slot "${name}" is used by nobody and keeps the server from cleaning up.`,
        `SELECT pg_drop_replication_slot('${name}')`,
      ),
    );
  }
  return findings.length > 0 ? findings : [ok('transactions', 'No transaction is open for long.')];
}

function schemaFindings(state: SchemaState, schema: string): SettingCheck[] {
  const { version } = state;
  if (version === 0) {
    return [found('failing', 'schema', `There is no store in the schema "${schema}".`, 'duly migrate')];
  }
  if (state.lowestCode > functionSet.number) {
    const message = `The store is at schema ${version} and ${servesOnly(state)}.`;
    return [found('failing', 'schema', message, 'Update Duly here.')];
  }
  const steps = missingSteps(state);
  if (steps.length === 0) return [ok('schema', `The schema is at ${version}.`)];
  const message = `The schema is at ${version}, this version creates ${schemaVersion}: ${steps.join(', ')} is missing.`;
  return [found('warning', 'schema', message, 'duly migrate')];
}

interface TableFacts {
  isOwner: boolean;
  mayCreate: boolean;
  unvacuumed: string[] | null;
  deadRows: number;
  tomorrow: boolean;
}

const tables = `SELECT
  (SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = to_regclass($1)) AS "isOwner",
  (SELECT has_schema_privilege(c.relnamespace, 'CREATE') FROM pg_class c WHERE c.oid = to_regclass($1)) AS "mayCreate",
  (SELECT json_agg(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $2 AND 'autovacuum_enabled=false' = ANY (c.reloptions)) AS unvacuumed,
  (SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = $2 AND relname IN ('jobs', 'leases')) AS "deadRows",
  to_regclass(format('%I.%I', $2::text, 'finished_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD'))) IS NOT NULL AS tomorrow`;

async function tableFindings(
  database: Database,
  schema: string,
  { autovacuum }: Facts,
): Promise<SettingCheck[]> {
  const [table] = (await database.query<TableFacts>(tables, [`"${schema}".jobs`, schema])) as [TableFacts];
  const findings: SettingCheck[] = [];
  if (table.unvacuumed !== null && autovacuum === 'on') {
    findings.push(
      found(
        'warning',
        'autovacuum',
        `autovacuum is switched off for ${table.unvacuumed.join(', ')} of the schema "${schema}".`,
        `ALTER TABLE "${schema}"."${table.unvacuumed[0]}" RESET (autovacuum_enabled)`,
      ),
    );
  }
  if (table.deadRows > deadRowMax) {
    findings.push(
      found(
        'warning',
        'dead_rows',
        `${table.deadRows} dead rows lie in the tables of live jobs, and claims step over them.`,
        `Find what holds vacuum back (see "transactions"), then VACUUM "${schema}".jobs, "${schema}".leases`,
      ),
    );
  }
  if (!table.isOwner || !table.mayCreate) {
    const lack = table.isOwner
      ? `may not create tables in the schema "${schema}"`
      : `does not own the tables of "${schema}"`;
    findings.push(
      found(
        table.tomorrow ? 'note' : 'warning',
        'history_role',
        `This role ${lack}: where nodes with the role maintenance run under it, history has no days that are dropped whole, and its jobs are forgotten one by one.${table.isOwner ? '' : ' Nodes under it cannot vacuum the tables of live jobs either, which slows the store down under heavy load.'}`,
        table.isOwner
          ? `GRANT CREATE ON SCHEMA "${schema}" TO <role>`
          : `Run one node with the role maintenance as the owner of the tables, or ALTER TABLE … OWNER TO <role>.`,
      ),
    );
  }
  findings.push(
    table.tomorrow
      ? ok('history', 'The coming days of history are created.')
      : found(
          'note',
          'history',
          'The coming days of history are not created yet: no node with the role maintenance has run here lately. Finished jobs are stored, but not dropped by the day.',
          table.isOwner
            ? 'Start a node with the role maintenance.'
            : `Start a node with the role maintenance, as the owner of the tables of "${schema}": this role is not.`,
        ),
  );
  return findings;
}

/** Whether notifications arrive. LISTEN succeeds behind a pooler too; only a probe proves it. */
async function listenFinding(options: ExamineOptions): Promise<SettingCheck> {
  const opened = await openPostgres({ ...options, migrate: 'never' });
  const isReceived = await new Promise<boolean>((resolve) => {
    const timer = options.clock.after(probeTimeoutMs, () => resolve(false));
    opened.subscribe((notification) => {
      if (notification !== 'probe') return;
      timer.cancel();
      resolve(true);
    });
  });
  await opened.close();
  if (isReceived)
    return ok('listen', 'Notifications arrive: what another process creates is started at once.');
  const late = 'what another process creates starts up to 1 s late.';
  const refusal = await listenRefusal(options);
  if (refusal !== null) {
    const hint =
      options.listenUrl === null
        ? 'See that the server has a connection left.'
        : 'Check "listenUrl" of the address.';
    return found(
      'warning',
      'listen',
      `The connection for notifications cannot be created (${refusal}): ${late}`,
      hint,
    );
  }
  return options.listenUrl === null
    ? found(
        'warning',
        'listen',
        `Notifications do not arrive (LISTEN succeeds behind a pooler in transaction mode, and delivers nothing): ${late}`,
        'Name a direct connection: add ?listenUrl=postgres%3A%2F%2F… to the address.',
      )
    : found(
        'warning',
        'listen',
        `Notifications do not arrive over "listenUrl", which leads to another database, or to a pooler in transaction mode: ${late}`,
        'Let "listenUrl" lead to the server itself, and to the same database.',
      );
}

/** Why the connection that listens cannot be made; null: it can. */
async function listenRefusal(options: ExamineOptions): Promise<string | null> {
  const connector = await createConnector(options);
  const client = connector.createListener();
  // Its end is told by what it answers; without a listener an error would end the process.
  client?.on('error', () => {});
  try {
    await client?.connect();
    return null;
  } catch (error) {
    return (error as Error).message || String((error as { code?: unknown }).code);
  } finally {
    client?.end().catch(() => {});
    await connector.end();
  }
}
