import assert from 'node:assert/strict';
import { claimRequest, hour, jobSpec, minute, t0 } from './builders.ts';
import {
  claim,
  claimOne,
  claimReply,
  create,
  createAll,
  createRunning,
  finish,
  only,
  pause,
  resume,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What a pause does to claims (docs/reference/semantics.md#serial). */
export function pauseTests(test: DefineTest): void {
  test('a pause of everything stops claims and nothing else', async ({ engine }) => {
    const running = await createRunning(engine);
    await pause(engine, 'all');
    const { id, status } = await create(engine);
    assert.equal(status, 'PENDING', 'jobs are still accepted');
    assert.deepEqual(await claim(engine), []);
    const reply = await engine.enqueue({ now: t0, groups: [{ jobs: [jobSpec()] }], claim: claimRequest() });
    assert.deepEqual(reply.claimed, []);
    await finish(engine, running, 'COMPLETED');
    await resume(engine, 'all');
    assert.equal((await claim(engine)).length, 2);
    assert.equal(await statusOf(engine, id), 'RUNNING');
  });

  test('a pause of a queue stops that queue only', async ({ engine }) => {
    await create(engine, { queue: 'mail' });
    const { id: free } = await create(engine, { queue: 'video' });
    await pause(engine, 'queue:mail');
    assert.equal((await claimOne(engine)).id, free);
    assert.deepEqual(await claim(engine, { queues: ['mail'] }), []);
    await resume(engine, 'queue:mail');
    assert.equal((await claim(engine)).length, 1);
  });

  test('a pause of a task stops that task only', async ({ engine }) => {
    await create(engine, { type: 'a' });
    const { id: free } = await create(engine, { type: 'b' });
    await pause(engine, 'type:a');
    const tasks = ['a', 'b'].map((type) => ({ type, version: 1, limit: 5 }));
    assert.equal((await claimOne(engine, { tasks })).id, free);
    await resume(engine, 'type:a');
    assert.equal((await claim(engine, { tasks })).length, 1);
  });

  test('a pause ends by itself at its instant', async ({ engine }) => {
    await create(engine);
    await pause(engine, 'all', t0 + hour);
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    assert.equal((await claim(engine, {}, t0 + hour)).length, 1);
  });

  test('whoever sleeps until the next due job wakes when a pause ends', async ({ engine }) => {
    await create(engine);
    await create(engine, { due: { at: t0 + 2 * hour } });
    await pause(engine, 'all', t0 + hour);
    assert.equal((await claimReply(engine)).nextDueAt, t0 + hour);
  });

  test('a task is held while any of its pauses holds', async ({ engine }) => {
    await create(engine);
    for (const key of ['all', 'queue:default', 'type:work']) await pause(engine, key);
    for (const key of ['queue:default', 'all', 'type:work']) {
      assert.deepEqual(await claim(engine), []);
      await resume(engine, key);
    }
    assert.equal((await claim(engine)).length, 1);
  });

  test('a paused flood does not hide what may run', async ({ engine }) => {
    const flood = Array.from({ length: 1_000 }, () => jobSpec({ queue: 'slow', due: { at: t0 - hour } }));
    await createAll(engine, flood);
    await pause(engine, 'queue:slow');
    const { id } = await create(engine);
    assert.equal((await claimOne(engine)).id, id);
  });

  test('a job that falls due in a pause keeps its place in the order', async ({ engine }) => {
    await pause(engine, 'all');
    const { id: early } = await create(engine, { due: { at: t0 + minute } });
    const { id: earlier } = await create(engine, { due: { at: t0 + 1 } });
    assert.deepEqual(await claim(engine, {}, t0 + hour), []);
    await resume(engine, 'all', t0 + hour);
    const claimed = await claim(engine, {}, t0 + hour);
    assert.deepEqual(
      claimed.map(({ id }) => id),
      [earlier, early],
    );
  });

  test('a claim that took its leases before the pause gets them again by its token', async ({ engine }) => {
    await create(engine);
    const request = claimRequest();
    const lease = only((await engine.exchange({ now: t0, settle: [], claim: request })).claimed);
    await pause(engine, 'all');
    const again = await engine.exchange({ now: t0, settle: [], claim: request, repeat: true });
    assert.deepEqual(
      again.claimed.map(({ id, fence }) => [id, fence]),
      [[lease.id, lease.fence]],
    );
  });
}
