// Jobs that fall due while claims are paused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startsInTime } from '../checker/starts-in-time.ts';
import type { CreatedJob, HistoryEvent } from '../history.ts';
import { claimed, created, judge } from './judge.ts';

const free = { serial: null, slot: null, dueAt: 1_000, version: 1, queue: 'default' };
const node: HistoryEvent = {
  ...{ kind: 'node', at: -60_000, node: 'n', state: 'up', roles: ['worker'], concurrency: 2 },
};

const paused = (at: number, untilAt: number | null, target = 'queue:default'): HistoryEvent => ({
  ...{ kind: 'claimsPaused', at, node: 'n', target, state: 'paused', untilAt },
});
const resumed = (at: number): HistoryEvent => ({
  ...{ kind: 'claimsPaused', at, node: 'n', target: 'queue:default', state: 'resumed', untilAt: null },
});

const breaks = (claimedAt: number, ...pauses: HistoryEvent[]): string =>
  judge(startsInTime, [
    ...[node, created(1_000, 'job_1', free as Partial<CreatedJob>), ...pauses],
    claimed(claimedAt, 'job_1'),
  ]);

test('a job is ready from its due instant on, and in a pause from the end of that', () => {
  assert.equal(breaks(6_000), '');
  assert.match(breaks(6_001), /job_1 was ready at .*01\.000 and taken only at .*06\.001/);
  assert.equal(breaks(13_000, paused(500, 8_000)), '');
  assert.match(breaks(13_001, paused(500, 8_000)), /was ready at .*08\.000 and taken only at/);
  assert.match(breaks(13_001, paused(500, 8_000, 'type:other')), /was ready at .*01\.000/);
  assert.equal(breaks(13_000, paused(500, 8_000, 'type:work')), '');
});

test('a pause that is ended or replaced, and one that begins while the job may still wait, are accounted for', () => {
  assert.match(breaks(9_001, paused(500, null), resumed(4_000)), /was ready at .*04\.000/);
  assert.match(breaks(25_001, paused(500, 8_000), paused(7_000, 20_000)), /was ready at .*20\.000/);
  assert.equal(breaks(25_000, paused(500, 8_000), paused(12_000, 20_000)), '');
  assert.match(breaks(20_000, paused(500, 8_000), paused(13_001, 20_000)), /was ready at .*08\.000/);
});
