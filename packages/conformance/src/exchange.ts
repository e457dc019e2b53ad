import assert from 'node:assert/strict';
import type { ClaimRequest, JobSpec } from '@duly/core/internal';
import {
  claimRequest,
  hour,
  jobError,
  jobPolicy,
  jobSpec,
  lockRequest,
  lostSettlement,
  minute,
  scheduleClaim,
  schedulePut,
  second,
  settlement,
  t0,
} from './builders.ts';
import {
  applySchedules,
  cancel,
  claim,
  claimOne,
  claimReply,
  create,
  createAll,
  createFailed,
  createRunning,
  deleteJobs,
  finish,
  heartbeat,
  itemAt,
  only,
  read,
  reap,
  retry,
  settle,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `exchange` promises: order, limits, leases, repeats, outcomes. */
export function exchangeTests(test: DefineTest): void {
  claimTests(test);
  settleTests(test);
  repeatTests(test);
}

function claimTests(test: DefineTest): void {
  test('an empty store has nothing to give and nothing to wait for', async ({ engine }) => {
    const reply = await claimReply(engine);
    assert.deepEqual(reply, {
      now: t0,
      settled: [],
      claimed: [],
      nextDueAt: null,
      more: false,
      soloSinceAt: null,
    });
  });

  test('a claimed job is RUNNING under a lease', async ({ engine }) => {
    const { id } = await create(engine);
    const lease = await claimOne(engine, { node: 'node-b', leaseMs: 7 * second }, t0 + 3);
    const job = await read(engine, id, t0 + 4);
    assert.equal(job.status, 'RUNNING');
    assert.equal(job.node, 'node-b');
    assert.equal(job.fence, lease.fence);
    assert.equal(job.leaseUntilAt, t0 + 3 + 7 * second);
    assert.equal(job.startedAt, t0 + 3);
    assert.equal(job.attempt, 1);
    assert.equal(job.finishedAt, null);
    const attempt = only(job.attempts);
    assert.deepEqual(
      [
        attempt.n,
        attempt.node,
        attempt.fence,
        attempt.startedAt,
        attempt.begunAt,
        attempt.endedAt,
        attempt.reason,
      ],
      [1, 'node-b', lease.fence, t0 + 3, null, null, null],
    );
  });

  test('how late a job started for the first time is kept', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 - 250 } });
    const lease = await claimOne(engine);
    assert.equal((await read(engine, id)).latenessMs, 250);
    await finish(engine, lease, 'RETRYING', { due: { at: t0 + minute } });
    await finish(engine, await claimOne(engine, {}, t0 + hour), 'COMPLETED', {}, t0 + hour);
    assert.equal((await read(engine, id)).latenessMs, 250);
  });

  test('a claimed job is not given to anybody else', async ({ engine }) => {
    await create(engine);
    await claimOne(engine);
    assert.deepEqual(await claim(engine, { node: 'node-b' }), []);
    assert.deepEqual(
      await claim(engine, { node: 'node-b' }, t0 + hour),
      [],
      'not even after its lease: reap decides',
    );
  });

  test('the lower rank goes first: due instant plus offset', async ({ engine }) => {
    const at = (dueAt: number, rankOffsetMs: number) => jobSpec({ due: { at: dueAt }, rankOffsetMs });
    const specs = [
      at(t0 - 1 * second, 0), //                   rank −1 s
      at(t0 - 5 * second, 0), //                   rank −5 s
      at(t0, -1 * minute), //                      rank −60 s: priority 1
      at(t0 - 2 * hour, 0), //                     rank −2 h: old enough to pass priority 2
      at(t0 - 1, -2 * minute), //                  rank −120 s: priority 2
      at(t0 - 3 * second, +1 * minute), //         rank +57 s: a catch-up run
    ];
    await createAll(engine, specs);
    const order = [3, 4, 2, 1, 0, 5].map((n) => itemAt(specs, n).id);
    const [first, second_, ...rest] = order;
    assert.equal((await claimOne(engine, { limit: 1 })).id, first);
    assert.equal((await claimOne(engine, { limit: 1 })).id, second_);
    assert.deepEqual(
      (await claim(engine)).map(({ id }) => id),
      rest,
      'and the reply is in that order too',
    );
  });

  test('rank decides across types and queues', async ({ engine }) => {
    const specs = [
      jobSpec({ type: 'b', queue: 'q1', due: { at: t0 - 10 } }),
      jobSpec({ type: 'a', queue: 'q2', due: { at: t0 - 40 } }),
      jobSpec({ type: 'b', queue: 'q2', due: { at: t0 - 30 } }),
      jobSpec({ type: 'a', queue: 'q1', due: { at: t0 - 20 } }),
    ];
    await createAll(engine, specs);
    const tasks = ['a', 'b'].map((type) => ({ type, version: 1, limit: 10 }));
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push((await claimOne(engine, { tasks, limit: 1 })).id);
    assert.deepEqual(
      ids,
      [1, 2, 3, 0].map((n) => itemAt(specs, n).id),
    );
  });

  test('of equal rank the one created first goes first', async ({ engine }) => {
    const specs = Array.from({ length: 6 }, () => jobSpec());
    await createAll(engine, specs.slice(0, 3));
    await createAll(engine, specs.slice(3), t0);
    const ids = [
      ...(await claim(engine, { limit: 2 })).map(({ id }) => id),
      ...(await claim(engine)).map(({ id }) => id),
    ];
    assert.deepEqual(
      ids,
      specs.map(({ id }) => id),
    );
  });

  test('a job that fell due while it waited takes its place by rank among those that were ready', async ({
    engine,
  }) => {
    const { id: later } = await create(engine, { due: { at: t0 + 10 } }, t0);
    const { id: earlier } = await create(engine, { due: { at: t0 + 5 } }, t0);
    const { id: behind } = await create(engine, { due: { at: t0 + 20 } }, t0 + 20);
    assert.deepEqual(
      (await claim(engine, {}, t0 + 30)).map(({ id }) => id),
      [earlier, later, behind],
    );
  });

  test('nothing is given before its due instant, everything at it', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + minute } });
    assert.deepEqual(await claim(engine, {}, t0 + minute - 1), []);
    assert.equal((await claimOne(engine, {}, t0 + minute)).id, id);
  });

  test('a claim that takes what fell due gives it by rank, and says when the next falls due', async ({
    engine,
  }) => {
    const at = (dueAt: number, rankOffsetMs: number) => jobSpec({ due: { at: dueAt }, rankOffsetMs });
    const specs = [at(t0 + 10, 0), at(t0 + 20, -15), at(t0 + 30, 0), at(t0 + 40, 0)];
    await createAll(engine, specs);
    const single = await claimReply(engine, {}, t0 + 19);
    assert.deepEqual(
      [single.claimed.map(({ id }) => id), single.nextDueAt, single.more],
      [[specs[0]?.id], t0 + 20, false],
    );
    const several = await claimReply(engine, {}, t0 + 30);
    assert.deepEqual(
      [several.claimed.map(({ id }) => id), several.nextDueAt, several.more],
      [[specs[1]?.id, specs[2]?.id], t0 + 40, false],
    );
    const last = await claimReply(engine, { limit: 1 }, t0 + 40);
    assert.deepEqual([last.claimed.map(({ id }) => id), last.nextDueAt], [[specs[3]?.id], null]);
  });

  test('of more that fell due than a claim may take the most urgent is given, and the rest is ready', async ({
    engine,
  }) => {
    const specs = [0, -50, 0].map((rankOffsetMs) => jobSpec({ due: { at: t0 + 10 }, rankOffsetMs }));
    await createAll(engine, specs);
    const reply = await claimReply(engine, { limit: 1 }, t0 + 10);
    assert.deepEqual([reply.claimed.map(({ id }) => id), reply.more], [[specs[1]?.id], true]);
    assert.equal(await statusOf(engine, specs[0]?.id as string), 'PENDING');
  });

  test('a high priority does not make a job early', async ({ engine }) => {
    await create(engine, { due: { at: t0 + minute }, rankOffsetMs: -10 * hour, priority: 600 });
    assert.deepEqual(await claim(engine, {}, t0 + minute - 1), []);
  });

  test('a claim says that more is ready also when its only task may bring no more than the claim', async ({
    engine,
  }) => {
    await createAll(engine, [jobSpec(), jobSpec(), jobSpec()]);
    const { type, version } = jobSpec();
    const reply = await claimReply(engine, { limit: 2, tasks: [{ type, version, limit: 2 }] });
    assert.deepEqual([reply.claimed.length, reply.more], [2, true]);
  });

  test('a claim takes at most its limit and says whether more is ready', async ({ engine }) => {
    await createAll(
      engine,
      Array.from({ length: 5 }, () => jobSpec()),
    );
    const first = await claimReply(engine, { limit: 2 });
    assert.deepEqual([first.claimed.length, first.more], [2, true]);
    const rest = await claimReply(engine, { limit: 10 });
    assert.deepEqual([rest.claimed.length, rest.more], [3, false]);
  });

  test('a claim takes at most the limit of each task', async ({ engine }) => {
    const types = ['a', 'a', 'a', 'b', 'b', 'c'];
    await createAll(
      engine,
      types.map((type) => jobSpec({ type })),
    );
    const tasks = [
      { type: 'a', version: 1, limit: 1 },
      { type: 'b', version: 1, limit: 5 },
      { type: 'c', version: 1, limit: 0 },
    ];
    const claimed = await claim(engine, { tasks });
    assert.deepEqual(claimed.map(({ type }) => type).sort(), ['a', 'b', 'b']);
  });

  test('a claim for no tasks, or with limit 0, takes nothing', async ({ engine }) => {
    await create(engine);
    assert.deepEqual(await claim(engine, { tasks: [] }), []);
    assert.deepEqual(await claim(engine, { limit: 0 }), []);
    assert.equal((await claim(engine)).length, 1);
  });

  test('a claim with limit 0 tells whether something is ready for it', async ({ engine }) => {
    const isMore = async (fields: Partial<ClaimRequest> = {}, now = t0) =>
      (await claimReply(engine, { ...fields, limit: 0 }, now)).more;
    assert.equal(await isMore(), false);
    await create(engine, { due: { at: t0 + second }, queue: 'slow' });
    assert.equal(await isMore(), false, 'it waits for its time');
    assert.equal(await isMore({}, t0 + second), true);
    assert.equal(await isMore({ queues: ['fast'] }, t0 + second), false);
    assert.equal(await isMore({ tasks: [{ type: 'other', version: 9, limit: 1 }] }, t0 + second), false);
    assert.equal(await isMore({ tasks: [{ type: 'work', version: 0, limit: 1 }] }, t0 + second), false);
    assert.equal((await claim(engine, {}, t0 + second)).length, 1);
    assert.equal(await isMore({}, t0 + second), false, 'it was taken');
  });

  test('a worker gets versions up to its own and never a newer one', async ({ engine }) => {
    const { id: two } = await create(engine, { version: 2, due: { at: t0 - 1 } });
    const { id: one } = await create(engine, { version: 1 });
    const tasks = (version: number) => [{ type: 'work', version, limit: 10 }];
    assert.equal((await claimOne(engine, { tasks: tasks(1) })).id, one);
    assert.deepEqual(await claim(engine, { tasks: tasks(1) }), []);
    assert.equal((await claimOne(engine, { tasks: tasks(2) })).id, two);
    const { id: old } = await create(engine, { version: 1 });
    assert.equal((await claimOne(engine, { tasks: tasks(7) })).id, old);
  });

  test('a worker that names queues gets jobs of those only', async ({ engine }) => {
    const { id: mail } = await create(engine, { queue: 'mail' });
    const { id: video } = await create(engine, { queue: 'video' });
    await create(engine, { queue: 'default' });
    assert.equal((await claimOne(engine, { queues: ['mail'] })).id, mail);
    assert.deepEqual(await claim(engine, { queues: [] }), []);
    assert.equal((await claimOne(engine, { queues: ['video', 'mail', 'nowhere'] })).id, video);
  });

  test('a flood of ready jobs that nobody here handles does not hide ours', async ({ engine }) => {
    const flood = (fields: Partial<JobSpec>) =>
      Array.from({ length: 1_000 }, () => jobSpec({ due: { at: t0 - hour }, ...fields }));
    await createAll(engine, flood({ type: 'other' }));
    await createAll(engine, flood({ version: 2 }));
    await createAll(engine, flood({ queue: 'elsewhere' }));
    const { id } = await create(engine);
    assert.equal((await claimOne(engine, { queues: ['default'] })).id, id);
  });

  test('a flood of jobs that just fell due and nobody here handles does not keep ours away for good', async ({
    engine,
  }) => {
    await createAll(
      engine,
      Array.from({ length: 2_000 }, () => jobSpec({ type: 'other', due: { at: t0 + 1 } })),
    );
    const { id } = await create(engine, { due: { at: t0 + 2 } });
    // How many are promoted at once is the engine's affair; a worker that keeps asking must get there.
    let found: string | undefined;
    for (let asked = 0; asked < 30 && found === undefined; asked += 1) {
      const reply = await claimReply(engine, {}, t0 + minute);
      found = reply.claimed[0]?.id;
      if (found === undefined) {
        assert.ok(
          reply.more || (reply.nextDueAt !== null && reply.nextDueAt <= t0 + minute),
          'a claim that has not looked at everything due says that there is more',
        );
      }
    }
    assert.equal(found, id);
  });

  test('the reply names the next instant at which a waiting job falls due', async ({ engine }) => {
    await create(engine, { due: { at: t0 + hour } });
    await create(engine, { due: { at: t0 + minute } });
    const lease = await createRunning(engine);
    assert.equal((await claimReply(engine)).nextDueAt, t0 + minute);
    await finish(engine, lease, 'RETRYING', { due: { at: t0 + second } });
    assert.equal((await claimReply(engine)).nextDueAt, t0 + second);
    await claimOne(engine, {}, t0 + second);
    assert.equal((await claimReply(engine, {}, t0 + second)).nextDueAt, t0 + minute);
  });

  test('either half of an exchange may be empty', async ({ engine }) => {
    const reply = await engine.exchange({ now: t0, settle: [], claim: null });
    assert.deepEqual([reply.settled, reply.claimed], [[], []]);
  });

  test('every fence is greater than every fence before it, across jobs, locks and schedules', async ({
    engine,
  }) => {
    const fences: number[] = [];
    await createAll(engine, [jobSpec(), jobSpec(), jobSpec()]);
    const [first, ...rest] = await claim(engine, { limit: 2 });
    assert.ok(first);
    fences.push(...[first, ...rest].map(({ fence }) => fence).sort((a, b) => a - b));
    const lock = await engine.acquire(lockRequest('l'));
    fences.push(lock.fence);
    const put = schedulePut();
    await applySchedules(engine, [put]);
    fences.push(only((await engine.claimSchedules(scheduleClaim())).schedules).fence);
    fences.push((await claimOne(engine)).fence);
    fences.push(...(await reap(engine, t0 + hour)).map(({ fence }) => fence).sort((a, b) => a - b));
    await engine.release({ now: t0, locks: [{ name: 'l', fence: lock.fence }] });
    fences.push((await engine.acquire(lockRequest('l', { now: t0 + hour }))).fence);
    assert.deepEqual(
      fences,
      [...new Set(fences)].sort((a, b) => a - b),
    );
    assert.equal(fences.length, 9);
  });

  test('a fence grows even over a job that was deleted', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'COMPLETED');
    await deleteJobs(engine, [lease.id]);
    await engine.prune({ now: t0 + 10 * 365 * 24 * hour, limit: 100, ledgerMs: 0, auditMs: 0, changesMs: 0 });
    assert.ok((await createRunning(engine)).fence > lease.fence);
  });
}

function settleTests(test: DefineTest): void {
  test('a job that returned is COMPLETED, with its result and progress 100', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'COMPLETED', { result: '{ "answer": 42 }' }, t0 + second);
    const job = await read(engine, lease.id, t0 + minute);
    assert.equal(job.status, 'COMPLETED');
    assert.equal(job.result, '{ "answer": 42 }');
    assert.equal(job.error, null);
    assert.equal(job.progress.percent, 100);
    assert.equal(job.finishedAt, t0 + second);
    assert.equal(job.leaseUntilAt, null);
    assert.equal(job.startedAt, t0);
    assert.equal(job.spent, 1);
    assert.equal(job.dead, false);
    const attempt = only(job.attempts);
    assert.deepEqual([attempt.endedAt, attempt.reason, attempt.error], [t0 + second, 'returned', null]);
  });

  test('a result may be null, and none at all is not the same as JSON null', async ({ engine }) => {
    const nothing = await createRunning(engine);
    await finish(engine, nothing, 'COMPLETED', { result: null });
    assert.equal((await read(engine, nothing.id)).result, null);
    const jsonNull = await createRunning(engine);
    await finish(engine, jsonNull, 'COMPLETED', { result: 'null' });
    assert.equal((await read(engine, jsonNull.id)).result, 'null');
  });

  test('a job with no attempts left is FAILED, a dead letter with its error', async ({ engine }) => {
    const lease = await createRunning(engine);
    const error = {
      name: 'TypeError',
      message: 'Größer "x" is not a function',
      stack: 'TypeError: …\n  at run',
      code: 'E_X',
      cause: { name: 'Error', message: 'deep', cause: { name: 'Error', message: 'deeper' } },
    };
    await finish(engine, lease, 'FAILED', { error }, t0 + 2);
    const job = await read(engine, lease.id);
    assert.equal(job.status, 'FAILED');
    assert.deepEqual(job.error, error);
    assert.equal(job.dead, true);
    assert.equal(job.finishedAt, t0 + 2);
    assert.equal(job.result, null);
    assert.deepEqual(only(job.attempts).error, error);
  });

  test('a failure with attempts left is RETRYING and is given again at its instant, not before', async ({
    engine,
  }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'RETRYING', { due: { inMs: minute } }, t0 + 1);
    const job = await read(engine, lease.id);
    assert.deepEqual(
      [job.status, job.dueAt, job.spent, job.attempt, job.leaseUntilAt, job.finishedAt],
      ['RETRYING', t0 + 1 + minute, 1, 1, null, null],
    );
    assert.deepEqual(await claim(engine, {}, t0 + minute), []);
    const again = await claimOne(engine, { node: 'node-b' }, t0 + 1 + minute);
    assert.deepEqual([again.id, again.attempt, again.spent], [lease.id, 2, 1]);
    assert.ok(again.fence > lease.fence);
    const attempts = (await read(engine, lease.id)).attempts;
    assert.deepEqual(
      attempts.map(({ n, node, reason, error }) => [n, node, reason, error?.message ?? null]),
      [
        [1, 'node-a', 'threw', 'It broke.'],
        [2, 'node-b', null, null],
      ],
    );
    assert.equal((await read(engine, lease.id)).startedAt, t0, 'startedAt is the first start');
  });

  test('a snooze is SCHEDULED, spends nothing and starts a new attempt later', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'SCHEDULED', { due: { at: t0 + hour } });
    const job = await read(engine, lease.id);
    assert.deepEqual([job.status, job.dueAt, job.spent], ['SCHEDULED', t0 + hour, 0]);
    assert.deepEqual(await claim(engine, {}, t0 + hour - 1), []);
    const again = await claimOne(engine, {}, t0 + hour);
    assert.deepEqual([again.id, again.spent], [lease.id, 0]);
  });

  test('a release before the handler was entered gives the attempt number back', async ({ engine }) => {
    const lease = await createRunning(engine, { due: { at: t0 - second } });
    await finish(engine, lease, 'PENDING', { started: false });
    const job = await read(engine, lease.id);
    assert.deepEqual(
      [job.status, job.attempt, job.spent, job.losses, job.dueAt, job.leaseUntilAt],
      ['PENDING', 0, 0, 0, t0 - second, null],
    );
    assert.equal((await claimOne(engine)).attempt, 1);
  });

  test('a release after the handler was entered keeps the number and spends nothing', async ({ engine }) => {
    const lease = await createRunning(engine);
    await finish(engine, lease, 'PENDING', { started: true });
    const job = await read(engine, lease.id);
    assert.deepEqual([job.status, job.attempt, job.spent, job.losses], ['PENDING', 1, 0, 0]);
    const again = await claimOne(engine);
    assert.deepEqual([again.attempt, again.spent], [2, 0]);
  });

  test('a job that was given back before its handler was entered has not started', async ({ engine }) => {
    const lease = await createRunning(engine, { startDeadlineMs: minute });
    await finish(engine, lease, 'PENDING', { started: false });
    const job = await read(engine, lease.id);
    assert.deepEqual([job.startedAt, job.latenessMs, job.attempts], [null, null, []]);
    await reap(engine, t0 + minute + 1);
    assert.equal(await statusOf(engine, lease.id), 'EXPIRED', 'its start deadline still binds');
  });

  test('a job that was cancelled or failed before its handler was entered has not started', async ({
    engine,
  }) => {
    for (const to of ['CANCELLED', 'FAILED'] as const) {
      const lease = await createRunning(engine);
      await finish(engine, lease, to, { started: false });
      const { status, startedAt, latenessMs } = await read(engine, lease.id);
      assert.deepEqual([status, startedAt, latenessMs], [to, null, null]);
    }
  });

  test('a retried job that was released before its handler was entered has not started again', async ({
    engine,
  }) => {
    const { id } = await createFailed(engine);
    await retry(engine, id, t0 + hour);
    const lease = await claimOne(engine, {}, t0 + hour);
    await finish(engine, lease, 'PENDING', { started: false });
    assert.equal((await read(engine, id)).startedAt, null);
    await claimOne(engine, {}, t0 + 2 * hour);
    assert.equal((await read(engine, id)).startedAt, t0 + 2 * hour);
  });

  test('the record of attempts is bounded, their number is not', async ({ engine }) => {
    const { id } = await create(engine);
    for (let n = 1; n <= 120; n += 1) {
      await finish(engine, await claimOne(engine), 'RETRYING', { spends: false, due: { inMs: 0 } });
    }
    const job = await read(engine, id);
    assert.equal(job.attempt, 120);
    assert.ok(job.attempts.length >= 10 && job.attempts.length < 120, `${job.attempts.length} are kept`);
    assert.deepEqual(
      job.attempts.slice(-3).map(({ n }) => n),
      [118, 119, 120],
    );
  });

  test('a released job can be taken at once, also by the exchange that released it', async ({ engine }) => {
    const lease = await createRunning(engine);
    const reply = await engine.exchange({
      now: t0,
      settle: [settlement(lease, 'PENDING')],
      claim: claimRequest(),
    });
    assert.deepEqual(reply.settled, ['done']);
    assert.equal(only(reply.claimed).id, lease.id);
    assert.ok(only(reply.claimed).fence > lease.fence);
  });

  test('an attempt has one outcome: the first that is handed in', async ({ engine }) => {
    const lease = await createRunning(engine);
    const reply = await engine.exchange({
      now: t0,
      settle: [settlement(lease, 'COMPLETED'), settlement(lease, 'FAILED')],
      claim: null,
    });
    assert.deepEqual(reply.settled, ['done', 'lost']);
    assert.equal(await settle(engine, settlement(lease, 'RETRYING')), 'lost');
    const job = await read(engine, lease.id);
    assert.deepEqual([job.status, job.spent, job.attempts.length], ['COMPLETED', 1, 1]);
  });

  test('an outcome under a wrong fence, or for a job that is not there, is lost and writes nothing', async ({
    engine,
  }) => {
    const lease = await createRunning(engine);
    const before = await read(engine, lease.id);
    const reply = await engine.exchange({
      now: t0 + 1,
      settle: [
        settlement({ id: lease.id, fence: lease.fence - 1 }, 'COMPLETED'),
        settlement({ id: lease.id, fence: lease.fence + 1 }, 'COMPLETED'),
        settlement({ id: 'job_nowhere', fence: lease.fence }, 'COMPLETED'),
      ],
      claim: null,
    });
    assert.deepEqual(reply.settled, ['lost', 'lost', 'lost']);
    assert.deepEqual(await read(engine, lease.id), before);
    await finish(engine, lease, 'COMPLETED');
  });

  test('a refused settlement fails neither its neighbours nor the claim', async ({ engine }) => {
    const lease = await createRunning(engine);
    const { id: next } = await create(engine);
    const reply = await engine.exchange({
      now: t0,
      settle: [settlement({ id: 'job_nowhere', fence: 1 }, 'COMPLETED'), settlement(lease, 'COMPLETED')],
      claim: claimRequest(),
    });
    assert.deepEqual(reply.settled, ['lost', 'done']);
    assert.equal(only(reply.claimed).id, next);
  });

  test('the last progress and log lines travel with the outcome', async ({ engine }) => {
    const lease = await createRunning(engine);
    const report = {
      progress: { percent: 80, message: 'Nearly', step: 4, of: 5 },
      logs: [{ line: 1, at: t0, level: 'warn' as const, message: 'last words' }],
    };
    await finish(engine, lease, 'FAILED', { report });
    assert.deepEqual((await read(engine, lease.id)).progress, report.progress);
    const { lines } = await engine.logs({ now: t0, id: lease.id, after: 0, limit: 10 });
    assert.deepEqual(
      lines.map(({ message, level, attempt }) => [message, level, attempt]),
      [['last words', 'warn', 1]],
    );
  });

  test('a new attempt starts at progress 0', async ({ engine }) => {
    const lease = await createRunning(engine);
    const progress = { percent: 60, message: 'Half', step: 1, of: 2 };
    await engine.report({ now: t0, logLimit: 10, reports: [{ ...lease, progress, logs: [] }] });
    await finish(engine, lease, 'RETRYING');
    const again = await claimOne(engine, {}, t0 + minute);
    assert.equal((await read(engine, lease.id)).progress.percent, 0);
    await finish(engine, again, 'COMPLETED');
    assert.equal((await read(engine, lease.id)).progress.percent, 100);
  });

  test('a running job that was asked to cancel may still complete, or end CANCELLED', async ({ engine }) => {
    const stubborn = await createRunning(engine);
    await cancel(engine, { id: stubborn.id });
    await finish(engine, stubborn, 'COMPLETED');
    assert.equal(await statusOf(engine, stubborn.id), 'COMPLETED');

    const obedient = await createRunning(engine);
    await cancel(engine, { id: obedient.id });
    await finish(engine, obedient, 'CANCELLED', {}, t0 + 5);
    const job = await read(engine, obedient.id);
    assert.deepEqual([job.status, job.finishedAt, job.dead], ['CANCELLED', t0 + 5, false]);
    assert.equal(job.cancelledBy, 'key:anna');
  });

  test('a job that was asked to cancel does not come back: put off, given back or tried again it is CANCELLED', async ({
    engine,
  }) => {
    for (const to of ['RETRYING', 'SCHEDULED', 'PENDING'] as const) {
      const lease = await createRunning(engine);
      await cancel(engine, { id: lease.id });
      const settle = [settlement(lease, to, { due: { at: t0 + hour } })];
      assert.deepEqual((await engine.exchange({ now: t0 + 5, settle, claim: null })).settled, ['done']);
      const job = await read(engine, lease.id);
      assert.deepEqual([job.status, job.reason, job.finishedAt], ['CANCELLED', 'cancelled', t0 + 5], to);
      assert.equal(job.cancelledBy, 'key:anna');
      const again = await engine.exchange({ now: t0 + 9, settle, claim: null, repeat: true });
      assert.deepEqual(again.settled, ['done'], 'sent again after a lost answer');
      assert.deepEqual(await read(engine, lease.id), job);
    }
  });

  test('a job that failed is retried with its attempts numbered on and new ones granted', async ({
    engine,
  }) => {
    const lease = await createRunning(engine, { policy: jobPolicy({ maxAttempts: 2 }) });
    await finish(engine, lease, 'RETRYING');
    const secondLease = await claimOne(engine, {}, t0 + minute);
    await finish(engine, secondLease, 'FAILED', {}, t0 + minute);
    const dead = await read(engine, lease.id);
    assert.deepEqual([dead.attempt, dead.spent, dead.maxAttempts], [2, 2, 2]);
    await retry(engine, lease.id, t0 + hour);
    const job = await read(engine, lease.id);
    assert.deepEqual([job.status, job.dead, job.finishedAt, job.maxAttempts], ['PENDING', false, null, 4]);
    const third = await claimOne(engine, {}, t0 + hour);
    assert.deepEqual([third.id, third.attempt, third.spent, third.maxAttempts], [lease.id, 3, 2, 4]);
    assert.ok(third.fence > secondLease.fence);
  });

  test('losses are counted apart from attempts, those after a written beginning once more', async ({
    engine,
  }) => {
    const { id } = await create(engine);
    await claimOne(engine);
    let [taken] = await reap(engine, t0 + hour);
    assert.ok(taken);
    assert.equal(await settle(engine, lostSettlement(taken, 'unproven'), t0 + hour), 'done');
    let job = await read(engine, id);
    assert.deepEqual(
      [job.status, job.losses, job.begunLosses, job.spent, job.dueAt],
      ['RETRYING', 1, 0, 0, t0 + hour],
    );

    const again = await claimOne(engine, {}, t0 + hour);
    assert.deepEqual([again.losses, again.begunLosses, again.begun], [1, 0, false]);
    assert.deepEqual(await heartbeat(engine, again, t0 + hour, { begun: true }), { state: 'kept' });
    [taken] = await reap(engine, t0 + 2 * hour);
    assert.ok(taken);
    assert.equal(taken.begun, true);
    assert.equal(await settle(engine, lostSettlement(taken, 'begun'), t0 + 2 * hour), 'done');
    job = await read(engine, id);
    assert.deepEqual([job.losses, job.begunLosses, job.spent], [2, 1, 0]);
    assert.equal(job.attempts.at(-1)?.reason, 'lost');
  });

  test('a job with a loss is claimed by itself', async ({ engine }) => {
    const lossy = await createLossy(engine, 'unproven', 1);
    await createAll(
      engine,
      Array.from({ length: 4 }, () => jobSpec({ due: { at: t0 + hour } })),
      t0 + hour,
    );
    await createAll(engine, [jobSpec({ due: { at: t0 } })], t0 + hour);
    const claims: string[][] = [];
    for (let n = 0; n < 6; n += 1) claims.push((await claim(engine, {}, t0 + 3 * hour)).map(({ id }) => id));
    assert.equal(claims.flat().length, 6, 'everything is given in the end');
    const withLossy = claims.filter((ids) => ids.includes(lossy));
    assert.deepEqual(withLossy, [[lossy]]);
  });

  test('a job that is claimed by itself stays so when its attempt ends in another way', async ({
    engine,
  }) => {
    const lossy = await createLossy(engine, 'unproven', 1);
    let now = t0 + 3 * hour;
    for (const to of ['PENDING', 'RETRYING', 'SCHEDULED'] as const) {
      const lease = only(await claim(engine, {}, now));
      assert.equal(lease.id, lossy);
      await finish(engine, lease, to, {}, now);
      now += hour;
      await create(engine, { due: { at: now } }, now);
      const claimed = [await claim(engine, {}, now), await claim(engine, {}, now)];
      assert.deepEqual(
        claimed.map((jobs) => jobs.length),
        [1, 1],
        `${to}: not claimed with another job`,
      );
      for (const one of claimed.flat())
        if (one.id === lossy) await finish(engine, one, 'PENDING', {}, now);
        else await finish(engine, one, 'COMPLETED', {}, now);
    }
  });

  test('a job lost twice after a beginning runs only in a process where nothing else runs', async ({
    engine,
  }) => {
    const poison = await createLossy(engine, 'begun', 2);
    const now = t0 + 100 * hour;
    await create(engine, { due: { at: now } }, now);
    const busy = await claimReply(engine, { idle: false }, now);
    assert.ok(!busy.claimed.some(({ id }) => id === poison));
    assert.ok(busy.soloSinceAt !== null && busy.soloSinceAt <= now, 'the reply says since when it waits');
    const alone = await claimReply(engine, { idle: true }, now);
    assert.equal(only(alone.claimed).id, poison);
    assert.equal((await claimReply(engine, { idle: false }, now)).soloSinceAt, null);
  });

  test('a job that must run alone is given by itself to an idle worker although others are ready', async ({
    engine,
  }) => {
    const poison = await createLossy(engine, 'begun', 2);
    const now = t0 + 100 * hour;
    await createAll(engine, [jobSpec({ due: { at: now } }), jobSpec({ due: { at: t0 - hour } })], now);
    const claims: string[][] = [];
    for (let n = 0; n < 3; n += 1)
      claims.push((await claim(engine, { idle: true }, now)).map(({ id }) => id));
    assert.equal(claims.flat().length, 3);
    assert.deepEqual(
      claims.filter((ids) => ids.includes(poison)),
      [[poison]],
    );
  });

  test('a job that must run alone is found in history as FAILED once it is lost for good', async ({
    engine,
  }) => {
    const poison = await createLossy(engine, 'begun', 2);
    const now = t0 + 100 * hour;
    const lease = await claimOne(engine, {}, now);
    await heartbeat(engine, lease, now, { begun: true });
    const taken = only(await reap(engine, now + hour));
    assert.deepEqual([taken.losses, taken.begunLosses], [2, 2]);
    await finish(
      engine,
      taken,
      'FAILED',
      { reason: 'lost', spends: false, loss: 'begun', error: jobError('lost') },
      now + hour,
    );
    const job = await read(engine, poison);
    assert.deepEqual([job.status, job.dead, job.begunLosses, job.spent], ['FAILED', true, 3, 0]);
    assert.equal(job.reason, 'lost');
  });
}

/** Makes a job and loses its lease so many times; answers its id, RETRYING and due. */
async function createLossy(
  engine: Parameters<typeof create>[0],
  loss: 'unproven' | 'begun',
  times: number,
): Promise<string> {
  const { id } = await create(engine);
  for (let n = 1; n <= times; n += 1) {
    const lease = await claimOne(engine, {}, t0 + n * hour);
    if (loss === 'begun') await heartbeat(engine, lease, t0 + n * hour, { begun: true });
    const taken = only(await reap(engine, t0 + n * hour + 30 * minute));
    assert.equal(
      await settle(
        engine,
        lostSettlement(taken, loss, { solo: loss === 'begun' && n > 1 ? 2 : 1 }),
        t0 + n * hour + 30 * minute,
      ),
      'done',
    );
  }
  return id;
}

function repeatTests(test: DefineTest): void {
  test('the same claim token answers with the same leases and takes nothing more', async ({ engine }) => {
    await createAll(
      engine,
      Array.from({ length: 5 }, () => jobSpec()),
    );
    const request = claimRequest({ limit: 3 });
    const first = await engine.exchange({ now: t0, settle: [], claim: request });
    const again = await engine.exchange({ now: t0 + second, settle: [], claim: request, repeat: true });
    assert.equal(first.claimed.length, 3);
    const leases = (claimed: typeof first.claimed) =>
      claimed.map(({ id, fence, attempt }) => `${id} ${fence} ${attempt}`).sort();
    assert.deepEqual(leases(again.claimed), leases(first.claimed));
    assert.equal((await claim(engine)).length, 2);
  });

  test('a token that took nothing may take something when it is repeated', async ({ engine }) => {
    const request = claimRequest();
    assert.deepEqual((await engine.exchange({ now: t0, settle: [], claim: request })).claimed, []);
    const { id } = await create(engine);
    const again = await engine.exchange({ now: t0, settle: [], claim: request, repeat: true });
    assert.ok(again.claimed.every((job) => job.id === id));
  });

  test('a repeated exchange answers done for what it settled and changes nothing', async ({ engine }) => {
    const leases = [];
    for (let n = 0; n < 4; n += 1) leases.push(await createRunning(engine));
    const [a, b, c, d] = leases;
    assert.ok(a && b && c && d);
    const settles = [
      settlement(a, 'COMPLETED'),
      settlement(b, 'FAILED'),
      settlement(c, 'RETRYING', { due: { at: t0 + hour } }),
      settlement(d, 'SCHEDULED', { due: { at: t0 + hour } }),
    ];
    const input = { settle: settles, claim: null };
    assert.deepEqual((await engine.exchange({ now: t0, ...input })).settled, [
      'done',
      'done',
      'done',
      'done',
    ]);
    const before = await engine.get({ now: t0, ids: leases.map(({ id }) => id) });
    const again = await engine.exchange({ now: t0 + second, ...input, repeat: true });
    assert.deepEqual(again.settled, ['done', 'done', 'done', 'done']);
    assert.deepEqual((await engine.get({ now: t0, ids: leases.map(({ id }) => id) })).jobs, before.jobs);
  });

  test('a repeated exchange answers lost for what was taken over before it arrived', async ({ engine }) => {
    const lease = await createRunning(engine);
    await reap(engine, t0 + hour);
    const settles = [settlement(lease, 'COMPLETED')];
    const reply = await engine.exchange({ now: t0 + hour, settle: settles, claim: null, repeat: true });
    assert.deepEqual(reply.settled, ['lost']);
    assert.equal(await statusOf(engine, lease.id), 'RUNNING');
  });

  test('a repeated exchange still says done after the job has started again elsewhere', async ({
    engine,
  }) => {
    const lease = await createRunning(engine);
    const settles = [settlement(lease, 'RETRYING', { due: { inMs: 0 } })];
    await engine.exchange({ now: t0, settle: settles, claim: null });
    const next = await claimOne(engine, { node: 'node-b' });
    const again = await engine.exchange({ now: t0 + 1, settle: settles, claim: null, repeat: true });
    assert.deepEqual(again.settled, ['done']);
    await finish(engine, next, 'COMPLETED');
  });

  test('a retried dead letter is not settled again by an old lease', async ({ engine }) => {
    const lease = await createFailed(engine);
    await retry(engine, lease.id);
    assert.equal(await settle(engine, settlement(lease, 'COMPLETED')), 'lost');
    assert.equal(await statusOf(engine, lease.id), 'PENDING');
  });
}
