// A job that waits for another one, and is brought back before its first start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatesHold } from '../checker/gates-hold.ts';
import { changed, claimed, created, judge } from './judge.ts';

/** What is said of `job_2`, which waits for `job_1`, starts before that one ends, and sees a retry with this result before. */
function breaks(result: string | null): string {
  const retry = result === null ? [] : [changed(100, 'retry', 'job_2', { result })];
  const events = [
    created(0, 'job_1'),
    created(0, 'job_2', { gates: ['job_1'] }),
    ...retry,
    claimed(200, 'job_2'),
  ];
  const jobs = [
    { id: 'job_1', finishedAt: 5_000 },
    { id: 'job_2', finishedAt: 1_000 },
  ];
  return judge(gatesHold, events, jobs);
}

test('a job starts behind what it waits for, unless it was brought back', () => {
  assert.match(breaks(null), /though job_1, which it waits for, was over at/);
  assert.equal(breaks('changed'), '');
  for (const result of ['unchanged', 'refused', 'missing'])
    assert.match(breaks(result), /though job_1, which it waits for, was over at/);
});
