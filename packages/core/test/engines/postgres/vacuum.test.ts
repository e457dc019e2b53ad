import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { freshSchema } from '../../../../../test/servers/postgres.ts';
import { createVacuum, type Vacuum } from '../../../src/engines/postgres/vacuum.ts';
import type { Database } from '../../../src/engines/postgres/work.ts';
import { createManualClock } from '../../../src/testing/manual-clock.ts';
import { ask, openDatabase, url } from './setup.ts';

/** A schema whose table `leases` has dead rows, and a vacuum of it that shows its statements. */
async function setup(t: TestContext, { address = url, schema = freshSchema() } = {}) {
  await ask(`CREATE SCHEMA "${schema}"`);
  t.after(() => ask(`DROP SCHEMA "${schema}" CASCADE`));
  await ask(`CREATE TABLE "${schema}".leases (id int) WITH (autovacuum_enabled = off)`);
  const database = openDatabase({ address });
  t.after(() => database.close());
  const clock = createManualClock();
  const sent: string[] = [];
  let onAnswer: (() => void) | null = null;
  const watched: Pick<Database, 'query'> = {
    async query<Row extends object>(text: string, values?: Parameters<Database['query']>[1]) {
      const rows = await database.query<Row>(text, values);
      if (text.startsWith('VACUUM')) sent.push(text);
      // Without tables there is one answer; with one table the second ends the run.
      if (text.startsWith('VACUUM') || rows.length === 0) onAnswer?.();
      return rows;
    },
  };
  const vacuum: Vacuum = createVacuum({ database: watched, schema, clock });
  /** Waits for the end of the run that `start` begins. */
  const run = async (start: () => void): Promise<void> => {
    const answered = new Promise<void>((resolve) => {
      onAnswer = resolve;
    });
    start();
    await answered;
    // The run notes its own end after the answer.
    await new Promise(setImmediate);
  };
  const leaveDead = async () => {
    await ask(`INSERT INTO "${schema}".leases SELECT generate_series(1, 20000)`);
    await ask(`DELETE FROM "${schema}".leases`);
    await untilRemovable();
    await untilCounted(schema);
  };
  return { vacuum, clock, sent, run, leaveDead, schema };
}

/** Waits until no transaction of another test, on the same server, still sees what was deleted. */
async function untilRemovable(): Promise<void> {
  const [{ xid } = { xid: '0' }] = (await ask('SELECT txid_current()::text AS xid')) as { xid: string }[];
  const older = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND txid_current() - age(backend_xmin) <= $1::bigint`;
  while ((await ask(older, [xid]))[0]?.n > 0);
}

/** Waits until the server's statistics know of the dead rows. It counts them a moment after the commit. */
async function untilCounted(schema: string): Promise<void> {
  const counted =
    'SELECT coalesce(sum(n_dead_tup), 0)::int AS n FROM pg_stat_user_tables WHERE schemaname = $1';
  while ((await ask(counted, [schema]))[0]?.n < 20_000);
}

const pagesOf = async (schema: string) => {
  const [row] = await ask(`SELECT pg_relation_size('"${schema}".leases')::int AS bytes`);
  return row?.bytes as number;
};

test('dead rows are removed after many writes, so that their space is used again', async (t) => {
  const { vacuum, sent, run, leaveDead, schema } = await setup(t);
  await leaveDead();
  const before = await pagesOf(schema);
  vacuum.noteWrites(9_999);
  assert.deepEqual(sent, [], 'few writes leave the table to autovacuum');
  await run(() => vacuum.noteWrites(1));
  assert.equal(sent.length, 1);
  await ask(`INSERT INTO "${schema}".leases SELECT generate_series(1, 20000)`);
  assert.equal(await pagesOf(schema), before);
});

test('between two runs there is a pause', async (t) => {
  const { vacuum, clock, sent, run, leaveDead } = await setup(t);
  await leaveDead();
  await run(() => vacuum.noteWrites(10_000));
  vacuum.noteWrites(10_000);
  assert.equal(sent.length, 1);
  await clock.advance(1_001);
  await run(() => vacuum.noteWrites(1));
});

test('a role that does not own the tables leaves them to autovacuum', async (t) => {
  const role = `reader_${randomBytes(4).toString('hex')}`;
  await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  t.after(() => ask(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
  const address = new URL(url);
  address.username = role;
  address.password = 'secret';
  const { vacuum, sent, run, leaveDead, schema } = await setup(t, { address: address.href });
  await ask(`GRANT USAGE ON SCHEMA "${schema}" TO ${role}`);
  await leaveDead();
  await run(() => vacuum.noteWrites(10_000));
  assert.deepEqual(sent, []);
});

test('a closed vacuum starts no run', async (t) => {
  const { vacuum, sent, leaveDead } = await setup(t);
  await leaveDead();
  vacuum.close();
  vacuum.noteWrites(10_000);
  assert.deepEqual(sent, []);
});
