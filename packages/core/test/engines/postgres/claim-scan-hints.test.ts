// Only in PostgreSQL do entries of jobs that are gone stay in the way of a claim, so this is not part of the shared suite.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { claimRequest, jobSpec, settlement } from '@duly/conformance/builders';
import type { ClaimedJob } from '../../../src/contract/engine.ts';
import { ClaimScanHints } from '../../../src/engines/postgres/claim-scan-hints.ts';
import { enqueue } from '../../../src/engines/postgres/verbs/enqueue.ts';
import { exchange } from '../../../src/engines/postgres/verbs/exchange.ts';
import { Work } from '../../../src/engines/postgres/work.ts';
import { createManualClock } from '../../../src/testing/manual-clock.ts';
import { ask, open } from './setup.ts';

const hourMs = 3_600_000;
const noonAt = Date.UTC(2027, 0, 15, 12);
const scanned = (tookMs: number) => ({ isFull: true, pages: tookMs * 100, isAllPromoted: true, lanes: [] });

describe('claim scan hints', () => {
  const tasks = [{ type: 'mail', version: 2, limit: 5 }];
  const lane = { type: 'mail', version: 2, queue: 'default' };
  const hintsOf = (sent: object) =>
    (sent as { scanHints?: { lanes: object[]; dueAt: number } }).scanHints ?? null;

  it('begin after a long scan, follow the live jobs, and end with the next full scan', async () => {
    const clock = createManualClock();
    const hints = new ClaimScanHints(clock);
    const claim = claimRequest({ tasks });
    hints.noteLane(lane);
    assert.equal(hintsOf(hints.sent(claim)), null, 'no scan was long yet');
    hints.update(claim, noonAt, {
      ...scanned(20),
      lanes: [{ ...lane, queue: 'slow', rank: noonAt - hourMs }],
    });
    assert.deepEqual(hintsOf(hints.sent(claim)), {
      lanes: [
        { ...lane, rank: noonAt - 1_000 },
        { ...lane, queue: 'slow', rank: noonAt - hourMs },
      ],
      dueAt: noonAt - 1_000,
    });
    hints.update(claim, noonAt + 5, { ...scanned(1), isFull: false, lanes: [{ ...lane, rank: noonAt + 2 }] });
    assert.deepEqual(hintsOf(hints.sent(claim))?.lanes, [
      { ...lane, rank: noonAt + 2 },
      { ...lane, queue: 'slow', rank: noonAt - 995 },
    ]);
    assert.equal(hintsOf(hints.sent(claim, { isFull: true })), null);
    assert.equal(hints.waitMs(), 80);
    await clock.advance(80);
    assert.equal(hints.waitMs(), 0);
    await clock.advance(121);
    assert.equal(hintsOf(hints.sent(claim)), null, 'ten times its cost has passed');
    hints.update(claim, noonAt + 201, null);
    await clock.advance(1);
    assert.equal(hintsOf(hints.sent(claim)), null, 'the scan was short');
    assert.equal(hints.waitMs(), 0);
  });

  it('are for the tasks of the claim, and where lanes are too many there are none', () => {
    const hints = new ClaimScanHints(createManualClock());
    const claim = claimRequest({ tasks });
    hints.noteLane({ ...lane, type: 'other' });
    hints.noteLane(lane);
    hints.update(claim, noonAt, scanned(20));
    assert.equal(hintsOf(hints.sent(claim))?.lanes.length, 1);
    for (let n = 0; n < 300; n++) hints.noteLane({ ...lane, queue: `q${n}` });
    assert.equal(hintsOf(hints.sent(claim)), null);
  });
});

describe('PostgreSQL, claims with scan hints', () => {
  const schema = `scan_hints_${process.pid}`;
  after(() => ask(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`));

  it('find jobs above them at once, and jobs below them in the next full scan', async () => {
    const opened = await open({ schema });
    const clock = createManualClock();
    const hints = new ClaimScanHints(clock);
    const work = new Work(opened.database, schema, () => {}, { scanHints: hints });
    try {
      const above = jobSpec({ due: { at: noonAt } });
      const below = jobSpec({ due: { at: noonAt }, rankOffsetMs: -hourMs });
      const later = jobSpec({ due: { at: noonAt + 50 } });
      for (const job of [above, below, later])
        await enqueue(work, { now: noonAt, groups: [{ jobs: [job] }] });
      const { type, version } = above;
      const claim = () => claimRequest({ tasks: [{ type, version, limit: 5 }], limit: 5 });
      hints.update(claim(), noonAt, scanned(100));
      const take = async (now: number) => {
        const { claimed, nextDueAt } = await exchange(work, { now, settle: [], claim: claim() });
        return [claimed.map(({ id }) => id), nextDueAt];
      };
      assert.deepEqual(await take(noonAt), [[above.id], noonAt + 50]);
      assert.deepEqual(await take(noonAt + 10), [[], noonAt + 50], 'it is not yet time for a full scan');
      await clock.advance(100);
      assert.deepEqual(await take(noonAt + 50), [[later.id], null]);
      assert.deepEqual(
        await take(noonAt + 60),
        [[], noonAt + 60 + 300],
        'asks again when a full scan is allowed',
      );
      await clock.advance(300);
      assert.deepEqual(await take(noonAt + 360), [[below.id], null]);
    } finally {
      await opened.close();
    }
  });

  it('whoever settles is answered by the instant of that, and asks again for what is below', async () => {
    const opened = await open({ schema });
    const clock = createManualClock();
    const hints = new ClaimScanHints(clock);
    const work = new Work(opened.database, schema, () => {}, { scanHints: hints });
    try {
      const first = jobSpec({ due: { at: noonAt } });
      const below = jobSpec({ due: { at: noonAt }, rankOffsetMs: -hourMs });
      const { type, version } = first;
      const claim = () => claimRequest({ tasks: [{ type, version, limit: 5 }], limit: 5 });
      await enqueue(work, { now: noonAt, groups: [{ jobs: [first] }] });
      const { claimed } = await exchange(work, { now: noonAt, settle: [], claim: claim() });
      assert.equal(claimed[0]?.id, first.id);
      await enqueue(work, { now: noonAt, groups: [{ jobs: [below] }] });
      hints.update(claim(), noonAt, scanned(100));
      await clock.advance(400);
      const done = settlement(claimed[0] as ClaimedJob, 'COMPLETED');
      const settled = await exchange(work, { now: noonAt + 400, settle: [done], claim: claim() });
      assert.deepEqual(
        [settled.settled, settled.now, settled.claimed, settled.nextDueAt],
        [['done'], noonAt + 400, [], noonAt + 401],
      );
      const asked = await exchange(work, { now: noonAt + 401, settle: [], claim: claim() });
      assert.deepEqual(
        asked.claimed.map(({ id }) => id),
        [below.id],
      );
    } finally {
      await opened.close();
    }
  });

  it('a plain job created above them runs with the commit that creates it', async () => {
    const opened = await open({ schema });
    const hints = new ClaimScanHints(createManualClock());
    const work = new Work(opened.database, schema, () => {}, { scanHints: hints });
    try {
      const job = jobSpec({ due: { at: noonAt } });
      const { type, version } = job;
      const claim = claimRequest({ tasks: [{ type, version, limit: 5 }], limit: 5 });
      hints.noteLane(job);
      hints.update(claim, noonAt, scanned(100));
      const { claimed } = await enqueue(work, { now: noonAt, groups: [{ jobs: [job] }], claim });
      assert.deepEqual(
        claimed.map(({ id }) => id),
        [job.id],
      );
    } finally {
      await opened.close();
    }
  });
});
