// Only PostgreSQL lets a stranger keep a row of the store; SQLite's lock is of the whole file and has its own tests.

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { claimRequest, jobSpec, lockRequest } from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import type { ClaimedJob, JobSpec } from '../../../src/contract/engine.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { ask, untilWaiting, url, waitForLocks } from './setup.ts';

async function setup(t: TestContext) {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  const stranger = new pg.Client({ connectionString: url });
  await stranger.connect();
  t.after(async () => {
    await stranger.end();
    await engine.close();
  });
  return { schema, engine, stranger };
}

it('a call that meets a row which somebody keeps is busy, with nothing done, and the next one goes through', async (t) => {
  const { schema, engine, stranger } = await setup(t);
  const dedupe = { key: 'k', forMs: null, mode: 'replace', maxWaitMs: null } as const;
  const send = (input: string) => engine.enqueue({ groups: [{ jobs: [jobSpec({ dedupe, input })] }] });
  await send('1');
  await stranger.query('BEGIN');
  await stranger.query(`SELECT 1 FROM ${schema}.dedupes FOR UPDATE`);
  await assert.rejects(
    send('2'),
    (error) => isDulyError(error, 'store_busy') && error.details.sqlState === '55P03',
  );
  // Whoever has no part in it is not kept waiting.
  const other = await engine.enqueue({ groups: [{ jobs: [jobSpec()] }] });
  assert.equal(other.groups[0]?.ok, true);
  const kept = () => ask(`SELECT input FROM ${schema}.jobs WHERE dedupe_key = 'k'`);
  assert.deepEqual(await kept(), [{ input: '1' }]);
  await stranger.query('ROLLBACK');
  await send('3');
  assert.deepEqual(await kept(), [{ input: '3' }]);
});

it('who makes plain jobs while somebody locks the whole table is told so, with nothing done', async (t) => {
  const { schema, engine, stranger } = await setup(t);
  await stranger.query('BEGIN');
  await stranger.query(`LOCK TABLE ${schema}.jobs IN SHARE MODE`);
  const send = () => engine.enqueue({ groups: [{ jobs: [jobSpec()] }] });
  const refused = await Promise.allSettled([
    send(),
    engine.exchange({ settle: [], claim: claimRequest() }),
    engine.prune({ limit: 1, ledgerMs: 1, auditMs: 1, changesMs: 1 }),
  ]);
  // A claim that finds nothing to take, and a prune that finds nothing to forget, have no need of the lock.
  const codes = refused.map((one) => (one.status === 'rejected' ? one.reason.code : 'done'));
  assert.deepEqual(codes, ['store_busy', 'done', 'done']);
  await stranger.query('ROLLBACK');
  assert.deepEqual(await ask(`SELECT id FROM ${schema}.jobs`), []);
  await send();
});

it('while a job runs, a reap does not answer from a store whose leases are locked', async (t) => {
  const { schema, engine, stranger } = await setup(t);
  await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  assert.equal(claimed.length, 1);
  await stranger.query('BEGIN');
  await stranger.query(`LOCK TABLE ${schema}.leases IN EXCLUSIVE MODE`);
  const reap = () => engine.reap({ node: 'n', leaseMs: 1_000, limit: 10, endedBy: 0 });
  // A node that is answered would think that outcomes arrive, and take over what ended meanwhile.
  await assert.rejects(reap(), (error) => isDulyError(error, 'store_busy'));
  await stranger.query('ROLLBACK');
  assert.deepEqual((await reap()).jobs, []);
});

it('a verb that meets a deadlock is done again by itself', async (t) => {
  const { schema, engine, stranger } = await setup(t);
  await waitForLocks(schema);
  const gate = new pg.Client({ connectionString: url });
  await gate.connect();
  t.after(() => gate.end());
  const jobs = [jobSpec(), jobSpec(), jobSpec()] as const;
  await engine.enqueue({ groups: [{ jobs: [...jobs] }] });
  // A session looks for deadlocks once, a second after it began to wait. Ours must be the last to wait, and the only one that looks.
  await stranger.query("SET deadlock_timeout = '10min'");
  const pid = (await stranger.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  const isWaiting = 'SELECT 1 WHERE cardinality(pg_blocking_pids($1)) > 0';
  const lock = (session: pg.Client, { id }: JobSpec) =>
    session.query(`SELECT 1 FROM ${schema}.jobs WHERE id = $1 FOR UPDATE`, [id]);
  await stranger.query('BEGIN');
  await lock(stranger, jobs[2]);
  await gate.query('BEGIN');
  await lock(gate, jobs[1]);
  const targets = jobs.map(({ id }) => ({ id }));
  const cancelling = engine.cancel({ groups: [{ actor: 'anna', note: null, targets, mode: 'ask' }] });
  await untilWaiting(1, gate);
  const blocked = lock(stranger, jobs[0]);
  while ((await ask(isWaiting, [pid])).length === 0);
  await gate.query('COMMIT');
  // The cancel had this row and is waiting for the other one: it was rolled back.
  await blocked;
  await stranger.query('COMMIT');
  const [group] = (await cancelling).groups;
  assert.ok(group?.ok);
  assert.deepEqual(
    group.items.map(({ result }) => result),
    ['changed', 'changed', 'changed'],
  );
});

it('a beginning that cannot be written now is waited for, and never only said to be written', async () => {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  const { claimed } = await engine.exchange({ settle: [], claim: claimRequest() });
  const { id, fence } = claimed[0] as ClaimedJob;
  const begin = () => engine.heartbeat({ node: 'n', leaseMs: 30_000, leases: [{ id, fence, begun: true }] });
  // Another heartbeat of the same node that is just committing has the row.
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`SELECT 1 FROM ${schema}.leases FOR UPDATE`);
  // Renewing alone does not wait, and says kept.
  const renewed = await engine.heartbeat({ node: 'n', leaseMs: 1, leases: [{ id, fence, begun: false }] });
  assert.deepEqual(renewed.leases, [{ state: 'kept' }]);
  await assert.rejects(begin(), (error) => isDulyError(error, 'store_busy'));
  await waitForLocks(schema);
  const waiting = begin();
  await other.query('ROLLBACK');
  assert.deepEqual((await waiting).leases, [{ state: 'kept' }]);
  await other.end();
  assert.deepEqual(await ask(`SELECT begun_at IS NOT NULL AS begun FROM ${schema}.leases`), [
    { begun: true },
  ]);
  await engine.close();
});

it('a job is never said to have started before it was created, whenever the claim that took it began', async () => {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  await waitForLocks(schema);
  // The claim begins, and waits here before it looks for work.
  const gate = new pg.Client({ connectionString: url });
  await gate.connect();
  await gate.query('BEGIN');
  await gate.query(`LOCK TABLE ${schema}.records`);
  const claiming = engine.exchange({ settle: [], claim: claimRequest() });
  const isWaiting = `SELECT 1 FROM pg_locks WHERE relation = '${schema}.records'::regclass AND NOT granted`;
  while ((await ask(isWaiting)).length === 0);
  await engine.enqueue({ groups: [{ jobs: [jobSpec({ due: { inMs: 0 } })] }] });
  await gate.query('ROLLBACK');
  await gate.end();
  const { claimed } = await claiming;
  const { createdAt, dueAt, claimedAt } = claimed[0] as ClaimedJob;
  assert.ok(claimedAt >= createdAt && claimedAt >= dueAt, `${claimedAt} is before ${createdAt}`);
  await engine.close();
});

it('a lock that was waited for is held from when it was free, not from when it was asked for', async () => {
  const schema = freshSchema();
  const engine = await openEngine(inSchema(url, schema));
  await waitForLocks(schema);
  const first = await engine.acquire(lockRequest('deploy', { token: 'a', ttlMs: 60_000 }));
  // Its holder is just giving it back.
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(`DELETE FROM ${schema}.locks`);
  const second = engine.acquire(lockRequest('deploy', { token: 'b', ttlMs: 60_000 }));
  const isWaiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".acquire_f${functionSet.number}%'`;
  while ((await ask(isWaiting)).length === 0);
  const [freed] = await ask('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS at');
  await holder.query('COMMIT');
  await holder.end();
  const { acquired, now, untilAt, fence } = await second;
  assert.ok(acquired && fence > first.fence);
  assert.ok(now >= Number(freed?.at), `${now} is before ${freed?.at}`);
  assert.equal(untilAt, now + 60_000);
  await engine.close();
});

it('a lock that was waited for while somebody made it and gave it back is held from then on', async (t) => {
  const { schema, engine, stranger } = await setup(t);
  await waitForLocks(schema);
  await stranger.query('BEGIN');
  await stranger.query(
    `SELECT ${schema}.acquire_f${functionSet.number}(NULL, 'once', 'theirs', '{}', 60000)`,
  );
  const { now: _, ...request } = lockRequest('once', { ttlMs: 60_000 });
  const acquiring = engine.acquire(request);
  await untilWaiting(1, stranger);
  await stranger.query(`DELETE FROM ${schema}.locks WHERE name = 'once'`);
  await stranger.query('SELECT pg_sleep(0.02)');
  const { rows } = await stranger.query(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  await stranger.query('COMMIT');
  const lock = await acquiring;
  assert.equal(lock.acquired, true);
  assert.ok(lock.now >= rows[0].now, `given at ${lock.now}, free from ${rows[0].now} on`);
  assert.equal(lock.untilAt, lock.now + 60_000);
});
