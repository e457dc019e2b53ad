import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type PostgresServer, startPostgres } from '../../../test/servers/postgres.ts';
import { pause } from '../../contestant.ts';
import type { EngineRoom } from '../../room.ts';

const shared = mkdtempSync(join(tmpdir(), 'duly-bench-shared-'));
process.once('exit', () => rmSync(shared, { recursive: true, force: true }));

// What a small server of its own would be given; everything else, above all what makes commits durable, as PostgreSQL comes.
const settings = {
  shared_buffers: "'512MB'",
  max_wal_size: "'8GB'",
  // A checkpoint in the middle of somebody's turn would be somebody's bad luck: there is one before each turn.
  checkpoint_timeout: "'30min'",
};

// The test servers have settings of their own, which are undone here.
const defaults = { max_connections: 100, max_wal_size: "'1GB'", shared_buffers: "'128MB'" };
// Whole reads that come one after the other would be a load of their own.
const readEveryMs = 1_000;

let server: Promise<PostgresServer> | null = null;
let placeCount = 0;

/** One server for the whole run. */
function theServer(): Promise<PostgresServer> {
  server ??= startPostgres({ durable: true, settings });
  return server;
}

async function administrate(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: (await theServer()).url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A server as `initdb` leaves it, for one place. */
async function createDefaultPlace() {
  const own = await startPostgres({ durable: true, settings: defaults });
  return { folder: shared, shared, url: own.url, remove: () => own.stop() };
}

/** A database of its own, empty or a copy. */
async function createPlace(from?: string) {
  const { url } = await theServer();
  const name = `bench_${++placeCount}`;
  // Pages are written before anybody starts, so that nobody pays for whoever was there before.
  await administrate(
    `CREATE DATABASE ${name} ${from === undefined ? '' : `TEMPLATE ${from} STRATEGY FILE_COPY`}`,
    'CHECKPOINT',
  );
  return {
    folder: shared,
    shared,
    url: url.replace(/\/[^/]*$/, `/${name}`),
    remove: () => administrate(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

// The kernel counts in these, whatever its own clock does.
const tickMs = 10;

/** Of a process and all its children, those that have ended included. */
async function processorMsOf(pid: number): Promise<number> {
  const statOf = async (id: string) => {
    const text = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => null);
    // The name in brackets may hold anything.
    return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
  };
  let ticks = 0;
  for (const id of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(id)) continue;
    const stat = await statOf(id);
    if (stat === null) continue;
    const own = Number(stat[11]) + Number(stat[12]);
    if (Number(id) === pid) ticks += own + Number(stat[13]) + Number(stat[14]);
    else if (Number(stat[1]) === pid) ticks += own;
  }
  return ticks * tickMs;
}

const module = (name: string) => new URL(`./${name}.ts`, import.meta.url);

/** PostgreSQL: one server of its own, a database for each place. */
export const room: EngineRoom = {
  name: 'postgres',
  settings: 'one private server, synchronous_commit=on, default options',
  bare: { name: 'bare', module: module('bare') },
  peers: [
    { name: 'graphile-worker (local queue 2,000)', module: module('graphile-worker-best'), isFast: true },
    { name: 'graphile-worker (default)', module: module('graphile-worker-default') },
    { name: 'pg-boss (batch 2,000)', module: module('pg-boss'), isFast: true },
    { name: 'bullmq', module: module('bullmq') },
  ],
  targets: {
    drain: { text: '≥ 0.85 of bare', of: 'ratio', atLeast: 0.85 },
    inFlight: { text: '≥ 1.6 × bare without NOTIFY', of: 'ratio', atLeast: 1.6 },
    inFlightNotifying: { text: '≥ 5 × bare with NOTIFY', of: 'ratio', atLeast: 5 },
    bulk: { text: '≥ 0.7 of bare', of: 'ratio', atLeast: 0.7 },
    burstStarted: { text: '≤ 2 × bare writes and drain', of: 'ratio', atMost: 2 },
  },
  createPlace: () => createPlace(),
  copyPlace: ({ url }) => createPlace(url.slice(url.lastIndexOf('/') + 1)),
  createDefaultPlace,
  async hotBytes({ url }) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query(
        "SELECT pg_total_relation_size('duly.jobs') + pg_total_relation_size('duly.leases') AS bytes",
      );
      return Number(rows[0].bytes);
    } finally {
      await client.end();
    }
  },
  async readAlong({ url }, count) {
    let isOver = false;
    const reading = Array.from({ length: count }, async () => {
      const client = new pg.Client({ connectionString: url, application_name: 'reader' });
      await client.connect();
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      while (!isOver) {
        await client.query('SELECT count(*) FROM duly.jobs');
        await pause(readEveryMs);
      }
      await client.end();
    });
    return async () => {
      isOver = true;
      await Promise.all(reading);
    };
  },
  async holdSnapshot({ url }) {
    const client = new pg.Client({ connectionString: url, application_name: 'old transaction' });
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    // The snapshot is taken by the first statement.
    await client.query('SELECT count(*) FROM pg_class');
    return () => client.end();
  },
  async processorMs() {
    return processorMsOf((await theServer()).pid);
  },
  async close() {
    await (await server)?.stop();
    server = null;
  },
};
