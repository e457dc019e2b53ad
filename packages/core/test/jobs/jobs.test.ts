import assert from 'node:assert/strict';
import { test } from 'node:test';
import { day, jobSpec, t0 } from '@duly/conformance/builders';
import { createAll } from '@duly/conformance/steps';
import { z } from 'zod';
import { type ErrorCode, isDulyError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/contract/engine.ts';
import type { JobOptions } from '../../src/jobs/job-options.ts';
import { JobQuery } from '../../src/jobs/job-query.ts';
import { openStore } from '../../src/store/thread/open-store.ts';
import { createTestDuly, type TestDulyOptions } from '../../src/testing/index.ts';

/** A Duly on virtual time that is stopped with the test. */
function setup(t: { after(fn: () => Promise<void>): void }, options?: TestDulyOptions) {
  const duly = createTestDuly(options);
  t.after(() => duly.stop());
  return duly;
}

async function refusal(code: ErrorCode, call: () => unknown) {
  try {
    await call();
  } catch (error) {
    assert.ok(
      isDulyError(error, code),
      `expected ${code}, got ${(error as { code?: string }).code}: ${error}`,
    );
    return error;
  }
  return assert.fail(`expected ${code}, and nothing was refused`);
}

test('now() runs at once, in() after its delay and at() at its instant', async (t) => {
  const duly = setup(t);
  const greet = duly.task({ name: 'greet', run: ({ input }) => `hello ${input}` });
  const now = await greet.now('now');
  const later = await greet.in('3 days', 'later');
  const at = await greet.at('2027-01-16T10:00:00Z', 'at');
  assert.deepEqual([now.status, later.status, at.status], ['PENDING', 'SCHEDULED', 'SCHEDULED']);
  assert.deepEqual(
    [now.dueAt, later.dueAt, at.dueAt].map((due) => due?.toISOString()),
    ['2027-01-15T10:00:00.000Z', '2027-01-18T10:00:00.000Z', '2027-01-16T10:00:00.000Z'],
  );
  const ran = await duly.advance('4 days');
  assert.deepEqual(
    ran.map(({ result, at }) => [result, at.toISOString()]),
    [
      ['hello now', '2027-01-15T10:00:00.000Z'],
      ['hello at', '2027-01-16T10:00:00.000Z'],
      ['hello later', '2027-01-18T10:00:00.000Z'],
    ],
  );
  assert.equal(await later.result(), 'hello later');
});

test('a job can be read back with everything it was created with', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'report', queue: 'slow', priority: 3, run: () => ({ ok: true }) });
  const handle = await task.in(
    '1h',
    { user: 1 },
    {
      tenant: 'acme',
      metadata: { source: 'test' },
      dedupe: { key: 'k' },
      serial: 's',
      retry: 5,
      startDeadline: '10m',
      priority: -7,
      queue: 'other',
    },
  );
  const job = await handle.get();
  assert.deepEqual(job.input, { user: 1 });
  assert.deepEqual(job.metadata, { source: 'test' });
  assert.deepEqual(
    [
      job.type,
      job.queue,
      job.priority,
      job.tenant,
      job.key,
      job.serial,
      job.origin,
      job.attempts,
      job.maxAttempts,
    ],
    ['report', 'other', -7, 'acme', 'k', 's', 'event', 0, 5],
  );
  assert.equal(job.expireAt?.getTime(), job.dueAt.getTime() + 600_000);
  assert.deepEqual(job.waitingFor, { kind: 'time', until: job.dueAt });
  assert.equal(job.nextAttemptAt?.getTime(), job.dueAt.getTime());
  assert.equal(job.latenessMs, null);
  await duly.advance('1h');
  const done = await handle.get();
  assert.deepEqual(
    [done.status, done.result, done.attempts, done.progress.percent],
    ['COMPLETED', { ok: true }, 1, 100],
  );
  assert.equal(done.latenessMs, 0);
  assert.equal(done.attemptList.length, 1);
});

test('a thousand concurrent now() calls travel in a handful of enqueue calls', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'burst', run: () => {} });
  await duly.open();
  const before = duly.calls()?.enqueue ?? 0;
  const handles = await Promise.all(Array.from({ length: 1_000 }, (_, i) => task.now({ i })));
  const calls = (duly.calls()?.enqueue ?? 0) - before;
  assert.equal(new Set(handles.map(({ id }) => id)).size, 1_000);
  assert.ok(calls >= 1 && calls <= 5, `${calls} calls`);
  assert.equal((await duly.runDue()).length, 1_000);
});

test('a bulk call makes all of its jobs or none', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'bulk', input: z.object({ n: z.number() }), run: ({ input }) => input.n });
  const handles = await task.nowMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.equal(handles.length, 3);
  await refusal('invalid_input', () => task.nowMany([{ n: 4 }, { n: 'five' as unknown as number }]));
  assert.deepEqual(
    (await duly.runDue()).map(({ result }) => result),
    [1, 2, 3],
  );
  assert.deepEqual(await task.nowMany([]), []);
  await refusal('invalid_option', () => task.nowMany({ n: 1 } as never));
  await refusal('invalid_option', () => task.nowMany(Array.from({ length: 10_001 }, () => ({ n: 1 }))));
  const same = await refusal('invalid_option', () =>
    task.nowMany([{ n: 1 }, { n: 2 }], { dedupe: { key: 'x' } }),
  );
  assert.match(same.hint ?? '', /function/);
  const own = await task.inMany('1h', [{ n: 1 }, { n: 2 }], ({ n }) => ({ dedupe: { key: `k${n}` } }));
  assert.equal(new Set(own.map(({ id }) => id)).size, 2);
  const at = await task.atMany('2027-01-15T12:00:00Z', [{ n: 8 }]);
  assert.equal(at[0]?.dueAt?.toISOString(), '2027-01-15T12:00:00.000Z');
});

test('the input is checked when a job is created, stored as given, and transformed once when it runs', async (t) => {
  const duly = setup(t);
  const seen: unknown[] = [];
  const task = duly.task({
    name: 'transform',
    input: z.object({ n: z.number().transform((n) => n * 2), unit: z.string().default('s') }),
    run: ({ input }) => void seen.push(input),
  });
  const handle = await task.now({ n: 21 });
  assert.deepEqual((await handle.get()).input, { n: 21 });
  await duly.runDue();
  assert.deepEqual(seen, [{ n: 42, unit: 's' }]);
  const error = await refusal('invalid_input', () => task.now({ n: 'x' as unknown as number }));
  assert.match(error.message, /"n"/);
});

test('what the schema is asked is what the worker will read: a Date that JSON would turn into a text is refused', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'dates', input: z.object({ at: z.date() }), run: () => {} });
  await refusal('invalid_input', () => task.now({ at: new Date(0) }));
});

test('a schema that answers later is waited for', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'async',
    input: z.string().refine(async (text) => text !== 'bad'),
    run: ({ input }) => input,
  });
  await refusal('invalid_input', () => task.now('bad'));
  await task.now('good');
  assert.deepEqual(
    (await duly.runDue()).map(({ result }) => result),
    ['good'],
  );
});

test('bad input is refused with a code, and nothing is created', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'strict', run: () => {} });
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  await refusal('invalid_duration', () => task.in('-5m', 1));
  await refusal('invalid_duration', () => task.in('1e9 days', 1));
  await refusal('invalid_duration', () => task.in('1000000000 days', 1));
  await refusal('invalid_duration', () => task.in(Number.NaN, 1));
  await refusal('invalid_instant', () => task.at('2027-02-30T00:00:00Z', 1));
  await refusal('invalid_instant', () => task.at('2027-01-01 08:00', 1));
  await refusal('invalid_instant', () => task.at(new Date(Number.NaN), 1));
  await refusal('input_too_large', () => task.now('x'.repeat(10 * 1024 * 1024)));
  await refusal('input_not_json', () => task.now(cycle));
  await refusal('input_not_json', () => task.now({ n: 1n }));
  await refusal('metadata_invalid', () => task.now(1, { metadata: [] as never }));
  await refusal('metadata_invalid', () => task.now(1, { metadata: { f: () => {} } }));
  assert.deepEqual((await duly.jobs().page()).jobs, []);
});

test('a __proto__ key is data like any other', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'proto', run: ({ input }) => Object.keys(input as object) });
  await task.now(JSON.parse('{"__proto__": {"admin": true}, "a": 1}'));
  const [ran] = await duly.runDue();
  assert.deepEqual(ran?.result, ['__proto__', 'a']);
  assert.equal(({} as { admin?: boolean }).admin, undefined);
});

test('every option of a call is checked, and a slip is answered with the nearest name', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'options', run: () => {} });
  const wrong: [JobOptions, ErrorCode][] = [
    [{ priority: 1001 }, 'invalid_option'],
    [{ priority: -1001 }, 'invalid_option'],
    [{ priority: 1.5 }, 'invalid_option'],
    [{ queue: '' }, 'invalid_option'],
    [{ queue: 'a\u0000b' }, 'invalid_option'],
    [{ queue: 'x'.repeat(201) }, 'invalid_option'],
    [{ tenant: '   ' }, 'invalid_option'],
    [{ startDeadline: '-1s' }, 'invalid_duration'],
    [{ timeout: 0 }, 'invalid_duration'],
    [{ timeout: 'never' }, 'invalid_duration'],
    [{ retry: 0 }, 'invalid_option'],
    [{ retry: { backoff: () => 1 } }, 'invalid_option'],
    [{ delivery: 'exactly-once' as never }, 'invalid_option'],
    [{ dedupe: 'key' as never }, 'invalid_option'],
    [{ dedupe: {} as never }, 'invalid_option'],
    [{ dedupe: { key: 'k', mode: 'merge' as never } }, 'invalid_option'],
    [{ dedupe: { key: 'k', maxWait: '1h' } }, 'invalid_option'],
    [{ dedupe: { key: 'k', for: 0 } }, 'invalid_duration'],
    [{ serial: '' }, 'invalid_option'],
    [[] as never, 'invalid_option'],
  ];
  for (const [options, code] of wrong) await refusal(code, () => task.now(1, options));
  for (const priority of [-1000, 1000]) await task.in('1h', 1, { priority });
  const slip = await refusal('invalid_option', () => task.now(1, { prioritty: 1 } as never));
  assert.match(slip.hint ?? '', /"priority"/);
});

test('a key outside of a handler is refused with a hint to dedupe', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'keyed', run: () => {} });
  const error = await refusal('invalid_option', () => task.now(1, { key: 'a' }));
  assert.match(error.hint ?? '', /dedupe: \{ key: "a" \}/);
});

test('children of a handler are unique by parent and key, so that a retry does not double them', async (t) => {
  const duly = setup(t);
  const child = duly.task({ name: 'child', run: ({ input }) => input });
  const parent = duly.task({
    name: 'parent',
    retry: { attempts: 2, delay: '1s', jitter: 0 },
    run: async ({ attempt }) => {
      const created = await child.nowMany([1, 2, 3], (input) => ({ key: `part-${input}` }));
      if (attempt === 1) throw new Error('after the fan-out');
      return created.map(({ deduped }) => deduped);
    },
  });
  const handle = await parent.now();
  await duly.advance('1m');
  assert.deepEqual(await handle.result(), [true, true, true]);
  const { jobs } = await duly.jobs({ type: 'child' }).page();
  assert.equal(jobs.length, 3);
  assert.deepEqual(
    new Set(jobs.map(({ parentId, origin }) => `${parentId} ${origin}`)),
    new Set([`${handle.id} child`]),
  );
});

test("a child has its parent's tenant unless its call names another one, or none", async (t) => {
  const duly = setup(t);
  const child = duly.task({ name: 'child', run: () => {} });
  const parent = duly.task({
    name: 'parent',
    run: async () => {
      await child.now('plain');
      await child.in('1h', 'with options', { key: 'k', dedupe: { key: 'k' } });
      await child.nowMany(['many'], { queue: 'mail' });
      await child.now('another', { tenant: 'b' });
      await child.now('none', { tenant: null });
    },
  });
  await parent.now(null, { tenant: 'a' });
  await duly.advance('1m');
  const { jobs } = await duly.jobs({ type: 'child' }).page();
  assert.deepEqual(Object.fromEntries(jobs.map(({ input, tenant }) => [input, tenant])), {
    plain: 'a',
    'with options': 'a',
    many: 'a',
    another: 'b',
    none: null,
  });
});

test('dedupe drops, replaces or extends while the key is held', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'dedupe', run: ({ input }) => input });
  const first = await task.in('1h', 'first', { dedupe: { key: 'k' } });
  const dropped = await task.in('2h', 'second', { dedupe: { key: 'k' } });
  assert.deepEqual([dropped.id, dropped.deduped], [first.id, true]);
  const replaced = await task.in('3h', 'third', { dedupe: { key: 'k', mode: 'replace' } });
  assert.deepEqual([replaced.id, replaced.deduped], [first.id, true]);
  assert.equal((await first.get()).input, 'third');
  const other = await task.now('other tenant', { tenant: 'b', dedupe: { key: 'k' } });
  assert.equal(other.deduped, false);
  const ran = await duly.advance('3h');
  assert.deepEqual(
    ran.map(({ result }) => result),
    ['other tenant', 'third'],
  );
  assert.equal((await task.now('free again', { dedupe: { key: 'k' } })).deduped, false);
});

test('a job is found, moved and cancelled by its key', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'by-key', run: () => 'ran' });
  const handle = await task.in('1 day', 1, { dedupe: { key: 'mine' } });
  assert.equal((await duly.find({ type: 'by-key', key: 'mine' })).id, handle.id);
  const moved = await duly.reschedule({ type: 'by-key', key: 'mine' }, { in: '1h' });
  assert.equal(moved.dueAt?.toISOString(), '2027-01-15T11:00:00.000Z');
  await handle.reschedule({ at: '2027-01-15T12:00:00Z' });
  assert.equal((await handle.refresh()).dueAt?.toISOString(), '2027-01-15T12:00:00.000Z');
  const cancelled = await duly.cancel({ type: 'by-key', key: 'mine' }, { note: 'no longer wanted' });
  assert.deepEqual([cancelled.id, cancelled.result, cancelled.status], [handle.id, 'changed', 'CANCELLED']);
  assert.deepEqual(await duly.advance('2 days'), []);
  await refusal('job_not_found', () => duly.find({ type: 'by-key', key: 'mine' }));
  await refusal('job_not_found', () => duly.cancel({ type: 'by-key', key: 'mine' }));
  await refusal('job_not_changeable', () => handle.reschedule({ in: 0 }));
  await refusal('invalid_option', () => handle.reschedule({} as never));
  await refusal('invalid_duration', () => handle.reschedule({ in: '-1h' }));
  await refusal('invalid_option', () => duly.cancel({ key: 'mine' } as never));
  const [audited] = await duly.audit({ subject: `job:${handle.id}` });
  await refusal('invalid_option', () => duly.audit({ subject: 5 as never }));
  assert.equal(audited?.note, 'no longer wanted');
});

test('jobs of one serial key run one at a time, in due order', async (t) => {
  const duly = setup(t);
  const order: string[] = [];
  const task = duly.task({
    name: 'serial',
    run: async ({ input }) => {
      order.push(`begin ${input}`);
      await duly.clock.sleep(1_000);
      order.push(`end ${input}`);
    },
  });
  const first = await task.now('a', { serial: 'account' });
  const second = await task.now('b', { serial: 'account' });
  await duly.runDue();
  const why = await second.why();
  assert.equal(why.status, 'BLOCKED');
  assert.ok(why.sentence.includes(first.id), why.sentence);
  await duly.advance('10s');
  assert.deepEqual(order, ['begin a', 'end a', 'begin b', 'end b']);
});

test('a higher priority is taken first, and a minute of waiting is worth one step', async (t) => {
  const duly = setup(t, { concurrency: 1 });
  const task = duly.task({ name: 'ranked', run: ({ input }) => input });
  await duly.pause({ all: true });
  await task.now('old, priority 0');
  await duly.advance('5m');
  await task.now('new, priority 4', { priority: 4 });
  await task.now('new, priority 6', { priority: 6 });
  await duly.resume({ all: true });
  assert.deepEqual(
    (await duly.runDue()).map(({ result }) => result),
    ['new, priority 6', 'old, priority 0', 'new, priority 4'],
  );
});

test('a start deadline that passes expires the job', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'late', run: () => {} });
  await duly.pause({ type: 'late' });
  const handle = await task.now(1, { startDeadline: '10m' });
  await duly.advance('11m');
  const why = await handle.why();
  assert.equal(why.status, 'EXPIRED');
  assert.match(why.sentence, /had to start within 10 min/);
});

test('a failed job is a dead letter until it is retried or discarded', async (t) => {
  const duly = setup(t);
  let broken = true;
  const task = duly.task({
    name: 'fragile',
    retry: 1,
    run: () => {
      if (broken) throw new Error('Disk on fire');
      return 'fine';
    },
  });
  const [first, second, third] = await task.nowMany([1, 2, 3]);
  await duly.runDue();
  assert.equal((await duly.dead.list().page()).jobs.length, 3);
  assert.equal((await duly.dead.list({ error: 'disk ON' }).page()).jobs.length, 3);
  broken = false;
  assert.deepEqual(await duly.dead.retry([first?.id as string], { dryRun: true }), {
    changed: 1,
    refused: 0,
    ids: [first?.id],
    asOf: duly.now,
  });
  assert.deepEqual(await duly.dead.retry([first?.id as string]), { changed: 1, refused: 0 });
  await second?.retry('by hand');
  assert.deepEqual(
    (await duly.runDue()).map(({ result, attempt }) => [result, attempt]),
    [
      ['fine', 2],
      ['fine', 2],
    ],
  );
  assert.deepEqual(await duly.dead.discard({ type: 'fragile' }), { changed: 1, refused: 0 });
  assert.equal((await duly.dead.list().page()).jobs.length, 0);
  assert.equal((await third?.get())?.status, 'FAILED');
  const error = await refusal('job_failed', () => third?.result());
  assert.equal((error.cause as Error).message, 'Disk on fire');
  await refusal('job_not_changeable', () => first?.retry());
});

test('an action on many jobs changes no more than its dry run counted, or nothing', async (t) => {
  const duly = setup(t);
  let broken = true;
  const task = duly.task({
    name: 'later',
    retry: 1,
    run: () => {
      if (broken) throw new Error('Broken.');
    },
  });
  // More than one page, so that the bound holds across pages.
  const created = await task.inMany(
    '1h',
    Array.from({ length: 1_203 }, (_, n) => n),
  );
  const scheduled = duly.jobs({ type: 'later', status: 'SCHEDULED' });
  const counted = await scheduled.cancel({ dryRun: true });
  assert.equal(counted.changed, 1_203);
  assert.deepEqual(counted.ids, created.map(({ id }) => id).toReversed());

  const error = await refusal('too_many_match', () => scheduled.cancel({ expected: 1_202 }));
  assert.deepEqual(error.details, { expected: 1_202, found: 1_203 });
  assert.equal((await scheduled.count()).count, 1_203, 'nothing was changed');

  // A job that arrives later is not counted and not changed; one that is gone is not replaced by it.
  await duly.advance('1 s');
  const late = await task.in('1h', 'late');
  await created[0]?.cancel();
  const { asOf } = counted;
  assert.ok(asOf);
  assert.deepEqual(await scheduled.cancel({ asOf, expected: 1_203 }), { changed: 1_202, refused: 0 });
  assert.equal((await late.get()).status, 'SCHEDULED');

  // A dead letter that arrives later is neither, although its job was created before.
  const [first, second] = await task.nowMany([1, 2]);
  await duly.runDue();
  const dead = await duly.dead.retry({}, { dryRun: true });
  assert.equal(dead.changed, 2);
  await duly.advance('1 s');
  await second?.retry();
  await duly.runDue();
  assert.equal((await second?.get())?.status, 'FAILED');
  broken = false;
  assert.deepEqual(
    await duly.dead.retry({}, { expected: dead.changed, ...(dead.asOf && { asOf: dead.asOf }) }),
    { changed: 1, refused: 0 },
  );
  assert.equal((await first?.get())?.status, 'PENDING');
  assert.equal((await second?.get())?.status, 'FAILED');
});

test('an action stops at the number it expects, even if jobs begin to match after its count', async () => {
  const { engine } = await openStore('sqlite::memory:');
  const due = { at: t0 + day };
  await createAll(engine, [jobSpec({ due }), jobSpec({ due })]);
  let isCounted = false;
  const raced: Engine = {
    ...engine,
    act: (input) => engine.act({ now: t0, ...input }),
    async list(input) {
      const reply = await engine.list({ now: t0, ...input });
      if (!isCounted) await createAll(engine, [jobSpec({ due }), jobSpec({ due })]);
      isCounted = true;
      return reply;
    },
  };
  const result = await new JobQuery(async () => raced, 'test', {}).cancel({ expected: 2 });
  assert.deepEqual(result, { changed: 2, refused: 0 });
  assert.equal((await engine.counts({ cap: 10 })).status.CANCELLED.count, 2);
  await engine.close();
});

test('wait() resolves with the end of a job, and gives up after its timeout', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'waited', run: () => 'done' });
  const handle = await task.in('1h');
  const [job] = await Promise.all([handle.wait(), duly.advance('1h')]);
  assert.equal(job.status, 'COMPLETED');
  const later = await task.in('1 day');
  const given = refusal('wait_timeout', () => later.wait({ timeout: '1m' }));
  await Promise.all([given, duly.advance('2m')]);
  const stop = new AbortController();
  const aborted = assert.rejects(later.wait({ signal: stop.signal }), /enough/);
  stop.abort(new Error('enough'));
  await aborted;
  await later.cancel();
  assert.equal((await later.wait()).status, 'CANCELLED');
});

test('an id that is not there is not found, and one past its retention says when it was created', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'old', run: () => {} });
  const handle = await task.now();
  await duly.advance('8 days');
  const error = await refusal('job_pruned', () => handle.get());
  assert.equal(error.details.createdAt, Date.parse('2027-01-15T10:00:00Z'));
  await refusal('job_pruned', () => handle.cancel());
  await refusal('job_pruned', () => handle.retry());
  await refusal('job_not_found', () => duly.job('job_nope').get());
  await refusal('job_not_found', () => duly.job('job_nope').wait());
  await refusal('job_not_found', () => duly.job('job_nope').logs());
  await refusal('job_not_found', () => duly.cancel({ id: 'job_nope' }));
  await refusal('job_not_found', () => duly.why('job_nope'));
  await refusal('invalid_option', () => duly.job(''));
  await refusal('invalid_option', () => duly.job(null as never));
  await refusal('invalid_option', () => duly.why(undefined as never));
});

test('a task that keeps its jobs for an hour has them gone after two, and an id that never was is not found', async (t) => {
  const duly = setup(t);
  const brief = await duly.task({ name: 'brief', retention: '1h', run: () => {} }).now();
  await duly.advance('2h');
  await refusal('job_pruned', () => brief.get());
  const never = 'job_7zzzzzzzzzzzzzzzzzzzzzzzzz';
  await refusal('job_not_found', () => duly.job(never).get());
});

test('log lines and progress are kept with the job', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'chatty',
    run: async ({ log, progress }) => {
      log('one');
      log.warn('two');
      await progress(40, 'half way', { step: 2, of: 5 });
      await duly.clock.sleep(60_000);
    },
  });
  const handle = await task.now();
  await duly.advance('30s');
  const job = await handle.get();
  assert.deepEqual(job.progress, { percent: 40, message: 'half way', step: 2, of: 5 });
  assert.match((await handle.why()).sentence, /Last progress: 40 % \("half way"\), step 2 of 5\./);
  assert.deepEqual(
    (await handle.logs()).map(({ level, message }) => [level, message]),
    [
      ['info', 'one'],
      ['warn', 'two'],
    ],
  );
  await duly.advance('30s');
  assert.equal((await handle.get()).status, 'COMPLETED');
});

test('jobs are listed by filter, newest first, in pages and one by one', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'listed', run: () => {} });
  const handles = [];
  for (let i = 0; i < 25; i++)
    handles.push(await task.in('1h', { user: { id: i % 5 } }, { tenant: `t${i % 2}` }));
  const newest = handles.map(({ id }) => id).reverse();
  const page = await duly.jobs({ type: 'listed' }).page({ limit: 10 });
  assert.deepEqual(
    page.jobs.map(({ id }) => id),
    newest.slice(0, 10),
  );
  const next = await duly.jobs({ type: 'listed' }).page({ limit: 10, cursor: page.nextCursor });
  assert.deepEqual(
    next.jobs.map(({ id }) => id),
    newest.slice(10, 20),
  );
  const all = [];
  for await (const job of duly.jobs({ status: 'SCHEDULED' })) all.push(job.id);
  assert.deepEqual(all, newest);
  assert.equal((await duly.jobs({ input: { 'user.id': 3 } }).page()).jobs.length, 5);
  assert.equal((await duly.jobs({ tenant: 't1' }).page()).jobs.length, 12);
  assert.equal((await duly.jobs({ type: 'nothing' }).first())?.id, undefined);
  assert.deepEqual(await duly.jobs({ tenant: 't1' }).cancel({ note: 'bulk' }), { changed: 12, refused: 0 });
  await refusal('invalid_filter', () => duly.jobs({ state: 'SCHEDULED' } as never));
  const slip = await refusal('invalid_filter', () => duly.jobs({ status: 'SCHEDULE' as never }));
  assert.match(slip.hint ?? '', /SCHEDULED/);
  await refusal('invalid_option', () => duly.jobs().page({ limit: 0 }));
  await refusal('invalid_cursor', () => duly.jobs().page({ cursor: 7 as never }));
});

test('pauses stop starting, not accepting, and say who created them and why', async (t) => {
  const duly = setup(t, { actor: 'ada' });
  const task = duly.task({ name: 'mail', queue: 'outbox', run: () => 'sent' });
  await duly.pause({ queue: 'outbox' }, { note: 'provider is down', until: '2027-01-15T12:00:00Z' });
  const handle = await task.now();
  assert.deepEqual(await duly.advance('1h'), []);
  const why = await handle.why();
  assert.match(
    why.sentence,
    /Queue "outbox" is paused since .* by ada, who noted "provider is down", until 2027-01-15T12:00/,
  );
  assert.deepEqual(why.waitingFor, {
    kind: 'pause',
    scope: 'queue',
    name: 'outbox',
    by: 'ada',
    note: 'provider is down',
    since: new Date('2027-01-15T10:00:00Z'),
    until: new Date('2027-01-15T12:00:00Z'),
  });
  assert.equal(why.expectedStartAt?.toISOString(), '2027-01-15T12:00:00.000Z');
  assert.deepEqual(
    (await duly.pauses()).map(({ scope, name }) => [scope, name]),
    [['queue', 'outbox']],
  );
  assert.equal(await duly.resume({ queue: 'outbox' }), true);
  assert.equal(await duly.resume({ queue: 'outbox' }), false);
  assert.deepEqual(
    (await duly.runDue()).map(({ result }) => result),
    ['sent'],
  );
  await refusal('invalid_option', () => duly.pause({} as never));
  await refusal('invalid_option', () => duly.pause({ queue: 'a', all: true } as never));
  await refusal('invalid_option', () => duly.pause({ all: false as true }));
  await refusal('invalid_option', () => duly.pause({ all: true }, { until: '2020-01-01T00:00:00Z' }));
  await refusal('invalid_instant', () => duly.pause({ all: true }, { until: 'tomorrow' }));
});

test('a pause ends by itself at its instant', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'paused', run: () => 'ran' });
  await duly.pause({ type: 'paused' }, { until: '2027-01-15T12:00:00Z' });
  await task.now();
  const ran = await duly.advance('1 day');
  assert.deepEqual(
    ran.map(({ result }) => result),
    ['ran'],
  );
});

test('a task that nobody handles waits visibly', async (t) => {
  const duly = setup(t);
  duly.task({ name: 'known', run: () => {} });
  const other = setup(t);
  const unknown = other.task({ name: 'knwon', run: () => {} });
  await other.pause({ all: true });
  const handle = await unknown.now();
  await other.resume({ all: true });
  const why = await handle.why();
  assert.match(why.sentence, /waits for a worker\. No live node works on this store/);
  assert.deepEqual(why.waitingFor, { kind: 'worker', problem: 'no-node', nodes: [] });
});

test('a result that JSON cannot keep fails the job with a code', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'odd', retry: 1, run: () => ({ n: 1n }) });
  const handle = await task.now();
  await duly.runDue();
  const job = await handle.get();
  assert.equal(job.status, 'FAILED');
  assert.equal(job.error?.code, 'result_not_json');
  assert.match((await handle.why()).sentence, /returned a result that cannot be stored as JSON/);
});

test('a handler that throws nothing still leaves an error', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'silent',
    retry: 1,
    run: () => {
      throw undefined;
    },
  });
  const handle = await task.now();
  await duly.runDue();
  assert.equal((await handle.get()).error?.code, 'handler_threw_nullish');
});

test('counts and nodes tell what is there', async (t) => {
  const duly = setup(t, { app: 'studio' });
  const task = duly.task({ name: 'counted', run: () => {} });
  await task.in('1h');
  await duly.runDue();
  const { status, now, running } = await duly.counts();
  assert.deepEqual(status.SCHEDULED, { count: 1, capped: false });
  assert.equal(now.getTime(), duly.clock.now());
  assert.deepEqual(running, []);
  const [node, ...rest] = await duly.nodes();
  assert.equal(rest.length, 0);
  assert.deepEqual(
    [node?.app, node?.pid, node?.tasks],
    ['studio', process.pid, [{ type: 'counted', version: 1, concurrency: null }]],
  );
});

test('stats sum up what ended since an instant, by type', async (t) => {
  const duly = setup(t);
  const good = duly.task({ name: 'good', run: () => {} });
  const bad = duly.task({
    name: 'bad',
    retry: 1,
    run: () => {
      throw new Error('no');
    },
  });
  await good.nowMany([1, 2]);
  await bad.now();
  await duly.runDue();
  const since = new Date(duly.clock.now());
  const byType = async (types?: string[]) =>
    (await duly.stats({ since, ...(types === undefined ? {} : { types }) })).map((one) => [
      one.type,
      one.completed,
      one.failed,
    ]);
  assert.deepEqual((await byType()).sort(), [
    ['bad', 0, 1],
    ['good', 2, 0],
  ]);
  assert.deepEqual(await byType(['bad']), [['bad', 0, 1]]);
  await duly.advance('1m');
  assert.deepEqual(await duly.stats({ since: duly.clock.now() }), []);
  await assert.rejects(duly.stats({ since: 'soon' }), (error) => isDulyError(error, 'invalid_instant'));
});

test('running a job again makes a new one like it', async (t) => {
  const duly = setup(t);
  const task = duly.task({ name: 'again', run: ({ input }) => input });
  const first = await task.now(
    { n: 1 },
    { tenant: 'acme', priority: 3, metadata: { a: 1 }, dedupe: { key: 'k' } },
  );
  await duly.runDue();
  const second = await first.runAgain();
  assert.notEqual(second.id, first.id);
  const job = await second.get();
  assert.deepEqual(
    [job.copyOf, job.input, job.tenant, job.priority, job.metadata, job.key],
    [first.id, { n: 1 }, 'acme', 3, { a: 1 }, null],
  );
  assert.deepEqual(
    (await duly.runDue()).map(({ id, result }) => [id, result]),
    [[second.id, { n: 1 }]],
  );
});

test('a backoff that throws or answers nonsense is told, and the job is tried again by the exponential delay', async (t) => {
  const duly = setup(t);
  const reported: unknown[] = [];
  duly.on('error', ({ error, doing }) =>
    reported.push([doing, (error as { code?: string }).code ?? String(error)]),
  );
  const answers: (() => number)[] = [
    () => {
      throw new Error('no idea');
    },
    () => Number.NaN,
    () => 5_000,
  ];
  for (const [i, backoff] of answers.entries()) {
    const task = duly.task({
      name: `odd ${i}`,
      retry: { attempts: 2, delay: '1s', jitter: 0, backoff },
      run: () => Promise.reject(new Error('x')),
    });
    const handle = await task.now();
    await duly.runDue();
    const job = await handle.get();
    assert.equal(job.status, 'RETRYING');
    assert.equal(job.dueAt.getTime() - duly.now.getTime(), i === 2 ? 5_000 : 1_000);
  }
  assert.deepEqual(reported, [
    ['asking the backoff of task "odd 0"', 'Error: no idea'],
    ['asking the backoff of task "odd 1"', 'invalid_duration'],
  ]);
});

test('run again keeps the start deadline, counted from the first due instant and not from a retry', async (t) => {
  const duly = setup(t);
  const task = duly.task({
    name: 'late',
    retry: { attempts: 2, backoff: 'fixed', delay: '1h', jitter: 0 },
    run: () => Promise.reject(new Error('no')),
  });
  const retried = await task.in('5m', 1, { startDeadline: '10m' });
  const waiting = await task.in('1 day', 2, { startDeadline: '10m' });
  const plain = await task.in('1 day', 3);
  await duly.advance('10m');
  assert.equal((await retried.get()).status, 'RETRYING');
  for (const handle of [retried, waiting]) {
    const copy = await (await handle.runAgain()).get();
    assert.equal((copy.expireAt as Date).getTime() - copy.dueAt.getTime(), 10 * 60_000);
  }
  assert.equal((await (await plain.runAgain()).get()).expireAt, null);
});

test('an input can be left out: without a schema it is null, with one that takes undefined it is that', async (t) => {
  const duly = setup(t);
  const plain = duly.task({ name: 'plain', run: ({ input }) => [input] });
  const optional = duly.task({
    name: 'optional',
    input: z.string().default('none'),
    run: ({ input }) => [input],
  });
  const later = duly.task({
    name: 'later',
    input: z
      .string()
      .optional()
      .refine(async () => true),
    run: ({ input }) => [input ?? 'undefined'],
  });
  const needed = duly.task({ name: 'needed', input: z.object({ a: z.number() }), run: () => {} });
  await plain.now();
  await optional.now();
  await later.now();
  assert.deepEqual(
    (await duly.runDue()).map(({ result }) => result),
    [[null], ['none'], ['undefined']],
  );
  await refusal('invalid_input', () => needed.now(undefined as never));
  await refusal('invalid_input', () => needed.now(null as never));
});
