// The numbers of attempts around a released claim and a cancel.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsCounted } from '../checker/attempts-counted.ts';
import type { HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge } from './judge.ts';

test('a cancel counts for the attempt that it came before, also within one millisecond', () => {
  const released = {
    ...{ kind: 'settled', at: 50, node: 'n', id: 'job_1', fence: 1, to: 'PENDING', reason: 'released' },
    ...{ result: 'done', spends: false },
  } as HistoryEvent;
  const again = { ...claimed(50, 'job_1', 2), attempt: 1 } as HistoryEvent;
  const asked = changed(50, 'cancel', 'job_1', { result: 'asked' });
  const job = { id: 'job_1', spent: 0, maxAttempts: 3, begunLosses: 0, attempt: 1, startedAt: null };
  const jobs = [{ ...job, policy: { delivery: 'at-least-once' }, progress: { percent: 0 } }] as never[];
  const start = [created(0, 'job_1'), claimed(10, 'job_1', 1), released];
  assert.equal(judge(attemptsCounted, [...start, again, asked], jobs), '');
  assert.match(
    judge(attemptsCounted, [...start, asked, again], jobs),
    /given out as attempt 1 under fence 2; expected 2/,
  );
});
