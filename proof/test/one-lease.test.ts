// Leases that are taken over after answers to their worker were lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noFalseReclaim } from '../checker/one-lease.ts';
import type { HistoryEvent } from '../history.ts';
import { claimed, created, judge, replyLost } from './judge.ts';

const leaseMs = 4_000;

/** What is said of a lease that was renewed every 600 ms until 8,000, and is taken over when it ends. */
function breaks(...losses: HistoryEvent[]): string {
  const renewed = (at: number): HistoryEvent => ({
    ...{ kind: 'renewed', at, node: 'n', id: 'job_1', fence: 1, begun: true, state: 'kept' },
    untilAt: at + leaseMs,
  });
  const events: HistoryEvent[] = [
    ...[{ kind: 'node', at: 0, node: 'n', state: 'up' } as const, created(1, 'job_1')],
    claimed(2, 'job_1', 1, 2 + leaseMs),
    ...Array.from({ length: 13 }, (_, i) => renewed(800 + 600 * i)),
    ...losses,
    {
      ...claimed(12_001, 'job_1', 2, 20_000),
      kind: 'reaped',
      node: 'm',
      begun: true,
    } as unknown as HistoryEvent,
  ];
  return judge(noFalseReclaim, events, [{ id: 'job_1', finishedAt: 13_000 }]);
}

test('a lost answer is no excuse for a lost lease, unless nothing was heard for a lease', () => {
  assert.match(breaks(), /was taken from n at .*, which was up/);
  assert.match(breaks(replyLost(6_000, 8_000)), /was taken from n/);
  // Two in a row: the worker heard nothing for as long as a lease lasts, and gave the job up.
  assert.equal(breaks(replyLost(6_000, 8_000), replyLost(8_050, 10_050)), '');
  // Between these two, answers arrived.
  assert.match(breaks(replyLost(3_000, 5_000), replyLost(8_000, 10_000)), /was taken from n/);
});
