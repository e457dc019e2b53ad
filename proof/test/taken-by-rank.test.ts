// The order of jobs that one call gives, and of jobs that several calls give.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takenByRank } from '../checker/taken-by-rank.ts';
import type { Changed, CreatedJob, HistoryEvent } from '../history.ts';
import { changed, claimed, created, judge } from './judge.ts';

const due = (id: string, dueAt: number): HistoryEvent =>
  created(10, id, {
    dueAt,
    rankOffsetMs: 0,
    serial: null,
    startDeadlineMs: null,
    version: 1,
    queue: 'default',
  } as Partial<CreatedJob>);

const given = (at: number, id: string, dueAt: number, fence: number, together: number): HistoryEvent =>
  ({ ...claimed(at, id, fence), dueAt, together }) as HistoryEvent;

const node: HistoryEvent = { kind: 'node', at: 0, node: 'n', state: 'up' };

test('what one call gives is taken at once, and of two calls the first takes what ranks first', () => {
  const jobs = [node, due('job_1', 5), due('job_2', 1)];
  const first = [given(20, 'job_1', 5, 1, 2), given(20, 'job_2', 1, 2, 2)];
  assert.equal(judge(takenByRank, [...jobs, ...first]), '');
  const apart = [given(20, 'job_1', 5, 1, 1), given(20, 'job_2', 1, 2, 1)];
  assert.match(judge(takenByRank, [...jobs, ...apart]), /job_1 was given to n at .*, before job_2/);
  const later = [given(20, 'job_1', 5, 1, 1), given(30, 'job_2', 1, 2, 1)];
  assert.match(judge(takenByRank, [...jobs, ...later]), /job_1 was given to n at .*, before job_2/);
});

test('a job that a call replaced ranks as that call asked', () => {
  const replaced = (rankOffsetMs: number): HistoryEvent => {
    const folded = { call: 'job_9', replaces: true, wantedAt: 5, dueAt: 5, fields: { rankOffsetMs } };
    return changed(15, 'fold', 'job_1', { folded: folded as Changed['folded'] });
  };
  const jobs = [node, due('job_1', 5), due('job_2', 10)];
  const claims = [given(20, 'job_1', 5, 1, 1), given(21, 'job_2', 10, 2, 1)];
  assert.equal(judge(takenByRank, [...jobs, replaced(-1_000), ...claims]), '');
  assert.match(
    judge(takenByRank, [...jobs, replaced(1_000), ...claims]),
    /job_1 was given to n at .*, before job_2/,
  );
});
