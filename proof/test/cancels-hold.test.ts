// Attempts that go on after their job was ended and brought back, and runs that end in the moment in which a policy ends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelsHold } from '../checker/cancels-hold.ts';
import type { HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge } from './judge.ts';

/** What is said when the attempt with this fence hears of a cancel at 500. */
function breaks(fence: number): string {
  const reported: HistoryEvent = {
    kind: 'aborted',
    at: 500,
    node: 'n',
    id: 'job_1',
    fence,
    reason: 'cancelled',
  };
  const events = [
    ...[created(0, 'job_1'), claimed(10, 'job_1', 1), changed(100, 'cancel', 'job_1', { result: 'asked' })],
    ...[changed(200, 'terminate', 'job_1', { status: 'CANCELLED' }), changed(300, 'retry', 'job_1')],
    ...[claimed(400, 'job_1', 2), reported],
  ];
  return judge(cancelsHold, events, [{ id: 'job_1', finishedAt: 900 }]);
}

test('an attempt hears of a cancel that was asked for in its own life of the job only', () => {
  assert.equal(breaks(1), '');
  assert.match(breaks(2), /was told of a cancel at .*, and nobody had asked/);
});

test('a run that was lost in the millisecond in which a policy ends it did not run: it is CANCELLED at once', () => {
  const settled: HistoryEvent = {
    ...{
      kind: 'settled',
      at: 500,
      node: 'n',
      id: 'job_1',
      fence: 1,
      to: 'RETRYING',
      reason: 'lost',
      spends: false,
    },
    ...{ dueAt: 500, result: 'done', value: null, error: null, lines: [], repeat: false },
  };
  const ended: HistoryEvent = {
    ...{ kind: 'fired', at: 500, node: 'n', scheduleId: 's', fence: 1, version: 2, result: 'fired' },
    ...{ slots: [], jobs: [], dueAt: null, cancel: [{ id: 'job_1', mode: 'ask' }], slotDetails: [] },
  };
  const breaksIn = (order: HistoryEvent[]): string =>
    judge(
      cancelsHold,
      [created(0, 'job_1'), claimed(10, 'job_1', 1), ...order],
      [{ id: 'job_1', status: 'CANCELLED', finishedAt: 500, cancelRequestedAt: null }],
    );
  assert.equal(breaksIn([settled, ended]), '');
  assert.match(breaksIn([ended, settled]), /its worker was never told/);
});
