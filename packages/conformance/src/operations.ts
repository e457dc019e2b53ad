import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { isDulyError } from '@duly/core';
import { engineVerbNames, type NotificationKind } from '@duly/core/internal';
import {
  hour,
  jobSlot,
  jobSpec,
  lockRequest,
  nodeInfo,
  scheduleClaim,
  schedulePut,
  slotRow,
  t0,
} from './builders.ts';
import { cancel, claimReply, create, createRunning, until } from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `info`, `migrate`, `subscribe`, `probe` and `close` promise, and what holds for every verb. */
export function operationsTests(test: DefineTest): void {
  test('an engine says what it is', async ({ engine }) => {
    const info = engine.info();
    assert.ok(['sqlite', 'postgres', 'redis'].includes(info.kind));
    assert.ok(['push', 'poll'].includes(info.wake));
    assert.equal(typeof info.durable, 'boolean');
    assert.ok(info.version.length > 0 && info.place.length > 0);
    assert.ok(Array.isArray(info.warnings));
  });

  test('an engine has every verb', async ({ engine }) => {
    for (const verb of engineVerbNames) assert.equal(typeof engine[verb], 'function', verb);
  });

  test('every reply is plain data, so that it is the same on both sides of a thread or a wire', async ({
    engine,
  }) => {
    const { id } = await create(engine, { due: { at: t0 + hour } });
    await create(engine, { gates: [{ kind: 'parent', ref: id }] });
    const lease = await createRunning(engine, {
      type: 'other',
      slot: jobSlot('sch_1', t0),
      parent: { id, key: 'k' },
    });
    const logs = [{ line: 1, at: t0, level: 'info' as const, message: 'x' }];
    const progress = { percent: 1, message: 'm', step: 1, of: 2 };
    await engine.report({
      now: t0,
      logLimit: 9,
      reports: [{ id: lease.id, fence: lease.fence, progress, logs }],
    });
    await cancel(engine, { id: lease.id });
    const put = schedulePut({ slots: [slotRow(t0)] });
    const change = {
      op: 'put' as const,
      name: 'n',
      key: 'k',
      value: '1',
      due: { at: t0 + hour },
      cleanup: null,
    };
    const record = { op: 'put' as const, kind: 'k', key: 'k', value: '1' };
    const list = { op: 'list' as const, kind: 'k', after: null, limit: 9 };
    const replies: Record<string, unknown> = {
      applySchedules: await engine.applySchedules({ now: t0, groups: [{ actor: 'a', changes: [put] }] }),
      claimSchedules: await engine.claimSchedules(scheduleClaim()),
      schedules: await engine.schedules({ now: t0, filter: {}, cursor: null, limit: 9 }),
      slots: await engine.slots({ now: t0, scheduleId: put.id, fromAt: 0, beforeAt: t0 + hour, limit: 9 }),
      acquire: await engine.acquire(lockRequest('l')),
      refused: await engine.acquire(lockRequest('l')),
      heldLocks: await engine.heldLocks({ now: t0, prefix: '', after: null, limit: 9 }),
      putExpiring: await engine.putExpiring({ now: t0, groups: [{ actor: 'a', changes: [change] }] }),
      getExpiring: await engine.getExpiring({ now: t0, keys: [{ name: 'n', key: 'k' }] }),
      records: await engine.records({ now: t0, groups: [{ actor: 'a', ops: [record, list] }] }),
      nodes: await engine.nodes({
        now: t0,
        heartbeat: nodeInfo('a'),
        leave: null,
        drain: null,
        forgetAfterMs: hour,
      }),
      list: await engine.list({ now: t0, filter: {}, cursor: null, limit: 9 }),
      logs: await engine.logs({ now: t0, id: lease.id, after: 0, limit: 9 }),
      counts: await engine.counts({ now: t0, cap: 9 }),
      upcoming: await engine.upcoming({ now: t0, withinMs: hour, stepMs: hour, cap: 9, limit: 9 }),
      stats: await engine.stats({ now: t0, sinceAt: 0, types: null }),
      trend: await engine.trend({
        ...{ now: t0, fromAt: t0 - hour, stepMs: hour, stepCount: 2, sampleCount: 9 },
        ...{ type: null, scheduleId: null },
      }),
      changes: await engine.changes({ now: t0, after: 0, limit: 99 }),
      audit: await engine.audit({ now: t0, subject: null, before: null, limit: 9 }),
      exchange: await claimReply(engine),
      reap: await engine.reap({ now: t0 + 9 * hour, node: 'r', leaseMs: 1, limit: 9 }),
      prune: await engine.prune({ now: t0, limit: 9, ledgerMs: 1, auditMs: 1, changesMs: 1 }),
    };
    // A clone has ordinary prototypes; a reply with others is not equal to it.
    const odd = Object.keys(replies).filter(
      (verb) => !isDeepStrictEqual(replies[verb], structuredClone(replies[verb])),
    );
    assert.deepEqual(odd, []);
  });

  test('a schema that is up to date needs no step, dry or not', async ({ engine }) => {
    for (const dryRun of [true, false]) {
      const reply = await engine.migrate({ now: t0, dryRun });
      assert.deepEqual([reply.from, reply.steps], [reply.to, []]);
    }
    await create(engine);
  });

  test('without a given instant the store reads its own clock, which does not go back', async ({
    engine,
  }) => {
    let last = 0;
    for (let n = 0; n < 5; n += 1) {
      const { now } = await engine.get({ ids: [] });
      assert.ok(now >= last, 'time stands or goes on');
      last = now;
    }
    const reply = await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
    assert.ok(reply.now >= last);
  });

  test('a listener receives new jobs, cancels and its own probe, until it stops listening', async ({
    engine,
  }) => {
    const received: NotificationKind[] = [];
    const stop = engine.subscribe(({ kind }) => received.push(kind));
    const lease = await createRunning(engine);
    await until(engine, () => received.includes('jobs'));
    await cancel(engine, { id: lease.id });
    await until(engine, () => received.includes('cancel'));
    await engine.probe();
    await until(engine, () => received.includes('probe'));
    stop();
    const count = received.length;
    let isProbed = false;
    const stopProbe = engine.subscribe(({ kind }) => {
      if (kind === 'probe') isProbed = true;
    });
    await create(engine);
    await engine.probe();
    // The probe comes last, so whatever else was sent has been delivered.
    await until(engine, () => isProbed);
    stopProbe();
    assert.equal(received.length, count);
  });

  test('a closed engine refuses every verb with a code, and closing twice is fine', async ({ engine }) => {
    await create(engine);
    await engine.close();
    await engine.close();
    const closed = (error: unknown) => isDulyError(error, 'store_closed');
    await assert.rejects(() => engine.enqueue({ now: t0, groups: [{ jobs: [jobSpec()] }] }), closed);
    await assert.rejects(() => engine.exchange({ now: t0, settle: [], claim: null }), closed);
    await assert.rejects(() => engine.get({ now: t0, ids: [] }), closed);
    await assert.rejects(() => engine.counts({ now: t0, cap: 1 }), closed);
  });
}
