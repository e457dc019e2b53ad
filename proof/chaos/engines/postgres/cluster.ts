/** A primary with a standby that streams from it, behind one way that leads to whichever is the primary now. */
import pg from 'pg';
import { systemClock } from '../../../../packages/core/src/base/clock.ts';
import { startPgBouncer } from '../../../../test/servers/pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../../../../test/servers/postgres.ts';
import { startTcpProxy, type TcpProxy } from '../../../../test/servers/tcp-proxy.ts';

/** How a cluster is made. */
export interface ClusterOptions {
  /** Whether a commit is confirmed only when the standby has it. */
  isSynchronous: boolean;
  /** Whether PgBouncer in transaction mode stands before the way. */
  hasPooler: boolean;
}

/** A primary and its standby. */
export interface Cluster {
  /** Where clients are to connect on loopback. */
  readonly port: number;
  /** The way behind it, which everybody's connections take. */
  readonly way: TcpProxy;
  /** The way that the standby takes to its primary. */
  link(): TcpProxy;
  primary(): PostgresServer;
  standby(): PostgresServer;
  /** Asks the primary something, past every way. */
  ask(sql: string, server?: PostgresServer): Promise<Record<string, unknown>[]>;
  /** Makes the standby the primary and leads new connections there. The old one is neither asked nor told, and still lives. */
  promote(): Promise<void>;
  /** Ends the old primary and makes a new standby; resolves when it has everything. */
  replaceOld(): Promise<void>;
  /** Resolves when the standby has everything that the primary has confirmed. */
  inStep(): Promise<void>;
  stop(): Promise<void>;
}

const settings = {
  wal_level: 'replica',
  max_wal_senders: 5,
  wal_keep_size: "'512MB'",
  hot_standby: 'on',
  max_connections: 300,
  // How often a standby looks for its primary, and after how long one of them believes the other gone.
  wal_retrieve_retry_interval: "'200ms'",
  wal_receiver_timeout: "'5s'",
  wal_sender_timeout: "'5s'",
} as const;

// As long as it takes to copy a small database and to catch up, on a machine that has other things to do.
const inStepMsMax = 30_000;

/** Starts a primary and a standby. */
export async function startCluster({ isSynchronous, hasPooler }: ClusterOptions): Promise<Cluster> {
  let primary = await startPostgres({ durable: true, settings });
  const way = await startTcpProxy(primary.port);
  let standby = primary;
  let link: TcpProxy | null = null;
  let old: PostgresServer | null = null;
  const pooler = hasPooler
    ? await startPgBouncer(Object.assign(new URL(primary.url), { port: String(way.port) }).href, 60)
    : null;

  async function ask(sql: string, server = primary): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({
      connectionString: server.url,
      application_name: 'chaos',
      connectionTimeoutMillis: 30_000,
      // Longer than a promotion may take.
      query_timeout: 40_000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** A standby that takes a way of its own to its primary. */
  async function startStandby(): Promise<void> {
    await link?.stop();
    link = await startTcpProxy(primary.port);
    standby = await startPostgres({ durable: true, settings, cloneOf: primary });
    const [row] = await ask('SHOW primary_conninfo', standby);
    const info = String(row?.primary_conninfo).replace(/port=\d+/, `port=${link.port}`);
    await ask(`ALTER SYSTEM SET primary_conninfo = '${info.replaceAll("'", "''")}'`, standby);
    await ask('SELECT pg_reload_conf()', standby);
  }

  async function waitForStandby(server: PostgresServer, needs: boolean): Promise<void> {
    await ask(`ALTER SYSTEM SET synchronous_standby_names = '${needs ? '*' : ''}'`, server);
    await ask('SELECT pg_reload_conf()', server);
  }

  async function inStep(): Promise<void> {
    const state = isSynchronous ? 'sync' : 'async';
    const sinceElapsed = systemClock.elapsed();
    const sql = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '${state}' AND flush_lsn >= pg_current_wal_flush_lsn() - 65536`;
    while ((await ask(sql)).length === 0) {
      if (systemClock.elapsed() - sinceElapsed > inStepMsMax)
        throw new Error('The standby does not follow its primary.');
      await systemClock.sleep(50);
    }
  }

  await startStandby();
  await waitForStandby(primary, isSynchronous);
  await inStep();
  return {
    port: pooler?.port ?? way.port,
    way,
    link: () => link as TcpProxy,
    primary: () => primary,
    standby: () => standby,
    ask,
    async promote() {
      // It has no standby of its own yet, and would confirm nothing.
      await waitForStandby(standby, false);
      await ask('SELECT pg_promote(true, 30)', standby);
      old = primary;
      primary = standby;
      way.lead(primary.port);
    },
    async replaceOld() {
      await old?.stop();
      old = null;
      await startStandby();
      await waitForStandby(primary, isSynchronous);
      await inStep();
    },
    inStep,
    async stop() {
      await pooler?.stop();
      await way.stop();
      await link?.stop();
      for (const server of [old, standby, primary]) await server?.stop();
    },
  };
}
