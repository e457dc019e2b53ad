// PostgreSQL servers for tests, proofs and benches: each one private, on a free port of loopback, and gone at the end.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chownSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort, type GuardedProcess, removeFolder, startGuarded } from './guarded-process.ts';
import { postgresPrograms, serverUser } from './installed.ts';

/** How a server is started. */
export interface PostgresOptions {
  /** Commits reach the disk, as in production. Default false: nothing outlives a test anyway, and the suites are faster. */
  durable?: boolean;
  /** Further lines of `postgresql.conf`. */
  settings?: Record<string, string | number>;
  /** Makes a standby that streams from this server, with its users and its password. */
  cloneOf?: PostgresServer;
}

/** A PostgreSQL of one's own. */
export interface PostgresServer {
  /** `postgres://user:password@127.0.0.1:port/duly`, a superuser. */
  readonly url: string;
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Holds the data (`data`), the log and the unix socket. */
  readonly folder: string;
  readonly pid: number;
  /**
   * Ends the server but keeps its data. `immediate` is a crash: no checkpoint, recovery at the next start. `kill` is the same by SIGKILL,
   * of the server and of all its processes, so that no call that is running gets an answer.
   */
  halt(mode: 'fast' | 'immediate' | 'kill'): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. Call it in any case. */
  stop(): Promise<void>;
}

const user = 'duly';

// A test server needs no headroom, and many suites open their own pools on it.
const baseSettings = {
  listen_addresses: "'127.0.0.1'",
  max_connections: 200,
  shared_buffers: "'128MB'",
  max_wal_size: "'2GB'",
  logging_collector: 'off',
  timezone: "'UTC'",
};
const forgetful = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Starts a server of one's own. Whoever starts it stops it; if this process dies it is stopped all the same. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = postgresPrograms();
  const folder = await createServerFolder('duly-postgres-');
  const { cloneOf, durable = false } = options;
  const password = cloneOf?.password ?? randomBytes(12).toString('hex');
  try {
    if (cloneOf === undefined) initialise(programs, folder, password);
    else copyFrom(programs, folder, cloneOf);
    const settings = { ...baseSettings, ...(durable ? {} : forgetful), ...options.settings };
    const server = await startOn(programs, folder, password, settings);
    // `initdb` makes only "postgres"; tests have a database of their own, as users do.
    if (cloneOf === undefined) createDatabase(programs, server);
    return server;
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
}

/** Makes a folder that the server's user may use and no other user may look into. */
export async function createServerFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const owner = serverUser();
  if (owner !== null) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/** Runs one of PostgreSQL's own programs as the server's user, and throws what it said if it failed. */
export function runProgram(program: string, args: string[], environment: NodeJS.ProcessEnv = {}): void {
  const { status, error, stderr } = spawnSync(program, args, {
    ...serverUser(),
    cwd: tmpdir(),
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, ...environment },
  });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
}

function initialise(programs: string, folder: string, password: string): void {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  const owner = serverUser();
  if (owner !== null) chownSync(passwordFile, owner.uid, owner.gid);
  runProgram(join(programs, 'initdb'), [
    ...['-D', join(folder, 'data'), '-U', user, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
    ...['--encoding', 'UTF8', '--no-locale', '--no-sync'],
  ]);
}

function copyFrom(programs: string, folder: string, { host, port, password }: PostgresServer): void {
  const from = ['-h', host, '-p', String(port), '-U', user];
  const args = [...from, '-D', join(folder, 'data'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
  runProgram(join(programs, 'pg_basebackup'), args, { PGPASSWORD: password });
}

function createDatabase(programs: string, { folder, port, password }: PostgresServer): void {
  const to = ['-h', folder, '-p', String(port), '-U', user];
  runProgram(join(programs, 'createdb'), [...to, user], { PGPASSWORD: password });
}

async function startOn(
  programs: string,
  folder: string,
  password: string,
  settings: Record<string, string | number>,
): Promise<PostgresServer> {
  const port = await freePort();
  const all = { ...settings, port, unix_socket_directories: `'${folder}'` };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}\n`);
  // Of two lines for one setting the later rules. A copy has its primary's lines, and one that says where that is.
  appendFileSync(join(folder, 'data', 'postgresql.auto.conf'), lines.join(''));

  const run = (): Promise<GuardedProcess> =>
    startGuarded({
      program: join(programs, 'postgres'),
      args: ['-D', join(folder, 'data')],
      folder,
      logFile: join(folder, 'log'),
      isReady: (pid) => isReady(join(folder, 'data', 'postmaster.pid'), pid),
    });
  let running: GuardedProcess | null = await run();

  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/${user}`,
    host: '127.0.0.1',
    port,
    user,
    password,
    folder,
    get pid() {
      if (running === null) throw new Error('The server is halted.');
      return running.pid;
    },
    async halt(mode) {
      if (mode === 'kill' && running !== null) await kill(running);
      else await running?.stop(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
      running = null;
    },
    async restart() {
      running ??= await run();
    },
    async stop() {
      await running?.stop('SIGQUIT');
      running = null;
      await removeFolder(folder);
    },
  };
}

/** Kills a server and its processes. Resolves when all are gone: until then it cannot start again. */
async function kill(server: GuardedProcess): Promise<void> {
  const workers = livingProcesses()
    .filter(({ parent }) => parent === server.pid)
    .map(({ pid }) => pid);
  // The server first: it would end the others in its own way, and start new ones.
  for (const pid of [server.pid, ...workers]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
  await server.stop('SIGKILL');
  while (livingProcesses().some(({ pid }) => workers.includes(pid))) await wait(5);
}

/** The processes of this machine, without those that have ended and wait for their parent. */
function livingProcesses(): { pid: number; parent: number }[] {
  const { status, error, stdout, stderr } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`ps failed: ${error?.message ?? stderr}`);
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => state !== undefined && !state.startsWith('Z'))
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }));
}

/** The server writes its state into the last line of its pid file. */
function isReady(pidFile: string, pid: number): boolean {
  try {
    const lines = readFileSync(pidFile, 'utf8').split('\n');
    return lines[0]?.trim() === String(pid) && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/** Under this name `npm test` tells every test file the address of the one server of the run. */
export const sharedServerVariable = 'DULY_TEST_POSTGRES';

let own: Promise<PostgresServer> | null = null;

/**
 * The address of the server for plain tests: the one of this run of `npm test`, or, for a file that is run alone, one of its own that
 * ends with the file. Call it at the top of a test file.
 */
export async function testPostgresUrl(): Promise<string> {
  const shared = process.env[sharedServerVariable];
  if (shared !== undefined && shared !== '') return shared;
  if (own === null) {
    own = startPostgres();
    after(async () => (await own)?.stop());
  }
  return (await own).url;
}

let schemaCount = 0;

/** A name for a schema that no other test has. */
export function freshSchema(): string {
  schemaCount += 1;
  return `test_${process.pid}_${randomBytes(4).toString('hex')}_${schemaCount}`;
}

/** The address of a store in a schema. */
export function inSchema(url: string, schema: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}schema=${schema}`;
}

/**
 * The address of a store in a schema of its own, whose engine runs in the caller's thread. For tests that are asked of SQLite as well, there
 * in the thread of a store, which is the same for every engine: starting one for each test is a quarter of their processor time.
 */
export function freshInlineStore(url: string): string {
  return `${inSchema(url, freshSchema())}&inline=1`;
}
