import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimRequest, dedupe, jobSpec } from '@duly/conformance/builders';
import { dulyError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { ClaimedJob, ClaimRequest, Engine, EnqueueInput } from '../../src/contract/engine.ts';
import { createFinishWatch } from '../../src/jobs/wait.ts';
import { createInstrumentedEngine } from '../../src/store/instrumented-engine.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createStoreSession } from '../../src/store/session.ts';
import { createManualClock } from '../../src/testing/index.ts';

/** The session over a store in memory, whose calls can be made to fail. */
async function setup(t: { after(fn: () => Promise<void>): void }, faults: Partial<Engine>) {
  const inner = await openEngine('sqlite::memory:');
  t.after(() => inner.close());
  const clock = createManualClock();
  const engine = { ...inner, ...faults } as Engine;
  const instrumented = createInstrumentedEngine({ engine, clock, rules: true, onCall() {} });
  return { inner, clock, session: createStoreSession(instrumented, { clock, random: seededRandom(1) }) };
}

const away = () => dulyError('store_unavailable', { message: 'The reply was lost.' });

test('after a lost reply the call is repeated as such: no second job, and the same leases', async (t) => {
  const inputs: EnqueueInput[] = [];
  const { session, inner, clock } = await setup(t, {
    async enqueue(input) {
      inputs.push(input);
      const reply = await inner.enqueue(input);
      // It took effect, and nobody heard.
      if (inputs.length === 1) throw away();
      return reply;
    },
  });
  const received: ClaimedJob[][] = [];
  let requests = 0;
  session.claimSource = {
    request: (): ClaimRequest =>
      claimRequest({ token: `request ${++requests}`, tasks: [{ type: 'work', version: 1, limit: 5 }] }),
    receive: (_, claimed) => void received.push(claimed as ClaimedJob[]),
  };
  const spec = jobSpec({ type: 'work', due: { inMs: 0 } });
  const answer = session.enqueue.push([spec]);
  await clock.advance(1_000);
  const reply = await answer;
  assert.ok(reply.ok && reply.items[0]?.id === spec.id);
  assert.deepEqual(
    inputs.map(({ repeat, claim }) => [repeat ?? false, claim?.token]),
    [
      [false, 'request 1'],
      [true, 'request 1'],
    ],
  );
  // Each request is answered, so that the worker's places are never forgotten.
  assert.equal(requests, 2);
  assert.deepEqual(
    received.map((claimed) => claimed.map(({ id, attempt }) => [id, attempt])),
    [[], [[spec.id, 1]]],
  );
  const { jobs } = await inner.list({ filter: {}, cursor: null, limit: 10 });
  assert.equal(jobs.length, 1);
});

test('after a lost reply the leases come back, also when the worker has no place by then', async (t) => {
  let calls = 0;
  const { session, inner, clock } = await setup(t, {
    async enqueue(input) {
      const reply = await inner.enqueue(input);
      if (++calls === 1) throw away();
      return reply;
    },
  });
  const received: [limit: number, ids: string[]][] = [];
  let requests: (ClaimRequest | null)[] = [
    claimRequest({ token: 'only', limit: 5, tasks: [{ type: 'work', version: 1, limit: 5 }] }),
  ];
  session.claimSource = {
    request: () => requests.shift() ?? null,
    receive: ({ limit }, claimed) =>
      void received.push([limit, (claimed as ClaimedJob[]).map(({ id }) => id)]),
  };
  const spec = jobSpec({ type: 'work', due: { inMs: 0 } });
  const answer = session.enqueue.push([spec]);
  // It stops meanwhile: the one who asked is given its leases all the same, and gives them back.
  await clock.advance(0);
  requests = [];
  session.claimSource = null;
  await clock.advance(1_000);
  assert.ok((await answer).ok);
  // The place was given up with the failure; the second answer takes none.
  assert.deepEqual(received, [
    [5, []],
    [0, [spec.id]],
  ]);
});

test('the worker asks for the leases of a call that is not repeated any more', async (t) => {
  let calls = 0;
  const { session, inner, clock } = await setup(t, {
    async enqueue(input) {
      // The last send takes effect; no reply arrives.
      if (++calls === 7) await inner.enqueue(input);
      throw away();
    },
  });
  const request = claimRequest({ limit: 5, tasks: [{ type: 'work', version: 1, limit: 5 }] });
  const received: [token: string, limit: number, claimed: unknown][] = [];
  const requests: (ClaimRequest | null)[] = [request];
  session.claimSource = {
    request: () => requests.shift() ?? null,
    receive: ({ token, limit }, claimed) => void received.push([token, limit, claimed]),
  };
  const spec = jobSpec({ type: 'work', due: { inMs: 0 } });
  const refused = assert.rejects(session.enqueue.push([spec]), { code: 'store_unavailable' });
  await clock.advance(10_000);
  await refused;
  assert.deepEqual(received, [
    [request.token, 5, []],
    [request.token, 0, 'unknown'],
  ]);
  const { claimed } = await inner.exchange({ settle: [], claim: { ...request, limit: 0 }, repeat: true });
  assert.deepEqual(
    claimed.map(({ id, attempt }) => [id, attempt]),
    [[spec.id, 1]],
  );
});

test('a call that was sent alone for a held key is repeated after a lost reply', async (t) => {
  const sends: boolean[] = [];
  const { session, inner, clock } = await setup(t, {
    async enqueue(input) {
      sends.push(input.repeat ?? false);
      if (sends.length === 1) throw dulyError('store_busy', { message: 'The key is held.' });
      const reply = await inner.enqueue(input);
      if (sends.length === 2) throw away();
      return reply;
    },
  });
  const spec = jobSpec({ due: { inMs: 0 }, dedupe: dedupe('k') });
  const answer = session.enqueue.push([spec]);
  await clock.advance(1_000);
  const reply = await answer;
  assert.ok(reply.ok && reply.items[0]?.id === spec.id);
  assert.deepEqual(sends, [false, false, true]);
});

test('nothing is requested for jobs that are not due yet', async (t) => {
  const { session } = await setup(t, {});
  session.claimSource = { request: () => assert.fail('must not be asked'), receive() {} };
  const reply = await session.enqueue.push([jobSpec({ due: { inMs: 60_000 } })]);
  assert.ok(reply.ok);
});

test('a refused group fails alone', async (t) => {
  const { session } = await setup(t, {});
  const good = jobSpec({ due: { inMs: 0 } });
  const [first, second] = await Promise.all([
    session.enqueue.push([good]),
    session.enqueue.push([jobSpec({ due: { inMs: 0 } }), jobSpec({ due: { inMs: 0 } })]),
  ]);
  assert.ok(first.ok && second.ok);
  assert.equal(second.items.length, 2);
});

test('a wait survives a store that is away for a moment', async (t) => {
  let failures = 3;
  const { session, inner, clock } = await setup(t, {
    changes(input) {
      if (input.after !== null && failures-- > 0) return Promise.reject(away());
      return inner.changes(input);
    },
  });
  const watch = createFinishWatch(session, clock);
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await session.enqueue.push([spec]);
  const waiting = watch.wait(spec.id);
  await clock.advance(2_000);
  await session.cancel.push({ actor: 'test', note: null, targets: [{ id: spec.id }], mode: 'ask' });
  await clock.advance(2_000);
  assert.equal((await waiting)?.status, 'CANCELLED');
  assert.ok(failures < 0);
  assert.equal(clock.pendingCount(), 0, 'nothing is asked while nobody waits');
});

test('a wait ends when the store is closed for good', async (t) => {
  const { session, clock } = await setup(t, {
    changes: async ({ after }) => {
      if (after === null) return { now: 0, changes: [], position: 0, gap: false };
      throw dulyError('store_closed', { message: 'The store was closed.' });
    },
  });
  const watch = createFinishWatch(session, clock);
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await session.enqueue.push([spec]);
  const waiting = assert.rejects(watch.wait(spec.id), { code: 'store_closed' });
  await clock.advance(1_000);
  await waiting;
});

test('a job that does not exist is told at once, and one that is over needs no feed', async (t) => {
  const { session, clock } = await setup(t, {});
  const watch = createFinishWatch(session, clock);
  assert.equal(await watch.wait('job_nope'), null);
  const spec = jobSpec({ due: { inMs: 60_000 } });
  await session.enqueue.push([spec]);
  await session.cancel.push({ actor: 'test', note: null, targets: [{ id: spec.id }], mode: 'ask' });
  assert.equal((await watch.wait(spec.id))?.status, 'CANCELLED');
  await clock.settle();
  assert.equal(clock.pendingCount(), 0);
});
