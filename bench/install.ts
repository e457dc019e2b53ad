import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/**
 * Installs the peers into the bench's own folder, once; the product's install stays free of them. Answers why it could not, or
 * null: a run without peers is still a run.
 */
export function installPeers(): string | null {
  if (existsSync(`${folder}node_modules/.package-lock.json`)) return null;
  process.stderr.write('Installing the peers to compare with into bench/node_modules (once) …\n');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  return status === 0 ? null : 'npm ci in bench/ failed';
}
