// Leases and locks that are taken over after answers to their holder were lost, or while its event loop was blocked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noFalseReclaim } from '../checker/one-lease.ts';
import type { HistoryEvent, Locked } from '../history.ts';
import { blocked, claimed, created, judge, replyLost } from './judge.ts';

const leaseMs = 4_000;

const up: HistoryEvent = { kind: 'node', at: 0, node: 'n', state: 'up' };

/** What is said of a lease that was renewed every 600 ms until 8,000, and is taken over when it ends. */
function breaks(...faults: HistoryEvent[]): string {
  return breaksAfter({}, ...faults);
}

/** The same with another number of renewals, or of a job with a timeout. */
function breaksAfter(
  { renewals = 13, timeoutMs = null }: { renewals?: number; timeoutMs?: number | null },
  ...faults: HistoryEvent[]
): string {
  const renewed = (at: number): HistoryEvent => ({
    ...{ kind: 'renewed', at, node: 'n', id: 'job_1', fence: 1, begun: true, state: 'kept' },
    untilAt: at + leaseMs,
  });
  const events: HistoryEvent[] = [
    ...[up, created(1, 'job_1', { timeoutMs })],
    claimed(2, 'job_1', 1, 2 + leaseMs),
    ...Array.from({ length: renewals }, (_, i) => renewed(800 + 600 * i)),
    ...faults,
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

test('a blocked event loop is no excuse for a lease that its worker has received, until the attempt must time out', () => {
  const taken = /was taken from n at .*, which was up/;
  assert.match(breaks(blocked(6_000, 12_000)), taken);
  assert.match(breaks(blocked(3, 12_000)), taken);
  // It was blocked when the lease was given, and may not have received it.
  assert.equal(breaks(blocked(1, 12_000)), '');
  assert.equal(breaksAfter({ renewals: 0 }, blocked(3, 12_000)), '');
  assert.match(breaksAfter({ renewals: 0 }), taken);
  // The lease is not renewed past the timeout of the attempt.
  assert.equal(breaksAfter({ timeoutMs: 11_998 }, blocked(6_000, 12_000)), '');
  assert.match(breaksAfter({ timeoutMs: 11_999 }, blocked(6_000, 12_000)), taken);
});

const locked = (
  at: number,
  verb: Locked['verb'],
  result: Locked['result'],
  { fence = 1, node = 'n' }: { fence?: number; node?: string } = {},
): HistoryEvent => ({ kind: 'locked', at, node, name: 'l', verb, result, fence, untilAt: at + leaseMs });

/** What is said of a lock that was given to one node at 1,000, and at 9,000 to another one. */
const breaksLock = (...events: HistoryEvent[]): string =>
  judge(noFalseReclaim, [
    ...[up, locked(1_000, 'acquire', 'acquired'), ...events],
    locked(9_000, 'acquire', 'acquired', { fence: 2, node: 'm' }),
  ]);

test('a lock is not given to another process while its holder is up and can renew it', () => {
  assert.match(
    breaksLock(),
    /^Lock "l" was taken from n at 00:00:09.000, which was up .* since 00:00:01.000\.$/,
  );
  assert.match(breaksLock(locked(5_000, 'renew', 'kept')), /since 00:00:05.000\.$/);
  assert.equal(breaksLock(locked(5_000, 'release', 'kept')), '');
  assert.match(breaksLock(locked(5_000, 'release', 'lost', { fence: 0 })), /was taken from n/);
  assert.equal(breaksLock({ kind: 'node', at: 5_000, node: 'n', state: 'crashed' }), '');
  assert.equal(breaksLock(replyLost(3_000, 4_000)), '');
  // It was renewed after that.
  assert.match(breaksLock(replyLost(3_000, 4_000), locked(5_000, 'renew', 'kept')), /was taken from n/);
});

test('a blocked event loop is no excuse for a lock that its process has received', () => {
  assert.equal(breaksLock(blocked(900, 8_000)), '');
  // Another thread renews a lock as soon as it knows of it.
  assert.equal(breaksLock(blocked(1_100, 8_000)), '');
  assert.match(breaksLock(blocked(1_101, 8_000)), /was taken from n/);
});
