import assert from 'node:assert/strict';
import type { Engine, JobSpec } from '@duly/core/internal';
import {
  claimRequest,
  day,
  dedupe,
  freshId,
  hour,
  jobPolicy,
  jobSlot,
  jobSpec,
  minute,
  second,
  t0,
} from './builders.ts';
import {
  accepted,
  claim,
  claimOne,
  claimReply,
  create,
  createAll,
  createRunning,
  deleteJobs,
  finish,
  itemAt,
  only,
  read,
  reap,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

/** What `enqueue` promises. */
export function enqueueTests(test: DefineTest): void {
  test('a reply carries the instant that ruled', async ({ engine }) => {
    const reply = await engine.enqueue({ now: t0, groups: [{ jobs: [jobSpec()] }] });
    assert.equal(reply.now, t0);
  });

  test('a job due now is PENDING, one due earlier too, one due later is SCHEDULED', async ({ engine }) => {
    const items = await createAll(engine, [
      jobSpec({ due: { at: t0 } }),
      jobSpec({ due: { at: t0 - hour } }),
      jobSpec({ due: { at: t0 + 1 } }),
    ]);
    assert.deepEqual(
      items.map(({ status, dueAt }) => ({ status, dueAt })),
      [
        { status: 'PENDING', dueAt: t0 },
        { status: 'PENDING', dueAt: t0 - hour },
        { status: 'SCHEDULED', dueAt: t0 + 1 },
      ],
    );
    for (const { id, status } of items) assert.equal(await statusOf(engine, id), status);
  });

  test('a due time given as a delay counts from the instant that rules the call', async ({ engine }) => {
    const item = await create(engine, { due: { inMs: 400 * 24 * hour } }, t0 + 5);
    assert.equal(item.dueAt, t0 + 5 + 400 * 24 * hour);
    assert.equal(item.status, 'SCHEDULED');
    const now = await create(engine, { due: { inMs: 0 } }, t0 + 5);
    assert.deepEqual([now.status, now.dueAt], ['PENDING', t0 + 5]);
  });

  test('replies come in the order of the groups and of the jobs in them', async ({ engine }) => {
    const first = [jobSpec({ due: { at: t0 + 9 } }), jobSpec(), jobSpec({ due: { at: t0 - 9 } })];
    const second = [jobSpec({ due: { at: t0 + 1 } }), jobSpec()];
    const { groups } = await engine.enqueue({ now: t0, groups: [{ jobs: first }, { jobs: second }] });
    assert.equal(groups.length, 2);
    assert.deepEqual(
      groups.map((group) => accepted(group).map(({ id }) => id)),
      [first.map(({ id }) => id), second.map(({ id }) => id)],
    );
  });

  test('no groups and an empty group are answered as such', async ({ engine }) => {
    assert.deepEqual((await engine.enqueue({ now: t0, groups: [] })).groups, []);
    const { groups, claimed } = await engine.enqueue({ now: t0, groups: [{ jobs: [] }] });
    assert.deepEqual(accepted(only(groups)), []);
    assert.deepEqual(claimed, []);
  });

  test('an id that stands for another promise refuses its whole group, and only it', async ({ engine }) => {
    const taken = jobSpec({ type: 'other' });
    await createAll(engine, [taken]);
    const [before, partner, after] = [jobSpec(), jobSpec(), jobSpec()];
    const clash = jobSpec({ id: taken.id });
    const { groups } = await engine.enqueue({
      now: t0,
      groups: [{ jobs: [before] }, { jobs: [partner, clash] }, { jobs: [clash] }, { jobs: [after] }],
    });
    assert.deepEqual(
      groups.map(({ ok }) => ok),
      [true, false, false, true],
    );
    const refused = itemAt(groups, 1);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, 'group_refused');
    const { jobs } = await engine.get({ now: t0, ids: [before, partner, taken, after].map(({ id }) => id) });
    assert.deepEqual(
      jobs.map((job) => (job === null ? null : `${job.type} ${job.status}`)),
      ['work PENDING', null, 'other PENDING', 'work PENDING'],
    );
    assert.equal((await claim(engine)).length, 2, 'nothing of the refused groups can be claimed');
  });

  test('a repeat with the id of a job of another type is refused, live or ended', async ({ engine }) => {
    const waiting = jobSpec({ type: 'other', due: { at: t0 + hour } });
    const [ended, failed, running] = [jobSpec(), jobSpec(), jobSpec()];
    await createAll(engine, [waiting]);
    for (const [spec, to] of [
      [ended, 'COMPLETED'],
      [failed, 'FAILED'],
    ] as const) {
      await createAll(engine, [spec]);
      await finish(engine, await claimOne(engine), to);
    }
    await createAll(engine, [running]);
    await claimOne(engine);
    for (const taken of [waiting, ended, failed, running]) {
      const [clash, partner, after] = [jobSpec({ id: taken.id, type: 'third' }), jobSpec(), jobSpec()];
      const before = await read(engine, taken.id);
      const { groups } = await engine.enqueue({
        now: t0,
        repeat: true,
        groups: [{ jobs: [partner, clash] }, { jobs: [after] }, { jobs: [taken] }],
      });
      assert.deepEqual(
        groups.map(({ ok }) => ok),
        [false, true, true],
      );
      const refused = itemAt(groups, 0);
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, 'group_refused');
      assert.equal(
        refused.error.message,
        `Job "${taken.id}" exists already with type "${taken.type}", not "third".`,
      );
      assert.deepEqual(await read(engine, taken.id), before);
      assert.equal((await engine.get({ now: t0, ids: [partner.id] })).jobs[0] ?? null, null);
    }
  });

  test('every field of a job is read back as it came', async ({ engine }) => {
    const policy = jobPolicy({
      maxAttempts: 7,
      retry: { backoff: 'exponential', nested: [1, { two: null }] },
      timeoutMs: null,
      graceMs: 5,
      delivery: 'at-most-once',
      retentionMs: 9 * hour,
      deadRetentionMs: 11 * hour,
    });
    const slot = jobSlot('sch_1', t0 - 1, { generation: 4, fireId: 'sch_1/4/x', details: '{"covers":null}' });
    const spec = jobSpec({
      type: 'video_transcode',
      version: 3,
      queue: 'slow lane',
      tenant: 'acme',
      priority: -12,
      rankOffsetMs: 12 * minute,
      due: { at: t0 + hour },
      input: '{"url":"x"}',
      metadata: '{"user":1}',
      policy,
      startDeadlineMs: minute,
      dedupe: dedupe('k'),
      serial: 's',
      parent: { id: freshId(), key: 'part-1' },
      origin: 'child',
      slot,
      copyOf: 'job_original',
    });
    await createAll(engine, [spec], t0);
    const job = await read(engine, spec.id, t0 + 1);
    assert.deepEqual(job, {
      id: spec.id,
      type: 'video_transcode',
      version: 3,
      queue: 'slow lane',
      tenant: 'acme',
      priority: -12,
      status: 'SCHEDULED',
      reason: job.reason,
      input: '{"url":"x"}',
      metadata: '{"user":1}',
      policy,
      result: null,
      error: null,
      progress: { percent: 0, message: null, step: null, of: null },
      createdAt: t0,
      dueAt: t0 + hour,
      startedAt: null,
      latenessMs: null,
      updatedAt: t0,
      finishedAt: null,
      expireAt: t0 + hour + minute,
      attempt: 0,
      spent: 0,
      maxAttempts: 7,
      losses: 0,
      begunLosses: 0,
      attempts: [],
      fence: job.fence,
      node: null,
      leaseUntilAt: null,
      gates: [],
      dedupeKey: 'k',
      serial: 's',
      parent: spec.parent,
      origin: 'child',
      slot,
      copyOf: 'job_original',
      cancelRequestedAt: null,
      cancelledBy: null,
      dead: false,
    });
  });

  test('a claimed job carries what is needed to run it', async ({ engine }) => {
    const spec = jobSpec({
      tenant: 'acme',
      priority: 2,
      metadata: '{"a":1}',
      due: { at: t0 - 7 },
      parent: { id: freshId(), key: null },
      slot: jobSlot('sch_1', null, { details: '{"zone":"UTC"}' }),
      origin: 'trigger',
    });
    await createAll(engine, [spec], t0 - 5);
    const { fence, ...job } = await claimOne(engine);
    assert.ok(Number.isSafeInteger(fence) && fence > 0);
    assert.deepEqual(job, {
      id: spec.id,
      type: 'work',
      version: 1,
      queue: 'default',
      tenant: 'acme',
      priority: 2,
      input: spec.input,
      metadata: '{"a":1}',
      policy: spec.policy,
      attempt: 1,
      spent: 0,
      maxAttempts: 3,
      losses: 0,
      begunLosses: 0,
      begun: false,
      createdAt: t0 - 5,
      dueAt: t0 - 7,
      claimedAt: t0,
      origin: 'trigger',
      slot: spec.slot,
      parent: spec.parent,
      cancelRequestedAt: null,
    });
  });

  test('JSON text is kept to the letter: spaces, order of keys, doubled keys, escapes', async ({
    engine,
  }) => {
    const input = '{ "b":1,\n "a" : [1.0, 1e3],  "b":2, "nul":"\\u0000", "half":"\\ud800" }';
    const { id } = await create(engine, { input, metadata: '{"__proto__":{"x":1} }' });
    const job = await read(engine, id);
    assert.equal(job.input, input);
    assert.equal(job.metadata, '{"__proto__":{"x":1} }');
    assert.equal((await claimOne(engine)).input, input);
  });

  test('names and texts of every script come back as they went in', async ({ engine }) => {
    const text = 'Grüße, 世界, مرحبا, 👩‍🚀, é é, \'quoted" \\ %_?:$1 --';
    const { id } = await create(engine, {
      type: text,
      queue: text,
      tenant: text,
      serial: text,
      dedupe: dedupe(text),
      input: JSON.stringify(text),
      metadata: JSON.stringify({ [text]: text }),
    });
    const job = await read(engine, id);
    assert.deepEqual(
      [job.type, job.queue, job.tenant, job.serial, job.dedupeKey, JSON.parse(job.input)],
      [text, text, text, text, text, text],
    );
    assert.deepEqual(JSON.parse(job.metadata as string), { [text]: text });
    const tasks = [{ type: text, version: 1, limit: 1 }];
    assert.equal((await claimOne(engine, { tasks, queues: [text] })).id, id);
  });

  test('an input of 2 MB comes back whole, from the queue and from history', async ({ engine }) => {
    const input = JSON.stringify({ text: 'é'.repeat(500_000), more: 'x'.repeat(1_000_000) });
    const lease = await createRunning(engine, { input });
    assert.ok(lease.input === input, 'the claimed input is the one given');
    await finish(engine, lease, 'COMPLETED');
    assert.ok((await read(engine, lease.id)).input === input, 'the kept input is the one given');
  });

  test('a group of 1,000 jobs is created in one call and answered in order', async ({ engine }) => {
    const jobs = Array.from({ length: 1_000 }, (_, n) => jobSpec({ input: String(n) }));
    const items = await createAll(engine, jobs);
    assert.deepEqual(
      items.map(({ id }) => id),
      jobs.map(({ id }) => id),
    );
    const { status } = await engine.counts({ now: t0, cap: 10_000 });
    assert.deepEqual(status.PENDING, { count: 1_000, capped: false });
  });

  test('the same id again creates nothing and answers with the job that stands', async ({ engine }) => {
    const spec = jobSpec({ due: { at: t0 + hour } });
    await createAll(engine, [spec]);
    const before = await read(engine, spec.id);
    for (const repeat of [false, true]) {
      const reply = await engine.enqueue({ now: t0 + 1, repeat, groups: [{ jobs: [spec] }] });
      const item = only(accepted(only(reply.groups)));
      assert.deepEqual([item.id, item.status, item.dueAt], [spec.id, 'SCHEDULED', t0 + hour]);
      assert.deepEqual(await read(engine, spec.id), before);
    }
    const { status } = await engine.counts({ now: t0, cap: 10 });
    assert.equal(status.SCHEDULED.count, 1);
  });

  test('a repeated enqueue of a job that runs meanwhile leaves it running', async ({ engine }) => {
    const spec = jobSpec();
    await createAll(engine, [spec]);
    const lease = await claimOne(engine);
    const reply = await engine.enqueue({ now: t0 + 1, repeat: true, groups: [{ jobs: [spec] }] });
    assert.deepEqual([only(accepted(only(reply.groups))).status], ['RUNNING']);
    assert.deepEqual(await claim(engine, {}, t0 + 1), []);
    await finish(engine, lease, 'COMPLETED');
  });

  test('a repeated enqueue of a job that has ended creates nothing and answers its end', async ({
    engine,
  }) => {
    for (const to of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
      const spec = jobSpec();
      await createAll(engine, [spec]);
      await finish(engine, await claimOne(engine), to);
      const reply = await engine.enqueue({ now: t0 + 1, repeat: true, groups: [{ jobs: [spec] }] });
      const item = only(accepted(only(reply.groups)));
      assert.deepEqual([item.id, item.status], [spec.id, to]);
      assert.deepEqual(await claim(engine, {}, t0 + 1), []);
    }
  });

  test('a repeated enqueue of a job that was deleted does not create it again for 24 hours', async ({
    engine,
  }) => {
    for (const create of [waiting, ended, withKey, replaced]) {
      const spec = await create(engine);
      await deleteJobs(engine, [spec.id]);
      for (const now of [t0 + 1, t0 + day - 1]) {
        await engine.prune({ now, limit: 100, ledgerMs: day, auditMs: day, changesMs: day });
        const reply = await engine.enqueue({ now, repeat: true, groups: [{ jobs: [spec] }] });
        const item = only(accepted(only(reply.groups)));
        assert.deepEqual([item.id, item.deduped], [spec.id, false]);
        assert.equal((await engine.get({ now, ids: [spec.id] })).jobs[0] ?? null, null);
        assert.deepEqual(await claim(engine, {}, now), []);
      }
    }

    async function waiting(engine: Engine): Promise<JobSpec> {
      const spec = jobSpec({ due: { at: t0 + hour } });
      await createAll(engine, [spec]);
      return spec;
    }

    async function ended(engine: Engine): Promise<JobSpec> {
      const spec = jobSpec();
      await createAll(engine, [spec]);
      await finish(engine, await claimOne(engine), 'COMPLETED');
      return spec;
    }

    async function withKey(engine: Engine): Promise<JobSpec> {
      const spec = jobSpec({ due: { at: t0 + hour }, dedupe: dedupe('deleted') });
      await createAll(engine, [spec]);
      return spec;
    }

    async function replaced(engine: Engine): Promise<JobSpec> {
      const key = { dedupe: dedupe('replaced', { mode: 'replace' }), due: { at: t0 + hour } };
      const spec = jobSpec(key);
      await createAll(engine, [spec]);
      await createAll(engine, [jobSpec({ ...key, input: '{"newer":true}' })]);
      return spec;
    }
  });

  test('a repeated group in which only some jobs are new makes only those', async ({ engine }) => {
    const [old, ended, fresh] = [
      jobSpec({ due: { at: t0 + hour } }),
      jobSpec(),
      jobSpec({ due: { at: t0 + hour } }),
    ];
    await createAll(engine, [old, ended]);
    await finish(engine, await claimOne(engine), 'COMPLETED');
    const groups = [{ jobs: [old, ended, fresh] }];
    const reply = await engine.enqueue({ now: t0 + 1, repeat: true, groups });
    assert.deepEqual(
      accepted(only(reply.groups)).map(({ id, status }) => [id, status]),
      [
        [old.id, 'SCHEDULED'],
        [ended.id, 'COMPLETED'],
        [fresh.id, 'SCHEDULED'],
      ],
    );
    assert.equal((await read(engine, old.id)).createdAt, t0);
    assert.equal((await read(engine, fresh.id)).createdAt, t0 + 1);
  });

  test('a repeated enqueue of a job that holds its own dedupe key answers with itself', async ({
    engine,
  }) => {
    const spec = jobSpec({ dedupe: dedupe('k') });
    await createAll(engine, [spec]);
    const reply = await engine.enqueue({ now: t0 + 1, repeat: true, groups: [{ jobs: [spec] }] });
    assert.equal(only(accepted(only(reply.groups))).id, spec.id);
  });

  test('what is created can be claimed in the same call', async ({ engine }) => {
    const specs = [jobSpec(), jobSpec({ due: { at: t0 + 1 } }), jobSpec({ type: 'other' })];
    const request = claimRequest();
    const reply = await engine.enqueue({ now: t0, groups: [{ jobs: specs }], claim: request });
    const lease = only(reply.claimed);
    assert.equal(lease.id, itemAt(specs, 0).id);
    assert.equal(await statusOf(engine, lease.id), 'RUNNING');

    const again = await engine.enqueue({
      now: t0 + 1,
      repeat: true,
      groups: [{ jobs: specs }],
      claim: request,
    });
    assert.deepEqual(
      again.claimed.map(({ id, fence }) => [id, fence]),
      [[lease.id, lease.fence]],
    );
    await finish(engine, lease, 'COMPLETED');
  });

  test('a claim that travels with an enqueue takes what waited longer first', async ({ engine }) => {
    const { id: older } = await create(engine, { due: { at: t0 - minute } });
    const reply = await engine.enqueue({
      now: t0,
      groups: [{ jobs: [jobSpec()] }],
      claim: claimRequest({ limit: 1 }),
    });
    assert.equal(only(reply.claimed).id, older);
  });

  test('a repeated enqueue answers its claim with the leases it got before', async ({ engine }) => {
    const call = { groups: [{ jobs: [jobSpec(), jobSpec()] }], claim: claimRequest() };
    const first = await engine.enqueue({ now: t0, ...call });
    const again = await engine.enqueue({ now: t0 + second, ...call, repeat: true });
    assert.equal(first.claimed.length, 2);
    assert.deepEqual(again.claimed, first.claimed);
  });

  test('a refused group does not fail the claim that travels with it', async ({ engine }) => {
    const { id } = await create(engine);
    const taken = jobSpec({ type: 'other' });
    await createAll(engine, [taken]);
    const reply = await engine.enqueue({
      now: t0,
      groups: [{ jobs: [jobSpec(), jobSpec({ id: taken.id })] }],
      claim: claimRequest(),
    });
    assert.equal(only(reply.groups).ok, false);
    assert.equal(only(reply.claimed).id, id);
  });

  test('a job that is not started by its start deadline is EXPIRED and never claimed', async ({ engine }) => {
    const { id } = await create(engine, { due: { at: t0 + minute }, startDeadlineMs: 10 * second });
    assert.equal((await read(engine, id)).expireAt, t0 + minute + 10 * second);
    const late = t0 + minute + 10 * second + 1;
    assert.deepEqual(await claim(engine, {}, late), [], 'even before anybody swept it');
    const reply = await engine.reap({ now: late, node: 'reaper', leaseMs: second, limit: 10 });
    assert.deepEqual(reply.jobs, []);
    const job = await read(engine, id, late);
    assert.equal(job.status, 'EXPIRED');
    assert.ok(job.finishedAt !== null && job.finishedAt <= late);
    assert.equal(job.dead, false, 'nobody failed it');
  });

  test('none of very many overdue jobs is claimed, and what stands behind them is', async ({ engine }) => {
    // More than a claim cares to end at once.
    const overdue = Array.from({ length: 2_100 }, (_, n) =>
      jobSpec({ type: n % 2 === 0 ? 'even' : 'odd', startDeadlineMs: second }),
    );
    const behind = [jobSpec({ type: 'even' }), jobSpec({ type: 'odd', startDeadlineMs: hour })];
    await engine.enqueue({ now: t0, groups: [{ jobs: overdue }] });
    await engine.enqueue({ now: t0 + second, groups: [{ jobs: behind }] });
    const late = t0 + minute;
    const tasks = ['even', 'odd'].map((type) => ({ type, version: 1, limit: 5 }));
    const reply = await claimReply(engine, { tasks, limit: 10 }, late);
    const isOverdue = new Set(overdue.map(({ id }) => id));
    assert.deepEqual(
      reply.claimed.filter(({ id }) => isOverdue.has(id)),
      [],
    );
    assert.equal(reply.more, true, 'there is more to do');
    const claimed = [...reply.claimed];
    for (let more: boolean = reply.more, n = 0; more && n < 10; n++) {
      const next = await claimReply(engine, { tasks, limit: 10, token: `again-${n}` }, late);
      claimed.push(...next.claimed);
      more = next.more;
    }
    assert.deepEqual(claimed.map(({ id }) => id).sort(), behind.map(({ id }) => id).sort());
    assert.equal(await statusOf(engine, overdue.at(-1)?.id as string), 'EXPIRED');
    // One kind alone is looked for in another way.
    const alone = Array.from({ length: 2_100 }, () => jobSpec({ type: 'alone', startDeadlineMs: second }));
    await engine.enqueue({ now: late, groups: [{ jobs: alone }] });
    const { id } = await create(engine, { type: 'alone' }, late + second);
    const only = await claimReply(
      engine,
      { tasks: [{ type: 'alone', version: 1, limit: 5 }], token: 'alone' },
      late + minute,
    );
    assert.deepEqual(
      only.claimed.map((job) => job.id),
      [id],
    );
  });

  test('a job that is claimed before its start deadline may run past it and start again', async ({
    engine,
  }) => {
    const { id } = await create(engine, { startDeadlineMs: 10 * second });
    const lease = await claimOne(engine, { leaseMs: hour }, t0 + 10 * second - 1);
    await reap(engine, t0 + minute);
    assert.equal(await statusOf(engine, id), 'RUNNING');
    await finish(engine, lease, 'RETRYING', { due: { inMs: minute } }, t0 + minute);
    await reap(engine, t0 + 3 * minute);
    assert.equal((await claimOne(engine, {}, t0 + 3 * minute)).attempt, 2);
  });

  test('reaping tells how many jobs it expired, and expires blocked and waiting ones alike', async ({
    engine,
  }) => {
    const blocker = await create(engine, { type: 'other', due: { at: t0 + hour } });
    const startDeadlineMs = second;
    const { id: blocked } = await create(engine, {
      startDeadlineMs,
      gates: [{ kind: 'parent', ref: blocker.id }],
    });
    const { id: ready } = await create(engine, { startDeadlineMs });
    const { id: early } = await create(engine, { startDeadlineMs, due: { at: t0 + minute } });
    const reply = await engine.reap({ now: t0 + 2 * second, node: 'reaper', leaseMs: second, limit: 10 });
    assert.equal(reply.expired, 2);
    assert.equal(await statusOf(engine, blocked), 'EXPIRED');
    assert.equal(await statusOf(engine, ready), 'EXPIRED');
    assert.equal(await statusOf(engine, early), 'SCHEDULED');
  });

  test('a child with a key is created once per parent, whatever became of it', async ({ engine }) => {
    const parent = await createRunning(engine, { type: 'parent' });
    const child = (key: string | null, id = parent.id) => ({ origin: 'child' as const, parent: { id, key } });
    const first = await create(engine, child('page-1'));
    assert.equal(first.deduped, false);

    const again = await create(engine, child('page-1'));
    assert.deepEqual([again.id, again.deduped], [first.id, true]);
    const lease = await claimOne(engine);
    const whileRunning = await create(engine, child('page-1'));
    assert.deepEqual([whileRunning.id, whileRunning.status], [first.id, 'RUNNING']);
    await finish(engine, lease, 'COMPLETED');
    const afterwards = await create(engine, child('page-1'));
    assert.deepEqual([afterwards.id, afterwards.status, afterwards.deduped], [first.id, 'COMPLETED', true]);

    assert.equal((await create(engine, child('page-2'))).deduped, false);
    assert.equal((await create(engine, child('page-1', freshId()))).deduped, false, 'another parent');
    assert.equal((await create(engine, child(null))).deduped, false);
    assert.equal((await create(engine, child(null))).deduped, false, 'without a key nothing is shared');

    await finish(engine, parent, 'COMPLETED');
    const late = await create(engine, child('page-1'));
    assert.deepEqual(
      [late.id, late.deduped],
      [first.id, true],
      'an attempt that lost its lease may ask later',
    );
  });

  test('a child that was deleted is reported as what it was, and is not created again', async ({
    engine,
  }) => {
    const parent = await createRunning(engine, { type: 'parent' });
    const ask = (key: string, due = t0 + hour) =>
      create(engine, { origin: 'child', parent: { id: parent.id, key }, due: { at: due } }, t0 + 1);
    const [waiting, ended] = [await ask('waiting'), await ask('ended', t0)];
    await finish(engine, await claimOne(engine, {}, t0 + 1), 'FAILED', {}, t0 + 1);
    await deleteJobs(engine, [waiting.id, ended.id]);
    const deleted = { status: 'CANCELLED', dueAt: t0 + hour, deduped: true };
    assert.deepEqual(await ask('waiting'), { id: waiting.id, ...deleted });
    const again = await ask('ended');
    assert.deepEqual([again.id, again.status, again.deduped], [ended.id, 'FAILED', true]);
    assert.deepEqual(await claim(engine, {}, t0 + 2 * hour), []);
  });

  test('a child stays unique over a retry of its parent, and within one group', async ({ engine }) => {
    const parent = await createRunning(engine, { type: 'parent' });
    const spec = () => jobSpec({ parent: { id: parent.id, key: 'k' }, origin: 'child' });
    const [one, two] = await createAll(engine, [spec(), spec()]);
    assert.ok(one && two);
    assert.deepEqual([two.id, two.deduped], [one.id, true]);
    await finish(engine, parent, 'RETRYING');
    const later = t0 + minute;
    const tasks = [{ type: 'parent', version: 1, limit: 1 }];
    await claimOne(engine, { tasks }, later);
    const [three] = await createAll(engine, [spec()], later);
    assert.equal(three?.id, one.id);
    assert.equal((await claim(engine, {}, later)).length, 1);
  });
}
