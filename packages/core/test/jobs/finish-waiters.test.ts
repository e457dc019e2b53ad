import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobRecord } from '../../src/contract/engine.ts';
import { createFinishWaiters } from '../../src/jobs/finish-waiters.ts';

function setup() {
  const notes: string[] = [];
  const waiters = createFinishWaiters(() => notes.push('empty'));
  /** Adds a call whose end is noted. */
  function add(name: string, id: string, signal?: AbortSignal) {
    const resolve = (job: unknown) => notes.push(`${name} resolved ${(job as JobRecord | null)?.id ?? null}`);
    const reject = (error: unknown) => notes.push(`${name} rejected ${error}`);
    return waiters.add(id, { resolve, reject }, signal);
  }
  return { waiters, notes, add };
}

test('calls for one job are resolved together, and the last of all jobs empties the list first', () => {
  const { waiters, notes, add } = setup();
  add('one', 'job_1');
  add('two', 'job_1');
  add('other', 'job_2');
  assert.deepEqual([waiters.ids(), waiters.has('job_1')], [['job_1', 'job_2'], true]);
  waiters.resolve('job_1', { id: 'job_1' } as JobRecord);
  waiters.resolve('job_1', { id: 'job_1' } as JobRecord);
  assert.deepEqual([waiters.ids(), waiters.has('job_1')], [['job_2'], false]);
  waiters.resolve('job_2', null);
  assert.deepEqual(notes, ['one resolved job_1', 'two resolved job_1', 'empty', 'other resolved null']);
});

test('an aborted call is rejected alone, and its signal is not listened to any more after its end', () => {
  const { waiters, notes, add } = setup();
  const [first, second] = [new AbortController(), new AbortController()];
  add('one', 'job_1', first.signal);
  add('two', 'job_1', second.signal);
  first.abort('first');
  assert.deepEqual([notes, waiters.ids()], [['one rejected first'], ['job_1']]);
  waiters.resolve('job_1', null);
  second.abort('second');
  assert.deepEqual(notes, ['one rejected first', 'empty', 'two resolved null']);
});

test('a call whose signal is aborted already is rejected and not added', () => {
  const { waiters, notes, add } = setup();
  assert.equal(add('one', 'job_1', AbortSignal.abort('before')), null);
  assert.deepEqual([notes, waiters.ids()], [['one rejected before'], []]);
});

test('a call is rejected by the function that adding it returns, and all of them at once', () => {
  const { waiters, notes, add } = setup();
  const fail = add('one', 'job_1');
  add('two', 'job_1');
  add('three', 'job_2');
  fail?.('failed');
  assert.deepEqual(notes, ['one rejected failed']);
  waiters.rejectAll('closed');
  assert.deepEqual(notes.slice(1), ['two rejected closed', 'empty', 'three rejected closed']);
});
