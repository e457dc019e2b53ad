import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findErrorProblems, readErrorDocument, registeredCodes } from '../../scripts/check-errors.ts';
import { readPackageSources } from '../../scripts/source-text.ts';

function messages(codes: string[], document: string, text = '', elsewhere = {}): string[] {
  const makers = codes.map((code) => `dulyError('${code}', {});`).join('\n');
  return findErrorProblems(
    codes,
    document,
    [{ path: 'packages/core/src/a.ts', text: text === '' ? makers : text }],
    elsewhere,
  ).map((one) => one.message);
}

test('every registered code has one section, and every section a code', () => {
  assert.deepEqual(findErrorProblems(registeredCodes, readErrorDocument(), readPackageSources()), []);
});

test('a code without a section and a section without a code are found', () => {
  assert.match(messages(['a', 'b'], '### `a`\n')[0] ?? '', /"b" has no section/);
  assert.match(messages(['a'], '### `a`\n### `c`\n')[0] ?? '', /"c" is not registered/);
  assert.match(messages(['a'], '### `a`\n### `a`\n')[0] ?? '', /two sections/);
});

test('a code that is not lower_snake_case is found', () => {
  assert.match(messages(['notSnake'], '### `notSnake`\n')[0] ?? '', /lower_snake_case/);
});

test('a code that nothing makes is found, unless it is known where it is made', () => {
  const document = '### `a`\n### `b`\n';
  const text = "throw dulyError(\n  'a', {});\nif (isDulyError(error, 'b')) return;";
  assert.deepEqual(messages(['a', 'b'], document, text), ['"b" is registered, but nothing makes it.']);
  assert.deepEqual(messages(['a', 'b'], document, text, { b: 'by hand' }), []);
  assert.match(messages(['a'], '### `a`\n', text, { a: 'by hand' })[0] ?? '', /no exception any more/);
});

test('an error thrown without a code is found', () => {
  assert.match(messages([], '', 'throw new Error(x);')[0] ?? '', /without a code/);
  assert.deepEqual(messages([], '', '// throw new Error(x);\nthrow dulyError(x);'), []);
});
