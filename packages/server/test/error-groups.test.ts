import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupByCause, patternOf } from '../src/jobs/error-groups.ts';

test('messages that differ in ids, numbers, values and addresses have one cause', () => {
  const pairs: [string, string][] = [
    ['timeout after 30 s', 'timeout after 31.5 s'],
    ['no user "ada"', 'no user "grace"'],
    ['GET https://a.example/1 failed', 'GET https://b.example/2 failed'],
    [
      'order 6f9619ff-8b86-d011-b42d-00c04fc964ff is gone',
      'order 7f9619ff-8b86-d011-b42d-00c04fc964fa is gone',
    ],
  ];
  for (const [a, b] of pairs) assert.equal(patternOf(a), patternOf(b));
  assert.notEqual(patternOf('no user'), patternOf('no order'));
});

test('groups are by task and cause, the largest first', () => {
  const job = (type: string, message: string) => ({ type, error: { name: 'Error', message } });
  const groups = groupByCause([job('mail', 'no host 1'), job('pdf', 'no host 1'), job('mail', 'no host 2')]);
  assert.deepEqual(
    groups.map(({ type, jobs }) => [type, jobs.length]),
    [
      ['mail', 2],
      ['pdf', 1],
    ],
  );
});
