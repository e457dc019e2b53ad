// `npm run dashboard`: builds packages/dashboard into packages/server/dashboard, where the server finds it. Does nothing while
// what was built last is still what the sources say, so that `npm start` and `npm test` can always ask for it.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { listFiles, root } from './source-text.ts';

const source = join(root, 'packages/dashboard');
const built = join(root, 'packages/server/dashboard');
const stamp = join(built, '.sources');

/** A hash of everything that the build reads, the versions of its tools included. */
function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = [
    ...listFiles(join(source, 'src')),
    ...listFiles(join(source, 'public')),
    ...['index.html', 'vite.config.ts', 'package.json'].map((name) => join(source, name)),
    join(root, 'package-lock.json'),
  ];
  for (const file of files) hash.update(relative(root, file)).update(readFileSync(file));
  return hash.digest('hex');
}

/** Builds the dashboard unless it is there and fresh. */
export function buildDashboard(): void {
  const hash = sourcesHash();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: source,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The dashboard could not be built.\n${stdout}${stderr}`);
  writeFileSync(stamp, hash);
}

if (import.meta.main) buildDashboard();
