// Which ended leases a node takes over after an outage, and when.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import { createContact, graceMsOf } from '../../src/maintenance/contact.ts';
import { createReapPass } from '../../src/maintenance/reap.ts';
import { openTestStore, type TestStore, task } from '../worker/setup.ts';

const leaseMs = 30_000;
const work = task('work', () => null);

/** A reaper on virtual time whose calls fail while `away`, and a job that a dead node holds. */
async function setup(t: TestContext, { isAlone }: { isAlone: boolean }) {
  const store = await openTestStore();
  t.after(() => store.close());
  const { clock } = store;
  const reaped: string[] = [];
  const outage = { isAway: false };
  const pass = createReapPass({
    engine: {
      ...store.engine,
      reap: async (input) => {
        if (outage.isAway) throw dulyError('store_unavailable', { message: 'away' });
        return store.engine.reap(input);
      },
    },
    node: 'reaper',
    leaseMs,
    contact: createContact({ clock, leaseMs, isAlone }),
    onReaped: ({ job }) => reaped.push(job.id),
  });
  return { store, reaped, outage, pass };
}

async function claim(store: TestStore): Promise<string> {
  const id = await store.enqueue(work);
  const tasks = [{ type: 'work', version: 1, limit: 1 }];
  const rest = { node: 'other', queues: null, limit: 1, leaseMs, idle: true };
  await store.engine.exchange({ settle: [], claim: { token: id, tasks, ...rest } });
  return id;
}

/** Passes as the loop would, for this long; a failed pass comes again after a second. */
async function passFor(store: TestStore, pass: () => Promise<number>, forMs: number): Promise<void> {
  const end = store.clock.elapsed() + forMs;
  while (store.clock.elapsed() < end) {
    const waitMs = await pass().catch(() => 1_000);
    await store.clock.advance(Math.min(Math.max(1, waitMs), end - store.clock.elapsed()));
  }
}

test('a lease that ends while the store answers is taken over at once', async (t) => {
  const { store, reaped, pass } = await setup(t, { isAlone: true });
  const id = await claim(store);
  await passFor(store, pass, leaseMs - 1);
  assert.deepEqual(reaped, []);
  await passFor(store, pass, 10);
  assert.deepEqual(reaped, [id]);
});

test('after an outage ended leases are left alone for ten seconds, and then taken over', async (t) => {
  const { store, reaped, outage, pass } = await setup(t, { isAlone: true });
  const id = await claim(store);
  await passFor(store, pass, 10_000);
  outage.isAway = true;
  await passFor(store, pass, 60_000);
  outage.isAway = false;
  await passFor(store, pass, graceMsOf(leaseMs) - 1);
  assert.deepEqual(reaped, []);
  await passFor(store, pass, 10);
  assert.deepEqual(reaped, [id]);
});

test('an outcome that arrives within that time counts', async (t) => {
  const { store, reaped, outage, pass } = await setup(t, { isAlone: true });
  const id = await claim(store);
  await passFor(store, pass, 10_000);
  outage.isAway = true;
  await passFor(store, pass, 60_000);
  outage.isAway = false;
  await passFor(store, pass, 5_000);
  const { fence } = await store.job(id);
  const outcome = { to: 'COMPLETED', reason: 'returned', spends: true, started: true, loss: 'none' } as const;
  const rest = { due: null, result: null, error: null, report: null };
  await store.engine.exchange({ settle: [{ id, fence, ...outcome, ...rest }], claim: null });
  await passFor(store, pass, 60_000);
  assert.deepEqual(reaped, []);
  assert.equal((await store.job(id)).status, 'COMPLETED');
});

test('a lease that had ended before the outage began is not held back by it', async (t) => {
  const { store, reaped, outage, pass } = await setup(t, { isAlone: true });
  const id = await claim(store);
  await store.clock.advance(leaseMs - 1_000);
  await pass();
  await store.clock.advance(1_001);
  // The first look finds it, the second one would take it over.
  await pass();
  outage.isAway = true;
  await passFor(store, pass, 60_000);
  outage.isAway = false;
  await pass();
  assert.deepEqual(reaped, [id]);
});

test('a failure within that time starts it again', async (t) => {
  const { store, reaped, outage, pass } = await setup(t, { isAlone: false });
  await claim(store);
  await store.clock.advance(leaseMs);
  await passFor(store, pass, 9_000);
  outage.isAway = true;
  await passFor(store, pass, 1_000);
  outage.isAway = false;
  await passFor(store, pass, 9_999);
  assert.deepEqual(reaped, []);
  await passFor(store, pass, 10);
  assert.equal(reaped.length, 1);
});

test('a new node waits as after an outage where others are listed, and not where it is alone', async (t) => {
  const alone = await setup(t, { isAlone: true });
  await claim(alone.store);
  await alone.store.clock.advance(leaseMs);
  await alone.pass();
  assert.equal(alone.reaped.length, 1);

  const joined = await setup(t, { isAlone: false });
  await claim(joined.store);
  await joined.store.clock.advance(leaseMs);
  await passFor(joined.store, joined.pass, 9_999);
  assert.deepEqual(joined.reaped, []);
  await passFor(joined.store, joined.pass, 10);
  assert.equal(joined.reaped.length, 1);
});

test('a node that was alone at its start waits after an outage that began with its first call', async (t) => {
  const { store, reaped, outage, pass } = await setup(t, { isAlone: true });
  const id = await claim(store);
  outage.isAway = true;
  await assert.rejects(pass());
  await store.clock.advance(leaseMs + 1);
  outage.isAway = false;
  await pass();
  assert.deepEqual(reaped, []);
  await store.clock.advance(graceMsOf(leaseMs));
  await pass();
  await pass();
  assert.deepEqual(reaped, [id]);
});

test('a node that stood still, as in a machine that slept, waits as after an outage', async (t) => {
  const { store, reaped, pass } = await setup(t, { isAlone: true });
  await claim(store);
  await passFor(store, pass, 10_000);
  await store.clock.advance(3_600_000);
  await passFor(store, pass, 9_999);
  assert.deepEqual(reaped, []);
  await passFor(store, pass, 10);
  assert.equal(reaped.length, 1);
});

test('a main loop that is blocked again and again still takes over what it saw ended before', async (t) => {
  const { store, reaped, pass } = await setup(t, { isAlone: true });
  await claim(store);
  await pass();
  for (let looks = 0; looks < 5; looks++) {
    await store.clock.advance(15_000);
    await pass();
  }
  assert.equal(reaped.length, 1);
});
