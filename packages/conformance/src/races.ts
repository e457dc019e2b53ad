import assert from 'node:assert/strict';
import { isDulyError } from '@duly/core';
import type { Engine, EnqueuedItem } from '@duly/core/internal';
import {
  dedupe,
  fireGroup,
  hour,
  jobSpec,
  lockRequest,
  scheduleClaim,
  schedulePut,
  settlement,
  slotJob,
  slotRow,
  t0,
} from './builders.ts';
import {
  applySchedules,
  claim,
  claimOne,
  claimSchedule,
  create,
  createAll,
  createRunning,
  feedAfter,
  feedPosition,
  finish,
  only,
  read,
  reap,
} from './steps.ts';
import type { ConformanceContext, DefineTest } from './suite.ts';

async function openAll({ engine, openPeer }: ConformanceContext): Promise<Engine[]> {
  return [engine, await openPeer()];
}

/** One of the engines by turns, so that concurrent callers use different connections. */
const turn = (engines: Engine[], n: number): Engine => engines[n % engines.length] as Engine;

/** What must hold when several connections act on one store at the same time. */
export function raceTests(test: DefineTest): void {
  test('every job is claimed exactly once, however many ask', async (context) => {
    const engines = await openAll(context);
    const created = await createAll(
      context.engine,
      Array.from({ length: 200 }, () => jobSpec()),
    );
    const fences: number[] = [];
    const claimed: string[] = [];
    const worker = async (n: number): Promise<void> => {
      const engine = turn(engines, n);
      for (;;) {
        const leases = await claim(engine, { node: `node-${n}`, limit: 7 });
        if (leases.length === 0) return;
        claimed.push(...leases.map(({ id }) => id));
        fences.push(...leases.map(({ fence }) => fence));
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5].map(worker));
    assert.deepEqual(claimed.sort(), created.map(({ id }) => id).sort());
    assert.equal(new Set(fences).size, 200);
  });

  test('every job is settled exactly once while workers settle and claim against each other', async (context) => {
    const engines = await openAll(context);
    await createAll(
      context.engine,
      Array.from({ length: 100 }, () => jobSpec()),
    );
    let done = 0;
    const worker = async (n: number): Promise<void> => {
      const engine = turn(engines, n);
      let held = await claim(engine, { node: `node-${n}`, limit: 5 });
      while (held.length > 0) {
        const settle = held.flatMap((lease) => [settlement(lease, 'COMPLETED'), settlement(lease, 'FAILED')]);
        const { settled } = await engine.exchange({ now: t0, settle, claim: null });
        done += settled.filter((one) => one === 'done').length;
        held = await claim(engine, { node: `node-${n}`, limit: 5 });
      }
    };
    await Promise.all([0, 1, 2, 3].map(worker));
    assert.equal(done, 100);
    const { status } = await context.engine.counts({ now: t0, cap: 1_000 });
    assert.deepEqual([status.COMPLETED.count, status.FAILED.count, status.RUNNING.count], [100, 0, 0]);
  });

  test('jobs created by several connections at once are all there', async (context) => {
    const engines = await openAll(context);
    const groups = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        createAll(
          turn(engines, n),
          Array.from({ length: 10 }, () => jobSpec()),
        ),
      ),
    );
    const ids = groups.flat().map(({ id }) => id);
    const { jobs } = await context.engine.get({ now: t0, ids });
    assert.ok(jobs.every((job) => job?.status === 'PENDING'));
    assert.equal(new Set(ids).size, 200);
  });

  test('one key gives one job, whoever asks first', async (context) => {
    const engines = await openAll(context);
    // An engine may say that the key is busy, rather than wait long for whoever takes it; then nothing was done, and it is asked again.
    const createOne = async (n: number): Promise<EnqueuedItem> => {
      for (;;) {
        try {
          return await create(turn(engines, n), { dedupe: dedupe('k') });
        } catch (error) {
          if (!isDulyError(error, 'store_busy')) throw error;
        }
      }
    };
    const items = await Promise.all(Array.from({ length: 20 }, (_, n) => createOne(n)));
    assert.equal(new Set(items.map(({ id }) => id)).size, 1);
    assert.equal(items.filter(({ deduped }) => !deduped).length, 1);
  });

  test('of two outcomes sent at once one is taken', async (context) => {
    const engines = await openAll(context);
    for (let round = 0; round < 10; round += 1) {
      const lease = await createRunning(context.engine);
      const outcomes = await Promise.all(
        (['COMPLETED', 'FAILED'] as const).map(async (to, n) => {
          const settle = [settlement(lease, to)];
          return only((await turn(engines, n).exchange({ now: t0, settle, claim: null })).settled);
        }),
      );
      assert.deepEqual(outcomes.sort(), ['done', 'lost']);
    }
  });

  test('a lost lease is taken over by one reaper', async (context) => {
    const engines = await openAll(context);
    await createAll(
      context.engine,
      Array.from({ length: 20 }, () => jobSpec()),
    );
    await claim(context.engine);
    const taken = await Promise.all([0, 1, 2, 3].map((n) => reap(turn(engines, n), t0 + hour)));
    const ids = taken.flat().map(({ id }) => id);
    assert.deepEqual([ids.length, new Set(ids).size], [20, 20]);
  });

  test('a heartbeat and a reaper agree on who holds the lease', async (context) => {
    const engines = await openAll(context);
    for (let round = 0; round < 10; round += 1) {
      const lease = await createRunning(context.engine, {}, t0, { leaseMs: hour });
      const [taken, heartbeat] = await Promise.all([
        reap(turn(engines, round), t0 + hour),
        turn(engines, round + 1).heartbeat({
          now: t0 + hour,
          node: 'node-a',
          leaseMs: hour,
          leases: [{ id: lease.id, fence: lease.fence, begun: false }],
        }),
      ]);
      assert.equal(only(heartbeat.leases).state, taken.length === 0 ? 'kept' : 'lost');
      await finish(context.engine, taken[0] ?? lease, 'COMPLETED', {}, t0 + hour);
    }
  });

  test('a lock is held by one', async (context) => {
    const engines = await openAll(context);
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => turn(engines, n).acquire(lockRequest('l'))),
    );
    assert.equal(replies.filter(({ acquired }) => acquired).length, 1);
    assert.equal(new Set(replies.map(({ fence }) => fence)).size, 1, 'the others are told of that one');
  });

  test('a due schedule is leased to one node, and its slot decided once', async (context) => {
    const engines = await openAll(context);
    const puts = Array.from({ length: 10 }, () => schedulePut());
    await applySchedules(context.engine, puts);
    // A claim passes over schedules that another one is just taking, so each node claims until it gets none.
    const node = async (n: number): Promise<number> => {
      const engine = turn(engines, n);
      for (let count = 0; ; ) {
        const { schedules } = await engine.claimSchedules(scheduleClaim({ limit: 4 }));
        if (schedules.length === 0) return count;
        const groups = schedules.map((one) =>
          fireGroup(one, { jobs: [slotJob(one.id, t0)], slots: [slotRow(t0)], dueAt: t0 + hour }),
        );
        const reply = await engine.fire({ now: t0, node: `node-${n}`, groups });
        count += reply.groups.filter((one) => one === 'fired').length;
      }
    };
    const fired = await Promise.all([0, 1, 2, 3, 4, 5].map(node));
    assert.equal(
      fired.reduce((sum, count) => sum + count, 0),
      10,
    );
    assert.equal((await claim(context.engine)).length, 10);
  });

  test('the same decision sent by two connections is written once', async (context) => {
    const engines = await openAll(context);
    const put = schedulePut();
    await applySchedules(context.engine, [put]);
    const claimed = await claimSchedule(context.engine, put.id);
    const outcomes = await Promise.all(
      [0, 1, 2, 3].map(async (n) => {
        const groups = [fireGroup(claimed, { jobs: [slotJob(put.id, t0)], slots: [slotRow(t0)] })];
        return only((await turn(engines, n).fire({ now: t0, node: 'n', groups })).groups);
      }),
    );
    assert.deepEqual(outcomes.sort(), ['conflict', 'conflict', 'conflict', 'fired']);
    assert.equal((await claim(context.engine)).length, 1);
  });

  test('a serial key is kept over several connections', async (context) => {
    const engines = await openAll(context);
    await Promise.all(Array.from({ length: 20 }, (_, n) => create(turn(engines, n), { serial: 's' })));
    let count = 0;
    for (let n = 0; ; n += 1) {
      const claims = await Promise.all([0, 1, 2].map((offset) => claim(turn(engines, n + offset))));
      const leases = claims.flat();
      assert.ok(leases.length <= 1, 'one at a time');
      if (leases.length === 0) break;
      count += 1;
      await finish(turn(engines, n + 1), only(leases), 'COMPLETED');
    }
    assert.equal(count, 20);
  });

  test('a reader of the feed misses nothing while others write', async (context) => {
    const engines = await openAll(context);
    const start = await feedPosition(context.engine);
    let writing = true;
    const seen: string[] = [];
    const reader = (async () => {
      let position = start;
      for (;;) {
        const wasWriting = writing;
        const reply = await turn(engines, 1).changes({ now: t0, after: position, limit: 5 });
        for (const change of reply.changes) {
          assert.ok(change.position > position, 'in order');
          position = change.position;
          seen.push(change.id);
        }
        if (!wasWriting && reply.changes.length === 0) return;
      }
    })();
    const writers = Array.from({ length: 4 }, async (_, n) => {
      const ids: string[] = [];
      for (let count = 0; count < 15; count += 1) ids.push((await create(turn(engines, n))).id);
      return ids;
    });
    const created = (await Promise.all(writers)).flat();
    writing = false;
    await reader;
    assert.deepEqual(seen.sort(), created.sort());
    assert.equal((await feedAfter(context.engine, start)).length, created.length);
  });

  test('what one connection wrote the other reads', async (context) => {
    const [first, second] = await openAll(context);
    assert.ok(first && second);
    const { id } = await create(first);
    const lease = await claimOne(second);
    assert.equal(lease.id, id);
    assert.equal((await read(first, id)).status, 'RUNNING');
    await finish(first, lease, 'COMPLETED');
    assert.equal((await read(second, id)).status, 'COMPLETED');
  });
}
