import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimRequest, dedupe, jobSpec } from '@duly/conformance/builders';
import { dulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { ClaimedJob, ClaimRequest, Engine, EnqueueInput } from '../../src/contract/engine.ts';
import { createFinishWatch } from '../../src/jobs/wait.ts';
import { createDoor } from '../../src/store/instrumented-engine.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createParts } from '../../src/store/session.ts';
import { createManualClock } from '../../src/testing/index.ts';

/** The parts over a store in memory, whose calls can be made to fail. */
async function setup(t: { after(fn: () => Promise<void>): void }, faults: Partial<Engine>) {
  const inner = await openEngine('sqlite::memory:');
  t.after(() => inner.close());
  const clock = createManualClock();
  const engine = { ...inner, ...faults } as Engine;
  const door = createDoor({ engine, clock, rules: true, onCall() {} });
  return { inner, clock, parts: createParts(door, { clock, random: seededRandom(1) }) };
}

const away = () => dulyError('store_unavailable', { message: 'The reply was lost.' });

test('after a lost reply the call is repeated as such: no second job, and the same leases', async (t) => {
  const inputs: EnqueueInput[] = [];
  const { parts, inner, clock } = await setup(t, {
    async enqueue(input) {
      inputs.push(input);
      const reply = await inner.enqueue(input);
      // It took effect, and nobody heard.
      if (inputs.length === 1) throw away();
      return reply;
    },
  });
  const accepted: ClaimedJob[][] = [];
  let offers = 0;
  parts.taker = {
    offer: (): ClaimRequest =>
      claimRequest({ token: `offer ${++offers}`, tasks: [{ type: 'work', version: 1, limit: 5 }] }),
    accept: (_, claimed) => void accepted.push(claimed as ClaimedJob[]),
  };
  const spec = jobSpec({ type: 'work', due: { inMs: 0 } });
  const answer = parts.enqueue.push([spec]);
  await clock.advance(1_000);
  const reply = await answer;
  assert.ok(reply.ok && reply.items[0]?.id === spec.id);
  assert.deepEqual(
    inputs.map(({ repeat, claim }) => [repeat ?? false, claim?.token]),
    [
      [false, 'offer 1'],
      [true, 'offer 1'],
    ],
  );
  // Each offer is answered, so that the worker's places are never forgotten.
  assert.equal(offers, 2);
  assert.deepEqual(
    accepted.map((claimed) => claimed.map(({ id, attempt }) => [id, attempt])),
    [[], [[spec.id, 1]]],
  );
  const { jobs } = await inner.list({ filter: {}, cursor: null, limit: 10 });
  assert.equal(jobs.length, 1);
});

test('after a lost reply the leases come back, also when the worker has no place by then', async (t) => {
  let calls = 0;
  const { parts, inner, clock } = await setup(t, {
    async enqueue(input) {
      const reply = await inner.enqueue(input);
      if (++calls === 1) throw away();
      return reply;
    },
  });
  const accepted: [limit: number, ids: string[]][] = [];
  let offers: (ClaimRequest | null)[] = [
    claimRequest({ token: 'only', limit: 5, tasks: [{ type: 'work', version: 1, limit: 5 }] }),
  ];
  parts.taker = {
    offer: () => offers.shift() ?? null,
    accept: ({ limit }, claimed) =>
      void accepted.push([limit, (claimed as ClaimedJob[]).map(({ id }) => id)]),
  };
  const spec = jobSpec({ type: 'work', due: { inMs: 0 } });
  const answer = parts.enqueue.push([spec]);
  // It stops meanwhile: the one who asked is given its leases all the same, and gives them back.
  await clock.advance(0);
  offers = [];
  parts.taker = null;
  await clock.advance(1_000);
  assert.ok((await answer).ok);
  // The place was given up with the failure; the second answer takes none.
  assert.deepEqual(accepted, [
    [5, []],
    [0, [spec.id]],
  ]);
});

test('the worker asks for the leases of a call that is not repeated any more', async (t) => {
  let calls = 0;
  const { parts, inner, clock } = await setup(t, {
    async enqueue(input) {
      // The last send takes effect; no reply arrives.
      if (++calls === 7) await inner.enqueue(input);
      throw away();
    },
  });
  const offer = claimRequest({ limit: 5, tasks: [{ type: 'work', version: 1, limit: 5 }] });
  const accepted: [token: string, limit: number, claimed: unknown][] = [];
  const offers: (ClaimRequest | null)[] = [offer];
  parts.taker = {
    offer: () => offers.shift() ?? null,
    accept: ({ token, limit }, claimed) => void accepted.push([token, limit, claimed]),
  };
  const spec = jobSpec({ type: 'work', due: { inMs: 0 } });
  const refused = assert.rejects(parts.enqueue.push([spec]), { code: 'store_unavailable' });
  await clock.advance(10_000);
  await refused;
  assert.deepEqual(accepted, [
    [offer.token, 5, []],
    [offer.token, 0, 'unknown'],
  ]);
  const { claimed } = await inner.exchange({ settle: [], claim: { ...offer, limit: 0 }, repeat: true });
  assert.deepEqual(
    claimed.map(({ id, attempt }) => [id, attempt]),
    [[spec.id, 1]],
  );
});

test('a call that was sent alone for a held key is repeated after a lost reply', async (t) => {
  const sends: boolean[] = [];
  const { parts, inner, clock } = await setup(t, {
    async enqueue(input) {
      sends.push(input.repeat ?? false);
      if (sends.length === 1) throw dulyError('store_busy', { message: 'The key is held.' });
      const reply = await inner.enqueue(input);
      if (sends.length === 2) throw away();
      return reply;
    },
  });
  const spec = jobSpec({ due: { inMs: 0 }, dedupe: dedupe('k') });
  const answer = parts.enqueue.push([spec]);
  await clock.advance(1_000);
  const reply = await answer;
  assert.ok(reply.ok && reply.items[0]?.id === spec.id);
  assert.deepEqual(sends, [false, false, true]);
});

test('nothing is offered for jobs that are not due yet', async (t) => {
  const { parts } = await setup(t, {});
  parts.taker = { offer: () => assert.fail('must not be asked'), accept() {} };
  const reply = await parts.enqueue.push([jobSpec({ due: { inMs: 60_000 } })]);
  assert.ok(reply.ok);
});

test('a refused group fails alone', async (t) => {
  const { parts } = await setup(t, {});
  const good = jobSpec({ due: { inMs: 0 } });
  const [first, second] = await Promise.all([
    parts.enqueue.push([good]),
    parts.enqueue.push([jobSpec({ due: { inMs: 0 } }), jobSpec({ due: { inMs: 0 } })]),
  ]);
  assert.ok(first.ok && second.ok);
  assert.equal(second.items.length, 2);
});

test('a wait survives a store that is away for a moment', async (t) => {
  let failures = 3;
  const { parts, inner, clock } = await setup(t, {
    changes(input) {
      if (input.after !== null && failures-- > 0) return Promise.reject(away());
      return inner.changes(input);
    },
  });
  const watch = createFinishWatch(parts, clock);
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await parts.enqueue.push([spec]);
  const waiting = watch.wait(spec.id);
  await clock.advance(2_000);
  await parts.cancel.push({ actor: 'test', note: null, targets: [{ id: spec.id }], mode: 'ask' });
  await clock.advance(2_000);
  assert.equal((await waiting)?.status, 'CANCELLED');
  assert.ok(failures < 0);
  assert.equal(clock.pendingCount(), 0, 'nothing is asked while nobody waits');
});

test('a wait ends when the store is closed for good', async (t) => {
  const { parts, clock } = await setup(t, {
    changes: async ({ after }) => {
      if (after === null) return { now: 0, changes: [], position: 0, gap: false };
      throw dulyError('store_closed', { message: 'The store was closed.' });
    },
  });
  const watch = createFinishWatch(parts, clock);
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await parts.enqueue.push([spec]);
  const waiting = assert.rejects(watch.wait(spec.id), { code: 'store_closed' });
  await clock.advance(1_000);
  await waiting;
});

test('a job that does not exist is told at once, and one that is over needs no feed', async (t) => {
  const { parts, clock } = await setup(t, {});
  const watch = createFinishWatch(parts, clock);
  assert.equal(await watch.wait('job_nope'), null);
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await parts.enqueue.push([spec]);
  await parts.cancel.push({ actor: 'test', note: null, targets: [{ id: spec.id }], mode: 'ask' });
  assert.equal((await watch.wait(spec.id))?.status, 'CANCELLED');
  await clock.settle();
  assert.equal(clock.pendingCount(), 0);
});
