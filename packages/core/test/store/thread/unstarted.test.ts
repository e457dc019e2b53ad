import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { claimRequest } from '@duly/conformance/builders';
import type { Engine } from '../../../src/contract/engine.ts';
import { createLeaseBoard, createSharedLeases, enterLease } from '../../../src/store/shared-leases.ts';
import { createUnstarted } from '../../../src/store/thread/unstarted.ts';
import { openTestStore, task } from '../../worker/setup.ts';

const leaseMs = 30_000;

async function setup(
  t: TestContext,
  wrap: (engine: Engine) => Pick<Engine, 'exchange'> = (engine) => engine,
) {
  const store = await openTestStore();
  t.after(() => store.close());
  const { clock, engine } = store;
  const work = task('work', () => null);
  const shared = createSharedLeases(leaseMs);
  const board = createLeaseBoard(shared);
  let turnElapsed: number | null = null;
  const taken: string[] = [];
  const unstarted = createUnstarted({
    engine: wrap(engine),
    clock,
    board,
    sinceTurnMs: () => (turnElapsed === null ? 0 : clock.elapsed() - turnElapsed),
    onTaken: (leases) => taken.push(...leases.map(({ id }) => id)),
    onReleased() {},
  });
  t.after(() => unstarted.close());
  await store.enqueueMany(work, 3);
  const claim = claimRequest({ tasks: [{ type: 'work', version: 1, limit: 3 }], limit: 3, leaseMs });
  const { claimed } = await engine.exchange({ settle: [], claim });
  for (const job of claimed) board.add(job, clock.elapsed());
  unstarted.watch();
  return {
    ...{ store, clock, claimed, taken },
    block: () => {
      turnElapsed = clock.elapsed();
    },
    turn: () => {
      turnElapsed = null;
    },
    enter: (fence: number) => enterLease(shared, { fence, takenElapsed: 0 }, clock.elapsed()),
    statuses: () => Promise.all(claimed.map(async ({ id }) => (await store.job(id)).status)),
  };
}

test('jobs that a silent main loop has not started are released after 5 s, without a spent attempt', async (t) => {
  const { store, clock, claimed, taken, block, enter, statuses } = await setup(t);
  assert.equal(enter(claimed[0]?.fence as number), 'held');
  block();
  await clock.advance(4_000);
  assert.deepEqual(await statuses(), ['RUNNING', 'RUNNING', 'RUNNING']);
  await clock.advance(2_000);
  assert.deepEqual(await statuses(), ['RUNNING', 'PENDING', 'PENDING']);
  const [, second, third] = claimed;
  assert.deepEqual(taken, [second?.id, third?.id]);
  const { attempt, spent, losses } = await store.job(second?.id as string);
  assert.deepEqual([attempt, spent, losses], [0, 0, 0]);
  assert.deepEqual([enter(second?.fence as number), enter(third?.fence as number)], ['released', 'released']);
  assert.equal(clock.pendingCount(), 0, 'nothing is left to be watched');
});

test('a main loop that turns keeps its jobs, however long they wait', async (t) => {
  const { clock, taken, statuses } = await setup(t);
  await clock.advance(60_000);
  assert.deepEqual(taken, []);
  assert.deepEqual(await statuses(), ['RUNNING', 'RUNNING', 'RUNNING']);
});

test('an answer of the main loop that waits while this thread stands still counts', async (t) => {
  const { clock, taken, block, turn, statuses } = await setup(t);
  block();
  // The thread was stuck in a call, and its timer comes before the message that waits for it.
  clock.jump(6_000);
  await clock.advance(0);
  turn();
  await clock.advance(10_000);
  assert.deepEqual(taken, []);
  assert.deepEqual(await statuses(), ['RUNNING', 'RUNNING', 'RUNNING']);
});

test('a store that is away is asked again', async (t) => {
  let isAway = true;
  const { clock, block, statuses } = await setup(t, (engine) => ({
    exchange: (input) => (isAway ? Promise.reject(new Error('away')) : engine.exchange(input)),
  }));
  block();
  await clock.advance(8_000);
  isAway = false;
  await clock.advance(2_000);
  assert.deepEqual(await statuses(), ['PENDING', 'PENDING', 'PENDING']);
  assert.equal(clock.pendingCount(), 0);
});
