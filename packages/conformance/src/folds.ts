import assert from 'node:assert/strict';
import { day, dedupe, hour, minute, t0 } from './builders.ts';
import {
  cancel,
  claim,
  claimOne,
  create,
  createRunning,
  finish,
  only,
  read,
  retry,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What a call that replaces changes besides the input, and what becomes of follow-ups (docs/reference/semantics.md#dedupe). */
export function foldTests(test: DefineTest): void {
  test('replace gives an unstarted holder the version and the queue of the new call', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const { id } = await create(engine, { dedupe: key, version: 1, queue: 'default' });
    await create(engine, { dedupe: key, version: 2, queue: 'mail' }, t0 + 1);
    const { version, queue } = await read(engine, id);
    assert.deepEqual([version, queue], [2, 'mail']);
    const older = { tasks: [{ type: 'work', version: 1, limit: 100 }] };
    const newer = { tasks: [{ type: 'work', version: 2, limit: 100 }] };
    assert.deepEqual(await claim(engine, { ...older, queues: ['mail'] }, t0 + 1), []);
    assert.deepEqual(await claim(engine, { ...newer, queues: ['default'] }, t0 + 1), []);
    const lease = await claimOne(engine, { ...newer, queues: ['mail'] }, t0 + 1);
    assert.deepEqual([lease.id, lease.version, lease.queue], [id, 2, 'mail']);
  });

  test('replace gives a due holder the rank of the new call', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const low = { priority: -1, rankOffsetMs: minute };
    const high = { priority: 1, rankOffsetMs: -minute };
    const { id } = await create(engine, { dedupe: key, ...low });
    const { id: other } = await create(engine, {});
    const first = async () => only(await claim(engine, { limit: 1 }, t0 + 1)).id;
    const replaced = await create(engine, { dedupe: key, ...high, due: { at: t0 + 1 } }, t0 + 1);
    assert.deepEqual([replaced.id, replaced.status], [id, 'PENDING']);
    assert.equal(await first(), id, 'the new priority comes before the other job');
    assert.equal(await first(), other);
  });

  test('a cancel by key takes the follow-up along that waits behind the started holder', async ({
    engine,
  }) => {
    for (const mode of ['ask', 'terminate'] as const) {
      const key = `k-${mode}`;
      const fields = { dedupe: dedupe(key, { mode: 'replace' }) };
      const holder = await createRunning(engine, fields);
      const { id: follow, status } = await create(engine, fields);
      assert.equal(status, 'BLOCKED');
      const target = { type: 'work', tenant: null, key };
      const item = await cancel(engine, target, t0 + 1, mode);
      assert.deepEqual([item.id, item.result], [holder.id, mode === 'ask' ? 'asked' : 'changed']);
      assert.equal(await statusOf(engine, follow), 'CANCELLED');
      if (mode === 'ask') await finish(engine, holder, 'CANCELLED', {}, t0 + 2);
      assert.deepEqual(await claim(engine, {}, t0 + hour), []);
      assert.equal((await create(engine, { dedupe: dedupe(key) }, t0 + 3)).deduped, false, 'the key is free');
      await cancel(engine, target, t0 + 3);
    }
  });

  test('a follow-up behind a retried holder keeps the key that pruning finds expired', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace' });
    const { id } = await create(engine, { dedupe: dedupe('k', { forMs: minute }) });
    await cancel(engine, { id });
    await retry(engine, id, t0 + 1);
    const holder = await claimOne(engine, {}, t0 + 1);
    const follow = await create(engine, { dedupe: key }, t0 + 2);
    assert.deepEqual([follow.status, follow.deduped], ['BLOCKED', false]);
    await engine.prune({ now: t0 + hour, limit: 100, ledgerMs: day, auditMs: day, changesMs: day });
    const folded = await create(engine, { dedupe: key }, t0 + hour);
    assert.deepEqual([folded.id, folded.deduped], [follow.id, true]);
    await finish(engine, holder, 'COMPLETED', {}, t0 + hour);
    assert.equal((await claimOne(engine, {}, t0 + hour)).id, follow.id);
  });

  test('a cancel by a key that is free again cancels nothing', async ({ engine }) => {
    const key = dedupe('k', { mode: 'replace', forMs: minute });
    const holder = await createRunning(engine, { dedupe: key });
    const { id: follow } = await create(engine, { dedupe: key });
    const item = await cancel(engine, { type: 'work', tenant: null, key: 'k' }, t0 + minute);
    assert.deepEqual([item.id, item.result], [null, 'missing']);
    assert.equal(await statusOf(engine, holder.id), 'RUNNING');
    assert.equal(await statusOf(engine, follow), 'BLOCKED');
  });
}
