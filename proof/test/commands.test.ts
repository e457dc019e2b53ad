// The commands of this folder, called as people call them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

function call(file: string, ...args: string[]): { status: number | null; out: string; err: string } {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path, ...args],
    options,
  );
  return { status, out: stdout, err: stderr };
}

for (const [file, name] of [
  ['simulate.ts', 'simulate'],
  ['chaos/run.ts', 'chaos'],
  ['soak/run.ts', 'soak'],
] as const) {
  test(`npm run ${name}: --help says how to call it, and what is not understood is refused with it`, () => {
    const help = call(file, '--help');
    assert.equal(help.status, 0, help.err);
    assert.match(help.out, new RegExp(`^Usage: npm run ${name} -- `));
    const unknown = call(file, '--bogus');
    assert.equal(unknown.status, 2);
    assert.match(unknown.err, /--bogus[\s\S]*Usage: npm run /);
    const wrong = call(file, '--seed', '1.5');
    assert.equal(wrong.status, 2);
    assert.match(wrong.err, /Expected --seed to be a whole number from 0 up, got "1\.5"\./);
  });
}

test('npm run simulate refuses what does not go together, and plays what it is asked for', () => {
  assert.match(call('simulate.ts', '--trace').err, /Expected --seed with --trace/);
  assert.match(call('simulate.ts', '--seed', '3', '--seeds', '4').err, /Expected one of/);
  assert.match(call('simulate.ts', '--seeds', '0').err, /Expected --seeds to be a whole number from 1 up/);
  const played = call('simulate.ts', '--seeds', '3', '--from', '7');
  assert.equal(played.status, 0, played.err);
  assert.equal(played.out, '3 seeds from 7: every promise kept.\n');
  assert.match(call('simulate.ts', '--seed', '5', '--trace').out, /\nSeed 5: \d+ events, .* kept\.\n$/);
});
