// Jobs that wait for another one, of which one is brought back or deleted before or after the other starts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../packages/core/src/contract/engine.ts';
import { gatesHold } from '../checker/gates-hold.ts';
import type { Changed, CreatedJob, HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge, settled } from './judge.ts';

/** What is said of `job_2`, which waits for `job_1`, starts before that one ends, and sees a retry with this result before. */
function breaks(result: string | null): string {
  const retry = result === null ? [] : [changed(100, 'retry', 'job_2', { result })];
  const events = [
    created(0, 'job_1'),
    created(0, 'job_2', { gates: ['job_1'] }),
    ...retry,
    claimed(200, 'job_2'),
  ];
  const jobs = [
    { id: 'job_1', finishedAt: 5_000 },
    { id: 'job_2', finishedAt: 1_000 },
  ];
  return judge(gatesHold, events, jobs);
}

test('a job starts behind what it waits for, unless it was brought back', () => {
  assert.match(breaks(null), /though job_1, which it waits for, was over at/);
  assert.equal(breaks('changed'), '');
  for (const result of ['unchanged', 'refused', 'missing'])
    assert.match(breaks(result), /though job_1, which it waits for, was over at/);
});

const dedupe: CreatedJob['dedupe'] = { key: 'k', forMs: null, mode: 'replace' };
const startsEarly = {
  gate: /which it waits for, was over at/,
  'follow-up': /which had started under its key/,
};

/** What is said of `job_2`, which waits for the running `job_1` and starts at 200, when this becomes of `job_1`. */
function breaksAmong(
  part: 'gate' | 'follow-up',
  fate: readonly HistoryEvent[],
  feed?: readonly Partial<Change>[],
): string {
  const events = [
    ...[created(0, 'job_1', { dedupe }), claimed(1, 'job_1')],
    created(100, 'job_2', part === 'gate' ? { gates: ['job_1'] } : { dedupe }),
    ...fate.filter(({ at }) => at <= 200),
    claimed(200, 'job_2'),
    ...fate.filter(({ at }) => at > 200),
  ];
  const isDeleted = fate.some((event) => event.kind === 'changed' && event.verb === 'delete');
  const rest = { id: 'job_2', finishedAt: 1_000 };
  const jobs = isDeleted ? [rest] : [{ id: 'job_1', finishedAt: 90_000 }, rest];
  return judge(gatesHold, events, jobs, feed && { feed: feed as Change[] });
}

for (const part of ['gate', 'follow-up'] as const) {
  test(`what is done to a job after another one started behind it is no excuse (${part})`, () => {
    for (const verb of ['delete', 'retry', 'discard'] as const) {
      const later = [settled(5_000, 'job_1', 'FAILED'), changed(6_000, verb, 'job_1')];
      assert.match(breaksAmong(part, later), startsEarly[part], verb);
      const before = [settled(150, 'job_1', 'FAILED'), changed(6_000, verb, 'job_1')];
      assert.equal(breaksAmong(part, before), '', verb);
    }
    // It waited for its next attempt, and was deleted before it ended.
    const failed = settled(110, 'job_1', 'RETRYING');
    assert.match(breaksAmong(part, [failed, changed(6_000, 'delete', 'job_1')]), startsEarly[part]);
    assert.equal(breaksAmong(part, [failed, changed(150, 'delete', 'job_1')]), '');
  });

  test(`a job that ended before another one started behind it may be brought back before or after (${part})`, () => {
    const ended = changed(150, 'terminate', 'job_1', { status: 'CANCELLED' });
    for (const at of [160, 6_000])
      assert.equal(breaksAmong(part, [ended, changed(at, 'retry', 'job_1')]), '');
    assert.match(
      breaksAmong(part, [{ ...ended, at: 300 }, changed(6_000, 'retry', 'job_1')]),
      startsEarly[part],
    );
  });

  test(`an end that no event tells of is read off the feed (${part})`, () => {
    const fate = [settled(110, 'job_1', 'RETRYING'), changed(6_000, 'delete', 'job_1')];
    const endsAt = (at: number): Partial<Change>[] => [
      { id: 'job_1', at, event: 'cancelled', status: 'CANCELLED' },
      { id: 'job_1', at: 6_000, event: 'deleted', status: 'CANCELLED' },
    ];
    assert.equal(breaksAmong(part, fate, endsAt(200)), '');
    assert.match(breaksAmong(part, fate, endsAt(201)), startsEarly[part]);
  });

  test(`ends and starts of one millisecond are in the order of the history (${part})`, () => {
    const [before, after] = [settled(200, 'job_1', 'FAILED'), settled(200, 'job_1', 'FAILED')];
    const jobs = [
      { id: 'job_1', finishedAt: 200 },
      { id: 'job_2', finishedAt: 1_000 },
    ];
    const events = (order: HistoryEvent[]): HistoryEvent[] => [
      ...[created(0, 'job_1', { dedupe }), claimed(1, 'job_1')],
      ...[created(100, 'job_2', part === 'gate' ? { gates: ['job_1'] } : { dedupe }), ...order],
    ];
    assert.equal(judge(gatesHold, events([before, claimed(200, 'job_2')]), jobs), '');
    assert.match(judge(gatesHold, events([claimed(200, 'job_2'), after]), jobs), startsEarly[part]);
  });
}

test('a job waits for the life that another one has when it is created', () => {
  const breaksIn = (...fate: HistoryEvent[]): string =>
    judge(
      gatesHold,
      [
        ...[created(0, 'job_1'), claimed(1, 'job_1'), settled(10, 'job_1', 'FAILED')],
        ...[changed(20, 'retry', 'job_1'), created(100, 'job_2', { gates: ['job_1'] })],
        ...[claimed(200, 'job_2'), ...fate],
      ],
      [{ id: 'job_2', finishedAt: 1_000 }],
    );
  const second = [claimed(120, 'job_1', 2), settled(150, 'job_1', 'COMPLETED', { fence: 2 })];
  assert.equal(breaksIn(...second, changed(6_000, 'delete', 'job_1')), '');
  assert.match(breaksIn(changed(6_000, 'delete', 'job_1')), startsEarly.gate);
});

test('a retry after a call was folded into a job that had started is no excuse', () => {
  const fold = changed(100, 'fold', 'job_1', {
    result: 'deduped',
    folded: { call: 'call_1', replaces: true } as Changed['folded'],
  });
  const ended = changed(50, 'terminate', 'job_1', { status: 'CANCELLED' });
  const released = settled(50, 'job_1', 'PENDING', { reason: 'released' });
  const breaksIn = (...fate: HistoryEvent[]): string =>
    judge(gatesHold, [created(0, 'job_1', { dedupe }), claimed(1, 'job_1'), fold, ...fate]);
  assert.equal(breaksIn(ended, changed(60, 'retry', 'job_1')), '');
  assert.equal(breaksIn(released), '');
  for (const fate of [[changed(200, 'retry', 'job_1')], [{ ...released, at: 200 }]])
    assert.match(breaksIn(...fate), /was folded into job job_1, which had started at/);
});
