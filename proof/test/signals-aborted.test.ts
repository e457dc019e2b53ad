// Handlers that go on after their lease has ended unheard, or a cancel, while their event loop is blocked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '../checker/index.ts';
import { signalsAborted } from '../checker/signals-aborted.ts';
import type { HistoryEvent } from '../history.ts';
import { blocked, changed, claimed, created, judge } from './judge.ts';

const leaseMs = 4_000;
const boundMs = 4_000;

const up: HistoryEvent = { kind: 'node', at: 0, node: 'n', state: 'up' };
const lease = { node: 'n', id: 'job_1', attempt: 1, fence: 1 };
const begunAt = 1_000;

/** What is said of a handler that ran so long after its lease had ended unheard. */
function breaks(overMs: number, ...faults: HistoryEvent[]): string {
  return judge(signalsAborted, [
    up,
    created(1, 'job_1'),
    claimed(900, 'job_1', 1, 900 + leaseMs),
    { kind: 'began', at: begunAt, type: 'work', ...lease },
    { kind: 'ended', at: begunAt + leaseMs + overMs, how: 'returned', ...lease },
    ...faults,
  ]);
}

test('a handler is told of an end of its lease that nobody told its worker of, unless its event loop is blocked', () => {
  const late =
    /job_1 on n \(fence 1\) was not told to stop within 4000 ms, though its worker heard of its lease at/;
  assert.equal(breaks(boundMs), '');
  assert.match(breaks(boundMs + 1), late);
  assert.equal(breaks(boundMs + 1, blocked(3_000, 8_500)), '');
  // It was over before the worker heard of the lease for the last time, or was another node's.
  assert.match(breaks(boundMs + 1, blocked(500, 999)), late);
  assert.match(breaks(boundMs + 1, blocked(3_000, 8_500, 'm')), late);
});

test('a handler of a real process is told of a cancel within 10 s, unless its event loop is blocked', () => {
  const final = { at: 900_000, jobs: [], schedules: [], ledger: {}, audit: [] };
  const problemsOf = (endedAt: number, ...faults: HistoryEvent[]): string[] => {
    const began: HistoryEvent = { kind: 'began', at: begunAt, type: 'work', ...lease };
    const asked = changed(6_000, 'cancel', 'job_1', { result: 'asked' });
    const ended: HistoryEvent = { kind: 'ended', at: endedAt, how: 'returned', ...lease };
    const events = [up, created(1, 'job_1'), began, asked, ended, ...faults];
    return check({ events, final, isComplete: false, isSettled: true }, [signalsAborted]).map(
      ({ message }) => message,
    );
  };
  // The fault names the process; which node it was is its detail.
  const ofProcess = { ...blocked(3_000, 9_000), node: 'node-3' };
  assert.deepEqual(problemsOf(16_000), []);
  assert.match(
    problemsOf(16_001).join(),
    /within 10000 ms, though its job was asked to cancel at 00:00:06.000/,
  );
  assert.deepEqual(problemsOf(16_001, ofProcess), []);
  assert.equal(problemsOf(16_001, { ...ofProcess, detail: 'm' }).length, 1);
});
