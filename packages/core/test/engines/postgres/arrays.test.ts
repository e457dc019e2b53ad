// Lists are written as PostgreSQL reads them, whatever stands in them; only a server can tell.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { numberArray, textArray } from '../../../src/engines/postgres/arrays.ts';
import { ask } from './setup.ts';

it('texts and numbers come back as they were, whatever they hold', async () => {
  const texts = [
    'plain-text_1',
    '',
    'NULL',
    'null',
    null,
    '{"a":"b \\"c\\" \\\\ d","e":[1,{}]}',
    'line\nfeed\ttab\r and \u0001\u001f\u007f',
    'a, b} {c "d" \\',
    'ä 漢字 🙂 \u2028',
  ];
  const numbers = [0, -5, 1_800_000_000_000, null, Number.MAX_SAFE_INTEGER];
  const [row] = (await ask('SELECT $1::text[] AS texts, $2::bigint[] AS numbers', [
    textArray(texts),
    numberArray(numbers),
  ])) as [{ texts: unknown; numbers: (string | null)[] }];
  assert.deepEqual(row.texts, texts);
  assert.deepEqual(
    row.numbers.map((one) => (one === null ? null : Number(one))),
    numbers,
  );
  const [empty] = await ask('SELECT $1::text[] AS texts', [textArray([])]);
  assert.deepEqual(empty?.texts, []);
});
