// `npm test`: the checks, and beside them every test. `npm test -- <files>` runs only those files and skips the checks.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type PostgresServer, sharedServerVariable, startPostgres } from '../test/servers/postgres.ts';
import { buildDashboard } from './build-dashboard.ts';
import { root } from './source-text.ts';

async function run(args: string[], environment: NodeJS.ProcessEnv = {}): Promise<number> {
  const env = { ...process.env, ...environment };
  const [status] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env }), 'exit');
  // A child ended by a signal has no status; that is a failure too.
  return status ?? 1;
}

/** One PostgreSQL for the whole run. Where it cannot be had, the tests that need it fail and say what to install. */
async function startShared(): Promise<PostgresServer | null> {
  if (files.length > 0 && !files.some((file) => file.includes('postgres'))) return null;
  if (process.env[sharedServerVariable] !== undefined) return null;
  try {
    return await startPostgres();
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

const files = process.argv.slice(2);
const patterns =
  files.length > 0
    ? files
    : ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'proof/**/*.test.ts', 'examples/**/*.test.ts'];

/** The checks, which say what they have to say in one piece: tests talk meanwhile. */
async function check(): Promise<number> {
  const checking = spawn(process.execPath, [join(root, 'scripts/check.ts')], { cwd: root });
  const said: Buffer[] = [];
  for (const stream of [checking.stdout, checking.stderr])
    stream.on('data', (part: Buffer) => said.push(part));
  const [status] = await once(checking, 'close');
  process.stdout.write(Buffer.concat(said));
  return status ?? 1;
}

// Beside the tests, of which some wait more than they work; one run shows everything, and the runner's summary comes last.
const checking = files.length > 0 ? Promise.resolve(0) : check();

// Three at a time: a small machine has two cores, and one in three of the longest (chaos, soak, leases that must run out) waits more than
// it works. Two leave a quarter of the machine idle; four make everything late.
// Ten minutes is far beyond any test, also on a busy machine (the longest plays faults for two); without a limit one that hangs would
// hang the whole run.
// The server's tests look at the dashboard as a browser gets it.
buildDashboard();
const server = await startShared();
// Most tests start processes or threads that read the same source again: compiled once for all of them, they take half of the time.
const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') };
const tested = await run(
  ['--test', '--test-concurrency=3', '--test-timeout=600000', ...patterns],
  server === null ? compiled : { ...compiled, [sharedServerVariable]: server.url },
).finally(() => server?.stop());
const checked = await checking;
if (checked !== 0) console.error('A check failed: look for it above, where it ended amid the tests.');
process.exitCode = checked !== 0 || tested !== 0 ? 1 : 0;
