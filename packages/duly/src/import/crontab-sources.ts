import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DulyError } from '@duly/core';
import { usageError } from '../cli/usage.ts';
import type { CrontabSource } from './crontab-plan.ts';

/** Which crontabs are read. */
export interface SourceOptions {
  /** `FILE`, `HOST=FILE`, `-` or `HOST=-`. */
  files: readonly string[];
  /** Those of this machine, or of the system whose root folder this is. */
  system: string | null;
  /** Lines of all files name a user. */
  userColumn: boolean;
  readStdin(): Promise<string>;
}

const hostFile = /^([A-Za-z0-9][\w.-]*)=(.+)$/;
// Debian's cron reads no file of cron.d with a dot in its name, so that packages can leave theirs aside.
const cronDName = /^[\w-]+$/;
// What editors and packages leave behind, and no cron reads.
const leftAside = /^[.#]|~$|\.(?:dpkg-\w+|ucf-\w+|rpmsave|rpmorig|rpmnew)$/;

/** What was read. */
export interface ReadSources {
  sources: CrontabSource[];
  /** Files of `cron.d` that some crons read, and others, by their names, do not. */
  notRead: string[];
}

/** Reads crontabs. Throws `usage`, and `crontab_unreadable` for a file that cannot be read. */
export async function readSources(options: SourceOptions): Promise<ReadSources> {
  const { files, system, userColumn } = options;
  if (files.length === 0 && system === null) {
    throw usageError(
      'Name a crontab: a file, "-" for stdin, or --system.',
      'Your own: crontab -l | duly import crontab -. Of several hosts: duly import crontab web1=web1.txt web2=web2.txt',
    );
  }
  const { sources, notRead } = system === null ? { sources: [], notRead: [] } : systemSources(system);
  let stdin: Promise<string> | null = null;
  for (const file of files) {
    const [, host = null, path = file] = hostFile.exec(file) ?? [];
    if (path === '-') stdin ??= options.readStdin();
    const text = path === '-' ? await (stdin as Promise<string>) : readText(path);
    const hasUser = userColumn || /(^|\/)etc\/crontab$|(^|\/)cron\.d\//.test(path);
    sources.push({ name: host ?? (path === '-' ? 'stdin' : path), text, host, hasUser, owner: null });
  }
  const named = sources.filter(({ host }) => host !== null).length;
  if (named > 0 && named < sources.length) {
    throw usageError(
      'Either all crontabs name their host, or none does.',
      'Write each as HOST=FILE: web1=web1.txt web2=web2.txt',
    );
  }
  return { sources, notRead };
}

/** The system's own crontab, its `cron.d`, and the crontabs of its users. */
function systemSources(root: string): ReadSources {
  const sources: CrontabSource[] = [];
  const notRead: string[] = [];
  const add = (path: string, owner: string | null): void => {
    sources.push({ name: path, text: readText(path), host: null, hasUser: owner === null, owner });
  };
  const main = join(root, 'etc/crontab');
  if (statSync(main, { throwIfNoEntry: false })?.isFile()) add(main, null);
  for (const file of filesOf(join(root, 'etc/cron.d'))) {
    const name = basename(file);
    if (cronDName.test(name)) add(file, null);
    else if (!leftAside.test(name)) notRead.push(file);
  }
  for (const folder of ['var/spool/cron/crontabs', 'var/spool/cron']) {
    for (const file of filesOf(join(root, folder))) add(file, basename(file));
  }
  if (sources.length > 0) return { sources, notRead };
  throw new DulyError('crontab_unreadable', {
    message: `There is no crontab below "${root}": neither etc/crontab nor etc/cron.d nor var/spool/cron.`,
    hint: 'Name the files themselves.',
  });
}

function filesOf(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(folder, entry.name))
      .sort();
  } catch (cause) {
    throw unreadable(folder, cause);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): DulyError {
  const { code } = cause as NodeJS.ErrnoException;
  const why =
    code === 'ENOENT'
      ? 'there is no such file'
      : code === 'EACCES'
        ? 'it may not be read'
        : (cause as Error).message;
  return new DulyError('crontab_unreadable', {
    message: `"${path}" cannot be read: ${why}.`,
    hint:
      code === 'EACCES'
        ? 'Crontabs of users belong to root: use sudo.'
        : 'A crontab of a user is shown by: crontab -l -u <user>',
    details: { path },
    cause,
  });
}
