import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createStore, startServer } from '../fixture.ts';

/** A worker by hand. */
async function setup(t: import('node:test').TestContext, options: Parameters<typeof startServer>[1] = {}) {
  const fixture = await startServer(t, options);
  const { ask, key } = fixture;
  const run = await key('run');
  const post = async (verb: string, body: object) => {
    const answer = await ask(`/api/worker/${verb}`, { key: run, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const create = async (body: object = {}): Promise<string> =>
    (await ask('/api/jobs', { body: { type: 'work', input: { n: 1 }, ...body } })).json.id;
  const claim = (more: object = {}) => post('claim', { worker: 'hand', tasks: [{ type: 'work' }], ...more });
  const settle = async (lease: { id: string; fence: number }, outcome: object) =>
    (await post('settle', { outcomes: [{ id: lease.id, fence: lease.fence, ...outcome }] })).outcomes[0];
  /** Claims a job to learn a fence, and tries all fences near it on another job. Returns the distinct answers. */
  const guess = async (id: string) => {
    const own = await create({ type: 'bait' });
    const [bait] = (await post('claim', { worker: 'hand', tasks: [{ type: 'bait' }] })).jobs;
    assert.equal(bait.id, own);
    const leases = Array.from({ length: 101 }, (_, i) => ({ id, fence: Math.max(0, bait.fence - 50 + i) }));
    const logs = [{ line: 1, message: 'forged' }];
    const heartbeats = (await post('heartbeat', { leases })).leases;
    const reports = (await post('report', { reports: leases.map((lease) => ({ ...lease, logs })) })).reports;
    const forged = { outcome: 'completed', result: { forged: true } };
    const { outcomes } = await post('settle', { outcomes: leases.map((lease) => ({ ...lease, ...forged })) });
    const distinct = (values: string[]): string[] => [...new Set(values)];
    return {
      heartbeat: distinct(heartbeats.map(({ state }: { state: string }) => state)),
      report: distinct(reports.map(({ result }: { result: string }) => result)),
      settle: distinct(outcomes.map(({ result }: { result: string }) => result)),
      logs: (await ask(`/api/jobs/${id}/logs`)).json.data.map(({ message }: { message: string }) => message),
      status: (await ask(`/api/jobs/${id}`)).json.status,
    };
  };
  return { ...fixture, run, post, create, claim, settle, guess };
}

/** What guessed fences must give: nothing read, nothing written. */
const nothing = { heartbeat: ['lost'], report: ['lost'], settle: ['lost'], logs: [], status: 'RUNNING' };

test('a claim gives jobs with all that is needed, to one worker only, and says nothing of other types', async (t) => {
  const { create, claim, ask } = await setup(t);
  const id = await create({ tenant: 'acme', metadata: { own: 1 }, timeout: '10m', queue: 'slow' });
  await create({ type: 'other' });
  assert.deepEqual((await claim({ queues: ['fast'] })).jobs, []);
  const { jobs, drain, lease_ms, heartbeat_ms } = await claim({ limit: 10 });
  assert.deepEqual([jobs.length, drain, lease_ms, heartbeat_ms], [1, false, 30_000, 5_000]);
  const [job] = jobs;
  assert.deepEqual(
    [
      job.id,
      job.input,
      job.metadata,
      job.attempt,
      job.attempts,
      job.max_attempts,
      job.tenant,
      job.queue,
      job.timeout_ms,
    ],
    [id, { n: 1 }, { own: 1 }, 1, 1, 3, 'acme', 'slow', 600_000],
  );
  assert.ok(job.fence > 0);
  assert.deepEqual((await claim()).jobs, []);
  const shown = (await ask(`/api/jobs/${id}`)).json;
  assert.equal(shown.status, 'RUNNING');
  assert.match(shown.node, /^remote:hand@key:\w+$/);
});

test('a claim that waits is answered when a job is created, when one falls due, and after its time', async (t) => {
  const { create, claim } = await setup(t);
  assert.deepEqual((await claim({ wait: 0.05 })).jobs, []);
  const waiting = claim({ wait: 30 });
  const id = await create();
  assert.equal((await waiting).jobs[0].id, id);
  const later = await create({ delay: 300 });
  assert.equal((await claim({ wait: '30s' })).jobs[0].id, later);
});

test('the same token is given the same jobs, for an answer that was lost', async (t) => {
  const { create, claim } = await setup(t);
  const id = await create();
  await create();
  const first = await claim({ token: 'a' });
  const again = await claim({ token: 'a' });
  assert.deepEqual(
    again.jobs.map((job: { id: string; fence: number }) => [job.id, job.fence]),
    first.jobs.map((job: { id: string; fence: number }) => [job.id, job.fence]),
  );
  assert.equal(first.jobs[0].id, id);
  assert.notEqual((await claim({ token: 'b' })).jobs[0].id, id);
});

test('a worker that hangs up while it waits leaves no job behind', async (t) => {
  const { create, claim, url, run } = await setup(t);
  const aborter = new AbortController();
  const gone = fetch(`${url}/api/worker/claim`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${run}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ worker: 'gone', tasks: [{ type: 'work' }], wait: 30 }),
    signal: aborter.signal,
  });
  const here = claim({ wait: 0.2 });
  aborter.abort();
  await assert.rejects(gone);
  await here;
  const id = await create();
  assert.equal((await claim({ wait: 30 })).jobs[0].id, id);
});

test('every outcome: completed, failed, retried when told, snoozed, released, and final once none is left', async (t) => {
  const { create, claim, settle, ask } = await setup(t);
  const id = await create({ retry: { attempts: 2, backoff: 'fixed', delay: 1 } });
  let [lease] = (await claim()).jobs;
  assert.deepEqual(await settle(lease, { outcome: 'released', started: false }), {
    id,
    result: 'done',
    status: 'PENDING',
  });
  [lease] = (await claim()).jobs;
  assert.equal(lease.attempt, 1, 'an attempt that did not begin gives its number back');
  assert.deepEqual(await settle(lease, { outcome: 'snoozed', in: 1 }), {
    id,
    result: 'done',
    status: 'SCHEDULED',
  });
  [lease] = (await claim({ wait: 10 })).jobs;
  const error = { name: 'Oops', message: 'no', stack: 'Oops: no\n at line 1', code: 'E1' };
  assert.equal((await settle(lease, { outcome: 'failed', error, retry_in: 1 })).status, 'RETRYING');
  [lease] = (await claim({ wait: 10 })).jobs;
  assert.deepEqual([lease.attempts, lease.max_attempts], [2, 2]);
  assert.equal((await settle(lease, { outcome: 'failed', error })).status, 'FAILED');
  assert.deepEqual((await ask(`/api/jobs/${id}`)).json.error, error);

  const other = await create();
  const [second] = (await claim()).jobs;
  const logs = [{ line: 1, message: 'last words' }];
  const end = { outcome: 'completed', result: { ok: 1 }, logs, progress: { percent: 50, message: 'half' } };
  assert.deepEqual(await settle(second, end), { id: other, result: 'done', status: 'COMPLETED' });
  assert.deepEqual(
    await settle(second, end),
    { id: other, result: 'done', status: 'COMPLETED' },
    'a repeat is done again',
  );
  const shown = (await ask(`/api/jobs/${other}`)).json;
  assert.deepEqual([shown.result, shown.metadata.current_step], [{ ok: 1 }, 'half']);
  assert.equal((await ask(`/api/jobs/${other}/logs`)).json.data[0].message, 'last words');
});

test('progress and log lines are shown while the lease holds; a line that comes twice is kept once', async (t) => {
  const { create, claim, post, ask } = await setup(t);
  const id = await create();
  const [{ fence }] = (await claim()).jobs;
  const report = {
    id,
    fence,
    progress: { percent: 40, message: 'step', step: 2, of: 5 },
    logs: [{ line: 1, message: 'hello', level: 'warn' }],
  };
  assert.deepEqual((await post('report', { reports: [report, report] })).reports, [
    { id, result: 'kept' },
    { id, result: 'kept' },
  ]);
  const shown = (await ask(`/api/jobs/${id}`)).json;
  assert.deepEqual([shown.progress, shown.metadata.steps_completed], [40, 2]);
  const { data } = (await ask(`/api/jobs/${id}/logs`)).json;
  assert.deepEqual(
    data.map((line: { message: string; level: string }) => [line.message, line.level]),
    [['hello', 'warn']],
  );
  assert.deepEqual((await post('report', { reports: [{ ...report, fence: fence - 1 }] })).reports, [
    { id, result: 'lost' },
  ]);
});

test('a lease that ended is another worker’s: what the first says counts no more', async (t) => {
  const store = createStore(t);
  const short = { store, duly: { lease: '200ms' }, start: { roles: ['maintenance'] as const } };
  const { create, claim, settle, post, duly } = await setup(t, short);
  // Its server gives leases that last: a busy machine must not take the second one as well.
  const other = await setup(t, { store });
  const id = await create();
  const [first] = (await claim()).jobs;
  const [second] = (await other.claim({ worker: 'other', wait: 30 })).jobs;
  assert.equal(second.id, id);
  assert.ok(second.fence > first.fence);
  assert.deepEqual(
    (
      await post('heartbeat', {
        leases: [first].map(({ id: of, fence }: { id: string; fence: number }) => ({ id: of, fence })),
      })
    ).leases,
    [{ id, state: 'lost' }],
  );
  assert.deepEqual(await settle(first, { outcome: 'completed', result: 1 }), {
    id,
    result: 'lost',
    status: null,
  });
  assert.equal((await other.settle(second, { outcome: 'completed', result: 2 })).result, 'done');
  assert.equal((await duly.job(id).get()).result, 2);
});

test('a heartbeat tells of a cancel and of a timeout', async (t) => {
  const { create, claim, settle, post, ask } = await setup(t);
  const heartbeatOf = async ({ id, fence }: { id: string; fence: number }): Promise<string> =>
    (await post('heartbeat', { worker: 'hand', leases: [{ id, fence }] })).leases[0].state;
  const id = await create();
  const [lease] = (await claim()).jobs;
  assert.equal(await heartbeatOf(lease), 'kept');
  assert.equal((await ask(`/api/jobs/${id}/cancel`, { body: {} })).status, 202);
  assert.equal(await heartbeatOf(lease), 'cancel');
  assert.equal(
    (await settle(lease, { outcome: 'failed', error: { message: 'stopped' } })).status,
    'CANCELLED',
  );

  const slow = await create({ timeout: 1 });
  const [late] = (await claim()).jobs;
  let state = await heartbeatOf(late);
  while (state === 'kept') state = await heartbeatOf(late);
  assert.equal(state, 'timeout');
  assert.equal(
    (await settle(late, { outcome: 'failed', error: { message: 'too long' } })).status,
    'RETRYING',
  );
  assert.equal((await ask(`/api/jobs/${slow}`)).json.status, 'RETRYING');
});

test('only keys that may run, and are no tenant’s, work; what does not fit is refused', async (t) => {
  const { ask, key, create, claim, run } = await setup(t);
  const body = { worker: 'x', tasks: [{ type: 'work' }] };
  assert.equal((await ask('/api/worker/claim', { key: await key('read'), body })).status, 403);
  assert.equal((await ask('/api/worker/claim', { key: await key('admin', 'acme'), body })).status, 403);
  assert.equal((await ask('/api/worker/claim', { key: null, body })).status, 401);
  for (const bad of [
    { ...body, tasks: [] },
    { ...body, wait: 61 },
    { ...body, more: 1 },
    { tasks: body.tasks },
    { ...body, worker: '' },
  ]) {
    assert.equal((await ask('/api/worker/claim', { body: bad })).status, 400, JSON.stringify(bad));
  }
  const id = await create();
  const [{ fence }] = (await claim()).jobs;
  for (const bad of [
    { outcome: 'exploded' },
    { outcome: 'completed', error: {} },
    { outcome: 'failed' },
    { outcome: 'snoozed', in: 'soon' },
  ]) {
    const answer = await ask('/api/worker/settle', { key: run, body: { outcomes: [{ id, fence, ...bad }] } });
    assert.equal(answer.status, 400, JSON.stringify(bad));
  }
  const none = await ask('/api/worker/settle', {
    body: { outcomes: [{ id: 'job_nope', fence: 1, outcome: 'completed' }] },
  });
  assert.deepEqual(none.json.outcomes, [{ id: 'job_nope', result: 'lost', status: null }]);
});

test('a worker that is asked to drain is told so and given nothing', async (t) => {
  const { create, claim, duly, ask } = await setup(t);
  await claim();
  const [node] = (await duly.nodes()).filter(({ id }) => id.startsWith('remote:hand@key:'));
  const drained = await ask(`/api/nodes/${encodeURIComponent(node?.id ?? '')}/drain`, { body: {} });
  assert.ok(drained.status < 300, drained.text);
  await create();
  let answer = await claim({ running: 1 });
  while (!answer.drain && answer.jobs.length === 0) answer = await claim();
  assert.deepEqual([answer.drain, answer.jobs], [true, []]);
  assert.equal((await claim({ worker: 'another' })).jobs.length, 1);
});

test('guessed fences do nothing to a job that a node in a process runs', async (t) => {
  const entered = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const run = async () => {
    entered.resolve();
    await end.promise;
    return 'genuine';
  };
  const { guess, duly, ask } = await setup(t, { tasks: [{ name: 'inside', run }], start: true });
  const { id } = (await ask('/api/jobs', { body: { type: 'inside', tenant: 'b' } })).json;
  await entered.promise;
  const got = await guess(id);
  end.resolve();
  assert.deepEqual(got, nothing);
  assert.equal((await duly.job(id).wait()).result, 'genuine');
});

test('guessed fences do nothing to a job with an HTTP target', async (t) => {
  const asked = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const target = createServer(async (_, response) => {
    asked.resolve();
    await end.promise;
    response.writeHead(200, { 'content-type': 'text/plain' }).end('genuine');
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    target.closeAllConnections();
    target.close();
  });
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  const { guess, duly, ask } = await setup(t, { start: true, server: { allowTargets: ['127.0.0.1'] } });
  const { id } = (await ask('/api/jobs', { body: { target: { http: { url } }, tenant: 'b' } })).json;
  await asked.promise;
  const got = await guess(id);
  end.resolve();
  assert.deepEqual(got, nothing);
  assert.equal(((await duly.job(id).wait()).result as { body: string }).body, 'genuine');
});

test('a lease belongs to the key that claimed it: guessed fences and tokens of another key do nothing', async (t) => {
  const store = createStore(t);
  const { create, claim, settle } = await setup(t, { store });
  const other = await setup(t, { store });
  const id = await create();
  const [lease] = (await claim({ token: 'a' })).jobs;
  assert.deepEqual((await other.claim({ token: 'a' })).jobs, []);
  assert.deepEqual(await other.guess(id), nothing);
  assert.equal((await settle(lease, { outcome: 'completed', result: 1 })).result, 'done');
  assert.equal((await other.settle(lease, { outcome: 'completed', result: 1 })).result, 'lost');
});

test('a worker may claim through one server and go on through another with the same key', async (t) => {
  const store = createStore(t);
  const { create, claim, run } = await setup(t, { store });
  const other = await startServer(t, { store });
  const id = await create();
  const [{ fence }] = (await claim()).jobs;
  const ask = async (verb: string, body: object) =>
    (await other.ask(`/api/worker/${verb}`, { key: run, body })).json;
  const lease = { id, fence };
  assert.deepEqual(await ask('heartbeat', { leases: [lease] }), { leases: [{ id, state: 'kept' }] });
  const { outcomes } = await ask('settle', { outcomes: [{ ...lease, outcome: 'completed' }] });
  assert.deepEqual(outcomes, [{ id, result: 'done', status: 'COMPLETED' }]);
});

test('an owner whose name ends in another’s does not hold the other’s leases', async (t) => {
  const authorize = (request: Request) => ({
    actor: request.headers.get('x-actor') ?? 'admin',
    scope: 'admin' as const,
    tenant: null,
  });
  const { ask } = await startServer(t, { server: { authorize } });
  const { id } = (await ask('/api/jobs', { body: { type: 'work' } })).json;
  const as = async (actor: string, verb: string, body: object) =>
    (await ask(`/api/worker/${verb}`, { body, headers: { 'x-actor': actor } })).json;
  const [{ fence }] = (await as('ann@acme', 'claim', { worker: 'w@x', tasks: [{ type: 'work' }] })).jobs;
  const stateFor = async (actor: string) =>
    (await as(actor, 'heartbeat', { leases: [{ id, fence }] })).leases[0].state;
  for (const actor of ['acme', 'x@ann@acme', 'ann%40acme', 'ann'])
    assert.equal(await stateFor(actor), 'lost', actor);
  assert.equal(await stateFor('ann@acme'), 'kept');
});
