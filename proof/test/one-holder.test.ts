// Calls that fold into a follow-up behind a job that is deleted or brought back later.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobRecord } from '../../packages/core/src/engine.ts';
import { check } from '../checker/index.ts';
import { oneHolder } from '../checker/one-holder.ts';
import type { Changed, HistoryEvent, MadeJob } from '../history.ts';

const stamp = { node: 'n' };
const endsAt = 70_000;

function made(at: number, id: string, forMs: number | null): HistoryEvent {
  const dedupe = { key: 'k', forMs, mode: 'extend' };
  const job = { id, type: 'flaky', tenant: null, dedupe, child: null } as unknown as MadeJob;
  return { kind: 'made', at, ...stamp, jobs: [job] } as HistoryEvent;
}

function act(at: number, verb: Changed['verb'], id: string): Changed {
  const key = { type: 'flaky', tenant: null, key: 'k' };
  return { kind: 'changed', at, ...stamp, verb, id, result: 'changed', status: null, key };
}

/** What is said of a fold into `job_2`, which holds the key for 10 s and waits behind `job_1`. */
function breaks(foldAt: number, later: Changed['verb'] | null): string {
  const claimed: HistoryEvent = {
    ...{ kind: 'claimed', at: 1, ...stamp, id: 'job_1', type: 'flaky', version: 1, queue: 'default' },
    ...{ attempt: 1, fence: 1, dueAt: 0, untilAt: 90_000, together: 1 },
  };
  const settled = {
    ...{ kind: 'settled', at: endsAt, ...stamp, id: 'job_1', fence: 1, to: 'FAILED', result: 'done' },
  } as HistoryEvent;
  const fold = act(foldAt, 'fold', 'job_2');
  const events = [made(0, 'job_1', null), claimed, made(1_000, 'job_2', 10_000), fold, settled];
  if (later !== null) events.push(act(100_000, later, 'job_1'));
  events.sort((one, other) => one.at - other.at);
  const first = { id: 'job_1', status: 'FAILED', finishedAt: endsAt };
  const second = { id: 'job_2', status: 'COMPLETED', finishedAt: 95_000 };
  const jobs = (later === 'delete' ? [second] : [first, second]).map((job) => ({ ...job, attempts: [] }));
  const final = { at: 200_000, jobs: jobs as unknown as JobRecord[], schedules: [], ledger: {}, audit: [] };
  return check({ events, final, isComplete: true, isSettled: true }, [oneHolder])
    .map(({ message }) => message)
    .join('\n');
}

for (const later of [null, 'delete', 'replay'] as const) {
  const what = later === null ? 'is left alone' : `sees a ${later}`;
  test(`a follow-up takes calls until the job ahead ends, where that job ${what} later`, () => {
    assert.equal(breaks(endsAt - 1, later), '');
    assert.match(breaks(endsAt + 1, later), /was answered with job job_2, which held it/);
  });
}
