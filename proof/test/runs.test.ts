// What the model sees of the runs of a schedule, in histories by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, JobRecord } from '../../packages/core/src/contract/engine.ts';
import type { CreatedJob, Evidence, HistoryEvent } from '../history.ts';
import { Runs } from '../model/runs.ts';
import { changed, claimed } from './judge.ts';

const scheduleId = 'sch_1';
const job = {
  id: 'job_1',
  dueAt: 1_000,
  origin: 'trigger',
  slot: { scheduleId, slotAt: null, allow: false },
};
const created = {
  ...{ kind: 'applied', at: 1_000, node: 'n1', scheduleId, action: 'trigger', result: 'applied' },
  ...{ spec: '{}', slots: [], jobs: [job as unknown as CreatedJob], cancel: [], slotDetails: [] },
} as unknown as HistoryEvent;
const ended = (at: number, event: string, status: string): Change =>
  ({ position: at, at, id: 'job_1', event, status, percent: null }) as unknown as Change;
const expired = (at: number): Change => ended(at, 'expired', 'EXPIRED');

/** The status of `job_1` at each instant; null: it is not among the unfinished runs. */
function statuses(events: HistoryEvent[], final: Partial<Evidence['final']>, instants: number[]): unknown[] {
  const state = { at: 100_000, jobs: [], schedules: [], ledger: {}, audit: [], ...final };
  const runs = new Runs({ events, final: state, isComplete: true, isSettled: true });
  return instants.map((at) => {
    const index = events.findLastIndex((event) => event.at <= at);
    return runs.seenAt(scheduleId, { index, at }, true).active[0]?.status ?? null;
  });
}

test('a run whose start deadline passed is over, also if it is deleted later', () => {
  const events = [created, changed(8_000, 'delete', 'job_1')];
  assert.deepEqual(statuses(events, { feed: [expired(5_000)] }, [4_999, 5_000, 9_000]), [
    'PENDING',
    null,
    null,
  ]);
  assert.deepEqual(statuses(events, { feed: [] }, [4_999, 5_000, 9_000]), ['PENDING', 'PENDING', null]);
});

test('a run whose start deadline passed is over until it is brought back', () => {
  const events = [created, changed(8_000, 'retry', 'job_1', { status: 'PENDING' })];
  const feed = [expired(5_000), expired(20_000)];
  const seen = ['PENDING', null, null, 'PENDING', 'PENDING', null];
  assert.deepEqual(statuses(events, { feed }, [4_999, 5_000, 7_999, 8_000, 19_999, 20_000]), seen);
  assert.deepEqual(statuses(events, { feed: [expired(8_000)] }, [8_000, 9_000]), ['PENDING', 'PENDING']);
});

test('an attempt that fails after a cancel was asked for ends its run, whatever the worker reported', () => {
  const settled = (to: string) =>
    ({ kind: 'settled', at: 3_000, node: 'n1', id: 'job_1', fence: 1, to, result: 'done' }) as HistoryEvent;
  const cancelled = ended(3_000, 'cancelled', 'CANCELLED');
  const before = [created, claimed(2_000, 'job_1')];
  assert.deepEqual(statuses([...before, settled('RETRYING')], { feed: [cancelled] }, [2_999, 3_000]), [
    'RUNNING',
    null,
  ]);
  // An end that has an event is seen from that event on.
  const together = [...before, changed(3_000, 'cancel', 'job_1', { result: 'asked' }), settled('CANCELLED')];
  const runs = new Runs({
    ...{ events: together, isComplete: true, isSettled: true },
    final: { at: 100_000, jobs: [], schedules: [], ledger: {}, audit: [], feed: [cancelled] },
  });
  assert.equal(runs.seenAt(scheduleId, { index: 2, at: 3_000 }, true).active[0]?.status, 'RUNNING');
  assert.equal(runs.seenAt(scheduleId, { index: 3, at: 3_000 }, true).active.length, 0);
});

test('without a feed, the record of the job says when it ended', () => {
  const jobs = [{ id: 'job_1', status: 'EXPIRED', finishedAt: 5_000, slot: null, attempts: [] }];
  const final = { jobs: jobs as unknown as JobRecord[] };
  assert.deepEqual(statuses([created], final, [4_999, 5_000]), ['PENDING', null]);
});
