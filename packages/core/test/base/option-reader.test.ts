import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readName, readText, shown } from '../../src/base/option-reader.ts';

test('a wrong value is shown as what it is: texts in quotes, numbers without, nothing of an object', () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const values: [unknown, string][] = [
    ['5', '"5"'],
    [5, '5'],
    [Number.NaN, 'NaN'],
    [undefined, 'undefined'],
    ['undefined', '"undefined"'],
    [null, 'null'],
    [true, 'true'],
    [5n, '5n'],
    [Symbol('secret'), 'a symbol'],
    [['secret'], 'an array'],
    [{ secret: 1 }, 'an object'],
    [() => 'secret', 'a function'],
    [proxy, 'a proxy'],
    [new Date(5), 'a Date of 5 ms'],
    [new Date(Number.NaN), 'an invalid Date'],
    ['x'.repeat(50), `"${'x'.repeat(40)}…"`],
    // What a terminal would obey, and what cannot be seen, is written as an escape.
    ['a\n\u0085\u2028\u202eb\ud800', '"a\\n\\u0085\\u2028\\u202eb\\ud800"'],
  ];
  for (const [value, expected] of values) assert.equal(shown(value), expected);
});

test('a name says what is wrong with it', () => {
  const wrong: [unknown, string][] = [
    [5, 'Expected "queue" to be a text, got 5.'],
    [undefined, 'Expected "queue" to be a text, got undefined.'],
    ['', 'Expected "queue" not to be empty, got "".'],
    [' \u00a0', 'Expected "queue" to be more than blanks, got " \u00a0".'],
    ['x'.repeat(201), `Expected "queue" to have at most 200 characters, got "${'x'.repeat(40)}…".`],
    ['a\tb', 'Expected "queue" to hold no control characters such as tabs and line breaks, got "a\\tb".'],
    ['a\0', 'Expected "queue" to hold no NUL character, got "a\\u0000".'],
    ['a\u2028', 'Expected "queue" to hold no line or paragraph separators (U+2028, U+2029), got "a\\u2028".'],
    [
      'txt.\u202eexe',
      'Expected "queue" to hold no characters that turn the direction of writing (U+202A to U+202E, U+2066 to U+2069), got "txt.\\u202eexe".',
    ],
    [
      'a\udc00',
      'Expected "queue" to be well-formed Unicode, without half of a surrogate pair, got "a\\udc00".',
    ],
  ];
  for (const [value, message] of wrong) {
    assert.throws(() => readName(value, 'queue'), { code: 'invalid_option', message });
  }
  assert.throws(() => readName('', 'name', 'invalid_task'), { code: 'invalid_task' });
  for (const name of ['a', 'x'.repeat(200), 'Prüfung 👩‍👩‍👧', 'می‌خواهم', '__proto__']) {
    assert.equal(readName(name, 'queue'), name);
  }
});

test('a text may be anything that every store can keep', () => {
  const options = { lengthMax: 10, of: 'lock()' };
  for (const text of ['', ' ', 'a\n\u202eb', 'x'.repeat(10)])
    assert.equal(readText(text, 'name', options), text);
  for (const [text, message] of [
    ['x'.repeat(11), 'Expected "name" of lock() to have at most 10 characters, got "xxxxxxxxxxx".'],
    ['\0', 'Expected "name" of lock() to hold no NUL character, got "\\u0000".'],
  ] as const) {
    assert.throws(() => readText(text, 'name', options), { code: 'invalid_option', message });
  }
});
