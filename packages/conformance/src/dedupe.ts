import assert from 'node:assert/strict';
import {
  claimRequest,
  day,
  dedupe,
  hour,
  jobPolicy,
  jobSpec,
  minute,
  second,
  settlement,
  t0,
} from './builders.ts';
import {
  accepted,
  cancel,
  claim,
  claimOne,
  create,
  createAll,
  createRunning,
  deleteJobs,
  finish,
  gatesOf,
  itemAt,
  only,
  read,
  reap,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What dedupe keys promise (docs/reference/semantics.md#dedupe). */
export function dedupeTests(test: DefineTest): void {
  test('drop answers with the holder and changes nothing', async ({ engine }) => {
    const first = await create(engine, { dedupe: dedupe('k'), due: { at: t0 + hour } });
    const before = await read(engine, first.id);
    const second = await create(
      engine,
      { dedupe: dedupe('k'), input: '"new"', due: { at: t0 + minute } },
      t0 + 1,
    );
    assert.deepEqual(second, { id: first.id, status: 'SCHEDULED', dueAt: t0 + hour, deduped: true });
    assert.equal(first.deduped, false);
    assert.deepEqual(await read(engine, first.id), before);
    assert.equal((await engine.counts({ now: t0, cap: 9 })).status.SCHEDULED.count, 1);
  });

  test('deleting a job that has not ended releases its key, deleting an ended one does not', async ({
    engine,
  }) => {
    const fields = { dedupe: dedupe('k', { forMs: hour }) };
    const waiting = await create(engine, { ...fields, due: { at: t0 + minute } });
    await deleteJobs(engine, [waiting.id]);
    const next = await create(engine, fields, t0 + 1);
    assert.equal(next.deduped, false);
    await finish(engine, await claimOne(engine), 'COMPLETED');
    await deleteJobs(engine, [next.id]);
    const folded = await create(engine, fields, t0 + 2);
    assert.deepEqual([folded.id, folded.status, folded.deduped], [next.id, 'COMPLETED', true]);
    assert.equal((await create(engine, fields, t0 + hour + 1)).deduped, false);
  });

  test('a key is held until its job is terminal, whatever the end', async ({ engine }) => {
    const fields = { dedupe: dedupe('k') };
    for (const to of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
      const { id } = await create(engine, fields);
      const lease = await claimOne(engine);
      assert.deepEqual(
        [(await create(engine, fields)).id, (await create(engine, fields)).deduped],
        [id, true],
      );
      await finish(engine, lease, 'RETRYING', { due: { inMs: 0 } });
      assert.equal((await create(engine, fields)).id, id, 'held while it waits to run again');
      await finish(engine, await claimOne(engine), to);
      const next = await create(engine, fields);
      assert.equal(next.deduped, false, `free after ${to}`);
      await cancel(engine, { id: next.id });
    }
    const { id: expiring } = await create(engine, { ...fields, startDeadlineMs: second });
    await reap(engine, t0 + minute);
    assert.equal(await statusOf(engine, expiring), 'EXPIRED');
    assert.equal((await create(engine, fields)).deduped, false, 'free after EXPIRED');
  });

  test('a key is free for the same exchange that ends its holder', async ({ engine }) => {
    const lease = await createRunning(engine, { dedupe: dedupe('k') });
    await engine.exchange({ now: t0, settle: [settlement(lease, 'COMPLETED')], claim: claimRequest() });
    assert.equal((await create(engine, { dedupe: dedupe('k') })).deduped, false);
  });

  test('with a time the key is held that long from creation, whatever becomes of the job', async ({
    engine,
  }) => {
    const fields = { dedupe: dedupe('k', { forMs: hour }) };
    const { id } = await create(engine, fields);
    await finish(engine, await claimOne(engine), 'COMPLETED');
    const dropped = await create(engine, fields, t0 + hour - 1);
    assert.deepEqual([dropped.id, dropped.status, dropped.deduped], [id, 'COMPLETED', true]);
    const next = await create(engine, fields, t0 + hour);
    assert.equal(next.deduped, false);
  });

  test('with a time the key is free again although its job still waits', async ({ engine }) => {
    const fields = { dedupe: dedupe('k', { forMs: minute }), due: { at: t0 + day } };
    const { id } = await create(engine, fields);
    assert.equal((await create(engine, fields, t0 + minute - 1)).id, id);
    const next = await create(engine, fields, t0 + minute);
    assert.deepEqual([next.deduped, next.id === id], [false, false]);
    assert.equal(await statusOf(engine, id), 'SCHEDULED');
    assert.equal((await create(engine, fields, t0 + minute + 1)).id, next.id, 'the newer one holds it now');
  });

  test('the end of an older job does not free the key that a newer one holds', async ({ engine }) => {
    const { id: older } = await create(engine, {
      dedupe: dedupe('k', { forMs: minute }),
      due: { at: t0 + day },
    });
    const { id: newer } = await create(engine, { dedupe: dedupe('k'), due: { at: t0 + day } }, t0 + minute);
    await cancel(engine, { id: older }, t0 + hour);
    const dropped = await create(engine, { dedupe: dedupe('k') }, t0 + hour);
    assert.deepEqual([dropped.id, dropped.deduped], [newer, true]);
  });

  test('a timed key outlives its job in history', async ({ engine }) => {
    const { id } = await create(engine, {
      dedupe: dedupe('k', { forMs: 10 * day }),
      policy: jobPolicy({ retentionMs: hour }),
    });
    await finish(engine, await claimOne(engine), 'COMPLETED');
    await engine.prune({ now: t0 + day, limit: 100, ledgerMs: day, auditMs: day, changesMs: day });
    assert.deepEqual((await engine.get({ now: t0 + day, ids: [id] })).jobs, [null]);
    const dropped = await create(engine, { dedupe: dedupe('k', { forMs: 10 * day }) }, t0 + 2 * day);
    assert.deepEqual([dropped.id, dropped.deduped], [id, true]);
  });

  test('keys are apart per type and per tenant', async ({ engine }) => {
    const items = await createAll(engine, [
      jobSpec({ dedupe: dedupe('k') }),
      jobSpec({ dedupe: dedupe('k'), tenant: 'acme' }),
      jobSpec({ dedupe: dedupe('k'), tenant: 'globex' }),
      jobSpec({ dedupe: dedupe('k'), type: 'other' }),
      jobSpec({ dedupe: dedupe('K') }),
      jobSpec({ dedupe: dedupe('k'), tenant: 'acme' }),
    ]);
    assert.deepEqual(
      items.map(({ deduped }) => deduped),
      [false, false, false, false, false, true],
    );
    assert.equal(itemAt(items, 5).id, itemAt(items, 1).id);
  });

  test('two jobs of one key in one group are one job', async ({ engine }) => {
    const [first, second] = await createAll(engine, [
      jobSpec({ dedupe: dedupe('k') }),
      jobSpec({ dedupe: dedupe('k') }),
    ]);
    assert.ok(first && second);
    assert.deepEqual([second.id, second.deduped], [first.id, true]);
    assert.equal((await claim(engine)).length, 1);
  });

  test('replace gives an unstarted holder the new input, due time and options', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const { id } = await create(engine, { dedupe: key, due: { at: t0 + hour } });
    const item = await create(
      engine,
      {
        dedupe: key,
        input: '"new"',
        metadata: '{"v":2}',
        due: { at: t0 + minute },
        priority: 5,
        policy: jobPolicy({ maxAttempts: 9 }),
      },
      t0 + 1,
    );
    assert.deepEqual(item, { id, status: 'SCHEDULED', dueAt: t0 + minute, deduped: true });
    const job = await read(engine, id);
    assert.deepEqual(
      [
        job.input,
        job.metadata,
        job.dueAt,
        job.priority,
        job.maxAttempts,
        job.policy.maxAttempts,
        job.createdAt,
      ],
      ['"new"', '{"v":2}', t0 + minute, 5, 9, 9, t0],
    );
    const lease = await claimOne(engine, {}, t0 + minute);
    assert.deepEqual([lease.id, lease.input, lease.maxAttempts], [id, '"new"', 9]);
  });

  test('replace moves a holder that is due but not taken, and makes a waiting one due', async ({
    engine,
  }) => {
    const key = dedupe('k', { mode: 'replace' });
    const { id } = await create(engine, { dedupe: key });
    const later = await create(engine, { dedupe: key, due: { at: t0 + hour } });
    assert.deepEqual([later.id, later.status], [id, 'SCHEDULED']);
    assert.deepEqual(await claim(engine), []);
    await create(engine, { dedupe: key, due: { at: t0 } });
    assert.equal((await claimOne(engine)).id, id);
  });

  test('a call that was folded and is sent again creates nothing, whatever its holder did meanwhile', async ({
    engine,
  }) => {
    for (const mode of ['replace', 'extend'] as const) {
      const key = dedupe(`again-${mode}`, { mode });
      const spec = jobSpec({ dedupe: key, input: '"new"' });
      const again = async () => {
        const reply = await engine.enqueue({ now: t0 + 2, repeat: true, groups: [{ jobs: [spec] }] });
        const { id, status, deduped } = only(accepted(only(reply.groups)));
        return { id, status, deduped };
      };
      const { id } = await create(engine, { dedupe: key, input: '"old"' });
      const folded = only(await createAll(engine, [spec], t0 + 1));
      assert.deepEqual([folded.id, folded.deduped], [id, true]);
      const later = jobSpec({ dedupe: key, input: '"newest"' });
      await createAll(engine, [later], t0 + 1);
      assert.deepEqual(await again(), { id, status: 'PENDING', deduped: true });
      assert.equal((await read(engine, id)).input, '"newest"', 'a later call is not undone');

      const lease = await claimOne(engine, { token: `${mode}-1` }, t0 + 1);
      assert.deepEqual(await again(), { id, status: 'RUNNING', deduped: true });
      await finish(engine, lease, 'COMPLETED', {}, t0 + 2);
      assert.deepEqual(await again(), { id, status: 'COMPLETED', deduped: true });
      assert.equal(
        only((await engine.get({ now: t0 + 2, ids: [spec.id] })).jobs),
        null,
        'nothing was created',
      );

      const next = await create(engine, { dedupe: key }, t0 + 3);
      assert.equal(next.deduped, false, 'the key is free');
      await cancel(engine, { id: next.id });
    }
  });

  test('a call that was folded into a job that was deleted is answered with how it ended', async ({
    engine,
  }) => {
    const key = { dedupe: dedupe('k', { mode: 'replace' }), due: { at: t0 + hour } };
    const { id } = await create(engine, key);
    const spec = jobSpec(key);
    await createAll(engine, [spec], t0 + 1);
    await deleteJobs(engine, [id]);
    const reply = await engine.enqueue({ now: t0 + 2, repeat: true, groups: [{ jobs: [spec] }] });
    assert.deepEqual(only(accepted(only(reply.groups))), {
      id,
      status: 'CANCELLED',
      dueAt: t0 + hour,
      deduped: true,
    });
    assert.deepEqual(await claim(engine, {}, t0 + 2 * hour), []);
  });

  test('the start deadline of a replaced holder counts from its new due time', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const { id } = await create(engine, { dedupe: key, due: { at: t0 + minute }, startDeadlineMs: second });
    await create(engine, { dedupe: key, due: { at: t0 + hour }, startDeadlineMs: minute });
    assert.equal((await read(engine, id)).expireAt, t0 + hour + minute);
    await create(engine, { dedupe: key, due: { at: t0 + hour }, startDeadlineMs: null });
    assert.equal((await read(engine, id)).expireAt, null);
  });

  test('extend moves the due time of an unstarted holder', async ({ engine }) => {
    const key = dedupe('k', { mode: 'extend' });
    const { id } = await create(engine, { dedupe: key, due: { inMs: minute } });
    const item = await create(engine, { dedupe: key, due: { inMs: minute } }, t0 + 30 * second);
    assert.deepEqual([item.id, item.dueAt, item.deduped], [id, t0 + 90 * second, true]);
    assert.deepEqual(await claim(engine, {}, t0 + 89 * second), []);
    assert.equal((await claimOne(engine, {}, t0 + 90 * second)).id, id);
  });

  test('extend moves the due time at most so long after creation', async ({ engine }) => {
    const key = dedupe('k', { mode: 'extend', maxWaitMs: 2 * minute });
    const { id } = await create(engine, { dedupe: key, due: { inMs: minute } });
    for (const wait of [50 * second, 100 * second, 119 * second]) {
      const item = await create(engine, { dedupe: key, due: { inMs: minute } }, t0 + wait);
      assert.equal(item.id, id);
      assert.equal(item.dueAt, Math.min(t0 + wait + minute, t0 + 2 * minute));
    }
    assert.equal((await claimOne(engine, {}, t0 + 2 * minute)).id, id);
  });

  for (const mode of ['replace', 'extend'] as const) {
    test(`${mode} against a started holder makes one follow-up behind it, into which later calls fold`, async ({
      engine,
    }) => {
      const key = dedupe('k', { mode });
      const holder = await createRunning(engine, { dedupe: key });
      const follow = await create(engine, { dedupe: key, input: '"second"' });
      assert.deepEqual([follow.deduped, follow.status], [false, 'BLOCKED']);
      assert.notEqual(follow.id, holder.id);
      assert.deepEqual(gatesOf(await read(engine, follow.id)), [`dedupe ${holder.id}`]);
      assert.equal((await read(engine, holder.id)).input, holder.input, 'the running one keeps its input');

      const folded = await create(engine, { dedupe: key, input: '"third"' });
      assert.deepEqual([folded.id, folded.deduped, folded.status], [follow.id, true, 'BLOCKED']);
      if (mode === 'replace') assert.equal((await read(engine, follow.id)).input, '"third"');
      assert.deepEqual(await claim(engine), []);

      await finish(engine, holder, 'COMPLETED');
      assert.equal(await statusOf(engine, follow.id), 'PENDING');
      const lease = await claimOne(engine);
      assert.equal(lease.id, follow.id);
      const third = await create(engine, { dedupe: key });
      assert.deepEqual([third.deduped, third.status], [false, 'BLOCKED'], 'the follow-up holds the key now');
      await finish(engine, lease, 'COMPLETED');
      await finish(engine, await claimOne(engine), 'COMPLETED');
      assert.equal((await create(engine, { dedupe: key })).status, 'PENDING');
    });
  }

  test('a follow-up holds the key once the time of its holder is over, though that one still runs', async ({
    engine,
  }) => {
    const mode = 'replace';
    const holder = await createRunning(engine, { dedupe: dedupe('k', { mode, forMs: minute }) });
    const follow = await create(engine, { dedupe: dedupe('k', { mode }), input: '"second"' }, t0 + second);
    const ask = (now: number) => engine.holder({ now, type: 'work', tenant: null, key: 'k' });
    assert.equal(only((await ask(t0 + minute - 1)).jobs)?.id, holder.id);
    assert.equal(only((await ask(t0 + minute)).jobs)?.id, follow.id);
    const dropped = await create(engine, { dedupe: dedupe('k') }, t0 + minute);
    assert.deepEqual([dropped.id, dropped.deduped], [follow.id, true]);
    const folded = await create(engine, { dedupe: dedupe('k', { mode }), input: '"third"' }, t0 + minute);
    assert.deepEqual([folded.id, folded.deduped, folded.status], [follow.id, true, 'BLOCKED']);
    assert.equal((await read(engine, follow.id)).input, '"third"');
    const cancelled = await cancel(engine, { type: 'work', tenant: null, key: 'k' }, t0 + minute);
    assert.deepEqual([cancelled.id, cancelled.result], [follow.id, 'changed']);
    assert.equal(await statusOf(engine, holder.id), 'RUNNING');
    const next = await create(engine, { dedupe: dedupe('k') }, t0 + minute);
    assert.deepEqual([next.deduped, next.status], [false, 'PENDING']);
  });

  test('the time of a follow-up counts from its own creation, and then the key is free', async ({
    engine,
  }) => {
    const key = dedupe('k', { mode: 'replace', forMs: minute });
    await createRunning(engine, { dedupe: key });
    const follow = await create(engine, { dedupe: key }, t0 + second);
    assert.equal((await create(engine, { dedupe: key }, t0 + minute)).id, follow.id);
    const next = await create(engine, { dedupe: key }, t0 + minute + second);
    assert.deepEqual([next.deduped, next.status], [false, 'PENDING']);
  });

  test('a follow-up opens also when its holder is terminated', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const holder = await createRunning(engine, { dedupe: key });
    const { id } = await create(engine, { dedupe: key });
    await cancel(engine, { id: holder.id }, t0, 'terminate');
    assert.equal((await claimOne(engine)).id, id);
  });

  test('a cancelled follow-up makes room for another', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const holder = await createRunning(engine, { dedupe: key });
    const { id: first } = await create(engine, { dedupe: key });
    await cancel(engine, { id: first });
    const next = await create(engine, { dedupe: key });
    assert.deepEqual([next.deduped, next.status], [false, 'BLOCKED']);
    await finish(engine, holder, 'COMPLETED');
    assert.equal((await claimOne(engine)).id, next.id);
  });

  test('the holder of a key is found, and nobody when it is free', async ({ engine }) => {
    const ask = (tenant: string | null, key = 'k') => engine.holder({ now: t0, type: 'work', tenant, key });
    assert.deepEqual((await ask('acme')).jobs, [null]);
    const { id } = await create(engine, { tenant: 'acme', dedupe: dedupe('k') });
    const holder = only((await ask('acme')).jobs);
    assert.deepEqual([holder?.id, holder?.dedupeKey], [id, 'k']);
    assert.deepEqual((await ask(null)).jobs, [null]);
    await cancel(engine, { id });
    assert.deepEqual((await ask('acme')).jobs, [null]);
  });

  test('a timed key still names its job after it ended, until the time is over', async ({ engine }) => {
    const { id } = await create(engine, { dedupe: dedupe('k', { forMs: hour }) });
    await finish(engine, await claimOne(engine), 'COMPLETED');
    const ask = (now: number) => engine.holder({ now, type: 'work', tenant: null, key: 'k' });
    const holder = only((await ask(t0 + hour - 1)).jobs);
    assert.deepEqual([holder?.id, holder?.status], [id, 'COMPLETED']);
    assert.deepEqual((await ask(t0 + hour)).jobs, [null]);
  });

  test('jobs without a key are never deduped', async ({ engine }) => {
    const items = await createAll(engine, [jobSpec(), jobSpec({ input: '{"n":1}' })]);
    assert.deepEqual(
      items.map(({ deduped }) => deduped),
      [false, false],
    );
  });
}
