import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimedJob } from '../../src/contract/engine.ts';
import { lossSettlement } from '../../src/lifecycle/loss.ts';
import { claimedJob } from '../worker/claimed-job.ts';

const atMostOnce = { delivery: 'at-most-once' } as const;

test('a lost lease spends no attempt, counts as a loss, and the job is due at once', () => {
  const settlement = lossSettlement(claimedJob());
  assert.partialDeepStrictEqual(settlement, {
    id: 'job_1',
    fence: 7,
    to: 'RETRYING',
    reason: 'lost',
    spends: false,
    loss: 'unproven',
    due: { inMs: 0 },
    error: null,
  });
});

test('a poison job ends FAILED at its third loss after a written beginning', () => {
  const history: string[] = [];
  let job: ClaimedJob = claimedJob();
  // Its first process dies before anything is known; from then on its beginning is written.
  for (let losses = 0; history.at(-1) !== 'FAILED' && losses < 20; losses++) {
    const settlement = lossSettlement({ ...job, begun: losses > 0 });
    history.push(settlement.to);
    job = claimedJob({
      losses: job.losses + 1,
      begunLosses: job.begunLosses + (settlement.loss === 'begun' ? 1 : 0),
    });
  }
  assert.deepEqual(history, ['RETRYING', 'RETRYING', 'RETRYING', 'FAILED']);
});

test('the poison job says why it was ended', () => {
  const settlement = lossSettlement(claimedJob({ losses: 3, begunLosses: 2, begun: true }));
  assert.equal(settlement.reason, 'lost');
  assert.equal(settlement.error?.code, 'lost');
  assert.match(settlement.error?.message ?? '', /job_1.*loss number 3/);
});

test('losses before a written beginning never end a job: nobody can say that it was to blame', () => {
  const settlement = lossSettlement(claimedJob({ losses: 50, begunLosses: 2, begun: false }));
  assert.equal(settlement.to, 'RETRYING');
});

test('an at-most-once job lost before its beginning was written goes back as if it had never been taken', () => {
  assert.partialDeepStrictEqual(lossSettlement(claimedJob({ policy: atMostOnce })), {
    to: 'PENDING',
    reason: 'released',
    started: false,
    spends: false,
    loss: 'none',
  });
});

test('an at-most-once job lost after its beginning is FAILED at once', () => {
  const settlement = lossSettlement(claimedJob({ policy: atMostOnce, begun: true }));
  assert.partialDeepStrictEqual(settlement, { to: 'FAILED', reason: 'lost', loss: 'begun' });
  assert.equal(settlement.error?.code, 'lost');
});

test('a lost job that was asked to cancel is CANCELLED, whatever else holds', () => {
  for (const delivery of ['at-least-once', 'at-most-once'] as const) {
    for (const begun of [false, true]) {
      const job = claimedJob({ policy: { delivery }, begun, begunLosses: 2, cancelRequestedAt: 3_000 });
      assert.equal(lossSettlement(job).to, 'CANCELLED');
    }
  }
});

test('a lost job is claimed alone, and after two losses with a written beginning it runs alone', () => {
  const soloAfter = (fields: Parameters<typeof claimedJob>[0]) => lossSettlement(claimedJob(fields)).solo;
  assert.equal(soloAfter({ begun: false }), 1);
  assert.equal(soloAfter({ begun: true }), 1);
  assert.equal(soloAfter({ losses: 1, begunLosses: 1, begun: true }), 2);
  assert.equal(soloAfter({ losses: 2, begunLosses: 2, begun: false }), 2);
  // A release of an at-most-once job that never began is no loss.
  assert.equal(soloAfter({ policy: atMostOnce }), undefined);
});
