// `.ci/run`, with an npm that only notes what it is asked for.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { root } from '../../scripts/source-text.ts';

/** Runs it, and returns what it asked npm for and how it ended; `failing` is what npm cannot do. */
function runCi(t: TestContext, failing: string): { asked: string[]; status: number | null } {
  const folder = mkdtempSync(join(tmpdir(), 'duly-ci-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, '.ci'));
  writeFileSync(join(folder, '.ci/run'), readFileSync(join(root, '.ci/run')));
  const stub = `#!/bin/sh\necho "npm $*" >> "${folder}/asked"\n[ "npm $*" != "${failing}" ]\n`;
  writeFileSync(join(folder, 'npm'), stub, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` };
  const { status } = spawnSync('bash', [join(folder, '.ci/run')], { env });
  const asked = join(folder, 'asked');
  return { asked: existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n') : [], status };
}

const isWindows = process.platform === 'win32';

test('the run for CI does what the front page says, and ends at the first failure', {
  skip: isWindows,
}, (t) => {
  const [, block = ''] =
    /^## Test it\n+```sh\n(.*?)```/ms.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  const told = block.split('\n').flatMap((line) => line.replace(/ +#.*/, '').split(' && '));
  const commands = ['npm install', 'npm test', 'npm run prove'];
  assert.deepEqual(told.slice(0, commands.length), commands);
  assert.deepEqual(runCi(t, 'nothing'), { asked: commands, status: 0 });
  for (const [i, failing] of commands.entries())
    assert.deepEqual(runCi(t, failing), { asked: commands.slice(0, i + 1), status: 1 });
});
