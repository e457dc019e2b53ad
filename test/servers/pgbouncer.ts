// PgBouncer in transaction mode: every transaction of a client may run on another connection of the server.

import { once } from 'node:events';
import { chownSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort, removeFolder, startGuarded } from './guarded-process.ts';
import { pgBouncerProgram, serverUser } from './installed.ts';
import { createServerFolder } from './postgres.ts';

/** A pooler in front of a server. */
export interface PgBouncer {
  /** The address of the same database, through the pooler. */
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a pooler in transaction mode in front of the server at an address. Whoever starts it stops it. */
export async function startPgBouncer(serverUrl: string, poolSize = 20): Promise<PgBouncer> {
  const program = pgBouncerProgram();
  const server = new URL(serverUrl);
  const folder = await createServerFolder('duly-pgbouncer-');
  try {
    const port = await freePort();
    const users = join(folder, 'users.txt');
    const password = decodeURIComponent(server.password);
    writePrivate(users, `"${server.username}" "${password}"\n`);
    const config = join(folder, 'pgbouncer.ini');
    const database = server.pathname.slice(1);
    writePrivate(
      config,
      [
        '[databases]',
        `${database} = host=${server.hostname} port=${server.port} dbname=${database}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'pool_mode = transaction',
        'auth_type = scram-sha-256',
        `auth_file = ${users}`,
        'max_client_conn = 500',
        `default_pool_size = ${poolSize}`,
        // Takes another connection for every transaction when it can, so that state left in one shows.
        'server_round_robin = 1',
        '',
      ].join('\n'),
    );
    const process = await startGuarded({
      program,
      args: [config],
      folder,
      logFile: join(folder, 'log'),
      isReady: () => canConnect(port),
    });
    const url = new URL(serverUrl);
    url.port = String(port);
    return {
      url: url.href,
      port,
      async stop() {
        // SIGTERM is PgBouncer's immediate stop; SIGINT would wait for the clients.
        await process.stop('SIGTERM');
        await removeFolder(folder);
      },
    };
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
}

function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  const owner = serverUser();
  if (owner !== null) chownSync(path, owner.uid, owner.gid);
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
