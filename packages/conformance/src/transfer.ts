import assert from 'node:assert/strict';
import { isDulyError } from '@duly/core';
import {
  copyParts,
  type Engine,
  openEngine,
  type TransferInput,
  type TransferPart,
  type TransferRow,
  transferParts,
} from '@duly/core/internal';
import {
  claimRequest,
  day,
  jobSpec,
  lockRequest,
  minute,
  schedulePut,
  second,
  settlement,
  t0,
} from './builders.ts';
import { playRandom } from './random-play.ts';
import { create } from './steps.ts';
import type { DefineTest } from './suite.ts';

const afterAll = t0 + 500 * day;

const step = (name: TransferInput['step'], fields: Partial<TransferInput> = {}): TransferInput => ({
  ...{ now: t0, step: name, move: 'move_1', place: 'elsewhere', counters: null },
  ...fields,
});

/** What `transfer`, `exportRows` and `importRows` promise. */
export function transferTests(test: DefineTest): void {
  test('a store that left refuses every call with where it went, and takes them again when it is reopened', async ({
    engine,
    openPeer,
  }) => {
    const peer = await openPeer();
    const { id } = await create(engine);
    const { mark } = await engine.transfer(step('leave'));
    assert.deepEqual(mark, { role: 'source', move: 'move_1', place: 'elsewhere', at: t0 });
    for (const one of [engine, peer]) {
      for (const [name, call] of Object.entries(callsOf(one))) {
        await assert.rejects(
          call,
          (error) => isDulyError(error, 'store_moved') && error.message.includes('"elsewhere"'),
          name,
        );
      }
    }
    // Said again it is the same, and another move cannot begin.
    assert.equal((await peer.transfer(step('leave', { now: t0 + second }))).mark?.at, t0);
    await assert.rejects(engine.transfer(step('leave', { move: 'move_2' })), { code: 'store_moved' });
    assert.equal((await engine.transfer(step('reopen'))).mark, null);
    assert.equal((await peer.get({ now: t0, ids: [id] })).jobs[0]?.status, 'PENDING');
    for (const [, call] of Object.entries(callsOf(peer))) await call();
  });

  test('a store that arrives is refused until it is settled, and then counts on from where the source was', async ({
    engine,
  }) => {
    await engine.transfer(step('arrive'));
    for (const [name, call] of Object.entries(callsOf(engine)))
      await assert.rejects(call, (error) => isDulyError(error, 'store_arriving'), name);
    const counters = { fence: 5_000, changes: 7_000_000, prunedCreatedAt: t0 };
    const { mark } = await engine.transfer(step('settle', { counters }));
    assert.equal(mark?.role, 'arrived');
    assert.equal((await engine.transfer(step('settle', { counters }))).mark?.role, 'arrived');
    const lock = await engine.acquire(lockRequest('l'));
    assert.ok(lock.acquired && lock.fence > 5_000);
    await create(engine);
    const { gap } = await engine.changes({ now: t0, after: 6_999_990, limit: 10 });
    assert.equal(gap, true, 'what the source told last was not brought along');
    const { position } = await engine.changes({ now: t0, after: null, limit: 10 });
    assert.ok(position > 7_000_000);
    assert.equal((await engine.get({ now: t0, ids: ['job_nothing'] })).prunedCreatedAt, t0);
  });

  test('nothing arrives in a store that holds something, or writes into one that does not arrive', async ({
    engine,
  }) => {
    await assert.rejects(engine.importRows({ now: t0, move: 'move_1', part: 'jobs', rows: [] }), {
      code: 'store_not_empty',
    });
    await create(engine);
    await assert.rejects(engine.transfer(step('arrive')), { code: 'store_not_empty' });
    assert.equal((await engine.transfer(step('look'))).mark, null);
  });

  test('a lease that was moved ends when it would have ended, and the job is taken over', async ({
    engine,
  }) => {
    const reference = await openEngine('sqlite::memory:');
    const { id } = await create(reference);
    const { claimed } = await reference.exchange({
      now: t0,
      settle: [],
      claim: claimRequest({ leaseMs: minute }),
    });
    await reference.transfer(step('leave'));
    await engine.transfer(step('arrive'));
    await copyParts(reference, engine, { move: 'move_1', now: t0 + 20 * second });
    const { counters } = await reference.transfer(step('look'));
    await engine.transfer(step('settle', { counters }));
    await reference.close();
    const reap = (now: number) => engine.reap({ now, node: 'r', leaseMs: minute, limit: 10 });
    assert.deepEqual((await reap(t0 + 59 * second)).jobs, []);
    const early = await engine.exchange({ now: t0 + 59 * second, settle: [], claim: claimRequest() });
    assert.deepEqual(early.claimed, [], 'it does not run on both sides');
    const late = settlement({ id, fence: claimed[0]?.fence as number }, 'COMPLETED');
    const { jobs } = await reap(t0 + minute);
    assert.equal(jobs[0]?.id, id);
    assert.ok((jobs[0]?.fence as number) > (claimed[0]?.fence as number));
    const { settled } = await engine.exchange({ now: t0 + minute, settle: [late], claim: null });
    assert.deepEqual(settled, ['lost'], 'the fence of the source is dead');
  });

  for (const seed of [1, 2]) {
    test(`what a random life left in a store is the same in another, there and back (seed ${seed})`, async ({
      engine,
    }) => {
      const [reference, other] = await Promise.all([
        openEngine('sqlite::memory:'),
        openEngine('sqlite::memory:'),
      ]);
      try {
        await playRandom({ engine, reference, seed, steps: 120 });
        await moveAll(engine, other, 'move_1');
        const left = await allRows(engine);
        assert.ok(
          left.jobs.length + left.finished.length > 0 && left.slots.length > 0 && left.audit.length > 0,
        );
        assert.deepEqual(await allRows(other), left);
      } finally {
        await reference.close();
        await other.close();
      }
    });

    test(`and the other way (seed ${seed})`, async ({ engine }) => {
      const [reference, other] = await Promise.all([
        openEngine('sqlite::memory:'),
        openEngine('sqlite::memory:'),
      ]);
      try {
        await playRandom({ engine: other, reference, seed: seed + 10, steps: 120 });
        await moveAll(reference, engine, 'move_2');
        assert.deepEqual(await allRows(engine), await allRows(reference));
        // It is in use: the rest of the life is played on it.
        const { more: _, ...reply } = await engine.reap({
          now: afterAll,
          node: 'r',
          leaseMs: minute,
          limit: 100,
        });
        assert.equal(reply.now, afterAll);
      } finally {
        await reference.close();
        await other.close();
      }
    });
  }
}

async function moveAll(from: Engine, to: Engine, move: string): Promise<void> {
  const at = { now: afterAll, move };
  await to.transfer(step('arrive', at));
  await from.transfer(step('leave', at));
  // A half that an interrupted move left is dropped.
  await copyParts(from, to, at);
  await to.transfer(step('clear', at));
  await copyParts(from, to, at);
  const { counters, counts } = await from.transfer(step('look', at));
  assert.deepEqual((await to.transfer(step('look', at))).counts, counts);
  await to.transfer(step('settle', { ...at, counters }));
}

/** Every row of every part, in the order of its text: stores page in orders of their own. */
async function allRows(engine: Engine): Promise<Record<TransferPart, string[]>> {
  const all = {} as Record<TransferPart, string[]>;
  for (const part of transferParts) {
    const rows: TransferRow[] = [];
    let after: (string | number)[] | null = null;
    do {
      const page: Awaited<ReturnType<Engine['exportRows']>> = await engine.exportRows({
        now: afterAll,
        part,
        after,
        limit: 7,
      });
      rows.push(...page.rows);
      after = page.next;
    } while (after !== null);
    all[part] = rows.map(textOf).sort();
  }
  return all;
}

/** A row as text, whatever the order of its columns and of what is in its JSON. */
function textOf(row: TransferRow): string {
  const plain = Object.entries(row).map(([name, value]) => [
    name,
    jsonColumns.has(name) && value !== null ? sorted(JSON.parse(String(value))) : value,
  ]);
  return JSON.stringify(sorted(Object.fromEntries(plain)));
}

const jsonColumns = new Set(['slot', 'policy', 'error', 'attempts']);

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

/** A call of each kind that a node or a client makes. */
function callsOf(engine: Engine): Record<string, () => Promise<unknown>> {
  const now = t0;
  return {
    enqueue: () => engine.enqueue({ now, groups: [{ jobs: [jobSpec({ due: { at: t0 + day } })] }] }),
    exchange: () => engine.exchange({ now, settle: [], claim: claimRequest({ limit: 0 }) }),
    heartbeat: () =>
      engine.heartbeat({
        now,
        node: 'n',
        leaseMs: minute,
        leases: [{ id: 'job_x', fence: 1, begun: false }],
      }),
    reap: () => engine.reap({ now, node: 'n', leaseMs: minute, limit: 1 }),
    cancel: () =>
      engine.cancel({ now, groups: [{ actor: 'a', note: null, targets: [{ id: 'job_x' }], mode: 'ask' }] }),
    applySchedules: () =>
      engine.applySchedules({ now, groups: [{ actor: 'a', changes: [schedulePut({ id: 'sch_x' })] }] }),
    claimSchedules: () =>
      engine.claimSchedules({ now, node: 'n', token: 't', limit: 1, leaseMs: second, ids: null }),
    schedules: () => engine.schedules({ now, filter: {}, cursor: null, limit: 1 }),
    acquire: () => engine.acquire(lockRequest('held')),
    heldLocks: () => engine.heldLocks({ now, prefix: '', after: null, limit: 1 }),
    get: () => engine.get({ now, ids: ['job_x'] }),
    upcoming: () => engine.upcoming({ now, withinMs: minute, stepMs: second, cap: 9, limit: 1 }),
    counts: () => engine.counts({ now, cap: 10 }),
    changes: () => engine.changes({ now, after: null, limit: 1 }),
    audit: () => engine.audit({ now, subject: null, before: null, limit: 1 }),
    nodes: () => engine.nodes({ now, heartbeat: null, leave: 'node_x', drain: null, forgetAfterMs: minute }),
    records: () =>
      engine.records({ now, groups: [{ actor: 'a', ops: [{ op: 'get', kind: 'k', key: 'x' }] }] }),
  };
}
