// What the model sees of the runs of a schedule, in histories by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, JobRecord } from '../../packages/core/src/contract/engine.ts';
import type { Evidence, HistoryEvent, MadeJob } from '../history.ts';
import { Runs } from '../model/runs.ts';
import { changed } from './judge.ts';

const scheduleId = 'sch_1';
const job = {
  id: 'job_1',
  dueAt: 1_000,
  origin: 'trigger',
  slot: { scheduleId, slotAt: null, allow: false },
};
const created = {
  ...{ kind: 'applied', at: 1_000, node: 'n1', scheduleId, action: 'trigger', result: 'applied' },
  ...{ spec: '{}', slots: [], jobs: [job as unknown as MadeJob], cancel: [], tell: [] },
} as unknown as HistoryEvent;
const expired = (at: number): Change =>
  ({
    position: at,
    at,
    id: 'job_1',
    event: 'expired',
    status: 'EXPIRED',
    percent: null,
  }) as unknown as Change;

/** The status of `job_1` at each instant; null: it is not among the unfinished runs. */
function statuses(events: HistoryEvent[], final: Partial<Evidence['final']>, instants: number[]): unknown[] {
  const state = { at: 100_000, jobs: [], schedules: [], ledger: {}, audit: [], ...final };
  const runs = new Runs({ events, final: state, isComplete: true, isSettled: true });
  return instants.map((at) => {
    const index = events.findLastIndex((event) => event.at <= at);
    return runs.seenAt(scheduleId, index, at, true).active[0]?.status ?? null;
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
  const events = [created, changed(8_000, 'replay', 'job_1', { status: 'PENDING' })];
  const feed = [expired(5_000), expired(20_000)];
  const seen = ['PENDING', null, null, 'PENDING', 'PENDING', null];
  assert.deepEqual(statuses(events, { feed }, [4_999, 5_000, 7_999, 8_000, 19_999, 20_000]), seen);
  assert.deepEqual(statuses(events, { feed: [expired(8_000)] }, [8_000, 9_000]), ['PENDING', 'PENDING']);
});

test('without a feed, the record of the job says when it ended', () => {
  const jobs = [{ id: 'job_1', status: 'EXPIRED', finishedAt: 5_000, slot: null, attempts: [] }];
  const final = { jobs: jobs as unknown as JobRecord[] };
  assert.deepEqual(statuses([created], final, [4_999, 5_000]), ['PENDING', null]);
});
