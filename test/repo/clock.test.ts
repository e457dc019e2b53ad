import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findClockProblems } from '../../scripts/check-clock.ts';
import { readPackageSources } from '../../scripts/source-text.ts';

const path = 'packages/core/src/a.ts';

test('the packages read clock and chance only in their two files', () => {
  assert.deepEqual(findClockProblems(readPackageSources()), []);
});

for (const text of [
  'const a = Date.now();',
  "const a = Date['now']();",
  'const a = Date\n  .now;',
  'const a = new Date();',
  'const a = new Date;',
  'const a = Date();',
  'const { now } = performance;',
  'process.hrtime.bigint();',
  'setTimeout(f, 1);',
  'globalThis.setInterval(f, 1);',
  "import { setTimeout as sleep } from 'node:timers/promises';",
  'AbortSignal.timeout(5);',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template is what is tested.
  'const a = `${Date.now()}`;',
  'const a = Math.random();',
]) {
  test(`a clock read is found: ${JSON.stringify(text)}`, () => {
    const problems = findClockProblems([{ path, text }]);
    assert.equal(problems.length, 1);
    assert.equal(problems[0]?.path, path);
  });
}

for (const text of [
  'const a = new Date(instantAt);',
  'const a = new Date(\n  b,\n);',
  '// Date.now() would be wrong here',
  "const a = 'Date.now()';",
  'value instanceof Date;',
  'Date.UTC(2027, 0);',
  'const a: Date = b;',
  'const a: Date[] = [];',
  'clearTimeout(a);',
  'parseDate(a); a.toDate();',
]) {
  test(`no clock read is seen in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(findClockProblems([{ path, text }]), []);
  });
}

test('clock.ts may read the clock but not chance, and random.ts the other way round', () => {
  const text = 'Date.now(); Math.random();';
  for (const [file, expected] of [
    ['packages/core/src/base/clock.ts', /Math\.random/],
    ['packages/core/src/base/random.ts', /Date\.now/],
  ] as const) {
    const problems = findClockProblems([{ path: file, text }]);
    assert.equal(problems.length, 1);
    assert.match(problems[0]?.message ?? '', expected);
  }
});
