import assert from 'node:assert/strict';
import type { Engine, PruneInput, PruneReply } from '@duly/core/internal';
import {
  day,
  dedupe,
  fireGroup,
  hour,
  jobPolicy,
  jobSpec,
  lockRequest,
  minute,
  schedulePut,
  slotRow,
  t0,
} from './builders.ts';
import {
  applySchedules,
  auditOf,
  cancel,
  claim,
  claimSchedule,
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  read,
  retry,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** Prunes until nothing is left to prune; answers the sums. */
async function prune(
  engine: Engine,
  now: number,
  fields: Partial<PruneInput> = {},
): Promise<Omit<PruneReply, 'now' | 'more'>> {
  const sum = { jobs: 0, keys: 0, values: 0, rows: 0 };
  for (let calls = 0; ; calls += 1) {
    assert.ok(calls < 100, 'pruning comes to an end');
    const forever = 10_000 * day;
    const bounds = { limit: 100, ledgerMs: forever, auditMs: forever, changesMs: forever };
    const reply = await engine.prune({ now, ...bounds, ...fields });
    for (const name of ['jobs', 'keys', 'values', 'rows'] as const) sum[name] += reply[name];
    if (!reply.more) return sum;
  }
}

const isThere = async (engine: Engine, id: string): Promise<boolean> =>
  (await engine.get({ now: t0, ids: [id] })).jobs[0] !== null;

/** What `prune` promises. */
export function pruneTests(test: DefineTest): void {
  test('an ended job is kept for its own retention and then forgotten', async ({ engine }) => {
    const short = await createRunning(engine, { policy: jobPolicy({ retentionMs: hour }) });
    const long = await createRunning(engine, { policy: jobPolicy({ retentionMs: day }) });
    await finish(engine, short, 'COMPLETED', {}, t0 + minute);
    await finish(engine, long, 'COMPLETED', {}, t0 + minute);
    await prune(engine, t0 + minute + hour - 1);
    assert.equal(await isThere(engine, short.id), true);
    assert.equal((await prune(engine, t0 + minute + hour + 1)).jobs, 1);
    assert.equal(await isThere(engine, short.id), false);
    assert.equal(await isThere(engine, long.id), true);
    await prune(engine, t0 + 2 * day);
    assert.equal(await isThere(engine, long.id), false);
  });

  test('a dead letter is kept for its own, longer time', async ({ engine }) => {
    const policy = jobPolicy({ retentionMs: hour, deadRetentionMs: 10 * day });
    const dead = await createFailed(engine, { policy });
    const { id: cancelled } = await create(engine, { policy });
    await cancel(engine, { id: cancelled });
    await prune(engine, t0 + 9 * day);
    assert.equal(await isThere(engine, dead.id), true);
    assert.equal(await isThere(engine, cancelled), false);
    await prune(engine, t0 + 10 * day + 1);
    assert.equal(await isThere(engine, dead.id), false);
  });

  test('a job that has not ended is never forgotten, however old', async ({ engine }) => {
    const policy = jobPolicy({ retentionMs: 1, deadRetentionMs: 1 });
    const running = await createRunning(engine, { policy });
    const retrying = await createRunning(engine, { policy });
    await finish(engine, retrying, 'RETRYING', { due: { at: t0 + 900 * day } });
    const { id: scheduled } = await create(engine, { policy, due: { at: t0 + 900 * day } });
    const { id: pending } = await create(engine, { policy });
    const { id: blocked } = await create(engine, { policy, gates: [{ kind: 'parent', ref: running.id }] });
    const sum = await prune(engine, t0 + 800 * day);
    assert.equal(sum.jobs, 0);
    for (const id of [running.id, retrying.id, scheduled, pending, blocked]) {
      assert.equal(await isThere(engine, id), true);
    }
    await finish(engine, running, 'COMPLETED', {}, t0 + 800 * day);
  });

  test('a retried job is no longer on its way out', async ({ engine }) => {
    const dead = await createFailed(engine, { policy: jobPolicy({ deadRetentionMs: hour }) });
    await retry(engine, dead.id, t0 + minute);
    await prune(engine, t0 + 10 * day);
    assert.equal(await statusOf(engine, dead.id), 'PENDING');
  });

  test('what belongs to a forgotten job goes with it', async ({ engine }) => {
    const lease = await createRunning(engine, { policy: jobPolicy({ retentionMs: hour }) });
    const logs = [{ line: 1, at: t0, level: 'info' as const, message: 'x' }];
    await engine.report({
      now: t0,
      logLimit: 9,
      reports: [{ id: lease.id, fence: lease.fence, progress: null, logs }],
    });
    await finish(engine, lease, 'COMPLETED');
    await prune(engine, t0 + day);
    assert.deepEqual((await engine.logs({ now: t0, id: lease.id, after: 0, limit: 9 })).lines, []);
    assert.deepEqual((await engine.list({ now: t0, filter: {}, cursor: null, limit: 9 })).jobs, []);
  });

  test('a call forgets a bounded amount and says that more is waiting', async ({ engine }) => {
    const policy = jobPolicy({ retentionMs: 1 });
    const created = await createAll(
      engine,
      Array.from({ length: 5 }, () => jobSpec({ policy })),
    );
    for (const { id } of created) await cancel(engine, { id });
    const bounds = { ledgerMs: 900 * day, auditMs: 900 * day, changesMs: 900 * day };
    const first = await engine.prune({ now: t0 + day, limit: 2, ...bounds });
    assert.ok(first.jobs <= 2 && first.more, JSON.stringify(first));
    const sum = await prune(engine, t0 + day, { limit: 2 });
    assert.equal(first.jobs + sum.jobs, 5);
  });

  test('keys and values past their time are swept, others stay', async ({ engine }) => {
    await finish(
      engine,
      await createRunning(engine, { dedupe: dedupe('gone', { forMs: hour }) }),
      'COMPLETED',
    );
    const { id: held } = await create(engine, { dedupe: dedupe('held'), due: { at: t0 + 90 * day } });
    const put = (key: string, at: number) => ({
      op: 'put' as const,
      name: 'v',
      key,
      value: '1',
      due: { at },
      cleanup: null,
    });
    const changes = [put('gone', t0 + hour), put('held', t0 + 90 * day)];
    await engine.putExpiring({ now: t0, groups: [{ actor: 'a', changes }] });
    const sum = await prune(engine, t0 + day);
    assert.ok(sum.keys >= 1 && sum.values >= 1, JSON.stringify(sum));
    const again = await create(engine, { dedupe: dedupe('held') }, t0 + day);
    assert.deepEqual([again.id, again.deduped], [held, true]);
    const { values } = await engine.getExpiring({ now: t0 + day, keys: [{ name: 'v', key: 'held' }] });
    assert.equal(values[0]?.value, '1');
  });

  test('the ledger and the audit are kept as long as asked', async ({ engine }) => {
    const put = schedulePut();
    await applySchedules(engine, [put], t0);
    const claimed = await claimSchedule(engine, put.id, t0);
    await engine.fire({ now: t0, node: 'n', groups: [fireGroup(claimed, { slots: [slotRow(t0)] })] });
    const slots = async () =>
      (await engine.slots({ now: t0, scheduleId: put.id, fromAt: 0, beforeAt: t0 + day, limit: 9 })).slots
        .length;
    await prune(engine, t0 + 10 * day, { ledgerMs: 11 * day, auditMs: 11 * day });
    assert.equal(await slots(), 1);
    assert.equal((await auditOf(engine, `schedule:${put.id}`)).length, 1);
    await prune(engine, t0 + 10 * day, { auditMs: 9 * day });
    assert.equal((await auditOf(engine, `schedule:${put.id}`)).length, 0);
    assert.equal(await slots(), 1);
  });

  test('ledger rows past their time are compacted into one for each span, with counts by decision', async ({
    engine,
  }) => {
    const put = schedulePut();
    await applySchedules(engine, [put], t0);
    const spans = [t0 - 60 * day, t0 - 30 * day, t0];
    const rows = [
      slotRow(t0 - 59 * day, { jobId: 'job_a' }),
      slotRow(t0 - 58 * day, { decision: 'missed', toAt: t0 - 50 * day, count: 9, jobId: null }),
      slotRow(t0 - 49 * day, { jobId: 'job_b' }),
      // Begins in the first span and ends in the second: it belongs where it began.
      slotRow(t0 - 48 * day, { decision: 'missed', toAt: t0 - 20 * day, count: null, jobId: null }),
      slotRow(t0 - 19 * day, { jobId: 'job_c' }),
    ];
    const claimed = await claimSchedule(engine, put.id, t0);
    await engine.fire({ now: t0, node: 'n', groups: [fireGroup(claimed, { slots: rows, dueAt: t0 })] });
    const again = await claimSchedule(engine, put.id, t0 + 20 * day);
    const fresh = slotRow(t0 + 20 * day, { jobId: 'job_d' });
    await engine.fire({ now: t0 + 20 * day, node: 'n', groups: [fireGroup(again, { slots: [fresh] })] });
    const read = async (fromAt = 0, beforeAt = t0 + day * 100) =>
      engine.slots({ now: t0, scheduleId: put.id, fromAt, beforeAt, limit: 9 });
    assert.deepEqual((await read()).compacted, []);

    // In small steps, and again when all is done: nothing is counted twice.
    const at = t0 + 25 * day;
    const compactedSlots = { ledgerMs: 10 * day, compactStarts: spans };
    const first = await engine.prune({
      now: at,
      limit: 2,
      auditMs: 900 * day,
      changesMs: 900 * day,
      ...compactedSlots,
    });
    assert.deepEqual([first.rows, first.more], [2, true]);
    assert.equal((await prune(engine, at, { ...compactedSlots, limit: 2 })).rows, 3);
    assert.equal((await prune(engine, at, compactedSlots)).rows, 0);
    const { slots, compacted } = await read();
    assert.deepEqual(
      slots.map(({ fromAt }) => fromAt),
      [t0 + 20 * day],
    );
    const { generation } = claimed;
    assert.deepEqual(
      compacted.map(({ counts, ...rest }) => ({
        ...rest,
        counts: counts.toSorted((a, b) => (a.decision < b.decision ? -1 : 1)),
      })),
      [
        {
          generation,
          startAt: t0 - 30 * day,
          fromAt: t0 - 19 * day,
          toAt: t0 - 19 * day,
          counts: [{ decision: 'fired', count: 1, exact: true }],
        },
        {
          generation,
          startAt: t0 - 60 * day,
          fromAt: t0 - 59 * day,
          toAt: t0 - 20 * day,
          counts: [
            { decision: 'fired', count: 2, exact: true },
            { decision: 'missed', count: 11, exact: false },
          ],
        },
      ],
    );
    assert.deepEqual(
      (await read(t0 - 25 * day, t0 - 24 * day)).compacted.map(({ startAt }) => startAt),
      [t0 - 60 * day],
    );
    assert.deepEqual((await read(t0 - 18 * day, t0)).compacted, []);
  });

  test('a ledger row before every span, or of a schedule that is no more, is forgotten', async ({
    engine,
  }) => {
    const [kept, gone] = [schedulePut(), schedulePut()];
    await applySchedules(engine, [kept, gone], t0);
    for (const { id } of [kept, gone]) {
      const claimed = await claimSchedule(engine, id, t0);
      const slots = [slotRow(t0 - 40 * day, { jobId: 'job_a' }), slotRow(t0 - day, { jobId: 'job_b' })];
      await engine.fire({ now: t0, node: 'n', groups: [fireGroup(claimed, { slots, dueAt: null })] });
    }
    const { version } = (await claimSchedule(engine, gone.id, t0)) as { version: number };
    await applySchedules(
      engine,
      [{ op: 'delete', id: gone.id, expectVersion: version, action: 'delete' }],
      t0,
    );
    await prune(engine, t0 + 11 * day, { ledgerMs: 10 * day, compactStarts: [t0 - 30 * day] });
    const read = async (scheduleId: string) =>
      engine.slots({ now: t0, scheduleId, fromAt: 0, beforeAt: t0 + day, limit: 9 });
    const [one, other] = [await read(kept.id), await read(gone.id)];
    assert.deepEqual([one.slots.length, one.compacted.map(({ fromAt }) => fromAt)], [0, [t0 - day]]);
    assert.deepEqual([other.slots, other.compacted], [[], []]);
  });

  test('a held lock, a running job and a schedule survive every sweep', async ({ engine }) => {
    const lock = await engine.acquire(lockRequest('l', { ttlMs: 100 * day }));
    const lease = await createRunning(engine, {}, t0, { leaseMs: 100 * day });
    const put = schedulePut();
    await applySchedules(engine, [put]);
    await prune(engine, t0 + 50 * day, { ledgerMs: 0, auditMs: 0, changesMs: 0 });
    assert.equal((await engine.acquire(lockRequest('l', { now: t0 + 50 * day }))).fence, lock.fence);
    await finish(engine, lease, 'COMPLETED', {}, t0 + 50 * day);
    assert.equal((await claimSchedule(engine, put.id, t0 + 50 * day)).id, put.id);
    assert.equal((await read(engine, lease.id)).status, 'COMPLETED');
    assert.deepEqual(await claim(engine, {}, t0 + 50 * day), []);
  });
}
