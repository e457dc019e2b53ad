// Jobs whose creation was refused, and calls of two processes for the same job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedAbsent } from '../checker/refused-absent.ts';
import type { Answered, HistoryEvent } from '../history.ts';
import { judge } from './judge.ts';

const input = '{"call":1}';

const asked = (call: number, wanted = input): HistoryEvent => ({
  ...{ kind: 'asked', at: call, node: `n${call}`, call, what: 'create', subject: null },
  wants: { input: wanted, inMs: null, dueAt: null },
});

const answered = (call: number, outcome: Answered['outcome']): HistoryEvent => ({
  ...{ kind: 'answered', at: 10 + call, node: `n${call}`, call, what: 'create', outcome, subject: null },
  ...(outcome === 'refused' ? { code: 'store_busy' } : {}),
});

/** What is said when call 1 was refused and its job is in the store. */
const breaks = (...others: HistoryEvent[]): string =>
  judge(refusedAbsent, [asked(1), answered(1, 'refused'), ...others], [{ id: 'job_1', input }]);

test('a job that was refused is absent, unless another call asked for the same one', () => {
  const refused = /Call 1 on n1 was refused \(store_busy\) at .*, and its job job_1 is in the store/;
  assert.match(breaks(), refused);
  assert.equal(breaks(asked(2), answered(2, 'acknowledged')), '');
  // Call 2 ended with its process, or may have been done.
  assert.equal(breaks(asked(2)), '');
  assert.equal(breaks(asked(2), answered(2, 'unknown')), '');
  // Both were refused.
  assert.match(breaks(asked(2), answered(2, 'refused')), refused);
  // Call 2 asked for another job.
  assert.match(breaks(asked(2, '{"call":2}'), answered(2, 'acknowledged')), refused);
});
