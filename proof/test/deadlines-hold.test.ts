import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadlinesHold } from '../checker/deadlines-hold.ts';
import type { CreatedJob, HistoryEvent } from '../history.ts';
import { changed, created, judge } from './judge.ts';

const hasty = { dueAt: 1_000, startDeadlineMs: 500 } as Partial<CreatedJob>;
const claimedAt = (at: number): HistoryEvent => ({
  ...{ kind: 'claimed', at, node: 'n', id: 'job_1', type: 'work', version: 1, queue: 'default' },
  ...{ attempt: 1, fence: 1, dueAt: 3_000, untilAt: at + 90_000, together: 1 },
});
const breaks = (...events: HistoryEvent[]): string =>
  judge(
    deadlinesHold,
    [created(0, 'job_1', hasty), changed(500, 'reschedule', 'job_1'), ...events],
    [{ id: 'job_1', startedAt: 3_500, expireAt: null }],
  );

test('the deadline of a moved job counts from the instant that it was moved to', () => {
  assert.equal(breaks(claimedAt(3_500)), '');
  assert.match(breaks(claimedAt(3_501)), /job_1 might start until .*03\.500 and was claimed at .*03\.501/);
});

test('a moved job that was retried before its first start has no deadline', () => {
  const ended = changed(600, 'terminate', 'job_1');
  assert.equal(breaks(ended, changed(700, 'retry', 'job_1'), claimedAt(9_000)), '');
  assert.match(
    breaks(ended, changed(700, 'retry', 'job_1', { result: 'refused' }), claimedAt(9_000)),
    /might start/,
  );
  assert.match(breaks(claimedAt(9_000), changed(9_500, 'retry', 'job_1')), /might start/);
});
