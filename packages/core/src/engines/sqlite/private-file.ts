import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  linkSync,
  openSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Mode of new files: a store holds secrets and credentials, so only its user may read it. */
export const privateMode = 0o600;

// Longer chains of links are refused by the system as well.
const linksMax = 40;

/**
 * Creates a missing database file with mode 600, whatever the umask is. SQLite gives the -wal and -shm files the mode of the database file.
 * An existing file keeps its mode: it may be shared with a group on purpose. Errors are left to SQLite, which reports them better.
 */
export function createPrivately(path: string): void {
  // Windows has no modes; a file takes the rights of its folder there.
  if (path === ':memory:' || process.platform === 'win32') return;
  let file = path;
  for (let i = 0; i < linksMax; i++) {
    if (existsSync(file)) return;
    if (tryCreate(file)) return;
    try {
      // A link to a file that is missing: SQLite creates that one.
      file = resolve(dirname(file), readlinkSync(file));
    } catch {
      return;
    }
  }
}

/**
 * Creates a file under another name and links it. Closing a descriptor of the database itself would release the locks of every
 * connection that this process has opened on it meanwhile.
 */
function tryCreate(path: string): boolean {
  const beside = `${path}-${randomUUID()}`;
  try {
    closeSync(openSync(beside, 'wx', privateMode));
    return tryLink(beside, path);
  } catch {
    return false;
  } finally {
    rmSync(beside, { force: true });
  }
}

function tryLink(from: string, path: string): boolean {
  try {
    linkSync(from, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // Some file systems have no links.
    closeSync(openSync(path, 'wx', privateMode));
  }
  return true;
}

/** Opens a file beside a database for reading and writing; a missing one is created with the mode of the database. */
export function openBeside(path: string, database: string): number {
  const { O_RDWR, O_CREAT, O_EXCL } = constants;
  const mode = (statSync(database, { throwIfNoEntry: false })?.mode ?? privateMode) & 0o666;
  try {
    const file = openSync(path, O_RDWR | O_CREAT | O_EXCL, privateMode);
    // As SQLite does for its files: the umask would take the right to write from a group that shares the database.
    if (mode !== privateMode) fchmodSync(file, mode);
    return file;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return openSync(path, O_RDWR);
  }
}
