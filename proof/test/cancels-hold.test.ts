// Attempts that go on after their job was ended and brought back, runs that end in the moment in which a policy ends them, and jobs that
// are deleted or brought back after they should have ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelsHold } from '../checker/cancels-hold.ts';
import type { HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge, settled } from './judge.ts';

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
  const lost = settled(500, 'job_1', 'RETRYING', { reason: 'lost' });
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
  assert.equal(breaksIn([lost, ended]), '');
  assert.match(breaksIn([ended, lost]), /its worker was never told/);
});

/** What is said of `job_1`, which runs, is asked to cancel at 100, and of which this becomes then. */
function breaksAfterAsk(...fate: HistoryEvent[]): string {
  const asked = changed(100, 'cancel', 'job_1', { result: 'asked' });
  const has = (verb: string): boolean =>
    fate.some((event) => event.kind === 'changed' && event.verb === verb);
  const status = has('retry') ? 'COMPLETED' : 'CANCELLED';
  const job = { id: 'job_1', status, finishedAt: 90_000, cancelRequestedAt: 100 } as const;
  const events = [created(0, 'job_1'), claimed(10, 'job_1'), asked, ...fate];
  return judge(cancelsHold, events, has('delete') ? [] : [job]);
}

for (const verb of ['delete', 'retry'] as const) {
  test(`a job that starts again after it was asked to cancel is found, whoever does a ${verb} later`, () => {
    const failed = settled(200, 'job_1', 'RETRYING');
    const act = changed(26_000, verb, 'job_1');
    assert.match(breaksAfterAsk(failed, claimed(300, 'job_1', 2), act), /to be ended by n .* was given to n/);
    assert.equal(breaksAfterAsk(failed, act), '');
    // In the same millisecond the order of the history tells which came first.
    const first = changed(300, 'retry', 'job_1');
    assert.equal(breaksAfterAsk(failed, first, claimed(300, 'job_1', 2), act), '');
    assert.match(breaksAfterAsk(failed, claimed(300, 'job_1', 2), first, act), /was given to n/);
  });

  test(`an attempt that goes on after its job was terminated is found, whoever does a ${verb} later`, () => {
    const breaksIn = (...fate: HistoryEvent[]): string =>
      judge(cancelsHold, [
        ...[created(0, 'job_1'), claimed(10, 'job_1')],
        ...[changed(100, 'terminate', 'job_1', { status: 'CANCELLED' }), ...fate],
        changed(26_000, verb, 'job_1'),
      ]);
    assert.match(
      breaksIn(settled(200, 'job_1', 'COMPLETED', { reason: 'returned' })),
      /settled as COMPLETED/,
    );
    assert.equal(breaksIn(), '');
  });
}

test('to discard a job does not excuse that it was not CANCELLED', () => {
  const breaksIn = (status: 'FAILED' | 'CANCELLED'): string =>
    judge(
      cancelsHold,
      [
        ...[created(0, 'job_1'), changed(100, 'terminate', 'job_1', { status: 'CANCELLED' })],
        ...(status === 'FAILED' ? [changed(26_000, 'discard', 'job_1')] : []),
      ],
      [{ id: 'job_1', status, finishedAt: status === 'FAILED' ? 500 : 100, cancelRequestedAt: null }],
    );
  assert.match(breaksIn('FAILED'), /is FAILED since/);
  assert.equal(breaksIn('CANCELLED'), '');
});

test('a run that was ended by force and brought back does not run when a policy ends it', () => {
  const ended: HistoryEvent = {
    ...{ kind: 'fired', at: 500, node: 'n', scheduleId: 's', fence: 1, version: 2, result: 'fired' },
    ...{ slots: [], jobs: [], dueAt: null, cancel: [{ id: 'job_1', mode: 'ask' }], slotDetails: [] },
  };
  const events = [
    ...[
      created(0, 'job_1'),
      claimed(10, 'job_1'),
      changed(100, 'terminate', 'job_1', { status: 'CANCELLED' }),
    ],
    ...[changed(200, 'retry', 'job_1'), ended],
  ];
  const breaksWith = (finishedAt: number): string =>
    judge(cancelsHold, events, [
      { id: 'job_1', status: 'CANCELLED', finishedAt, cancelRequestedAt: null, startedAt: 10 },
    ]);
  assert.equal(breaksWith(500), '');
  assert.match(breaksWith(600), /is CANCELLED since/);
});

test('a cancel by key that leaves the follow-up behind its holder alone is found', () => {
  const keyed = { dedupe: { key: 'k', forMs: null, mode: 'replace' } } as const;
  const byKey = { type: 'work', tenant: null, key: 'k' };
  const breaksIn = (status: 'CANCELLED' | 'COMPLETED', followedAt = 50): string =>
    judge(
      cancelsHold,
      [
        ...[created(0, 'job_1', keyed), claimed(10, 'job_1'), created(followedAt, 'job_2', keyed)],
        changed(100, 'cancel', 'job_1', { result: 'asked', byKey }),
        settled(900, 'job_1', 'CANCELLED', { reason: 'cancelled' }),
      ],
      [
        { id: 'job_1', status: 'CANCELLED', finishedAt: 900, cancelRequestedAt: 100, startedAt: 10 },
        { id: 'job_2', status, finishedAt: status === 'CANCELLED' ? 100 : 950 },
      ],
    );
  assert.equal(breaksIn('CANCELLED'), '');
  assert.match(
    breaksIn('COMPLETED'),
    /job_2 was to be ended by n, with the holder of its key, at .*COMPLETED/,
  );
  assert.equal(breaksIn('COMPLETED', 200), '', 'a follow-up that was created later');
});
