// Only PostgreSQL plans anew on every connection, so only its connections are warmed up.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import { claimRequest, jobSpec } from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema } from '../../../../../test/servers/postgres.ts';
import { createPostgresEngine } from '../../../src/engines/postgres/engine.ts';
import { functionSet } from '../../../src/engines/postgres/generated.ts';
import { ask, open, openDatabase, url } from './setup.ts';

it('a warm-up runs the paths of a plain job and of a page of schedules, and leaves nothing behind', async () => {
  const schema = freshSchema();
  const opened = await open({ schema });
  const engine = createPostgresEngine(opened);
  // Somebody's due job is neither taken nor passed over for it.
  const job = jobSpec({ due: { inMs: 0 } });
  await engine.enqueue({ groups: [{ jobs: [job] }] });
  const tables = ['jobs', 'leases', 'finished', 'changes', 'schedules', 'specs', 'slots', 'schedule_leases'];
  const counted = `SELECT ${tables.map((table) => `(SELECT count(*)::int FROM ${schema}.${table}) AS ${table}`)}`;
  const [before] = await ask(counted);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`SELECT ${schema}.warm_up_f${functionSet.number}()`);
  const { rows: inside } = await client.query(counted);
  assert.deepEqual(inside[0], {
    ...before,
    finished: 5,
    changes: before?.changes + 12,
    schedules: 2,
    specs: 2,
    slots: 2,
  });
  const { claimed } = await engine.exchange({
    settle: [],
    claim: claimRequest({ tasks: [{ type: job.type, version: 1, limit: 9 }] }),
  });
  assert.deepEqual(
    claimed.map(({ id }) => id),
    [job.id],
  );
  await client.query('ROLLBACK');
  const [after] = await ask(counted);
  assert.deepEqual(after, { ...before, leases: 1, changes: before?.changes + 1 });
  await client.end();
  await engine.close();
});

it('connections are warmed up once each when the process is quiet, and stay pinned however long they are idle', async () => {
  const sequence = `public.warmed_${process.pid}`;
  await ask(`CREATE SEQUENCE ${sequence}`);
  const count = async () => (await ask(`SELECT last_value::int AS n FROM ${sequence}`))[0]?.n;
  const database = openDatabase({ keepMs: 1 });
  database.warmUp(`BEGIN; SELECT nextval('${sequence}'); ROLLBACK`, 3);
  while ((await count()) < 3);
  const pids = async () => {
    const call = () => database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return (await Promise.all([call(), call(), call()])).map(([row]) => row?.pid).sort();
  };
  const first = await pids();
  assert.equal(new Set(first).size, 3);
  assert.deepEqual(await pids(), first);
  assert.deepEqual([await count(), database.pool.totalCount, database.pool.idleCount], [3, 3, 0]);
  await database.close();
  await ask(`DROP SEQUENCE ${sequence}`);
});

it('a failed warm-up leaves no transaction open and is not reported', async () => {
  const database = openDatabase({ keepMs: 60_000, max: 1 });
  await database.query('SELECT 1');
  const removed = once(database.pool, 'remove');
  database.warmUp('BEGIN; SELECT 1 / 0; ROLLBACK', 3);
  await removed;
  await database.query('SELECT 1');
  await database.close();
});
