import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputOfFields, schemaFields } from '../src/ui/schema-fields.ts';

test('a schema becomes fields, and fields an input; what is left empty is left out', () => {
  const fields = schemaFields({
    type: 'object',
    properties: {
      to: { type: 'string', format: 'email' },
      copies: { type: 'integer', default: 1, minimum: 1 },
      urgent: { type: 'boolean' },
      kind: { enum: ['plain', 2] },
      tags: { type: 'array' },
    },
    required: ['to', 'kind'],
  });
  assert.ok(fields !== null);
  assert.deepEqual(
    fields.map(({ name, kind, first, isRequired, hint }) => [name, kind, first, isRequired, hint]),
    [
      ['to', 'text', '', true, 'email'],
      ['copies', 'number', '1', false, 'at least 1'],
      ['urgent', 'switch', '', false, null],
      ['kind', 'choice', '', true, null],
      ['tags', 'json', '', false, null],
    ],
  );
  assert.deepEqual(inputOfFields(fields, { to: 'a@b.c', kind: '2', tags: '["x"]' }), {
    value: { to: 'a@b.c', copies: 1, kind: 2, tags: ['x'] },
  });
  assert.deepEqual(inputOfFields(fields, { to: 'a@b.c' }), { name: 'kind', problem: 'kind is needed.' });
  assert.deepEqual(inputOfFields(fields, { to: 'a@b.c', kind: '2', copies: 'x' }), {
    name: 'copies',
    problem: 'copies is not a number.',
  });
});

test('what is no object with properties has no fields', () => {
  for (const schema of [null, undefined, {}, { type: 'string' }, { type: 'object' }]) {
    assert.equal(schemaFields(schema), null);
  }
});
