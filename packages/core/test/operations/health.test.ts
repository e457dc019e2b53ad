import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimRequest, jobSpec, nodeInfo, schedulePut } from '@duly/conformance/builders';
import { createIds } from '../../src/base/ids.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Engine } from '../../src/contract/engine.ts';
import { createPauses } from '../../src/jobs/pauses.ts';
import { type HealthCheck, readHealth } from '../../src/operations/health.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';

async function setup(t: { after(fn: () => Promise<void>): void }) {
  const clock = createManualClock(Date.UTC(2027, 0, 15, 10));
  const engine = await openEngine('sqlite::memory:', clock);
  t.after(() => engine.close());
  const options = {
    clock,
    ids: createIds({ clock, random: seededRandom(1) }),
    actor: 'test',
    patienceMs: 5_000,
    scope: 'all' as const,
  };
  const look = (through: Engine = engine) => readHealth({ ...options, open: async () => through });
  const check = async (name: HealthCheck['name'], through?: Engine) => {
    const { checks } = await look(through);
    const found = checks.find((one) => one.name === name);
    return found === undefined ? null : `${found.state}: ${found.message}`;
  };
  const tasks = [{ type: 'work', version: 1, concurrency: null }];
  const roles: ('scheduler' | 'worker' | 'maintenance')[] = ['scheduler', 'worker', 'maintenance'];
  const heartbeat = (fields: Parameters<typeof nodeInfo>[1] = {}) =>
    engine.nodes({
      heartbeat: nodeInfo('node_1', { tasks, roles, notReady: null, queues: null, ...fields }),
      leave: null,
      drain: null,
      forgetAfterMs: 40_000,
    });
  const create = () => engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  return { clock, engine, look, check, heartbeat, create };
}

test('a store without nodes is failing, one with a node that plays every role is not', async (t) => {
  const { look, check, heartbeat, clock } = await setup(t);
  assert.equal((await look()).state, 'failing');
  assert.equal(await check('nodes'), 'failing: No node is live: nothing is started.');
  await heartbeat();
  const { state, checks } = await look();
  assert.deepEqual(
    [state, ...checks.map((one) => `${one.name} ${one.state}`)],
    ['ok', 'store ok', 'writes ok', 'nodes ok', 'jobs ok', 'schedules ok'],
  );
  await clock.advance(15_001);
  assert.equal(await check('nodes'), 'failing: All 1 nodes are silent: nothing is started.');
});

test('a role that nobody plays, and workers that take nothing, are failing', async (t) => {
  const { check, heartbeat } = await setup(t);
  await heartbeat({ roles: ['scheduler', 'maintenance'] });
  assert.equal(await check('nodes'), 'failing: No live node runs jobs.');
  await heartbeat({ roles: ['worker', 'scheduler'] });
  assert.equal(await check('nodes'), 'failing: No live node takes back what dead ones held.');
  await heartbeat({ notReady: 'Every place is held by a handler that ignores its timeout.' });
  assert.match(String(await check('nodes')), /^failing: No node takes jobs: Every place is held/);
});

test('jobs that wait and do not start are failing, with the reason; a queue that moves is a warning, a pause is neither', async (t) => {
  const { check, heartbeat, create, clock, engine } = await setup(t);
  await create();
  await create();
  await clock.advance(59_000);
  await heartbeat();
  assert.match(String(await check('jobs')), /^ok/);
  await clock.advance(1_000);
  assert.equal(
    await check('jobs'),
    'failing: Jobs wait and do not move: 2 "work" in queue "default", the oldest for 60 s (none of them has started for a minute).',
  );
  await heartbeat({ tasks: [{ type: 'other', version: 1, concurrency: null }] });
  assert.match(String(await check('jobs')), /^failing: .*\(no live node takes it\)/);
  await heartbeat();
  const pauses = createPauses(engine, 'test');
  await pauses.pause({ type: 'work' });
  assert.match(String(await check('jobs')), /^ok/);
  await pauses.resume({ type: 'work' });
  await engine.exchange({ settle: [], claim: claimRequest({ limit: 1 }) });
  assert.match(
    String(await check('jobs')),
    /^warning: Jobs move, but wait long: 1 "work" in queue "default", the oldest for 60 s/,
  );
});

test('a slot that nobody decides is failing', async (t) => {
  const { check, heartbeat, clock, engine } = await setup(t);
  const change = schedulePut({ dueAt: clock.now() });
  await engine.applySchedules({ groups: [{ actor: 'test', changes: [change] }] });
  await heartbeat();
  assert.match(String(await check('schedules')), /^ok/);
  await clock.advance(31_000);
  await heartbeat();
  assert.equal(
    await check('schedules'),
    `failing: Slots are due and not decided: "${change.name}", the oldest since 31 s.`,
  );
  await heartbeat({ roles: ['worker', 'maintenance'] });
  assert.equal(await check('nodes'), 'failing: No live node decides schedules.');
});

test('a store that answers and confirms nothing is failing, and the question does not wait with it', async (t) => {
  const { check, look, heartbeat, clock, engine } = await setup(t);
  await heartbeat();
  // What a server does whose standby is away is shown with a real one in the tests of `duly doctor`.
  const silent: Engine = { ...engine, acquire: () => new Promise(() => {}) };
  const looking = check('writes', silent);
  await clock.advance(5_000);
  assert.equal(await looking, 'failing: The store answers, but confirms no writes: nothing came within 5 s.');
  const disconnected: Engine = { ...engine, counts: () => new Promise(() => {}) };
  const asked = look(disconnected);
  await clock.advance(5_000);
  const { state, checks } = await asked;
  assert.deepEqual(
    [state, checks.length, checks[0]?.name, checks[0]?.code],
    ['failing', 1, 'store', 'store_unavailable'],
  );
});
