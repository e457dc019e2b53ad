// Calls that fold into a follow-up behind a job that is deleted or brought back later.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneHolder } from '../checker/one-holder.ts';
import type { Changed, CreatedJob, HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge } from './judge.ts';

const endsAt = 70_000;

/** A job is created under the key. */
function holder(at: number, id: string, forMs: number | null): HistoryEvent {
  const dedupe = { key: 'k', forMs, mode: 'extend' } as CreatedJob['dedupe'];
  return created(at, id, { type: 'flaky', dedupe });
}

/** A job is created under the key by a call that must not replace another one. */
const drop = (at: number, id: string): HistoryEvent =>
  created(at, id, { type: 'flaky', dedupe: { key: 'k', forMs: null, mode: 'drop' } as CreatedJob['dedupe'] });

/** A call is folded into a job. */
function fold(at: number, id: string, folded?: Partial<Changed['folded']>): HistoryEvent {
  const key = { type: 'flaky', tenant: null, key: 'k' };
  const call = { call: `call_${at}`, replaces: true, ...folded } as Changed['folded'];
  return changed(at, 'fold', id, { result: 'deduped', key, folded: call } as Partial<Changed>);
}

const settled = (at: number, to: string): HistoryEvent =>
  ({ kind: 'settled', at, node: 'n', id: 'job_1', fence: 1, to, result: 'done' }) as HistoryEvent;

/** What is said of a fold into `job_2`, which holds the key for 10 s and waits behind `job_1`. */
function breaks(foldAt: number, later: Changed['verb'] | null, isComplete: boolean): string {
  const events = [
    ...[holder(0, 'job_1', null), claimed(1, 'job_1'), holder(1_000, 'job_2', 10_000)],
    ...[fold(foldAt, 'job_2'), settled(endsAt, 'FAILED')],
    ...(later === null ? [] : [changed(100_000, later, 'job_1')]),
  ];
  const first = { id: 'job_1', status: 'FAILED', finishedAt: endsAt } as const;
  const second = { id: 'job_2', finishedAt: 95_000 };
  return judge(oneHolder, events, later === 'delete' ? [second] : [first, second], { isComplete });
}

for (const isComplete of [true, false]) {
  for (const later of [null, 'delete', 'retry'] as const) {
    const what = `${later === null ? 'is left alone' : `sees a ${later}`} later`;
    const where = isComplete ? '' : ', where notes may be missing';
    test(`a follow-up takes calls until the job ahead ends, where that job ${what}${where}`, () => {
      assert.equal(breaks(endsAt - 1, later, isComplete), '');
      assert.match(breaks(endsAt + 1, later, isComplete), /was answered with job job_2/);
    });
  }
}

const both = (firstAt: number, secondAt: number) => [
  { id: 'job_1', finishedAt: firstAt },
  { id: 'job_2', finishedAt: secondAt },
];

test('events of one millisecond are in the order of the history', () => {
  const [first, second] = [holder(5, 'job_1', null), holder(5, 'job_2', 10_000)];
  const [start, later] = [claimed(5, 'job_1'), fold(20_000, 'job_2')];
  // The second job was created behind the started first one, and takes calls while that one lives.
  assert.equal(judge(oneHolder, [first, start, second, later], both(70_000, 90_000)), '');
  // Before the first one started, there must be no second one, and it takes calls for its own time only.
  assert.match(
    judge(oneHolder, [first, second, start, later], both(70_000, 90_000)),
    /job_2 was created at .* while job job_1/,
  );
});

test('a follow-up behind a retried job takes calls until that job ends again', () => {
  const events = (foldAt: number): HistoryEvent[] => [
    ...[holder(0, 'job_1', null), claimed(1, 'job_1')],
    ...[changed(100, 'terminate', 'job_1', { status: 'CANCELLED' }), changed(200, 'retry', 'job_1')],
    ...[holder(1_000, 'job_2', 10_000), fold(foldAt, 'job_2'), settled(50_000, 'COMPLETED')],
  ];
  assert.equal(judge(oneHolder, events(49_999), both(50_000, 90_000)), '');
  assert.match(judge(oneHolder, events(50_001), both(50_000, 90_000)), /job_2, /);
});

test('a repeat of a folded call may create a job once the first fold is forgotten', () => {
  const events = (createdAt: number): HistoryEvent[] => [
    ...[holder(0, 'job_1', null), fold(1_000, 'job_1', { call: 'job_2', replaces: true })],
    fold(600_500, 'job_1', { call: 'job_2', replaces: true, repeat: true }),
    holder(createdAt, 'job_2', null),
  ];
  assert.equal(judge(oneHolder, events(601_000), both(600_600, 700_000)), '');
  assert.match(
    judge(oneHolder, events(600_999), both(600_600, 700_000)),
    /and job job_2 was created for it as well/,
  );
});

test('a follow-up that ends before its holder never holds the key, also if both come back or are deleted', () => {
  const cancel = (at: number): HistoryEvent => changed(at, 'cancel', 'job_2', { status: 'CANCELLED' });
  // A call that acts on all jobs of a filter does not report their statuses.
  const terminate = (at: number): HistoryEvent => changed(at, 'terminate', 'job_2');
  const events = (endOfSecond: HistoryEvent): HistoryEvent[] => [
    ...[holder(0, 'job_1', null), claimed(1, 'job_1'), holder(1_000, 'job_2', 80_000)],
    endOfSecond,
    ...[settled(3_000, 'COMPLETED'), changed(3_500, 'delete', 'job_1')],
    ...[drop(5_000, 'job_3'), changed(6_000, 'retry', 'job_2')],
  ];
  const jobs = [...both(3_000, 90_000).slice(1), { id: 'job_3', finishedAt: 9_000 }];
  for (const end of [cancel, terminate]) {
    assert.equal(judge(oneHolder, events(end(2_000)), jobs), '');
    assert.match(judge(oneHolder, events(end(4_000)), jobs), /job_3 was created at .* while job job_2/);
  }
});

test('the deletion of a job that was brought back and has not ended releases its key', () => {
  const events = (retryAt: number): HistoryEvent[] => [
    ...[holder(0, 'job_1', 80_000), changed(1_000, 'cancel', 'job_1', { status: 'CANCELLED' })],
    ...[changed(retryAt, 'retry', 'job_1'), changed(3_000, 'delete', 'job_1'), drop(4_000, 'job_3')],
  ];
  const jobs = [{ id: 'job_3', finishedAt: 9_000 }];
  assert.equal(judge(oneHolder, events(2_000), jobs), '');
  assert.equal(
    judge(oneHolder, events(1_000), jobs),
    '',
    'brought back in the millisecond in which it ended',
  );
  assert.match(judge(oneHolder, events(5_000), jobs), /job_3 was created at .* while job job_1/);
});

test('a child is created once, until its parent is deleted', () => {
  const child = (at: number, id: string): HistoryEvent =>
    created(at, id, { child: { of: 'job_1', key: 'mail' } } as Partial<CreatedJob>);
  const [first, second, deletion] = [child(10, 'job_2'), child(30, 'job_3'), changed(20, 'delete', 'job_1')];
  assert.match(
    judge(oneHolder, [created(0, 'job_1'), first, second]),
    /created two children under the key "mail"/,
  );
  assert.equal(judge(oneHolder, [created(0, 'job_1'), first, deletion, second]), '');
});

test('a job that ends, and whose history is deleted in the same millisecond, holds its key for its time', () => {
  const events = [
    ...[holder(0, 'job_1', 80_000), claimed(1, 'job_1'), settled(1_000, 'COMPLETED')],
    ...[changed(1_000, 'delete', 'job_1'), drop(4_000, 'job_3')],
  ];
  assert.match(
    judge(oneHolder, events, [{ id: 'job_3', finishedAt: 9_000 }]),
    /job_3 was created at .* while job job_1/,
  );
});

const heldByFirst = /job_2 was created at .* while job job_1 held it/;

for (const later of ['delete', 'terminate'] as const) {
  test(`a second job under a held key is reported although the first one sees a ${later} later`, () => {
    const events = [drop(1_000, 'job_1'), drop(2_000, 'job_2'), changed(9_000, later, 'job_1')];
    const retried = later === 'terminate' ? [changed(10_000, 'retry', 'job_1')] : [];
    const jobs = both(15_000, 20_000).slice(later === 'delete' ? 1 : 0);
    assert.match(judge(oneHolder, [...events, ...retried], jobs), heldByFirst);
  });
}

test('the deletion of a job that has not ended releases its key at once, whatever time was asked for', () => {
  for (const forMs of [null, 80_000]) {
    const folded = fold(3_000, 'job_1', { replaces: false });
    const events = [holder(1_000, 'job_1', forMs), changed(2_000, 'delete', 'job_1')];
    assert.match(judge(oneHolder, [...events, folded]), /was answered with job job_1, while no job held it/);
    assert.equal(judge(oneHolder, [...events, drop(3_000, 'job_2')], both(0, 9_000).slice(1)), '');
  }
});

test('a retried job holds its key again, unless another job holds it by then', () => {
  const ended = [drop(1_000, 'job_1'), changed(2_000, 'terminate', 'job_1')];
  const retry = changed(3_000, 'retry', 'job_1');
  assert.match(judge(oneHolder, [...ended, retry, drop(4_000, 'job_2')], both(9_000, 9_000)), heldByFirst);
  assert.equal(judge(oneHolder, [...ended, drop(2_500, 'job_2'), retry], both(9_000, 9_000)), '');
});

test('a claim that was released before its handler was entered does not make its job a started holder', () => {
  const released = (start: HistoryEvent[]): HistoryEvent[] => [
    ...[holder(0, 'job_1', null), claimed(1_000, 'job_1'), ...start],
    { ...settled(2_000, 'PENDING'), reason: 'released' } as HistoryEvent,
    holder(3_000, 'job_2', null),
  ];
  const began = {
    kind: 'began',
    at: 1_001,
    node: 'n',
    id: 'job_1',
    type: 'flaky',
    attempt: 1,
    fence: 1,
  } as const;
  assert.equal(judge(oneHolder, released([began]), both(8_000, 9_000)), '');
  assert.match(judge(oneHolder, released([]), both(8_000, 9_000)), heldByFirst);
});
