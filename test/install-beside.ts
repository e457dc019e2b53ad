// Installs packages that only one test wants into a folder of its own, once. The repository's own install stays free of them.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Installs what the lock file of this folder names, unless it is there already. Answers why it could not, or null. */
export function installBeside(folder: URL): string | null {
  const lockFile = fileURLToPath(new URL('package-lock.json', folder));
  // A copy of the lock file that the installed packages were made from.
  const stamp = fileURLToPath(new URL('node_modules/.installed-lock.json', folder));
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lockFile, 'utf8')) return null;
  // Without a registry this must be said soon, not after npm's usual minutes of trying again.
  const patience = ['--fetch-retries=1', '--fetch-timeout=30000', '--fetch-retry-mintimeout=500'];
  const { status, error, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', ...patience], {
    cwd: fileURLToPath(folder),
    encoding: 'utf8',
    timeout: 240_000,
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    const said = error?.message ?? stderr.match(/npm error code (\S+)/)?.[1] ?? `npm ci ended with ${status}`;
    return `they could not be installed from the npm registry (${said})`;
  }
  copyFileSync(lockFile, stamp);
  return null;
}
