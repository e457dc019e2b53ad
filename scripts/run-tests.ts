// Runs test files with one PostgreSQL server for all of them, for `npm test` and `npm run prove`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { type PostgresServer, sharedServerVariable, startPostgres } from '../test/servers/postgres.ts';
import { buildDashboard } from './build-dashboard.ts';
import { root } from './source-text.ts';

const patterns = [
  'packages/*/test/**/*.test.ts',
  'test/**/*.test.ts',
  'proof/**/*.test.ts',
  'examples/**/*.test.ts',
];
const proofSuffix = '.prove.test.ts';

/** The test files of a command: `prove` has those that end in `.prove.test.ts`, `test` the others. */
export function listTestFiles(command: 'test' | 'prove'): string[] {
  const isInstalled = (name: string): boolean => name === 'node_modules';
  return globSync(patterns, { cwd: root, exclude: isInstalled })
    .filter((file) => file.endsWith(proofSuffix) === (command === 'prove'))
    .sort();
}

/** Runs the files of a command, or only those that are named, and resolves with the runner's exit status. */
export async function runTests(command: 'test' | 'prove', named: readonly string[]): Promise<number> {
  const files = named.length > 0 ? named : listTestFiles(command);
  // The server's tests fetch the dashboard as a browser does.
  buildDashboard();
  const isShared = named.length === 0 || named.some((file) => file.includes('postgres'));
  const server = isShared ? await startShared() : null;
  // Most tests start processes or threads that load the same source. Compiling it once halves their time.
  const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') };
  // Three at a time on two cores, because the longest tests wait more than they compute.
  // No test takes ten minutes; without a timeout, a test that hangs would hang the run.
  const args = ['--test', '--test-concurrency=3', '--test-timeout=600000', ...files];
  const shared = server === null ? {} : { [sharedServerVariable]: server.url };
  const env = { ...process.env, ...compiled, ...shared };
  try {
    const [status] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env }), 'exit');
    // A child that a signal ended has no status and counts as a failure.
    return status ?? 1;
  } finally {
    await server?.stop();
  }
}

/** One PostgreSQL server for the run. If it cannot start, the tests that need it say what to install. */
async function startShared(): Promise<PostgresServer | null> {
  if (process.env[sharedServerVariable] !== undefined) return null;
  try {
    return await startPostgres();
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}
