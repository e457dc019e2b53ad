import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import { begunLossesMax } from '../../src/contract/job-status.ts';
import { internalQueue } from '../../src/jobs/built-in-tasks.ts';
import type { ResolvedTask } from '../../src/jobs/task-definition.ts';
import type { Entry } from '../../src/store/shared-leases.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createRunningAttempts } from '../../src/worker/running-attempts.ts';
import { claimedJob } from './claimed-job.ts';
import { deferred, task } from './setup.ts';

/** Attempts without a store: leases are as `entry` says, and handlers end when the test says so. */
function setup({ entry = 'held' }: { entry?: Entry } = {}) {
  const clock = createManualClock();
  const notes: string[] = [];
  const handlers: { end: (value?: unknown) => void; fail: (error: unknown) => void; signal: AbortSignal }[] =
    [];
  const unused = async (): Promise<never> => assert.fail('the store is not needed');
  const counts = () => [attempts.count(), attempts.abandonedCount(), attempts.undecided().length];
  const attempts = createRunningAttempts({
    clock,
    random: seededRandom(1),
    engine: { remember: unused, info: () => assert.fail('the store is not needed') },
    heartbeats: { begin: async () => 'kept', enter: () => entry },
    reporter: { open: () => assert.fail('nothing is reported') },
    onEntered: ({ fence }) => notes.push(`${fence} entered`),
    onLate: ({ fence }) => notes.push(`${fence} late`),
    onProgress: () => {},
    onDecided: ({ job }, outcome) => notes.push(`${job.fence} decided ${outcome?.kind ?? null} ${counts()}`),
    onEnded: ({ job }) => notes.push(`${job.fence} ended ${counts()}`),
  });
  const run: ResolvedTask['run'] = ({ signal }) => {
    const { promise, resolve, reject } = deferred<unknown>();
    handlers.push({ end: resolve, fail: reject, signal });
    return promise;
  };
  const mail = task('mail', run);
  return { clock, attempts, notes, handlers, mail, run, counts };
}

test('an attempt is counted from its start until its handler has ended, and its outcome is reported once', async () => {
  const { clock, attempts, notes, handlers, mail, counts } = setup();
  attempts.start(claimedJob({ fence: 7 }), mail, 0);
  assert.deepEqual([counts(), attempts.areAllDecided()], [[1, 0, 1], false]);
  await clock.settle();
  assert.deepEqual(notes, ['7 entered']);
  handlers[0]?.end('value');
  await clock.settle();
  assert.deepEqual(notes, ['7 entered', '7 decided returned 1,1,0', '7 ended 0,0,0']);
  assert.equal(attempts.areAllDecided(), true);
  assert.equal(clock.pendingCount(), 0, 'no timer is left');
});

test('counts by task and of internal tasks do not mix up old and new attempts of a job', async () => {
  const { clock, attempts, handlers, mail, run } = setup();
  const notice = task('notice', run, { queue: internalQueue });
  attempts.start(claimedJob({ fence: 1 }), mail, 0);
  attempts.start(claimedJob({ fence: 2 }), mail, 0);
  attempts.start(claimedJob({ fence: 3, type: 'notice' }), notice, 0);
  await clock.settle();
  assert.deepEqual(
    [attempts.countOf('mail'), attempts.countOf('notice'), attempts.countOf('other')],
    [2, 1, 0],
  );
  assert.equal(attempts.internalCount(), 1);
  handlers[0]?.end();
  handlers[2]?.end();
  await clock.settle();
  assert.deepEqual([attempts.countOf('mail'), attempts.count(), attempts.internalCount()], [1, 1, 0]);
});

test('a handler that ignores its timeout is abandoned after the grace, and counted until it ends', async () => {
  const { clock, attempts, notes, handlers, mail, counts } = setup();
  attempts.start(claimedJob({ fence: 7, policy: { timeoutMs: 1_000, graceMs: 100 } }), mail, 0);
  await clock.advance(1_099);
  assert.equal(handlers[0]?.signal.aborted, true);
  assert.deepEqual(counts(), [1, 0, 1]);
  await clock.advance(1);
  assert.deepEqual([counts(), attempts.areAllDecided()], [[1, 1, 0], true]);
  handlers[0]?.end();
  await clock.settle();
  assert.deepEqual(notes, ['7 entered', '7 decided timeout 1,1,0', '7 ended 0,0,0']);
});

test('the timeout of an attempt that starts when another ends is still in force', async () => {
  const { clock, attempts, notes, handlers, mail } = setup();
  const policy = { timeoutMs: 1_000, graceMs: 100 };
  attempts.start(claimedJob({ fence: 1, policy }), mail, 0);
  await clock.advance(500);
  attempts.start(claimedJob({ fence: 2, policy }), mail, 500);
  handlers[0]?.end();
  await clock.advance(1_100);
  assert.deepEqual(notes.at(-1), '2 decided timeout 1,1,0');
});

test('news of a lease abort the attempt of its fence only', async () => {
  const { clock, attempts, notes, handlers, mail } = setup();
  for (const fence of [1, 2, 3]) attempts.start(claimedJob({ fence }), mail, 0);
  await clock.settle();
  attempts.onHeartbeat({ id: 'job_1', fence: 9, heartbeat: { state: 'lost' } });
  attempts.onHeartbeat({ id: 'job_1', fence: 1, heartbeat: { state: 'lost' } });
  attempts.onHeartbeat({ id: 'job_1', fence: 2, heartbeat: { state: 'cancel', requestedAt: 1 } });
  attempts.onHeartbeat({ id: 'job_1', fence: 3, heartbeat: { state: 'lost' }, isPresumed: true });
  const codes = handlers.map(({ signal }) => (signal.reason as { code: string } | undefined)?.code);
  assert.deepEqual(codes, ['lost', 'cancelled', 'lost']);
  assert.deepEqual(notes.slice(3), ['1 decided null 3,1,2'], 'a lost lease decides at once');
  handlers[1]?.fail(handlers[1].signal.reason);
  handlers[2]?.end();
  await clock.settle();
  const decided = notes.filter((note) => note.includes('decided'));
  assert.deepEqual(decided.slice(1), ['2 decided cancelled 3,2,1', '3 decided returned 2,2,0']);
});

test('an attempt that must run alone is alone until it is decided, even if its handler still runs', async () => {
  const { clock, attempts, mail } = setup();
  attempts.start(claimedJob({ fence: 1 }), mail, 0);
  assert.equal(attempts.isAlone(), false);
  const risky = claimedJob({ fence: 2, losses: 2, begunLosses: begunLossesMax - 1 });
  attempts.start(risky, mail, 0);
  assert.equal(attempts.isAlone(), true);
  await clock.settle();
  attempts.onHeartbeat({ id: risky.id, fence: 2, heartbeat: { state: 'lost' } });
  assert.deepEqual([attempts.isAlone(), attempts.count(), attempts.abandonedCount()], [false, 2, 1]);
});

test('an undecided attempt can be aborted and released when the worker ends', async () => {
  const { clock, attempts, notes, handlers, mail } = setup();
  attempts.start(claimedJob({ fence: 1 }), mail, 0);
  attempts.start(claimedJob({ fence: 2 }), mail, 0);
  await clock.settle();
  handlers[0]?.end();
  await clock.settle();
  for (const attempt of attempts.undecided()) attempt.abort('shutdown');
  assert.equal(handlers[1]?.signal.aborted, true);
  assert.equal(attempts.areAllDecided(), false, 'it may still return');
  for (const attempt of attempts.undecided()) attempt.release();
  assert.equal(notes.at(-1), '2 decided released 1,1,0');
  assert.equal(attempts.areAllDecided(), true);
});

test('a job whose lease has ended is released without its handler being entered', async () => {
  const { clock, attempts, notes, handlers, mail } = setup({ entry: 'ended' });
  attempts.start(claimedJob({ fence: 4 }), mail, 0);
  await clock.settle();
  assert.deepEqual(notes, ['4 late', '4 decided released 1,1,0', '4 ended 0,0,0']);
  assert.equal(handlers.length, 0);
});
