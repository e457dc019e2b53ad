import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder } from './command.ts';

test('bash completes commands, their verbs and their options', async (t) => {
  const folder = makeFolder(t);
  const { out, code } = await folder.duly('completion', 'bash');
  assert.equal(code, 0);
  folder.write({ 'duly.bash': out });
  const complete = (...words: string[]): string[] => {
    const script = `source ${join(folder.path, 'duly.bash')}; COMP_WORDS=(duly ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _duly; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', script], { encoding: 'utf8', cwd: folder.path })
      .stdout.trim()
      .split('\n')
      .sort();
  };
  assert.deepEqual(complete('sch'), ['schedules']);
  assert.deepEqual(complete('schedules', 'sk'), ['skip-next']);
  assert.deepEqual(complete('jobs', 'ls', '--st'), ['--status', '--store']);
  assert.deepEqual(complete('-o', 'json', 'mo'), ['move']);
  assert.deepEqual(complete('run', 'hello', '--wat'), ['--watch']);
  assert.ok(complete('run', 'hello', 'du').includes('duly.bash'), 'what is no word may be a file');
});

test('zsh and fish get every command with its description, and another shell is refused', async (t) => {
  const folder = makeFolder(t);
  for (const shell of ['zsh', 'fish']) {
    const { out } = await folder.duly('completion', shell);
    for (const word of ['schedules', 'skip-next']) assert.ok(out.includes(word), `${shell} ${word}`);
    assert.match(out, /move everything to another store/);
  }
  const other = await folder.duly('completion', 'bsh');
  assert.equal(other.code, 2);
  assert.match(other.err, /Did you mean "bash"/);
});
