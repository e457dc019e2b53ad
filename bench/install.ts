import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Whether what is installed is what is asked for: a later pull may have brought other peers. */
function isInstalled(): boolean {
  const installed = `${folder}node_modules/.package-lock.json`;
  return (
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs
  );
}

/**
 * Installs the peers into the bench's own folder, once for each list of them; the product's install stays free of them. Answers why it could not, or
 * null: a run without peers is still a run.
 */
export function installPeers(): string | null {
  if (isInstalled()) return null;
  process.stderr.write('Installing the peers to compare with into bench/node_modules …\n');
  // Not `npm ci`: it refuses a list that lacks the optional packages of other systems, which a registry need not have.
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  return status === 0 ? null : 'npm install in bench/ failed';
}
