import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createFolder } from './command.ts';

test('bash completes commands, their verbs and their options', async (t) => {
  const folder = createFolder(t);
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

/** What a shell says it would complete a line to. Skips where the shell is not installed. */
function completions(t: TestContext, shell: string, args: string[]): string[] | null {
  const { error, stdout, stderr, status } = spawnSync(shell, args, { encoding: 'utf8' });
  if (error !== undefined) {
    t.skip(`${shell} is not installed`);
    return null;
  }
  assert.equal(stderr, '');
  assert.equal(status, 0);
  return stdout
    .split('\n')
    .map((line) => line.replace(/[\t:].*/, ''))
    .filter((line) => line !== '')
    .sort();
}

test('fish completes commands, their verbs and their options', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'duly.fish': (await folder.duly('completion', 'fish')).out });
  const complete = (line: string): string[] | null =>
    completions(t, 'fish', [
      '--no-config',
      '-c',
      `source ${join(folder.path, 'duly.fish')}; complete -C '${line}'`,
    ]);
  const found = complete('duly sch');
  if (found === null) return;
  assert.deepEqual(found, ['schedules']);
  assert.deepEqual(complete('duly schedules sk'), ['skip-next']);
  assert.deepEqual(complete('duly jobs ls --st'), ['--status', '--store']);
  assert.deepEqual(complete('duly -o json mo'), ['move']);
  assert.deepEqual(complete('duly run hello --wat'), ['--watch']);
});

test('zsh completes commands, their verbs and their options', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'duly.zsh': (await folder.duly('completion', 'zsh')).out });
  // Only what zsh does with the list is left out: it needs a terminal.
  const complete = (...words: string[]): string[] | null =>
    completions(t, 'zsh', [
      '-f',
      '-c',
      `compdef() {}; _describe() { print -rl -- "\${(@P)2}"; }
       source ${join(folder.path, 'duly.zsh')}; words=(duly ${words.map((word) => `'${word}'`).join(' ')} ''); CURRENT=$#words; _duly`,
    ]);
  const found = complete();
  if (found === null) return;
  assert.ok(found.includes('schedules') && found.includes('move'));
  assert.ok(complete('schedules')?.includes('skip-next'));
  assert.ok(complete('jobs', 'ls')?.includes('--status'));
  assert.ok(!complete('jobs', 'ls')?.includes('schedules'));
  assert.ok(complete('-o', 'json', 'run', 'hello')?.includes('--watch'));
});

test('zsh and fish get every command with its description, and another shell is refused', async (t) => {
  const folder = createFolder(t);
  for (const shell of ['zsh', 'fish']) {
    const { out } = await folder.duly('completion', shell);
    for (const word of ['schedules', 'skip-next']) assert.ok(out.includes(word), `${shell} ${word}`);
    assert.match(out, /move everything to another store/);
  }
  const other = await folder.duly('completion', 'bsh');
  assert.equal(other.code, 2);
  assert.match(other.err, /Did you mean "bash"/);
});
