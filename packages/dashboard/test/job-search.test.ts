import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJobSearch, valuesOf, withTerm } from '../src/search/job-search.ts';

test('a search is read into what the API takes', () => {
  const cases: [string, Record<string, string | string[]>][] = [
    ['', {}],
    ['input.user:42 status:failed since:1h', { 'input.user': '42', status: 'FAILED', since: '1h' }],
    ['status:failed,retrying', { status: ['FAILED', 'RETRYING'] }],
    ['type:a type:b', { type: ['a', 'b'] }],
    ['job_01k9abc', { ids: 'job_01k9abc' }],
    ['id:job_1 id:job_2', { ids: ['job_1', 'job_2'] }],
    ['connection refused', { error: 'connection refused' }],
    ['error:"no such file" queue:mail', { error: 'no such file', queue: 'mail' }],
    ['input.path:"a b"', { 'input.path': 'a b' }],
    ['since:2027-01-15T10:00:00Z', { since: '2027-01-15T10:00:00Z' }],
  ];
  for (const [text, query] of cases) assert.deepEqual(readJobSearch(text), { query, problems: [] }, text);
});

test('what cannot be understood is said, with the nearest word', () => {
  assert.deepEqual(readJobSearch('status:faild').problems, [
    'There is no status “faild”; did you mean failed?',
  ]);
  assert.match(
    readJobSearch('stauts:failed').problems[0] ?? '',
    /“stauts:” is not .* did you mean status:\?/,
  );
  assert.deepEqual(readJobSearch('status:').problems, []);
});

test('one term is changed and the others stay', () => {
  const text = 'input.user:42 status:failed "two words"';
  assert.deepEqual(valuesOf(text, 'status'), ['failed']);
  assert.equal(
    withTerm(text, 'status', ['running', 'failed']),
    'input.user:42 "two words" status:running,failed',
  );
  assert.equal(withTerm(text, 'status', []), 'input.user:42 "two words"');
  assert.equal(withTerm('', 'type', ['a b']), 'type:"a b"');
});
