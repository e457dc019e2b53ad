import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { whyNotTestFile } from '../../scripts/named-files.ts';
import { root } from '../../scripts/source-text.ts';

test('only test files can be named', () => {
  for (const name of ['proof/test/judge.ts', 'scripts/test.ts', 'package.json'])
    assert.equal(whyNotTestFile(name), `Expected a test file, whose name ends in .test.ts, got "${name}".`);
  for (const name of ['nowhere.test.ts', 'test/repo/*.test.ts', 'package.json/x.test.ts'])
    assert.equal(
      whyNotTestFile(name),
      `Expected a test file, got "${name}": there is no such file. Paths are from ${root}.`,
    );
  assert.match(whyNotTestFile('proof/test') ?? '', /^Expected a test file, got the folder "proof\/test"\. /);
  assert.match(whyNotTestFile('--only') ?? '', /^Expected paths of test files, got the option "--only"\.$/);
  for (const name of ['test/repo/ci.test.ts', 'proof/test/worlds-1.prove.test.ts', './test/repo/ci.test.ts'])
    assert.equal(whyNotTestFile(name), null);
  assert.equal(whyNotTestFile(join(root, 'test/repo/ci.test.ts')), null);
});

for (const [file, name] of [
  ['test.ts', 'npm test'],
  ['prove.ts', 'npm run prove'],
] as const) {
  test(`${name} says how to call it, and refuses what it cannot run before it runs anything`, () => {
    const call = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, 'scripts', file), ...args], { encoding: 'utf8' });
    for (const help of ['--help', '-h']) {
      const { status, stdout } = call(help);
      assert.equal(status, 0);
      assert.ok(stdout.startsWith(`Usage: ${name} `), stdout);
    }
    const { status, stdout, stderr } = call('test/repo/ci.test.ts', 'proof/test/judge.ts');
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, /^Expected a test file, .* got "proof\/test\/judge\.ts"\.\nUsage: npm /);
    assert.doesNotMatch(stderr, /^ {4}at /m);
  });
}
