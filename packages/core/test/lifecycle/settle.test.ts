import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { ClaimedJob } from '../../src/contract/engine.ts';
import type { Outcome } from '../../src/lifecycle/outcome.ts';
import type { BackoffFunction } from '../../src/lifecycle/retry.ts';
import { settlementOf } from '../../src/lifecycle/settle.ts';
import { claimedJob } from '../worker/claimed-job.ts';

const error = { name: 'Error', message: 'no' };

function settle(outcome: Outcome, job: ClaimedJob = claimedJob(), backoff: BackoffFunction | null = null) {
  return settlementOf({ job, outcome, report: null, random: seededRandom(1), backoff });
}

test('a handler that returned completes its job', () => {
  assert.partialDeepStrictEqual(settle({ kind: 'returned', result: '42' }), {
    to: 'COMPLETED',
    reason: 'returned',
    spends: true,
    result: '42',
  });
});

test('a failure waits longer each time and then is final', () => {
  const steps = [0, 1, 2].map((spent) => settle({ kind: 'threw', error }, claimedJob({ spent })));
  assert.deepEqual(
    steps.map(({ to, due, spends }) => ({ to, due, spends })),
    [
      { to: 'RETRYING', due: { inMs: 1_000 }, spends: true },
      { to: 'RETRYING', due: { inMs: 2_000 }, spends: true },
      { to: 'FAILED', due: null, spends: true },
    ],
  );
});

test("attempts are those the job has now, not the policy's: a retry by hand adds some", () => {
  assert.equal(settle({ kind: 'threw', error }, claimedJob({ spent: 3, maxAttempts: 6 })).to, 'RETRYING');
});

test("the task's own backoff function is asked with the number of failures and what was thrown", () => {
  const thrown = new Error('slow down');
  const asked: unknown[] = [];
  const job = claimedJob({ spent: 1, policy: { retry: { backoff: 'custom' } } });
  const settlement = settle({ kind: 'threw', error, thrown }, job, (failures, what) => {
    asked.push(failures, what);
    return '5m';
  });
  assert.deepEqual(settlement.due, { inMs: 300_000 });
  assert.deepEqual(asked, [2, thrown]);
});

test('who answered that it wants to be left alone is left alone for as long, and never for less than the policy says', () => {
  const after = (retryAfterMs: unknown) => {
    const thrown = new DulyError('unexpected_status', { message: 'no', details: { retryAfterMs } });
    return settle({ kind: 'threw', error, thrown }).due;
  };
  assert.deepEqual(after(60_000), { inMs: 60_000 });
  assert.deepEqual(after(0), { inMs: 1_000 });
  assert.deepEqual(after('soon'), { inMs: 1_000 });
});

test('a timeout is a failure, retried while attempts are left', () => {
  const outcome = { kind: 'timeout', error, stopped: false } as const;
  assert.partialDeepStrictEqual(settle(outcome), { to: 'RETRYING', reason: 'timeout', spends: true });
  assert.partialDeepStrictEqual(settle(outcome, claimedJob({ spent: 2 })), {
    to: 'FAILED',
    reason: 'timeout',
  });
});

test('retryIn sets the instant itself, and on the last attempt is FAILED', () => {
  const outcome = { kind: 'retry-asked', due: { at: 99_000 }, error } as const;
  assert.partialDeepStrictEqual(settle(outcome), {
    to: 'RETRYING',
    reason: 'retry-asked',
    due: { at: 99_000 },
    spends: true,
  });
  assert.partialDeepStrictEqual(settle(outcome, claimedJob({ spent: 2 })), {
    to: 'FAILED',
    due: null,
    error,
  });
});

test('snooze spends nothing, even on the last attempt', () => {
  const settlement = settle({ kind: 'snoozed', due: { inMs: 60_000 } }, claimedJob({ spent: 2 }));
  assert.partialDeepStrictEqual(settlement, { to: 'SCHEDULED', spends: false, due: { inMs: 60_000 } });
});

test('an input or a result that is refused is final at once', () => {
  assert.partialDeepStrictEqual(settle({ kind: 'input-refused', error }), {
    to: 'FAILED',
    reason: 'input-refused',
    due: null,
  });
  assert.partialDeepStrictEqual(settle({ kind: 'result-refused', error }), {
    to: 'FAILED',
    reason: 'result-refused',
    due: null,
  });
});

test('a release spends nothing and tells whether the handler was entered', () => {
  for (const started of [false, true]) {
    assert.partialDeepStrictEqual(settle({ kind: 'released', started, stopped: !started }), {
      to: 'PENDING',
      reason: 'released',
      spends: false,
      started,
      due: null,
    });
  }
});

test('an at-most-once job whose handler may still run is never started again', () => {
  const job = claimedJob({ policy: { delivery: 'at-most-once' } });
  const unknown: Outcome[] = [
    { kind: 'timeout', error, stopped: false },
    { kind: 'released', started: true, stopped: false },
    { kind: 'died', error },
  ];
  for (const outcome of unknown) assert.equal(settle(outcome, job).to, 'FAILED', outcome.kind);
  // Interrupted by the end of a drain: it has begun, and that is enough.
  assert.equal(settle({ kind: 'released', started: true, stopped: true }, job).to, 'FAILED');
  assert.equal(settle({ kind: 'released', started: false, stopped: true }, job).to, 'PENDING');
});

test('the last progress and log lines travel with every settlement', () => {
  const report = { progress: { percent: 55, message: null, step: null, of: null }, logs: [] };
  const settlement = settlementOf({
    job: claimedJob(),
    outcome: { kind: 'threw', error },
    report,
    random: seededRandom(1),
    backoff: null,
  });
  assert.equal(settlement.report, report);
});
