import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  examinationOf,
  failureOf,
  found,
  ok,
  type SettingCheck,
  type StoreExamination,
} from '../shared/setting-check.ts';
import { hasWalResetBug, openForReading } from './database.ts';
import { readSqliteStatus } from './migrate.ts';
import { notifierPath } from './notifier.ts';

// Less than this and the next burst may not fit.
const freeBytesMin = 256 * 1024 * 1024;
// The WAL shrinks back to 64 MB after a burst; one that stays larger is held by a reader that never ends.
const walBytesMax = 256 * 1024 * 1024;
// A larger file takes longer to check than a person waits.
const checkBytesMax = 512 * 1024 * 1024;

/** See `examineStore`. */
export async function examineSqlite(path: string): Promise<StoreExamination> {
  const checks: SettingCheck[] = [];
  try {
    if (path !== ':memory:') checks.push(...placeFindings(path));
    const { schema, known, lowestCode, steps } = await readSqliteStatus(path);
    if (schema === 0)
      checks.push(found('failing', 'schema', `There is no store at "${path}".`, 'duly migrate'));
    else if (lowestCode > known) {
      const message = `The store is at schema ${schema} and serves only code of schema ${lowestCode} or newer; this version has ${known}.`;
      checks.push(found('failing', 'schema', message, 'Update Duly here.'));
    } else if (steps.length > 0) {
      const message = `The schema is at ${schema}, this version creates ${known}: ${steps.join(', ')} is missing.`;
      checks.push(found('warning', 'schema', message, 'duly migrate'));
    } else checks.push(ok('schema', `The schema is at ${schema}.`));
    if (schema > 0 && path !== ':memory:') checks.push(permissionFinding(path));
    if (schema > 0) checks.push(...(await fileFindings(path)));
  } catch (error) {
    checks.push(failureOf(error));
  }
  return examinationOf(path, checks);
}

// Magic numbers of Linux' statfs; other systems have others, and nothing is said there.
const networkTypes: Record<number, string> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'SMB',
  4266872130: 'SMB',
  16914839: '9p',
  12805120: 'Ceph',
  1397113167: 'AFS',
  198183888: 'Lustre',
  1702057286: 'FUSE (a network, perhaps)',
};
const passingTypes: Record<number, string> = {
  16914836: 'tmpfs, which is gone when the machine stops',
  2035054128: 'an overlay, as containers have, which goes with the container unless it is a volume',
};

function placeFindings(path: string): SettingCheck[] {
  const file = resolve(path);
  const { type, bavail, bsize } = statfsSync(existsSync(file) ? file : dirname(file));
  const findings: SettingCheck[] = [];
  const network = process.platform === 'linux' ? networkTypes[type] : undefined;
  const passing = process.platform === 'linux' ? passingTypes[type] : undefined;
  if (network !== undefined) {
    findings.push(
      found(
        network.startsWith('FUSE') ? 'warning' : 'failing',
        'filesystem',
        `The file lies on ${network}: SQLite's WAL needs memory that processes share, and locks that hold; over a network the file can be damaged.`,
        'Keep the file on a disk of this machine, or use PostgreSQL for several machines.',
      ),
    );
  } else if (passing !== undefined) {
    const fix = 'Keep the file on a disk, or on a volume of the container.';
    findings.push(found('warning', 'filesystem', `The file lies on ${passing}.`, fix));
  } else findings.push(ok('filesystem', 'The file lies on a disk of this machine, as far as can be seen.'));
  const freeBytes = bavail * bsize;
  if (freeBytes < freeBytesMin) {
    const message = `Only ${megabytes(freeBytes)} are free where the file lies; when the disk is full nothing can be promised.`;
    findings.push(found('warning', 'space', message, 'Free some space.'));
  }
  return findings;
}

/** Checks who else may read the files: they hold the root of the webhook secrets and the credentials of targets. */
function permissionFinding(path: string): SettingCheck {
  const name = 'permissions';
  const files = [path, `${path}-wal`, `${path}-shm`, notifierPath(path)].flatMap((file) => {
    const stat = statSync(file, { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ file, mode: stat.mode & 0o777 }];
  });
  if (process.platform === 'win32') return ok(name, 'The files have the rights of their folder.');
  const open = files.filter(({ mode }) => (mode & 0o007) !== 0);
  if (open.length > 0) {
    const shown = open.map(({ file, mode }) => `"${file}" (mode ${mode.toString(8)})`).join(', ');
    return found(
      'warning',
      name,
      `Every user of this machine may access ${shown}, which ${open.length === 1 ? 'holds' : 'hold'} secrets of webhooks and targets.`,
      `chmod 600 ${open.map(({ file }) => `'${file.replaceAll("'", "'\\''")}'`).join(' ')}`,
    );
  }
  const folder = dirname(resolve(path));
  const folderMode = statSync(folder).mode;
  // In a sticky folder, such as /tmp, others cannot replace the file.
  if ((folderMode & 0o002) !== 0 && (folderMode & 0o1000) === 0) {
    return found(
      'warning',
      name,
      `Every user of this machine may replace files in the folder "${folder}" (mode ${(folderMode & 0o777).toString(8)}).`,
      `chmod o-w '${folder.replaceAll("'", "'\\''")}'`,
    );
  }
  const shared = files.filter(({ mode }) => (mode & 0o070) !== 0);
  if (shared.length > 0) {
    const message = `The group of "${shared[0]?.file}" may access the store and the secrets in it.`;
    return found('note', name, message, 'If that is not intended: chmod 600.');
  }
  return ok(name, 'Only the user of the files may read them.');
}

async function fileFindings(path: string): Promise<SettingCheck[]> {
  const db = await openForReading(path);
  const findings: SettingCheck[] = [];
  try {
    const one = (sql: string): unknown => Object.values(db.prepare(sql).get() as object)[0];
    const version = String(one('SELECT sqlite_version()'));
    findings.push(
      hasWalResetBug(version)
        ? found(
            'warning',
            'version',
            `SQLite ${version} can damage a WAL file that several connections use, so one process keeps the file to itself.`,
            'Run Node 24.15 or newer, or 22.23.3, which brings a SQLite that may share it.',
          )
        : ok('version', `SQLite ${version}.`),
    );
    const mode = one('PRAGMA journal_mode');
    findings.push(
      mode === 'wal'
        ? ok('synchronous', 'Every commit of Duly reaches the disk (WAL, synchronous = FULL).')
        : found(
            'warning',
            'synchronous',
            `The file's journal is in mode "${mode}", which somebody else set; Duly sets it to WAL when it opens the file.`,
            'Do not change journal_mode of a file of Duly.',
          ),
    );
    const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (walBytes > walBytesMax) {
      findings.push(
        found(
          'warning',
          'wal',
          `The WAL is ${megabytes(walBytes)}: a connection that reads without an end keeps it from being written back.`,
          'Look for a program that has a statement or transaction open on the file.',
        ),
      );
    }
    if (statSync(path).size <= checkBytesMax) {
      const said = String(one('PRAGMA quick_check(1)'));
      findings.push(
        said === 'ok'
          ? ok('integrity', 'The file is sound (quick_check).')
          : found(
              'failing',
              'integrity',
              `The file is damaged: ${said}.`,
              'Stop, keep a copy, restore a backup.',
            ),
      );
    }
  } finally {
    db.close();
  }
  return findings;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}
