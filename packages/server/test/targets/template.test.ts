import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillTemplate, fillText } from '../../src/targets/template.ts';

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
