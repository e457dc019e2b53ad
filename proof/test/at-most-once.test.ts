// Attempts whose handler starts after an operator terminated and retried the job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atMostOnce } from '../checker/at-most-once.ts';
import type { CreatedJob, HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge } from './judge.ts';

const began = (at: number, fence: number): HistoryEvent => ({
  ...{ kind: 'began', at, node: 'n', id: 'job_1', type: 'once', attempt: fence, fence },
});

/** The problems of two starts, at 30 under fence 1 and at 50 under fence 2, with a retry at `retriedAt`. */
function problems(retriedAt: number | null, result = 'changed'): string {
  const once = { type: 'once', delivery: 'at-most-once' } as Partial<CreatedJob>;
  return judge(atMostOnce, [
    ...[
      created(0, 'job_1', once),
      claimed(10, 'job_1', 1),
      began(30, 1),
      claimed(40, 'job_1', 2),
      began(50, 2),
    ],
    ...(retriedAt === null ? [] : [changed(retriedAt, 'retry', 'job_1', { result })]),
  ]);
}

test('a retry after the claim allows a second start, even if the first handler starts later', () => {
  assert.equal(problems(20), '');
  assert.equal(problems(35), '');
});

test('a retry before the claim or after the second start does not allow it', () => {
  for (const at of [null, 5, 60]) assert.match(problems(at), /is at most once; it began/);
});

test('a retry that was refused does not allow it', () => {
  assert.match(problems(35, 'refused'), /is at most once; it began/);
});
