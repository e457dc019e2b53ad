/** Jobs that change between the list and the action of one call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dedupe, hour, jobSpec, t0 } from '@duly/conformance/builders';
import {
  actOn,
  auditOf,
  claimOne,
  create,
  createAll,
  createFailed,
  createRunning,
  finish,
  reschedule,
  statusOf,
} from '@duly/conformance/steps';
import { dulyError } from '../../src/base/errors.ts';
import { createIds } from '../../src/base/ids.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Engine, VerbCall } from '../../src/contract/engine.ts';
import { mapVerbs } from '../../src/contract/verbs.ts';
import type { JobsFilter } from '../../src/jobs/job-filter.ts';
import { JobQuery } from '../../src/jobs/job-query.ts';
import { createJobs } from '../../src/jobs/jobs.ts';
import { createInstrumentedEngine } from '../../src/store/instrumented-engine.ts';
import { openEngine } from '../../src/store/open-engine.ts';
import { createStoreSession } from '../../src/store/session.ts';
import { createManualClock } from '../../src/testing/index.ts';

/** A store in memory whose calls run at `t0`. `between` runs after each list. */
async function setup(t: { after(fn: () => Promise<void>): void }) {
  const inner = await openEngine('sqlite::memory:');
  t.after(() => inner.close());
  const verbs = mapVerbs((verb) => {
    const call = inner[verb] as VerbCall;
    return (input) => call({ now: t0, ...(input as object) } as never);
  });
  const engine: Engine = { ...inner, ...verbs };
  const state = { listCount: 0, between: async () => {} };
  const raced: Engine = {
    ...engine,
    async list(input) {
      const reply = await engine.list(input);
      state.listCount += 1;
      await state.between();
      return reply;
    },
  };
  const query = (filter: JobsFilter) => new JobQuery(async () => raced, 'test', filter);
  const once = (fn: () => Promise<unknown>) => {
    state.between = async () => {
      state.between = async () => {};
      await fn();
    };
  };
  return { engine, query, once, state };
}

test('a job that was listed as PENDING and claimed since is not cancelled', async (t) => {
  const { engine, query, once } = await setup(t);
  const [claimed, still] = await createAll(engine, [jobSpec(), jobSpec({ type: 'other' })]);
  once(() => claimOne(engine));
  assert.deepEqual(await query({ status: ['PENDING'] }).cancel(), { changed: 1, refused: 0 });
  const [job] = (await engine.get({ ids: [claimed?.id as string] })).jobs;
  assert.deepEqual([job?.status, job?.cancelRequestedAt], ['RUNNING', null]);
  assert.equal(await statusOf(engine, still?.id as string), 'CANCELLED');
});

test('a job that changed since and still matches is listed again, and changed', async (t) => {
  const { engine, query, once, state } = await setup(t);
  const { id } = await create(engine);
  once(() => claimOne(engine));
  assert.deepEqual(await query({ type: ['work'] }).cancel(), { changed: 1, refused: 0 });
  const [job] = (await engine.get({ ids: [id] })).jobs;
  assert.equal(job?.cancelRequestedAt, t0);
  assert.equal(state.listCount, 2);
});

test('a job that changed since and no longer allows the action is refused', async (t) => {
  const { engine, query, once } = await setup(t);
  const lease = await createRunning(engine);
  once(() => finish(engine, lease, 'COMPLETED'));
  assert.deepEqual(await query({ type: ['work'] }).cancel(), { changed: 0, refused: 1 });
  assert.equal(await statusOf(engine, lease.id), 'COMPLETED');
});

test('a job that changes after every list is refused in the end', async (t) => {
  const { engine, query, state } = await setup(t);
  const { id } = await create(engine);
  state.between = async () => {
    const to = (await statusOf(engine, id)) === 'PENDING' ? t0 + hour : t0;
    await reschedule(engine, { id }, { at: to });
  };
  assert.deepEqual(await query({ type: ['work'] }).cancel(), { changed: 0, refused: 1 });
  assert.equal(state.listCount, 6);
});

test('a job whose input was replaced since is not cancelled by its old input', async (t) => {
  const { engine, query, once } = await setup(t);
  const fields = { dedupe: dedupe('k', { mode: 'replace' }), due: { at: t0 + hour } } as const;
  const { id } = await create(engine, { ...fields, input: '{"user":1}' });
  once(() => create(engine, { ...fields, input: '{"user":2}' }, t0 + 1));
  assert.deepEqual(await query({ input: { user: 1 } }).cancel(), { changed: 0, refused: 0 });
  assert.equal(await statusOf(engine, id), 'SCHEDULED');
});

test('a dead letter that was discarded since is not retried', async (t) => {
  const { engine, query, once } = await setup(t);
  const { id } = await createFailed(engine);
  once(() => actOn(engine, 'discard', [{ id }], t0 + 1));
  assert.deepEqual(await query({ dead: true }).retry(), { changed: 0, refused: 0 });
  assert.equal(await statusOf(engine, id), 'FAILED');
});

test('a retry whose reply was lost is not done twice, although the job ran and failed meanwhile', async (t) => {
  const inner = await openEngine('sqlite::memory:');
  t.after(() => inner.close());
  const clock = createManualClock();
  let retryCount = 0;
  const engine: Engine = {
    ...inner,
    async retry(input) {
      const reply = await inner.retry(input);
      retryCount += 1;
      if (retryCount > 1) return reply;
      const lease = await claimOne(inner, {}, clock.now());
      await finish(inner, lease, 'FAILED', {}, clock.now());
      throw dulyError('store_unavailable', { message: 'The reply was lost.' });
    },
  };
  const instrumented = createInstrumentedEngine({ engine, clock, rules: true, onCall() {} });
  const random = seededRandom(1);
  const session = createStoreSession(instrumented, { clock, random });
  const jobs = createJobs({
    ...{ clock, ids: createIds({ clock, random }), virtual: true },
    session: async () => session,
    actor: () => 'test',
  });
  const { id } = await createFailed(inner, {}, clock.now());
  const answer = jobs.retry(id, 'again');
  await clock.advance(1_000);
  const { result, status } = await answer;
  assert.deepEqual([retryCount, result, status], [2, 'unchanged', 'FAILED']);
  assert.equal((await auditOf(inner, `job:${id}`)).length, 1);
});
