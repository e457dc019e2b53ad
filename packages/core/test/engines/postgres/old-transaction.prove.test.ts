// A transaction that somebody leaves open keeps what ended since in the tables; whoever opens the store is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { testPostgresUrl } from '../../../../../test/servers/postgres.ts';
import { type ServerFacts, serverFacts, warningsOf } from '../../../src/engines/postgres/open-postgres.ts';

const url = await testPostgresUrl();

async function connect(t: { after(fn: () => Promise<void>): void }, name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: name });
  await client.connect();
  t.after(() => client.end());
  return client;
}

test('the oldest open transaction is found by its session', async (t) => {
  const old = await connect(t, 'nightly export');
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const { rows: own } = await old.query('SELECT pg_backend_pid() AS pid');
  const asking = await connect(t, 'asking');
  const sees = async () => ((await asking.query(serverFacts)).rows[0] as ServerFacts).old_session;
  // Other tests have transactions on the same server, but not for long; this one stays.
  const expected = `${(own[0] as { pid: number }).pid} of nightly export`;
  while ((await sees()) !== expected);
  await old.query('COMMIT');
  assert.notEqual(await sees(), expected);
});

test('one that has been open for ten minutes is warned of, a younger one is not', async (t) => {
  const { rows } = await (await connect(t, 'asking')).query(serverFacts);
  const facts = {
    ...(rows[0] as ServerFacts),
    fsync: 'on',
    commit: 'on',
    old_session: '4711 of nightly export',
  };
  assert.deepEqual(warningsOf({ ...facts, old_minutes: 9 }), []);
  const [warning, ...others] = warningsOf({ ...facts, old_minutes: 10 });
  assert.deepEqual(others, []);
  assert.match(
    warning as string,
    /^Session 4711 of nightly export has had a transaction open for 10 minutes/,
  );
});
