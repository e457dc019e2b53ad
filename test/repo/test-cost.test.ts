import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cpuSeconds } from '../../scripts/cpu-time.ts';
import { isAffordable, listTestFiles } from '../../scripts/run-tests.ts';

test('CPU time includes that of a child that has ended', (t) => {
  const before = cpuSeconds();
  if (before === null) return t.skip('Only Linux reports the CPU time of child processes.');
  const program = `
    for (let used = 0; used < 300_000; ) {
      const { user, system } = process.cpuUsage();
      used = user + system;
    }
  `;
  assert.equal(spawnSync(process.execPath, ['--eval', program]).status, 0);
  assert.ok((cpuSeconds() as number) - before >= 0.25);
});

test('a command over its budget fails only in a strict run', (t) => {
  const printed = ['log', 'error'].map((name) => t.mock.method(console, name as 'log', () => {}));
  assert.equal(isAffordable('test', 719, true), true);
  assert.equal(isAffordable('test', 721, true), false);
  assert.equal(isAffordable('test', 721, false), true);
  assert.equal(isAffordable('test', null, true), true);
  assert.ok(printed.every(({ mock }) => mock.callCount() > 0));
});

test('every test file belongs to one of the two commands', () => {
  const [tests, proofs] = [listTestFiles('test'), listTestFiles('prove')];
  assert.ok(tests.includes('test/repo/test-cost.test.ts'));
  assert.ok(proofs.includes('packages/server/test/fuzz.prove.test.ts'));
  assert.deepEqual(
    tests.filter((file) => proofs.includes(file)),
    [],
  );
});
