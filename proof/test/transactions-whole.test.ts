// What only real processes leave behind: transactions that ended with their process. Each bad history is found, and the good ones are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptRecord, JobRecord } from '../../packages/core/src/contract/engine.ts';
import { effectsOnce } from '../checker/effects-once.ts';
import { check } from '../checker/index.ts';
import { transactionsWhole } from '../checker/transactions-whole.ts';
import type { HistoryEvent, OwnRows, Transacted } from '../history.ts';

function transaction(...states: Transacted['state'][]): HistoryEvent[] {
  return states.map((state, at) => {
    const ids = state === 'created' ? ['job_1', 'job_2'] : [];
    return { kind: 'transacted', at, node: 'client', tx: 7, state, ids };
  });
}

function job(id: string, fields: Partial<JobRecord> = {}): JobRecord {
  return { id, type: 'quick', status: 'COMPLETED', attempts: [], ...fields } as unknown as JobRecord;
}

function breaks(events: HistoryEvent[], jobs: JobRecord[], own: OwnRows): string {
  const final = { at: 100, jobs, schedules: [], ledger: {}, audit: [], own };
  const evidence = { events, final, isComplete: false, isSettled: true };
  return check(evidence, [transactionsWhole, effectsOnce])
    .map(({ message }) => message)
    .join('\n');
}

const nothing: OwnRows = { marks: [], effects: [] };
const marked: OwnRows = { marks: [7], effects: [] };
const both = [job('job_1'), job('job_2')];

test('one that died before it called COMMIT leaves nothing', () => {
  const died = transaction('begun', 'created');
  assert.equal(breaks(died, [], nothing), '');
  assert.match(breaks(died, [job('job_1')], nothing), /never committed, and 1 of its 2 jobs appeared/);
  assert.match(breaks(died, [], marked), /never committed/);
});

test('one that died while it committed leaves all or nothing, its own row included', () => {
  const died = transaction('begun', 'created', 'committing');
  assert.equal(breaks(died, [], nothing), '');
  assert.equal(breaks(died, both, marked), '');
  assert.match(breaks(died, [job('job_2')], marked), /died with its process/);
  assert.match(breaks(died, both, nothing), /its own row is not there, and 2 of its 2 jobs are/);
  assert.match(breaks(died, [], marked), /its own row is there, and 0 of its 2 jobs are/);
});

test('one that was committed is there, and one that was rolled back never was', () => {
  assert.equal(breaks(transaction('begun', 'created', 'committing', 'committed'), both, marked), '');
  assert.match(
    breaks(transaction('begun', 'created', 'committing', 'committed'), [job('job_1')], marked),
    /only 1 of its 2 jobs are there/,
  );
  assert.equal(breaks(transaction('begun', 'created', 'rolledBack'), [], nothing), '');
  assert.match(
    breaks(transaction('begun', 'created', 'rolledBack'), both, nothing),
    /rolled back, and 2 of its 2/,
  );
  // It ran, and was removed afterwards: it appeared all the same.
  const claimed: HistoryEvent = {
    ...{ kind: 'claimed', at: 3, node: 'n', id: 'job_1', type: 'quick', version: 1, queue: 'default' },
    ...{ attempt: 1, fence: 1, dueAt: 0, untilAt: 9, together: 1 },
  };
  assert.match(
    breaks([...transaction('begun', 'created', 'rolledBack'), claimed], [], nothing),
    /1 of its 2 jobs/,
  );
});

test('an effect is there once, of the attempt that completed its job', () => {
  const attempts = [{ n: 1, fence: 3 } as AttemptRecord, { n: 2, fence: 5 } as AttemptRecord];
  const done = job('job_9', { type: 'charge', attempts });
  const effects = (...fences: number[]): OwnRows => ({
    marks: [],
    effects: fences.map((fence) => ({ job: 'job_9', fence })),
  });
  assert.equal(breaks([], [done], effects(5)), '');
  for (const wrong of [effects(), effects(3), effects(3, 5)]) {
    assert.match(breaks([], [done], wrong), /is COMPLETED \(last fence 5\)/);
  }
  const failed = job('job_9', { type: 'charge', status: 'FAILED', attempts });
  assert.equal(breaks([], [failed], effects()), '');
  assert.match(breaks([], [failed], effects(5)), /is FAILED/);
  assert.match(breaks([], [], effects(5)), /left its effect, and is not in the store/);
});
