// Finds the programs of PostgreSQL and PgBouncer, and installs Debian's packages where they are missing and that is allowed.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installPackages, mayInstall } from './debian.ts';

const debianFolder = '/usr/lib/postgresql';
const packages = ['postgresql', 'pgbouncer'];

/** The folder with `initdb` and `postgres`; installs them if it must and may, otherwise says what to install. */
export function postgresPrograms(): string {
  return findPostgres() ?? (installMissing() ? findPostgres() : null) ?? refuse('PostgreSQL (initdb)');
}

/** The path of `pgbouncer`; installs it if it must and may, otherwise says what to install. */
export function pgBouncerProgram(): string {
  return findPgBouncer() ?? (installMissing() ? findPgBouncer() : null) ?? refuse('PgBouncer');
}

/**
 * Who runs the servers: neither PostgreSQL nor PgBouncer starts as root, so root lends them the user of the package, or `nobody`.
 * Null: whoever runs this.
 */
export function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as.',
  );
}

function findPostgres(): string | null {
  // Debian keeps one folder per major version outside of PATH; the newest is taken.
  const debian = existsSync(debianFolder)
    ? readdirSync(debianFolder)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(debianFolder, version, 'bin'))
    : [];
  const folders = [process.env.DULY_POSTGRES_BIN ?? '', ...debian, ...pathFolders()];
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb'))) ?? null;
}

function findPgBouncer(): string | null {
  // Debian's folder for daemons is not on the PATH of ordinary users.
  const folder = [...pathFolders(), '/usr/sbin'].find((one) => existsSync(join(one, 'pgbouncer')));
  return folder === undefined ? null : join(folder, 'pgbouncer');
}

function pathFolders(): string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

function installMissing(): boolean {
  if (!mayInstall()) return false;
  console.error(`Installing ${packages.join(' and ')} for the tests on PostgreSQL …`);
  return installPackages(packages);
}

function refuse(what: string): never {
  throw new Error(
    `The tests on PostgreSQL need ${what}, which is not installed here. Debian and Ubuntu: sudo apt-get install ${packages.join(' ')}. macOS: brew install ${packages.join(' ')}. Elsewhere set DULY_POSTGRES_BIN to the folder that holds initdb and put pgbouncer on the PATH.`,
  );
}
