// Jobs in one line that are taken and end within one millisecond.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitsHold } from '../checker/limits-hold.ts';
import type { CreatedJob, HistoryEvent, Locked } from '../history.ts';
import { claimed, created, judge } from './judge.ts';

const inLine = (id: string, dueAt: number): HistoryEvent =>
  created(10, id, { serial: 'line', dueAt, slot: null, startDeadlineMs: null } as Partial<CreatedJob>);

const completed = (at: number, id: string): HistoryEvent =>
  ({ kind: 'settled', at, node: 'n', id, fence: 1, to: 'COMPLETED', result: 'done' }) as HistoryEvent;

test('a job that has its place does not wait for its own end', () => {
  // The first had the place when the second came, which was due earlier.
  const events = [
    ...[inLine('job_1', 10), inLine('job_2', 5), claimed(100, 'job_1'), completed(100, 'job_1')],
    ...[claimed(200, 'job_2'), completed(300, 'job_2')],
  ];
  assert.equal(judge(limitsHold, events), '');
});

test('of two jobs that wait, the one that was due first comes first, also within one millisecond', () => {
  const order = (...ids: string[]): HistoryEvent[] => [
    ...[inLine('job_0', 0), claimed(50, 'job_0'), inLine('job_1', 5), inLine('job_2', 10)],
    ...[completed(100, 'job_0'), ...ids.flatMap((id) => [claimed(100, id), completed(100, id)])],
  ];
  assert.equal(judge(limitsHold, order('job_1', 'job_2')), '');
  assert.match(judge(limitsHold, order('job_2', 'job_1')), /job_2, due .*, was taken at .* before job_1/);
});

test('a job that puts itself off in the millisecond in which it was taken comes back later, and is not its own successor', () => {
  const taken = (at: number, id: string, fence: number, dueAt: number): HistoryEvent =>
    ({ ...claimed(at, id, fence), dueAt }) as HistoryEvent;
  const putOff = { ...completed(100, 'job_1'), to: 'SCHEDULED' } as HistoryEvent;
  const before = [inLine('job_1', 10), inLine('job_2', 20), taken(100, 'job_1', 1, 50), putOff];
  const [back, second] = [taken(200, 'job_1', 2, 180), taken(150, 'job_2', 1, 20)];
  assert.equal(judge(limitsHold, [...before, second, completed(160, 'job_2'), back]), '');
  const late = taken(300, 'job_2', 1, 20);
  assert.match(judge(limitsHold, [...before, back, late]), /job_1, which had put itself off .* before job_2/);
});

test('a holder that asks for its lock again is given what it has', () => {
  const acquire = (at: number, token: string, result: Locked['result'], fence: number): HistoryEvent => ({
    ...{ kind: 'locked', at, node: 'n', name: 'l', verb: 'acquire', result, token, fence, untilAt: 1_000 },
  });
  const first = acquire(10, 'a', 'acquired', 1);
  assert.equal(judge(limitsHold, [first, acquire(20, 'a', 'acquired', 1)]), '');
  assert.equal(judge(limitsHold, [first, acquire(20, 'b', 'refused', 1)]), '');
  assert.match(judge(limitsHold, [first, acquire(20, 'a', 'refused', 1)]), /n held it .* and was refused/);
  assert.match(judge(limitsHold, [first, acquire(20, 'a', 'acquired', 2)]), /and was given fence 2/);
  assert.equal(judge(limitsHold, [first, acquire(1_000, 'a', 'refused', 1)]), '', 'its time is over');
});
