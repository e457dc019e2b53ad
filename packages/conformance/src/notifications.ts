import assert from 'node:assert/strict';
import type { ClaimedJob, Engine, JobSpec, Notification } from '@duly/core/internal';
import {
  claimRequest,
  dedupe,
  fireGroup,
  hour,
  jobSpec,
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
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  only,
  pause,
  reap,
  reschedule,
  retry,
  settle,
  until,
} from './steps.ts';
import type { DefineTest } from './suite.ts';

const ofType = (type: string, fields: Partial<JobSpec> = {}): JobSpec => jobSpec({ type, ...fields });
const claimOf = (...types: string[]) =>
  claimRequest({ tasks: types.map((type) => ({ type, version: 1, limit: 10 })) });

// Any text may be a name.
const oddNames = ['mail send', 'a,b:c', `it's "quoted"`, 'back\\slash\n%2C', 'größe 🦉', ',', 'jobs'];

/** Which types the notifications of new work name after an action; null: any, []: there was none. */
export async function notifiedTypes(engine: Engine, act: () => Promise<unknown>): Promise<string[] | null> {
  const received: Notification[] = [];
  const stop = engine.subscribe((notification) => received.push(notification));
  // A probe comes last, so whatever was sent before it has been delivered.
  const deliverAll = async () => {
    await engine.probe();
    await until(engine, () => received.some(({ kind }) => kind === 'probe'));
  };
  // Listening may begin with every notification once.
  await deliverAll();
  received.length = 0;
  await act();
  await deliverAll();
  stop();
  const jobs = received.filter(({ kind }) => kind === 'jobs');
  assert.ok(received.every(({ kind, types }) => kind === 'jobs' || types === undefined));
  if (jobs.some(({ types }) => types === undefined)) return null;
  return [...new Set(jobs.flatMap(({ types = [] }) => types))].sort();
}

/** Which types notifications of jobs name, so that workers of other types may sleep. */
export function notificationTests(test: DefineTest): void {
  testNames(test);
  testWaitingJobs(test);
  testReturningJobs(test);
  testClaimsOfCalls(test);
}

function testNames(test: DefineTest): void {
  test('new jobs are announced with their types', async ({ engine }) => {
    assert.deepEqual(await notifiedTypes(engine, () => create(engine, { type: 'mail' })), ['mail']);
    const later = { type: 'report', due: { at: t0 + hour } };
    assert.deepEqual(await notifiedTypes(engine, () => create(engine, later)), ['report'], 'later ones too');
    const groups = [
      { jobs: [ofType('a'), ofType('b', { serial: 'line' })] },
      { jobs: [ofType('c', { dedupe: dedupe('key') })] },
    ];
    assert.deepEqual(await notifiedTypes(engine, () => engine.enqueue({ now: t0, groups })), ['a', 'b', 'c']);
    const plain = [ofType('x'), ofType('y'), ofType('x')];
    assert.deepEqual(await notifiedTypes(engine, () => createAll(engine, plain)), ['x', 'y']);
  });

  test('a name may have any characters', async ({ engine }) => {
    const plain = oddNames.map((type) => ofType(type));
    const serial = oddNames.map((type) => ofType(type, { serial: type }));
    for (const jobs of [plain, serial]) {
      assert.deepEqual(await notifiedTypes(engine, () => createAll(engine, jobs)), oddNames.toSorted());
    }
    for (const name of oddNames) {
      const type = `${name} again`;
      assert.deepEqual(await notifiedTypes(engine, () => create(engine, { type, due: { at: t0 + hour } })), [
        type,
      ]);
      const lease = await createRunning(engine, { type });
      const again = () => finish(engine, lease, 'RETRYING', { due: { at: t0 + hour } });
      assert.deepEqual(await notifiedTypes(engine, again), [type]);
    }
  });

  test('many types are any type', async ({ engine }) => {
    const types = Array.from({ length: 50 }, (_, n) => `type ${n}`);
    assert.equal(
      await notifiedTypes(engine, () =>
        createAll(
          engine,
          types.map((type) => ofType(type)),
        ),
      ),
      null,
    );
    const { id } = await create(engine, { type: 'first' });
    for (const type of types) await create(engine, { type, gates: [{ kind: 'parent', ref: id }] });
    const end = () => cancel(engine, { id });
    assert.equal(await notifiedTypes(engine, end), null);
  });
}

/** Jobs that become ready because another one ended. */
function testWaitingJobs(test: DefineTest): void {
  test('a job that waits behind a gate is announced with its own type when the gate opens', async ({
    engine,
  }) => {
    const lease = await createRunning(engine, { type: 'first' });
    const gates: JobSpec['gates'] = [{ kind: 'parent', ref: lease.id }];
    assert.deepEqual(await notifiedTypes(engine, () => create(engine, { type: 'second', gates })), []);
    await create(engine, { type: 'third', gates, due: { at: t0 + hour } });
    const end = () => finish(engine, lease, 'COMPLETED');
    assert.deepEqual(await notifiedTypes(engine, end), ['second', 'third']);
  });

  test('the next in line for a serial place is announced with its own type', async ({ engine }) => {
    const lease = await createRunning(engine, { type: 'first', serial: 'line' });
    await create(engine, { type: 'second', serial: 'line' });
    await create(engine, { type: 'third', serial: 'line' });
    assert.deepEqual(await notifiedTypes(engine, () => finish(engine, lease, 'COMPLETED')), ['second']);
  });

  test('the follow-up behind a dedupe key is announced with its type', async ({ engine }) => {
    const key = dedupe('key', { mode: 'extend' });
    const lease = await createRunning(engine, { type: 'mail', dedupe: key });
    const follow = () => create(engine, { type: 'mail', dedupe: key });
    assert.deepEqual(await notifiedTypes(engine, follow), []);
    assert.deepEqual(await notifiedTypes(engine, () => finish(engine, lease, 'COMPLETED')), ['mail']);
  });

  test('an end that frees many jobs announces the types of all', async ({ engine }) => {
    const leases: ClaimedJob[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      const lease = await createRunning(engine, { type: 'first' });
      await create(engine, { type: `follows ${n % 2}`, gates: [{ kind: 'parent', ref: lease.id }] });
      leases.push(lease);
    }
    const end = () =>
      engine.exchange({
        now: t0,
        settle: leases.map((lease) => settlement(lease, 'COMPLETED')),
        claim: null,
      });
    assert.deepEqual(await notifiedTypes(engine, end), ['follows 0', 'follows 1']);
  });
}

function testReturningJobs(test: DefineTest): void {
  test('a job that comes back is announced with its type, however it comes back', async ({ engine }) => {
    const failing = await createRunning(engine, { type: 'failing' });
    const again = () => finish(engine, failing, 'RETRYING', { due: { at: t0 + hour } });
    assert.deepEqual(await notifiedTypes(engine, again), ['failing']);
    const released = await createRunning(engine, { type: 'released' });
    assert.deepEqual(await notifiedTypes(engine, () => finish(engine, released, 'PENDING')), ['released']);
    const failed = await createFailed(engine, { type: 'failed' });
    assert.deepEqual(await notifiedTypes(engine, () => retry(engine, failed.id)), ['failed']);
    const { id } = await create(engine, { type: 'moved', due: { at: t0 + hour } });
    const move = () => reschedule(engine, { id }, { at: t0 + minute });
    assert.deepEqual(await notifiedTypes(engine, move), ['moved']);
    await createRunning(engine, { type: 'lost' });
    const taken = only(await reap(engine, t0 + hour));
    const lose = () =>
      settle(engine, settlement(taken, 'PENDING', { reason: 'lost', loss: 'begun' }), t0 + hour);
    assert.deepEqual(await notifiedTypes(engine, lose), ['lost']);
  });

  test('a job that only fell due is announced to nobody: every worker of its type knows its instant', async ({
    engine,
  }) => {
    await create(engine, { type: 'later', serial: 'line', due: { at: t0 + minute } });
    await create(engine, { type: 'later', due: { at: t0 + minute } });
    const claim = () => engine.exchange({ now: t0 + hour, settle: [], claim: claimOf('later') });
    assert.deepEqual(await notifiedTypes(engine, claim), []);
  });

  test('the runs of schedules are announced with their types', async ({ engine }) => {
    const puts = ['a', 'b', 'c', 'd', 'e'].map((name) => schedulePut({ name }));
    await applySchedules(engine, puts);
    const { schedules } = await engine.claimSchedules(scheduleClaim({ now: t0 }));
    assert.equal(schedules.length, puts.length);
    const groups = schedules.map((schedule) =>
      fireGroup(schedule, { jobs: [ofType(`run ${schedule.name}`)] }),
    );
    const fire = () => engine.fire({ now: t0, node: 'node-a', groups });
    assert.deepEqual(await notifiedTypes(engine, fire), ['run a', 'run b', 'run c', 'run d', 'run e']);
  });

  test('a pause that ends is announced for any type', async ({ engine }) => {
    assert.equal(await notifiedTypes(engine, () => pause(engine, 'queue:default', t0 + second)), null);
  });
}

function testClaimsOfCalls(test: DefineTest): void {
  test('what a call creates and claims itself is announced to nobody', async ({ engine }) => {
    const taken = () =>
      engine.enqueue({ now: t0, groups: [{ jobs: [ofType('mail')] }], claim: claimOf('mail') });
    assert.deepEqual(await notifiedTypes(engine, taken), []);
    const both = () =>
      engine.enqueue({
        now: t0,
        groups: [{ jobs: [ofType('mail'), ofType('report')] }],
        claim: claimOf('mail'),
      });
    assert.deepEqual(await notifiedTypes(engine, both), ['mail', 'report']);
  });

  test('what the claim of a call sets free is announced, also when all that it created is claimed', async ({
    engine,
  }) => {
    const { id } = await create(engine, { type: 'late', startDeadlineMs: second });
    await create(engine, { type: 'behind', gates: [{ kind: 'parent', ref: id }] });
    const taken = () =>
      engine.enqueue({
        now: t0 + minute,
        groups: [{ jobs: [ofType('mail', { due: { at: t0 + minute } })] }],
        claim: claimOf('mail'),
      });
    assert.deepEqual(await notifiedTypes(engine, taken), ['behind']);
  });
}
