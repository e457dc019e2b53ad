// `npm test`: the checks, then every test. `npm test -- <files>` runs only those files and skips the checks.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './source-text.ts';

function run(args: string[]): number {
  // A child ended by a signal has no status; that is a failure too.
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

const files = process.argv.slice(2);
const patterns =
  files.length > 0 ? files : ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'proof/**/*.test.ts'];
const checked = files.length > 0 ? 0 : run([join(root, 'scripts/check.ts')]);

// The tests run even if a check failed: one run shows everything, and the runner's summary comes last.
// Two at a time: the tests start processes of their own, and a small machine has two cores.
// Five minutes is far beyond any test; without a limit one that hangs would hang the whole run.
if (checked !== 0) console.error('A check failed: see above. The tests run all the same.');
const tested = run(['--test', '--test-concurrency=2', '--test-timeout=300000', ...patterns]);
process.exitCode = checked !== 0 || tested !== 0 ? 1 : 0;
