import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '@duly/core';
import { fillAddress, fillTemplate, fillText, unknownPlaceholder } from '../../src/targets/template.ts';

const values = {
  input: { user: { id: 7, name: 'A "B"' }, list: [1, 2], gone: null },
  job: { id: 'job_1', type: 't', tenant: null, attempt: 2, metadata: { a: { b: true } } },
  slot: { at: '2027-01-15T10:00:00.000Z', date: '2027-01-15', timezone: 'UTC', schedule: 'daily' },
};

test('a placeholder alone becomes the value, inside a text it becomes text', () => {
  assert.deepEqual(
    fillTemplate(
      {
        id: '{{input.user.id}}',
        text: 'user {{ input.user.name }} on {{slot.date}}',
        deep: [{ all: '{{input.list}}', one: '{{input.list.1}}' }],
        meta: '{{job.metadata.a.b}}',
        none: '{{input.nothing.here}}',
        gone: 'x{{input.gone}}x',
        n: 5,
        plain: '{ {input} }',
      },
      values,
    ),
    {
      id: 7,
      text: 'user A "B" on 2027-01-15',
      deep: [{ all: [1, 2], one: 2 }],
      meta: true,
      none: null,
      gone: 'xx',
      n: 5,
      plain: '{ {input} }',
    },
  );
});

test('values are encoded for the place where they stand, and own fields only are seen', () => {
  assert.equal(fillText('/u/{{input.user.name}}?x', values, encodeURIComponent), '/u/A%20%22B%22?x');
  assert.equal(fillText('{{input.constructor.name}}{{input.__proto__.x}}{{process.env}}', values), '');
});

test('the path of an address leads nowhere else, whatever is filled in or missing', () => {
  const fill = (url: string, input: unknown) => fillAddress(url, { ...values, input });
  const url = 'https://example.com/users/{{input.id}}';
  assert.equal(fill(url, { id: 7 }), 'https://example.com/users/7');
  assert.equal(fill(url, { id: '../a?b#c' }), 'https://example.com/users/..%2Fa%3Fb%23c');
  assert.equal(
    fill(`${url}/v.{{input.n}}?q={{input.q}}`, { id: '...', n: '.' }),
    'https://example.com/users/.../v..?q=',
  );
  const refused: [string, unknown][] = [
    [url, {}],
    [url, { id: null }],
    [url, { id: '' }],
    [url, { id: '.' }],
    [url, { id: '..' }],
    ['https://example.com/a/{{input.a}}{{input.b}}', { a: '.', b: '.' }],
    ['https://example.com/a/.{{input.a}}/x', { a: '.' }],
    ['https://example.com/a/user-{{input.a}}', {}],
  ];
  for (const [template, input] of refused) {
    assert.throws(
      () => fill(template, input),
      (error) => isDulyError(error, 'target_invalid'),
      `${template} ${JSON.stringify(input)}`,
    );
  }
});

test('a placeholder that names nothing is found wherever it stands', () => {
  for (const path of ['input', 'input.a.b', 'job', 'job.id', 'job.metadata.x', 'slot', 'slot.date']) {
    assert.equal(unknownPlaceholder(`a {{${path}}} b`), null, path);
  }
  for (const path of ['inptu.id', 'inputs', 'job.nmae', 'job.id.x', 'slot.dat', 'process.env']) {
    assert.equal(unknownPlaceholder({ a: [1, { b: `x {{ ${path} }}` }] }), `{{ ${path} }}`, path);
  }
  assert.equal(unknownPlaceholder('{{.State}} {{json .}} { {x} }'), null);
});
