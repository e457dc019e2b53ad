// `npm test`: the checks, and beside them every test but the longer proofs.
// `npm test -- <files>` runs only those files, without the checks.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readNamedFiles } from './named-files.ts';
import { isAffordable, runTests } from './run-tests.ts';
import { root } from './source-text.ts';

/** Runs the checks and prints their output in one piece, because tests print at the same time. */
async function check(): Promise<number> {
  const checking = spawn(process.execPath, [join(root, 'scripts/check.ts')], { cwd: root });
  const output: Buffer[] = [];
  for (const stream of [checking.stdout, checking.stderr])
    stream.on('data', (part: Buffer) => output.push(part));
  const [status] = await once(checking, 'close');
  process.stdout.write(Buffer.concat(output));
  return status ?? 1;
}

const files = readNamedFiles('test');
// The checks run beside the tests, some of which wait more than they compute. The runner's summary comes last.
const checking = files.length > 0 ? Promise.resolve(0) : check();
const isPassed = await runTests('test', files);
const checked = await checking;
if (checked !== 0) console.error('A check failed: its output is above, between the tests.');
const isCheap = files.length > 0 || isAffordable('test');
process.exitCode = checked === 0 && isPassed && isCheap ? 0 : 1;
