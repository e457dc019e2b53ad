import assert from 'node:assert/strict';
import type { ClaimedJob, Engine, JobRecord, JobSpec, Settlement } from '@duly/core/internal';
import {
  claimRequest,
  day,
  dedupe,
  fireGroup,
  freshId,
  hour,
  jobError,
  jobPolicy,
  jobSlot,
  jobSpec,
  minute,
  scheduleClaim,
  schedulePut,
  second,
  settlement,
  slotJob,
  slotRow,
  t0,
} from './builders.ts';
import {
  applySchedules,
  claim,
  claimReply,
  create,
  createAll,
  feedAfter,
  feedPosition,
  itemAt,
  read,
  readSchedule,
  statusOf,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

// More than any engine handles one by one for want of a reason to do otherwise.
const manyCount = 40;

/** What holds for many jobs that are claimed or settled in one call: an engine may write them together, and nobody may notice. */
export function togetherTests(test: DefineTest): void {
  test('many schedules fired together are each written whole, or not at all', async ({ engine }) => {
    const puts = Array.from({ length: 12 }, () => schedulePut());
    await applySchedules(engine, puts);
    const { schedules } = await engine.claimSchedules(scheduleClaim());
    assert.equal(schedules.length, puts.length);
    const start = await feedPosition(engine);
    const groups = schedules.map((one, i) => {
      const job = slotJob(one.id, t0, i === 3 ? { serial: 's' } : {});
      const slot = slotRow(t0, { jobId: job.id });
      const missed = slotRow(t0 - hour, { decision: 'missed', reason: 'late' });
      return fireGroup(
        i === 5 ? { ...one, version: one.version + 1 } : i === 6 ? { ...one, fence: 0 } : one,
        {
          state: `{"n":${i}}`,
          jobs: i === 4 ? [] : [job],
          slots: i === 7 ? [missed, slot] : i === 4 ? [missed] : [slot],
          waitsFor: i === 8 ? job.id : null,
          dueAt: i === 8 ? null : t0 + hour,
        },
      );
    });
    const reply = await engine.fire({ now: t0, node: 'n', groups });
    const isRefused = (i: number) => i === 5 || i === 6;
    assert.deepEqual(
      reply.groups,
      schedules.map((_, i) => (isRefused(i) ? 'conflict' : 'fired')),
    );
    for (const [i, { id, version }] of schedules.entries()) {
      const after = await readSchedule(engine, id);
      const ledger = await engine.slots({ now: t0, scheduleId: id, fromAt: 0, beforeAt: t0 + 1, limit: 9 });
      const [job] = groups[i]?.jobs ?? [];
      if (isRefused(i)) {
        assert.deepEqual([after?.version, after?.dueAt, ledger.slots], [version, t0, []], `schedule ${i}`);
        assert.deepEqual((await engine.get({ now: t0, ids: [job?.id ?? ''] })).jobs, [null]);
        continue;
      }
      assert.deepEqual(
        [after?.version, after?.state, after?.dueAt, after?.waitsFor],
        [version + 1, `{"n":${i}}`, i === 8 ? null : t0 + hour, i === 8 ? job?.id : null],
        `schedule ${i}`,
      );
      assert.deepEqual(
        ledger.slots.map(({ decision }) => decision),
        i === 7 ? ['fired', 'missed'] : i === 4 ? ['missed'] : ['fired'],
      );
      if (job !== undefined) assert.equal(await statusOf(engine, job.id), 'PENDING');
    }
    assert.equal((await feedAfter(engine, start)).length, 9, 'every job that was created, and no other');
    assert.equal((await claim(engine)).length, 9);
    await engine.fire({ now: t0, node: 'n', groups });
    assert.equal((await claim(engine)).length, 0, 'a repeat is a conflict');
  });

  test('decisions that fire one slot each, written together, make the jobs that each would make alone', async ({
    engine,
  }) => {
    await applySchedules(
      engine,
      Array.from({ length: 9 }, (_, i) => schedulePut({ dueAt: t0 - i })),
    );
    const { schedules } = await engine.claimSchedules(scheduleClaim());
    const jobs = schedules.map(({ id }, i) =>
      slotJob(id, t0 - 10 * i, {
        type: i % 2 === 0 ? 'even' : 'odd',
        tenant: i === 4 ? 'acme' : null,
        input: JSON.stringify({ 'a "quote", a \\ and {}': i }),
        due: { at: i === 5 ? t0 + hour : t0 - 10 * i },
        rankOffsetMs: i === 6 ? -day : 0,
        startDeadlineMs: i === 7 ? minute : null,
        metadata: i === 3 ? '{"kept":true}' : null,
        slot: jobSlot(id, t0 - 10 * i, { details: `{"date":"${i}"}`, ...(i === 2 ? { allow: true } : {}) }),
      }),
    );
    const groups = schedules.map((one, i) => {
      const job = itemAt(jobs, i);
      return fireGroup(one, {
        jobs: [job],
        slots: [slotRow(t0 - 10 * i, { jobId: job.id })],
        waitsFor: i === 8 ? job.id : null,
      });
    });
    const reply = await engine.fire({ now: t0, node: 'node-a', groups });
    assert.deepEqual(
      reply.groups,
      groups.map(() => 'fired'),
    );
    for (const [i, job] of jobs.entries()) {
      const record = await read(engine, job.id);
      assert.deepEqual(
        [
          record.type,
          record.tenant,
          record.input,
          record.metadata,
          record.slot,
          record.status,
          record.origin,
        ],
        [
          job.type,
          job.tenant,
          job.input,
          job.metadata,
          job.slot,
          i === 5 ? 'SCHEDULED' : 'PENDING',
          'schedule',
        ],
      );
      assert.deepEqual([record.dueAt, record.policy], ['at' in job.due ? job.due.at : 0, job.policy]);
      const after = await readSchedule(engine, itemAt(schedules, i).id);
      assert.deepEqual([after?.version, after?.waitsFor], [2, i === 8 ? job.id : null]);
    }
    assert.deepEqual((await engine.claimSchedules(scheduleClaim())).schedules, []);
    const tasks = ['even', 'odd'].map((type) => ({ type, version: 1, limit: 100 }));
    const { claimed } = await claimReply(engine, { tasks });
    assert.deepEqual(
      claimed.map(({ id }) => jobs.findIndex((job) => job.id === id)),
      [6, 8, 7, 4, 3, 2, 1, 0],
    );
  });

  test('jobs that are taken by the call that fires them run as any others', async ({ engine }) => {
    const policy = jobPolicy();
    const fireAll = async (limit: number, now: number, fields: Partial<JobSpec> = {}) => {
      await applySchedules(
        engine,
        Array.from({ length: 6 }, () => schedulePut({ dueAt: now })),
        now,
      );
      const { schedules } = await engine.claimSchedules(scheduleClaim({ now }));
      const jobs = schedules.map(({ id }, i) =>
        slotJob(id, now, { policy, input: `{"i":${i}}`, tenant: `tenant-${i}`, ...fields }),
      );
      const groups = schedules.map((one, i) => {
        const job = itemAt(jobs, i);
        return fireGroup(one, { jobs: [job], slots: [slotRow(now, { jobId: job.id })], dueAt: now + day });
      });
      const request = claimRequest({ limit });
      return { jobs, request, reply: await engine.fire({ now, node: 'n', groups, claim: request }) };
    };
    const start = await feedPosition(engine);
    const { jobs, request, reply } = await fireAll(20, t0);
    const view = ({ id, input, tenant, slot, attempt, spent, dueAt, claimedAt, createdAt }: ClaimedJob) =>
      [id, input, tenant, slot, attempt, spent, dueAt, claimedAt, createdAt] as const;
    assert.deepEqual(
      reply.claimed.map(view),
      jobs.map(({ id, input, tenant, slot }) => [id, input, tenant, slot, 1, 0, t0, t0, t0]),
    );
    const fences = reply.claimed.map(({ fence }) => fence);
    assert.deepEqual(
      fences,
      [...new Set(fences)].sort((one, other) => one - other),
    );
    const events = (await feedAfter(engine, start)).map(({ id, event }) => `${event} ${id}`);
    assert.deepEqual(events.sort(), jobs.flatMap(({ id }) => [`claimed ${id}`, `created ${id}`]).sort());
    const again = await engine.exchange({ now: t0, settle: [], claim: request, repeat: true });
    assert.deepEqual(
      again.claimed.map(({ id, fence }) => [id, fence]),
      reply.claimed.map(({ id, fence }) => [id, fence]),
    );
    const settle = reply.claimed.map((lease) => settlement(lease, 'COMPLETED'));
    const { settled } = await engine.exchange({ now: t0 + 1, settle, claim: null });
    assert.deepEqual(
      settled,
      jobs.map(() => 'done'),
    );

    const few = await fireAll(4, t0 + second);
    assert.deepEqual(
      few.reply.claimed.map(({ id }) => id),
      few.jobs.slice(0, 4).map(({ id }) => id),
      'no more than were asked for',
    );
    const left = await fireAll(20, t0 + 2 * second);
    assert.deepEqual(
      left.reply.claimed.map(({ id }) => id),
      [...few.jobs.slice(4), ...left.jobs].map(({ id }) => id),
      'what was ready before comes first',
    );
    const late = await fireAll(20, t0 + minute, { due: { at: t0 }, startDeadlineMs: second });
    assert.deepEqual(late.reply.claimed, [], 'past its start deadline nothing starts');
  });

  test('jobs claimed together come by rank, each under a fence of its own that grows', async ({ engine }) => {
    const specs = Array.from({ length: manyCount }, (_, i) =>
      jobSpec({ due: { at: t0 - ((i * 7) % manyCount) * second }, input: JSON.stringify({ i }) }),
    );
    await createAll(engine, specs);
    const { claimed } = await claimReply(engine, { limit: manyCount });
    const byDue = [...specs].sort((a, b) => dueOf(a) - dueOf(b));
    assert.deepEqual(
      claimed.map(({ id, input }) => [id, input]),
      byDue.map(({ id, input }) => [id, input]),
    );
    const fences = claimed.map(({ fence }) => fence);
    assert.deepEqual(
      fences,
      [...new Set(fences)].sort((a, b) => a - b),
    );
    for (const { id, fence, attempt } of claimed) {
      const job = await read(engine, id);
      assert.deepEqual([job.status, job.fence, job.attempt, attempt], ['RUNNING', fence, 1, 1]);
    }
  });

  test('outcomes that travel together are recorded as if each had come alone', async ({ engine }) => {
    const alone = await createRunningSet(engine);
    const together = await createRunningSet(engine);
    const ends = (jobs: ClaimedJob[]): Settlement[] => jobs.map((job, i) => settlementOf(job, i));
    const position = await feedPosition(engine);
    for (const one of ends(alone)) await engine.exchange({ now: t0 + 1, settle: [one], claim: null });
    const fedAlone = await feedAfter(engine, position);
    const { settled } = await engine.exchange({ now: t0 + 1, settle: ends(together), claim: null });
    const fedTogether = (await feedAfter(engine, position)).slice(fedAlone.length);
    assert.deepEqual(new Set(settled), new Set(['done']));
    for (const [i, job] of together.entries()) {
      assert.deepEqual(
        comparable(await read(engine, job.id, t0 + 2)),
        comparable(await read(engine, (alone[i] as ClaimedJob).id, t0 + 2)),
      );
    }
    const counted = (feed: typeof fedAlone) => feed.map(({ status, event }) => `${status} ${event}`).sort();
    assert.deepEqual(counted(fedTogether), counted(fedAlone));
  });

  test('everything that waited for jobs that ended together is set free', async ({ engine }) => {
    const scheduleId = freshId('sch');
    const [gated, child, serial, keyed, waited] = await createRunningJobs(engine, [
      jobSpec(),
      jobSpec(),
      jobSpec({ serial: 'line' }),
      jobSpec({ dedupe: dedupe('held') }),
      jobSpec(),
    ]);
    const others = await createRunningJobs(
      engine,
      Array.from({ length: manyCount }, () => jobSpec()),
    );
    const behind = await create(engine, { gates: [{ kind: 'overlap', ref: id(gated) }] });
    const next = await create(engine, { serial: 'line' });
    const kid = jobSpec({ parent: { id: id(child), key: 'one' } });
    await createAll(engine, [kid]);
    await applySchedules(engine, [schedulePut({ id: scheduleId, dueAt: null, waitsFor: id(waited) })]);
    assert.deepEqual(
      [await statusOf(engine, behind.id), await statusOf(engine, next.id)],
      ['BLOCKED', 'BLOCKED'],
    );

    const all = [gated, ...others, child, serial, keyed, waited] as ClaimedJob[];
    await engine.exchange({
      now: t0 + 1,
      settle: all.map((job) => settlement(job, 'COMPLETED')),
      claim: null,
    });
    assert.deepEqual(
      [await statusOf(engine, behind.id), await statusOf(engine, next.id)],
      ['PENDING', 'PENDING'],
    );
    assert.equal((await readSchedule(engine, scheduleId, t0 + 1))?.dueAt, t0 + 1);
    const again = jobSpec({ dedupe: dedupe('held') });
    const [free] = await createAll(engine, [again], t0 + 2);
    assert.deepEqual([free?.id, free?.deduped], [again.id, false], 'the key is free');
    const second_ = jobSpec({ parent: { id: id(child), key: 'one' } });
    const [twin] = await createAll(engine, [second_], t0 + 2);
    assert.deepEqual([twin?.id, twin?.deduped], [kid.id, true], 'the child of a completed parent is found');
  });

  test('a lost lease, an outcome that comes twice and one that is refused harm none of those beside them', async ({
    engine,
  }) => {
    const jobs = await createRunningJobs(
      engine,
      Array.from({ length: manyCount }, () => jobSpec()),
    );
    const settle = jobs.map((job) => settlement(job, 'COMPLETED'));
    const [first, second_, third] = settle as [Settlement, Settlement, Settlement];
    settle[1] = { ...second_, fence: second_.fence + 1_000_000 };
    settle[2] = { ...third, id: freshId() };
    settle.push({ ...first });
    const { settled } = await engine.exchange({ now: t0 + 1, settle, claim: null });
    const wanted = jobs.map((_, i) => (i === 1 || i === 2 ? 'lost' : 'done'));
    assert.deepEqual(settled, [...wanted, 'lost']);
    assert.equal(await statusOf(engine, (jobs[1] as ClaimedJob).id), 'RUNNING');
    assert.equal(await statusOf(engine, (jobs[2] as ClaimedJob).id), 'RUNNING');
    assert.equal(await statusOf(engine, (jobs[3] as ClaimedJob).id), 'COMPLETED');
    const repeated = await engine.exchange({ now: t0 + 2, settle, claim: null, repeat: true });
    assert.deepEqual(repeated.settled, [...wanted, 'done'], 'a repeat answers what the first call did');
  });

  test('what ends and what is claimed may be many in the same call', async ({ engine }) => {
    const jobs = await createRunningJobs(
      engine,
      Array.from({ length: manyCount }, () => jobSpec()),
    );
    await createAll(
      engine,
      Array.from({ length: manyCount }, () => jobSpec()),
    );
    const reply = await engine.exchange({
      now: t0 + 1,
      settle: jobs.map((job) => settlement(job, 'COMPLETED')),
      claim: claimRequest({ limit: manyCount }),
    });
    assert.equal(reply.claimed.length, manyCount);
    assert.equal(new Set([...jobs, ...reply.claimed].map(({ id: one }) => one)).size, 2 * manyCount);
    assert.deepEqual(await claim(engine), []);
  });
}

const dueOf = ({ due }: JobSpec): number => ('at' in due ? due.at : 0);
const id = (job: ClaimedJob | undefined): string => (job as ClaimedJob).id;

async function createRunningJobs(engine: Engine, specs: JobSpec[]): Promise<ClaimedJob[]> {
  await createAll(engine, specs);
  const claimed = new Map((await claim(engine, { limit: 1_000 })).map((job) => [job.id, job]));
  return specs.map((spec) => claimed.get(spec.id) as ClaimedJob);
}

/** Running jobs that differ in what an end has to look at. */
function createRunningSet(engine: Engine): Promise<ClaimedJob[]> {
  return createRunningJobs(
    engine,
    Array.from({ length: manyCount }, (_, i) =>
      jobSpec({
        input: JSON.stringify({ i }),
        tenant: i % 3 === 0 ? 'acme' : null,
        metadata: i % 4 === 0 ? '{"note":"äöü \\" \\n"}' : null,
        policy: jobPolicy({ retentionMs: i % 2 === 0 ? hour : day }),
        origin: i % 5 === 0 ? 'trigger' : 'event',
      }),
    ),
  );
}

function settlementOf(job: ClaimedJob, i: number): Settlement {
  if (i % 11 === 3) return settlement(job, 'FAILED', { spends: true, error: jobError() });
  if (i % 11 === 7) return settlement(job, 'RETRYING', { spends: true, due: { inMs: second } });
  const result = [null, '"quote \\" and 🎉"', '{"a":[1,null,"\\u0000"]}', '0.1'][i % 4] as string | null;
  return settlement(job, 'COMPLETED', { spends: i % 2 === 0, result });
}

/** A job without what must differ between two jobs. */
function comparable({ attempts, id: _, fence: __, ...job }: JobRecord): object {
  return { ...job, attempts: attempts.map(({ fence: ___, ...attempt }) => attempt) };
}
