// Attempts whose handler starts after an operator terminated and replayed the job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atMostOnce } from '../checker/at-most-once.ts';
import { check } from '../checker/index.ts';
import type { Changed, HistoryEvent, MadeJob } from '../history.ts';

const stamp = { node: 'n', id: 'job_1' };

function claimed(at: number, fence: number): HistoryEvent {
  return {
    ...{ kind: 'claimed', at, ...stamp, type: 'once', version: 1, queue: 'default' },
    ...{ attempt: fence, fence, dueAt: 0, untilAt: 90_000, together: 1 },
  };
}

const began = (at: number, fence: number): HistoryEvent => ({
  ...{ kind: 'began', at, ...stamp, type: 'once', attempt: fence, fence },
});

/** The problems of two starts, at 30 under fence 1 and at 50 under fence 2, with a replay at `replayedAt`. */
function problems(replayedAt: number | null): string {
  const job = { id: 'job_1', type: 'once', tenant: null, delivery: 'at-most-once' } as unknown as MadeJob;
  const made = { kind: 'made', at: 0, node: 'n', jobs: [job] } as unknown as HistoryEvent;
  const events = [made, claimed(10, 1), began(30, 1), claimed(40, 2), began(50, 2)];
  const replay = { kind: 'changed', ...stamp, verb: 'replay', result: 'changed', status: null } as const;
  if (replayedAt !== null) events.push({ ...replay, at: replayedAt } as Changed);
  events.sort((one, other) => one.at - other.at);
  const final = { at: 100, jobs: [], schedules: [], ledger: {}, audit: [] };
  return check({ events, final, isComplete: true, isSettled: true }, [atMostOnce])
    .map(({ message }) => message)
    .join('\n');
}

test('a replay after the claim allows a second start, even if the first handler starts later', () => {
  assert.equal(problems(20), '');
  assert.equal(problems(35), '');
});

test('a replay before the claim or after the second start does not allow it', () => {
  for (const at of [null, 5, 60]) assert.match(problems(at), /is at most once; it began/);
});
