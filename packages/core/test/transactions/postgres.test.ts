// Jobs made and completed inside transactions of the user's own, on a real server, with a client of `pg`.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import pg from 'pg';
import { freshSchema, inSchema, testPostgresUrl } from '../../../../test/servers/postgres.ts';
import type { DulyError } from '../../src/base/errors.ts';
import type { WatchedTransaction } from '../../src/contract/engine.ts';
import { Duly } from '../../src/duly.ts';
import { functionSet } from '../../src/engines/postgres/generated.ts';
import { createPostgresUserTransaction } from '../../src/engines/postgres/user-transaction.ts';
import { callbacksRecord } from '../../src/store/callbacks.ts';

const url = await testPostgresUrl();
const pool = new pg.Pool({ connectionString: url, max: 8 });
// The server may end before the pool does.
pool.on('error', () => {});
after(() => pool.end());

interface Setup {
  duly: Duly;
  client: pg.PoolClient;
  schema: string;
}

/** A Duly on a store of its own, and a connection of the program's own. */
async function setup(t: { after(fn: () => Promise<void>): void }, options: object = {}): Promise<Setup> {
  const schema = freshSchema();
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const duly = new Duly({ store: inSchema(url, schema), logger, ...options });
  await duly.open();
  // Made by the first node otherwise, beside what the tests do.
  await pool.query(`SELECT ${schema}.keep_days_f${functionSet.number}(NULL, 9)`);
  const client = await pool.connect();
  t.after(async () => {
    await client.query('ROLLBACK').catch(() => {});
    client.release();
    await duly.stop({ drain: 0 });
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  });
  return { duly, client, schema };
}

const ids = async (duly: Duly): Promise<string[]> => (await duly.jobs().page()).jobs.map(({ id }) => id);

test('a note that jobs have a callback_url is held by nobody until a commit', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  const metadata = { callback_url: 'https://example.com/' };
  await client.query('BEGIN');
  await hello.now('Ada', { tx: client, metadata });
  assert.notEqual(await duly.records.get(callbacksRecord.kind, callbacksRecord.key), null);
  await hello.now('Bob', { metadata });
  await client.query('ROLLBACK');
  assert.equal((await ids(duly)).length, 1);
});

test('a job created in a transaction is there after the commit, and not before', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  await client.query('BEGIN');
  const job = await hello.now('Ada', { tx: client });
  assert.deepEqual(await ids(duly), []);
  await client.query('COMMIT');
  assert.deepEqual(await ids(duly), [job.id]);
  assert.equal((await job.get()).status, 'PENDING');
});

test('a job whose transaction was rolled back never was', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  await client.query('BEGIN');
  const job = await hello.in('1h', 'Ada', { tx: client });
  const many = await hello.nowMany(['a', 'b', 'c'], { tx: client });
  assert.equal(many.length, 3);
  await client.query('ROLLBACK');
  assert.deepEqual(await ids(duly), []);
  await assert.rejects(job.get(), { code: 'job_not_found' });
});

test('what stands beside the job in the transaction is kept or undone with it', async (t) => {
  const { duly, client, schema } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  await duly.open();
  await client.query(`CREATE TABLE ${schema}.orders (id text PRIMARY KEY)`);
  for (const end of ['ROLLBACK', 'COMMIT']) {
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${schema}.orders VALUES ('o1')`);
    await hello.at('2030-01-01T00:00:00Z', 'o1', { tx: client, dedupe: { key: 'o1' }, serial: 'one' });
    await client.query(end);
    const { rows } = await client.query(`SELECT id FROM ${schema}.orders`);
    assert.equal((await ids(duly)).length, rows.length, end);
  }
  assert.equal((await ids(duly)).length, 1);
});

test('a schedule created in a transaction is there after the commit only', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  const names = async () => (await duly.schedules.list()).schedules.map(({ name }) => name);
  await client.query('BEGIN');
  const schedule = await hello.every('0 8 * * *', 'Ada', { name: 'daily', tx: client });
  assert.equal(schedule.name, 'daily');
  assert.deepEqual(await names(), []);
  await client.query('ROLLBACK');
  assert.deepEqual(await names(), []);
  await client.query('BEGIN');
  await hello.every('0 8 * * *', 'Ada', { name: 'daily', tx: client });
  await hello.every('0 8 * * *', 'Ada', { name: 'daily', tx: client });
  await client.query('COMMIT');
  assert.deepEqual(await names(), ['daily']);
});

test('a started worker runs the job soon after the commit, notification or not', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: ({ input }) => input });
  await duly.start({ signals: false });
  for (const serial of [null, 'one']) {
    await client.query('BEGIN');
    const job = await hello.now('Ada', { tx: client, ...(serial === null ? {} : { serial }) });
    const started = duly.next('job.settled', ({ id }) => id === job.id);
    await client.query('COMMIT');
    await started;
    assert.equal((await job.get()).status, 'COMPLETED');
  }
});

test('a key that an open transaction holds delays no other call, and its own is told why', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  await client.query('BEGIN');
  const first = await hello.now(1, { tx: client, dedupe: { key: 'held' } });
  let isReported = false;
  const held = hello.now(2, { dedupe: { key: 'held' } }).catch((error: DulyError) => {
    isReported = true;
    return error.code;
  });
  const others = await Promise.all([
    hello.now(3),
    hello.now(4, { dedupe: { key: 'free' } }),
    hello.now(5, { serial: 'one' }),
  ]);
  assert.equal(isReported, false);
  assert.equal(new Set(others.map(({ id }) => id)).size, 3);
  assert.equal(await held, 'store_busy');
  const late = hello.now(6, { dedupe: { key: 'held' } });
  await client.query('COMMIT');
  assert.equal((await late).id, first.id);
  assert.equal((await late).deduped, true);
});

test('a serial job in an open transaction keeps no other from its place', async (t) => {
  const { duly, client } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  await client.query('BEGIN');
  const first = await hello.now(1, { tx: client, serial: 'one' });
  assert.equal(first.status, 'SCHEDULED');
  await duly.start({ signals: false });
  // Made, taken and ended, while the transaction is open.
  const settled = duly.next('job.settled');
  const second = await hello.now(2, { serial: 'one' });
  assert.equal((await settled).id, second.id);
  const then = duly.next('job.settled');
  await client.query('COMMIT');
  assert.equal((await then).id, first.id);
});

test('a job is completed in the transaction of its handler, with what the handler wrote', async (t) => {
  const { duly, client, schema } = await setup(t);
  await duly.open();
  await client.query(`CREATE TABLE ${schema}.done (id text)`);
  const charge = duly.task({
    name: 'charge',
    run: async ({ job, completeIn, log, progress }) => {
      await progress(40, 'Charging');
      log('charged');
      await client.query('BEGIN');
      await client.query(`INSERT INTO ${schema}.done VALUES ($1)`, [job.id]);
      await completeIn(client, { paid: true });
      await client.query('COMMIT');
      return 'not looked at';
    },
  });
  await duly.start({ signals: false });
  const settled = duly.next('job.settled');
  const job = await charge.now(null);
  assert.equal((await settled).status, 'COMPLETED');
  const { status, result, attempts } = await job.get();
  assert.deepEqual([status, result, attempts], ['COMPLETED', { paid: true }, 1]);
  assert.deepEqual(
    (await job.logs()).map(({ message }) => message),
    ['charged'],
  );
  assert.deepEqual((await client.query(`SELECT id FROM ${schema}.done`)).rows, [{ id: job.id }]);
});

test('a completion that was rolled back completes nothing, and the handler may try its transaction again', async (t) => {
  const { duly, client } = await setup(t);
  let runs = 0;
  const charge = duly.task({
    name: 'charge',
    retry: { attempts: 2, backoff: 'fixed', delay: 1 },
    run: async ({ completeIn }) => {
      runs++;
      await client.query('BEGIN');
      await completeIn(client, 'first');
      await client.query('ROLLBACK');
      // The first attempt forgets that it failed.
      if (runs === 1) return;
      await client.query('BEGIN');
      await completeIn(client, 'second');
      await client.query('COMMIT');
    },
  });
  await duly.start({ signals: false });
  const completed = duly.next('job.settled', ({ status }) => status === 'COMPLETED');
  const failed = duly.next('job.settled', ({ status }) => status === 'RETRYING');
  const job = await charge.now(null);
  await failed;
  await completed;
  const { result, attemptList } = await job.get();
  assert.equal(result, 'second');
  assert.deepEqual(
    attemptList.map(({ reason, error }) => [reason, error?.code ?? null]),
    [
      ['threw', 'tx_rolled_back'],
      ['returned', null],
    ],
  );
});

test('a completion whose lease was lost makes the transaction fail', async (t) => {
  const { duly, client, schema } = await setup(t);
  await duly.open();
  await client.query(`CREATE TABLE ${schema}.done (id text)`);
  let code: unknown = null;
  let committed = '';
  const charge = duly.task({
    name: 'charge',
    retry: 1,
    run: async ({ job, completeIn }) => {
      // Somebody ends it: its fence is dead.
      await pool.query(`UPDATE ${schema}.leases SET fence = fence + 1000 WHERE id = $1`, [job.id]);
      await client.query('BEGIN');
      await client.query(`INSERT INTO ${schema}.done VALUES ($1)`, [job.id]);
      await completeIn(client).catch((error: DulyError) => {
        code = error.code;
      });
      // A handler that swallows the error still cannot keep what it wrote.
      committed = (await client.query('COMMIT')).command;
    },
  });
  await duly.start({ signals: false });
  const lost = duly.next('job.lost');
  await charge.now(null);
  await lost;
  assert.equal(code, 'lease_lost');
  assert.equal(committed, 'ROLLBACK');
  assert.deepEqual((await client.query(`SELECT id FROM ${schema}.done`)).rows, []);
});

test('completing twice, or after the handler has ended, is refused', async (t) => {
  const { duly, client } = await setup(t);
  let late: (() => Promise<void>) | null = null;
  const charge = duly.task({
    name: 'charge',
    retry: 1,
    run: async ({ completeIn }) => {
      late = () => completeIn(client);
      await client.query('BEGIN');
      await completeIn(client);
      await assert.rejects(completeIn(client), { code: 'completed_already' });
      await client.query('ROLLBACK');
      throw new Error('enough');
    },
  });
  await duly.start({ signals: false });
  const settled = duly.next('job.settled');
  await charge.now(null);
  assert.equal((await settled).status, 'FAILED');
  await client.query('BEGIN');
  await assert.rejects((late as unknown as () => Promise<void>)(), { code: 'lease_lost' });
  // What else was written in it does not stay either.
  assert.equal((await client.query('COMMIT')).command, 'ROLLBACK');
});

test('what is no open transaction of this very store is refused, with a code that says which', async (t) => {
  const { duly, client } = await setup(t);
  const other = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  await duly.open();
  await other.duly.open();
  for (const tx of [{}, 'BEGIN', null, pool, () => {}]) {
    await assert.rejects(hello.now(1, { tx }), { code: 'tx_unknown' });
  }
  await assert.rejects(hello.now(1, { tx: client }), { code: 'tx_not_open' });
  await client.query('BEGIN');
  await assert.rejects(client.query('SELECT 1 / 0'));
  await assert.rejects(hello.now(1, { tx: client }), { code: 'tx_not_open' });
  await client.query('ROLLBACK');
  await client.query('BEGIN READ ONLY');
  await assert.rejects(hello.now(1, { tx: client }), { code: 'tx_not_open', message: /takes no writes/ });
  await client.query('ROLLBACK');
  await pool.query('CREATE DATABASE elsewhere').catch(() => {});
  const elsewhere = new pg.Client({ connectionString: url.replace(/\/[^/?]+(\?|$)/, '/elsewhere$1') });
  await elsewhere.connect();
  t.after(() => elsewhere.end());
  await elsewhere.query('BEGIN');
  await assert.rejects(hello.now(1, { tx: elsewhere }), { code: 'tx_other_store' });
  await elsewhere.query('ROLLBACK');
  assert.deepEqual(await ids(duly), []);
});

/** What is told of the ends of transactions on a client, in which jobs are made. */
async function setupEnds(t: Parameters<typeof setup>[0]) {
  const { client, schema } = await setup(t);
  const { rows } = await pool.query(`SELECT value FROM ${schema}.meta WHERE key = 'store'`);
  const reported: WatchedTransaction[] = [];
  const watchTransaction = (followed: WatchedTransaction) => void reported.push(followed);
  const options = {
    schema,
    place: schema,
    id: Number((rows[0] as { value: string }).value),
    watchTransaction,
  };
  const create = async (on: pg.ClientBase) => {
    await createPostgresUserTransaction(on, options).enqueue({ groups: [{ jobs: [jobSpec()] }] });
  };
  return { client, create, reported };
}

test('the answer to COMMIT is the notification, once for all calls of the transaction', async (t) => {
  const { client, create, reported } = await setupEnds(t);
  for (const count of [1, 3]) {
    reported.length = 0;
    await client.query('BEGIN');
    for (let i = 0; i < count; i++) await create(client);
    assert.deepEqual(reported, []);
    await client.query('COMMIT');
    assert.deepEqual(reported, [{ transaction: null, notifications: [{ kind: 'jobs', types: ['work'] }] }]);
  }
});

test('a rollback tells nothing, and one to a savepoint is no end', async (t) => {
  const { client, create, reported } = await setupEnds(t);
  await client.query('BEGIN');
  await create(client);
  await client.query('ROLLBACK');
  await client.query('SELECT 1');
  assert.deepEqual(reported, []);
  await client.query('BEGIN');
  await client.query('SAVEPOINT one');
  await create(client);
  await client.query('ROLLBACK TO SAVEPOINT one');
  await client.query('SELECT 1');
  assert.deepEqual(reported, []);
  await client.query('COMMIT');
  assert.deepEqual(reported, [{ transaction: null, notifications: [{ kind: 'jobs', types: ['work'] }] }]);
});

test('of a transaction whose connection is lost the server is asked', async (t) => {
  const { create, reported } = await setupEnds(t);
  const lost = new pg.Client({ connectionString: url });
  await lost.connect();
  lost.on('error', () => {});
  const ended = new Promise((resolve) => lost.once('end', resolve));
  await lost.query('BEGIN');
  await create(lost);
  const { rows } = await lost.query('SELECT pg_current_xact_id()::text AS xid, pg_backend_pid() AS pid');
  const { xid, pid } = rows[0] as { xid: string; pid: number };
  await pool.query('SELECT pg_terminate_backend($1)', [pid]);
  await ended;
  assert.deepEqual(reported, [{ transaction: xid, notifications: [{ kind: 'jobs', types: ['work'] }] }]);
});
