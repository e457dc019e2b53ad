// Only in PostgreSQL do entries of jobs that are gone stay in the way of a claim, so this is not part of the shared suite.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { ClaimedJob } from '../../../src/contract/engine.ts';
import { Floors } from '../../../src/engines/postgres/claim-scan-hints.ts';
import { enqueue } from '../../../src/engines/postgres/verbs/enqueue.ts';
import { exchange } from '../../../src/engines/postgres/verbs/exchange.ts';
import { Work } from '../../../src/engines/postgres/work.ts';
import { claimRequest, jobSpec, settlement } from '../../../src/testing/conformance/builders.ts';
import { createManualClock } from '../../../src/testing/manual-clock.ts';
import { ask, open } from './setup.ts';

const hourMs = 3_600_000;
const noonAt = Date.UTC(2027, 0, 15, 12);
const looked = (tookMs: number) => ({ isFull: true, pages: tookMs * 100, isAllPromoted: true, lanes: [] });

describe('floors', () => {
  const tasks = [{ type: 'mail', version: 2, limit: 5 }];
  const lane = { type: 'mail', version: 2, queue: 'default' };
  const floorsOf = (sent: object) => (sent as { floors?: { lanes: object[]; dueAt: number } }).floors ?? null;

  it('begin when a look was long, follow what lives, and end with the next look from the bottom', async () => {
    const clock = createManualClock();
    const floors = new Floors(clock);
    const claim = claimRequest({ tasks });
    floors.meet(lane);
    assert.equal(floorsOf(floors.sent(claim)), null, 'no look was long yet');
    floors.learn(claim, noonAt, {
      ...looked(20),
      lanes: [{ ...lane, queue: 'slow', rank: noonAt - hourMs }],
    });
    assert.deepEqual(floorsOf(floors.sent(claim)), {
      lanes: [
        { ...lane, rank: noonAt - 1_000 },
        { ...lane, queue: 'slow', rank: noonAt - hourMs },
      ],
      dueAt: noonAt - 1_000,
    });
    floors.learn(claim, noonAt + 5, { ...looked(1), isFull: false, lanes: [{ ...lane, rank: noonAt + 2 }] });
    assert.deepEqual(floorsOf(floors.sent(claim))?.lanes, [
      { ...lane, rank: noonAt + 2 },
      { ...lane, queue: 'slow', rank: noonAt - 995 },
    ]);
    assert.equal(floorsOf(floors.sent(claim, { isFull: true })), null);
    assert.equal(floors.waitMs(), 80);
    await clock.advance(80);
    assert.equal(floors.waitMs(), 0);
    await clock.advance(121);
    assert.equal(floorsOf(floors.sent(claim)), null, 'ten times what it cost is over');
    floors.learn(claim, noonAt + 201, null);
    await clock.advance(1);
    assert.equal(floorsOf(floors.sent(claim)), null, 'the look was short');
    assert.equal(floors.waitMs(), 0);
  });

  it('are for the tasks of the claim, and where lanes are too many there are none', () => {
    const floors = new Floors(createManualClock());
    const claim = claimRequest({ tasks });
    floors.meet({ ...lane, type: 'other' });
    floors.meet(lane);
    floors.learn(claim, noonAt, looked(20));
    assert.equal(floorsOf(floors.sent(claim))?.lanes.length, 1);
    for (let n = 0; n < 300; n++) floors.meet({ ...lane, queue: `q${n}` });
    assert.equal(floorsOf(floors.sent(claim)), null);
  });
});

describe('PostgreSQL, claims with floors', () => {
  const schema = `floors_${process.pid}`;
  after(() => ask(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`));

  it('take what is above them at once, and find what is below by the next look from the bottom', async () => {
    const opened = await open({ schema });
    const clock = createManualClock();
    const floors = new Floors(clock);
    const work = new Work(opened.database, schema, () => {}, { floors });
    try {
      const above = jobSpec({ due: { at: noonAt } });
      const below = jobSpec({ due: { at: noonAt }, rankOffsetMs: -hourMs });
      const later = jobSpec({ due: { at: noonAt + 50 } });
      for (const job of [above, below, later])
        await enqueue(work, { now: noonAt, groups: [{ jobs: [job] }] });
      const { type, version } = above;
      const claim = () => claimRequest({ tasks: [{ type, version, limit: 5 }], limit: 5 });
      floors.learn(claim(), noonAt, looked(100));
      const take = async (now: number) => {
        const { claimed, nextDueAt } = await exchange(work, { now, settle: [], claim: claim() });
        return [claimed.map(({ id }) => id), nextDueAt];
      };
      assert.deepEqual(await take(noonAt), [[above.id], noonAt + 50]);
      assert.deepEqual(await take(noonAt + 10), [[], noonAt + 50], 'it is not yet time to look below');
      await clock.advance(100);
      assert.deepEqual(await take(noonAt + 50), [[later.id], null]);
      assert.deepEqual(
        await take(noonAt + 60),
        [[], noonAt + 60 + 300],
        'asked again when it may look below',
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
    const floors = new Floors(clock);
    const work = new Work(opened.database, schema, () => {}, { floors });
    try {
      const first = jobSpec({ due: { at: noonAt } });
      const below = jobSpec({ due: { at: noonAt }, rankOffsetMs: -hourMs });
      const { type, version } = first;
      const claim = () => claimRequest({ tasks: [{ type, version, limit: 5 }], limit: 5 });
      await enqueue(work, { now: noonAt, groups: [{ jobs: [first] }] });
      const { claimed } = await exchange(work, { now: noonAt, settle: [], claim: claim() });
      assert.equal(claimed[0]?.id, first.id);
      await enqueue(work, { now: noonAt, groups: [{ jobs: [below] }] });
      floors.learn(claim(), noonAt, looked(100));
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

  it('a lone job that is made above them runs with the commit that makes it', async () => {
    const opened = await open({ schema });
    const floors = new Floors(createManualClock());
    const work = new Work(opened.database, schema, () => {}, { floors });
    try {
      const job = jobSpec({ due: { at: noonAt } });
      const { type, version } = job;
      const claim = claimRequest({ tasks: [{ type, version, limit: 5 }], limit: 5 });
      floors.meet(job);
      floors.learn(claim, noonAt, looked(100));
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
