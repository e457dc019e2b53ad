import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvents } from '../../src/base/emitter.ts';
import type { ClaimedJob, ClaimRequest, ExchangeReply } from '../../src/contract/engine.ts';
import { begunLossesMax } from '../../src/contract/job-status.ts';
import { internalQueue } from '../../src/jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../../src/jobs/task-definition.ts';
import type { HeldLease, LeaseRef } from '../../src/store/heartbeats.ts';
import type { Entry } from '../../src/store/shared-leases.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createIntake } from '../../src/worker/intake.ts';
import type { WorkerEvents } from '../../src/worker/worker-events.ts';
import { claimedJob } from './claimed-job.ts';
import { task } from './setup.ts';

const leaseMs = 30_000;
const mail = task('mail', () => null);
const narrow = task('narrow', () => null, { concurrency: 2 });
const notice = task('notice', () => null, { queue: internalQueue });

interface SetupOptions {
  tasks?: ResolvedTask[];
  concurrency?: number;
  queues?: string[] | null;
  entry?: Entry;
}

/** An intake whose attempts run until the test ends them. */
function setup({ tasks = [mail], concurrency = 4, queues = null, entry = 'held' }: SetupOptions = {}) {
  const clock = createManualClock();
  const events = createEvents<WorkerEvents>();
  const notes: string[] = [];
  const held: [number, number][] = [];
  const dropped: number[] = [];
  const running: ClaimedJob[] = [];
  const state = { isDraining: false, isBehind: false, abandonedCount: 0, isAlone: false };
  let fence = 0;
  events.on('lost', ({ job }) => notes.push(`lost ${job.fence}`));
  const byName = new Map(tasks.map((one) => [one.name, one]));
  const isInternal = ({ type }: ClaimedJob) => byName.get(type)?.queue === internalQueue;
  const intake = createIntake({
    ...{ clock, events, node: 'n1', tasks: byName, queues, concurrency, leaseMs },
    ids: { newId: (kind) => `${kind}_${++fence}` },
    attempts: {
      start: (job) => void running.push(job),
      count: () => running.length,
      countOf: (type) => running.filter((job) => job.type === type).length,
      internalCount: () => running.filter(isInternal).length,
      abandonedCount: () => state.abandonedCount,
      isAlone: () => state.isAlone,
      areAllDecided: () => running.length === state.abandonedCount,
    },
    heartbeats: {
      hold: (leases: HeldLease[], sureElapsed = Number.NaN) =>
        void held.push(...leases.map((lease): [number, number] => [lease.fence, sureElapsed])),
      drop: (leases: LeaseRef[]) => void dropped.push(...leases.map((lease) => lease.fence)),
      check: () => void notes.push('check'),
      enter: () => entry,
    },
    isDraining: () => state.isDraining,
    isBehind: () => state.isBehind,
    send: (job, { kind }) => void notes.push(`${kind} ${job.fence}`),
    onReleased: () => void notes.push('was released'),
    wake: () => void notes.push('wake'),
  });
  const jobs = (count: number, fields: Partial<ClaimedJob> = {}): ClaimedJob[] =>
    Array.from({ length: count }, () => claimedJob({ fence: ++fence, type: 'mail', ...fields } as never));
  /** Delivers these jobs as an exchange does. */
  const deliver = (claimed: ClaimedJob[]) =>
    intake.receive('exchange', claimed, { sureElapsed: clock.elapsed() });
  function end(job = running[0] as ClaimedJob): void {
    running.splice(running.indexOf(job), 1);
    intake.ended(job, { isReleased: false });
  }
  function learn(reply: Partial<ExchangeReply>, { isMore = false, isInternal = false } = {}): void {
    const facts = { hasClaim: true, isInternal, isMore, arrivedElapsed: clock.elapsed() };
    intake.learn({ now: 100_000, soloSinceAt: null, claimed: [], ...reply } as ExchangeReply, facts);
  }
  /** Asks for a claim as an exchange does that finds nothing, so that nothing stays reserved. */
  function probe(): ClaimRequest | null {
    const next = intake.nextClaim();
    if (next !== null) intake.answered(next.claim);
    return next?.claim ?? null;
  }
  return { clock, intake, notes, held, dropped, running, state, jobs, deliver, end, learn, probe };
}

const fencesOf = (jobs: readonly ClaimedJob[]) => jobs.map(({ fence }) => fence);

test('a claim asks for the free capacity, and reserves it until it has its answer', () => {
  const { intake, running, jobs, deliver, probe } = setup();
  const first = intake.nextClaim();
  assert.partialDeepStrictEqual(first, {
    claim: { node: 'n1', limit: 4, leaseMs, queues: null, idle: true },
    isRepeated: false,
    isInternal: false,
  });
  assert.deepEqual(first?.claim.tasks, [{ type: 'mail', version: 1, limit: 4 }]);
  assert.deepEqual([intake.isReserved(), intake.nextClaim(), intake.request()], [true, null, null]);
  intake.answered(first?.claim as ClaimRequest);
  assert.equal(intake.isReserved(), false);
  deliver(jobs(3));
  assert.equal(running.length, 3);
  assert.partialDeepStrictEqual(probe(), { limit: 1, idle: false });
});

test('a worker takes nothing while it drains, is behind, runs a job alone or is full of abandoned handlers', () => {
  const { intake, state, probe } = setup();
  for (const change of [
    { isDraining: true },
    { isBehind: true },
    { isAlone: true },
    { abandonedCount: 4 },
  ] as const) {
    Object.assign(state, change);
    assert.deepEqual([probe(), intake.request(), intake.claimBeside()], [null, null, null]);
    assert.equal(intake.isFull(), true);
    Object.assign(state, { isDraining: false, isBehind: false, isAlone: false, abandonedCount: 0 });
  }
  assert.equal(probe()?.limit, 4);
});

test('a claim respects the limit of each task, counting jobs that wait, and the queues of the worker', () => {
  const { running, state, jobs, deliver, end, probe } = setup({ tasks: [mail, narrow], queues: ['a'] });
  deliver(jobs(1, { type: 'narrow' }));
  assert.deepEqual(probe()?.tasks, [
    { type: 'mail', version: 1, limit: 3 },
    { type: 'narrow', version: 1, limit: 1 },
  ]);
  assert.deepEqual(probe()?.queues, ['a']);
  deliver(jobs(2, { type: 'narrow' }));
  assert.equal(running.length, 2, 'the third waits');
  assert.deepEqual(probe()?.tasks, [{ type: 'mail', version: 1, limit: 1 }]);
  end();
  end();
  assert.deepEqual(probe()?.tasks.at(-1), { type: 'narrow', version: 1, limit: 1 });
  assert.equal(state.isAlone, false);
});

test('jobs start in their order as capacity allows; those without are released after 250 ms', async () => {
  const { clock, intake, notes, running, jobs, deliver, end } = setup({ concurrency: 2 });
  const claimed = jobs(5);
  deliver(claimed);
  assert.deepEqual(fencesOf(running), fencesOf(claimed.slice(0, 2)));
  assert.equal(intake.waitingCount(), 3);
  await clock.advance(100);
  end();
  assert.deepEqual(fencesOf(running), fencesOf(claimed.slice(1, 3)));
  const later = jobs(1);
  deliver(later);
  await clock.advance(149);
  assert.deepEqual(notes, []);
  await clock.advance(1);
  assert.deepEqual(
    notes,
    fencesOf(claimed.slice(3)).map((fence) => `released ${fence}`),
  );
  assert.equal(intake.waitingCount(), 1, 'the later one waits on');
  await clock.advance(250);
  assert.equal(notes.at(-1), `released ${later[0]?.fence}`);
  assert.equal(clock.pendingCount(), 0);
});

test('a job whose task is full is passed over, and one of an unknown task is released', () => {
  const { notes, running, jobs, deliver, end } = setup({ tasks: [mail, narrow] });
  const claimed = [...jobs(3, { type: 'narrow' }), ...jobs(1)];
  deliver(claimed);
  assert.deepEqual(
    running.map(({ type }) => type),
    ['narrow', 'narrow', 'mail'],
  );
  end();
  assert.equal(running.at(-1), claimed[2]);
  const [unknown] = jobs(1, { type: 'other' });
  deliver([unknown as ClaimedJob]);
  assert.deepEqual(notes, [`released ${unknown?.fence}`]);
});

test('a job that must run alone waits until no other attempt is undecided, and holds up those behind it', () => {
  const { running, state, jobs, deliver, end } = setup();
  deliver(jobs(1));
  const risky = jobs(1, { losses: 2, begunLosses: begunLossesMax - 1 });
  deliver([...risky, ...jobs(1)]);
  assert.equal(running.length, 1);
  state.isAlone = true;
  end();
  assert.deepEqual(running, [], 'another runs alone');
  state.isAlone = false;
  deliver(jobs(1));
  assert.equal(running[0], risky[0]);
});

test('a job that waits to run alone stops other claims after 30 s, until nothing runs', () => {
  const { clock, state, jobs, deliver, end, learn, probe } = setup();
  clock.jump(50_000);
  deliver(jobs(1));
  learn({ soloSinceAt: 70_000 });
  assert.partialDeepStrictEqual(probe(), { limit: 3, idle: false });
  clock.jump(1);
  assert.partialDeepStrictEqual(probe(), { limit: 0, idle: false }, 'it only asks');
  state.abandonedCount = 1;
  assert.equal(probe()?.idle, true, 'an abandoned handler may never end');
  state.abandonedCount = 0;
  learn({ soloSinceAt: null }, { isInternal: true });
  assert.equal(probe()?.limit, 0, 'a claim for internal work learns nothing of it');
  end();
  assert.partialDeepStrictEqual(probe(), { limit: 4, idle: true });
  deliver(jobs(1));
  learn({ soloSinceAt: null });
  assert.equal(probe()?.limit, 3);
});

test('leases are held from before the store gave them, and those of a repeated claim from longer ago', () => {
  const { clock, intake, notes, held, jobs } = setup();
  clock.jump(1_000);
  const [one, two] = [jobs(1), jobs(1, { claimedAt: 2_500 })];
  intake.receive('exchange', one, { sureElapsed: 900, now: 3_000 });
  intake.receive('repeat', two, { sureElapsed: 950, now: 3_200 });
  intake.receive('repeat', [], { sureElapsed: 950, now: 3_200 });
  assert.deepEqual(held, [
    [one[0]?.fence, 900],
    [two[0]?.fence, 250],
  ]);
  assert.deepEqual(notes, ['check']);
});

test('a call that creates jobs reserves capacity until it is answered, and its leases count from the request', () => {
  const { clock, intake, notes, held, running, jobs, probe } = setup();
  clock.jump(500);
  const request = intake.request() as ClaimRequest;
  assert.deepEqual([request.limit, probe(), intake.isReserved(), intake.isFull()], [4, null, true, false]);
  assert.equal(intake.skipPass(), Number.POSITIVE_INFINITY);
  clock.jump(40);
  const claimed = jobs(2);
  intake.answerRequest(request, claimed);
  assert.deepEqual([held[0]?.[1], running, intake.isReserved()], [500, claimed, false]);
  assert.deepEqual(notes, ['wake'], 'for what the skipped pass did not ask for');
  intake.answerRequest(intake.request() as ClaimRequest, []);
  assert.deepEqual([notes.length, probe()?.limit], [1, 2]);
});

test('a claim whose answer was lost is asked for again, until its leases have ended', () => {
  const { clock, intake, notes, probe } = setup();
  const request = intake.request() as ClaimRequest;
  intake.answerRequest(request, 'unknown');
  assert.deepEqual([notes, intake.lostCount(), intake.isReserved()], [['wake'], 1, true]);
  const next = intake.nextClaim();
  assert.deepEqual(next, { claim: request, isRepeated: true, isInternal: false });
  assert.equal(intake.isReserved(), true);
  const other: ClaimRequest = { ...request, token: 'other', limit: 0 };
  intake.lost(other);
  intake.lost(request, { isFirst: true });
  assert.equal(intake.nextClaim()?.claim, request);
  intake.lost(request, { isFirst: true });
  clock.jump(leaseMs);
  assert.equal(probe()?.limit, 4, 'after a lease its capacity is free');
  assert.deepEqual([intake.lostCount(), intake.isReserved()], [0, false]);
});

test('a claim beside another asks for the free capacity again, although it is reserved', () => {
  const { intake, jobs, deliver } = setup();
  deliver(jobs(1));
  intake.nextClaim();
  assert.equal(intake.nextClaim(), null);
  assert.equal(intake.claimBeside()?.limit, 3);
});

test('a full worker asks for internal work, at most every 50 ms, and starts two of its jobs at most', () => {
  const { clock, intake, running, jobs, deliver, end } = setup({ tasks: [mail, notice], concurrency: 2 });
  deliver(jobs(2));
  assert.equal(intake.isFull(), false);
  const next = intake.nextClaim();
  assert.partialDeepStrictEqual(next, { isInternal: true, claim: { limit: 2, queues: [internalQueue] } });
  assert.deepEqual(next?.claim.tasks, [{ type: 'notice', version: 1, limit: 2 }]);
  intake.answered(next?.claim as ClaimRequest);
  clock.jump(20);
  assert.deepEqual([intake.nextClaim(), intake.skipPass()], [null, 30]);
  clock.jump(30);
  assert.equal(intake.nextClaim()?.claim.limit, 2);
  intake.answered(next?.claim as ClaimRequest);
  deliver(jobs(3, { type: 'notice' }));
  assert.deepEqual([running.length, intake.waitingCount(), intake.isFull()], [4, 1, true]);
  end(running[2]);
  assert.deepEqual([running.length, intake.waitingCount()], [4, 0]);
  const other = setup({ tasks: [mail, notice], concurrency: 1, queues: ['default'] });
  other.deliver(other.jobs(1));
  assert.equal(other.probe(), null, 'not in its queues');
});

test('a worker that runs dry while the store is asked fetches ahead, more each time, until it has enough', () => {
  const { clock, intake, jobs, deliver, end, learn, probe } = setup({ concurrency: 2 });
  const run = (count: number): void => {
    deliver(jobs(count));
    for (let i = 0; i < count; i++) end();
  };
  run(2);
  clock.jump(1_000);
  learn({ claimed: jobs(2) }, { isMore: true });
  assert.deepEqual([intake.isPrefetching(), probe()?.limit], [true, 4]);
  run(2);
  clock.jump(1_000);
  learn({ claimed: jobs(1) }, { isMore: true });
  assert.equal(probe()?.limit, 8);
  run(1);
  learn({ claimed: jobs(1) }, { isMore: true });
  assert.equal(intake.isPrefetching(), false, 'it did not run dry');
  run(2);
  learn({ claimed: jobs(1) }, { isMore: false });
  assert.equal(intake.isPrefetching(), false, 'nothing more is due');
});

test('a call asks for as many as could run in a moment, even while an exchange has reserved capacity', () => {
  const { clock, intake, jobs, deliver, end } = setup();
  for (let i = 0; i < 5; i++) {
    deliver(jobs(4));
    clock.jump(5);
    for (let j = 0; j < 4; j++) end();
  }
  intake.nextClaim();
  assert.equal(intake.request()?.limit, 40, '20 in 25 ms');
  assert.equal(intake.request(), null);
});

test('news of a lease reaches the job that waits under it', () => {
  const { intake, notes, dropped, running, jobs, deliver, end } = setup({ concurrency: 1 });
  const [runs, cancelled, lost] = jobs(3) as [ClaimedJob, ClaimedJob, ClaimedJob];
  deliver([runs, cancelled, lost]);
  const news = { id: 'job_1', heartbeat: { state: 'lost' as const } };
  intake.onHeartbeat({ ...news, fence: runs.fence });
  intake.onHeartbeat({ ...news, fence: lost.fence });
  intake.onHeartbeat({ ...news, fence: cancelled.fence, heartbeat: { state: 'cancel', requestedAt: 77 } });
  assert.deepEqual([notes, dropped], [[`lost ${lost.fence}`], [lost.fence]]);
  end();
  assert.deepEqual([running, cancelled.cancelRequestedAt], [[cancelled], 77]);
  assert.equal(intake.waitingCount(), 0);
});

test('a draining worker releases what waits, and what still arrives', async () => {
  const { clock, intake, notes, running, state, jobs, deliver } = setup({ concurrency: 1 });
  const claimed = jobs(3);
  deliver(claimed.slice(0, 2));
  state.isDraining = true;
  intake.releaseAll();
  assert.deepEqual([notes, running.length], [[`released ${claimed[1]?.fence}`], 1]);
  running.length = 0;
  deliver(claimed.slice(2));
  assert.equal(notes.at(-1), `released ${claimed[2]?.fence}`);
  assert.deepEqual([running.length, intake.waitingCount(), clock.pendingCount()], [0, 0, 0]);
});

test('a job that the store released already is not released again', () => {
  const { intake, notes, dropped, jobs, deliver } = setup({ concurrency: 1, entry: 'released' });
  const claimed = jobs(2);
  deliver(claimed);
  intake.releaseAll();
  assert.deepEqual([notes, dropped], [['was released'], [claimed[1]?.fence]]);
});

test('a job that is released or lost while it waits no longer counts against the limit of its task', async () => {
  const { clock, intake, running, jobs, deliver, end, probe } = setup({ tasks: [narrow] });
  const claimed = jobs(4, { type: 'narrow' });
  deliver(claimed);
  assert.equal(probe(), null, 'nothing to ask for while its only task is full');
  intake.onHeartbeat({ id: 'job_1', fence: claimed[3]?.fence as number, heartbeat: { state: 'lost' } });
  await clock.advance(250);
  end();
  assert.equal(running.length, 1);
  assert.equal(probe()?.tasks[0]?.limit, 1);
});

test('requests that were answered do not limit the next one', () => {
  const { clock, intake, jobs, deliver, end } = setup();
  deliver(jobs(20));
  clock.jump(25);
  for (let i = 0; i < 20; i++) end();
  for (let i = 0; i < 3; i++) {
    const request = intake.request() as ClaimRequest;
    assert.equal(request.limit, 40);
    intake.answerRequest(request, []);
  }
});

test('internal work is not asked for while capacity is reserved, jobs wait or the worker takes nothing', () => {
  const { clock, intake, state, jobs, deliver, probe } = setup({ tasks: [mail, notice], concurrency: 1 });
  const next = intake.nextClaim();
  deliver(jobs(1));
  assert.equal(probe(), null, 'reserved');
  intake.answered(next?.claim as ClaimRequest);
  for (const change of [{ isAlone: true }, { isBehind: true }, { isDraining: true }] as const) {
    Object.assign(state, change);
    assert.equal(probe(), null);
    Object.assign(state, { isAlone: false, isBehind: false, isDraining: false });
  }
  assert.equal(probe()?.limit, 2);
  clock.jump(50);
  deliver(jobs(1, { type: 'notice' }));
  assert.equal(probe()?.limit, 1, 'one runs already');
  clock.jump(50);
  deliver(jobs(1));
  assert.equal(probe(), null, 'another job waits');
});
