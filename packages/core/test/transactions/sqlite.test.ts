// Jobs made and completed inside transactions of the user's own, on the same file.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import type { DulyError } from '../../src/base/errors.ts';
import { Duly } from '../../src/duly.ts';
import { createSqliteUserTransactions } from '../../src/engines/sqlite/user-transaction.ts';
import { callbacksRecord } from '../../src/store/callbacks.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { testFolder } from '../engines/sqlite/folder.ts';

async function setup(t: TestContext): Promise<{ duly: Duly; db: DatabaseSync; folder: string }> {
  const folder = testFolder(t);
  const path = join(folder, 'duly.db');
  const duly = new Duly({ store: `sqlite:${path}` });
  await duly.open();
  const db = new DatabaseSync(path, { timeout: 5_000, readBigInts: true });
  db.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  t.after(async () => {
    if (db.isTransaction) db.exec('ROLLBACK');
    db.close();
    await duly.stop({ drain: 0 });
  });
  return { duly, db, folder };
}

const ids = async (duly: Duly): Promise<string[]> => (await duly.jobs().page()).jobs.map(({ id }) => id);
const orderCount = (db: DatabaseSync): number => db.prepare('SELECT id FROM orders').all().length;

test('a job created in a transaction is there with its rows after the commit, and not before or after a rollback', async (t) => {
  const { duly, db } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  for (const end of ['ROLLBACK', 'COMMIT']) {
    db.exec('BEGIN IMMEDIATE');
    db.exec("INSERT INTO orders VALUES ('o1')");
    await hello.now('o1', { tx: db, dedupe: { key: 'o1' }, serial: 'one' });
    await hello.inMany('1h', ['a', 'b'], { tx: db });
    await hello.every('0 8 * * *', 'o1', { name: 'daily', tx: db });
    assert.deepEqual(await ids(duly), []);
    db.exec(end);
    assert.equal((await ids(duly)).length, 3 * orderCount(db), end);
    assert.equal((await duly.schedules.list()).schedules.length, orderCount(db), end);
  }
  assert.equal(orderCount(db), 1);
});

test('the first job with a callback_url notes that there are such, with its transaction', async (t) => {
  const { duly, db } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  const isNoted = async () => (await duly.records.get(callbacksRecord.kind, callbacksRecord.key)) !== null;
  const metadata = { callback_url: 'https://example.com/' };
  for (const end of ['ROLLBACK', 'COMMIT']) {
    db.exec('BEGIN IMMEDIATE');
    await hello.now('o1', { tx: db, metadata });
    db.exec(end);
    assert.equal(await isNoted(), end === 'COMMIT', end);
  }
});

test('a started worker runs the job after the commit', async (t) => {
  const { duly, db } = await setup(t);
  const hello = duly.task({ name: 'hello', run: ({ input }) => input });
  await duly.start({ signals: false });
  db.exec('BEGIN IMMEDIATE');
  const job = await hello.now('Ada', { tx: db });
  const settled = duly.next('job.settled', ({ id }) => id === job.id);
  db.exec('COMMIT');
  await settled;
  assert.equal((await job.get()).status, 'COMPLETED');
});

test('whoever waits is told with the commit, however it is given, and the connection is left as it was', async (t) => {
  const { db, folder } = await setup(t);
  const reported: string[] = [];
  const clock = createManualClock();
  const path = join(folder, 'duly.db');
  const userTransaction = createSqliteUserTransactions({
    path,
    clock,
    watchTransaction: ({ notifications }) => void reported.push(...notifications.map(({ kind }) => kind)),
  });
  const create = async (id: string) => {
    db.exec('BEGIN IMMEDIATE');
    await userTransaction(db).enqueue({ groups: [{ jobs: [jobSpec({ id, due: { inMs: 0 } })] }] });
    assert.deepEqual(reported, []);
  };
  await create('job_1');
  db.exec('COMMIT');
  assert.deepEqual(reported.splice(0), ['jobs']);
  assert.equal(Object.hasOwn(db, 'exec'), false);
  // By a statement of its own nobody hears of it; it is looked for.
  await create('job_2');
  db.prepare('COMMIT').run();
  assert.deepEqual(reported, []);
  await clock.advance(1);
  assert.deepEqual(reported.splice(0), ['jobs']);
  assert.equal(Object.hasOwn(db, 'exec'), false);
  await clock.advance(10_000);
  assert.deepEqual(reported, []);
});

test('a job is completed in the transaction of its handler, or not at all', async (t) => {
  const { duly, db } = await setup(t);
  let runs = 0;
  const charge = duly.task({
    name: 'charge',
    retry: { attempts: 2, backoff: 'fixed', delay: 1 },
    run: async ({ completeIn, log }) => {
      runs++;
      log('charging');
      db.exec('BEGIN IMMEDIATE');
      db.exec(`INSERT INTO orders VALUES ('run-${runs}')`);
      await completeIn(db, { paid: runs });
      db.exec(runs === 1 ? 'ROLLBACK' : 'COMMIT');
    },
  });
  await duly.start({ signals: false });
  const completed = duly.next('job.settled', ({ status }) => status === 'COMPLETED');
  const job = await charge.now(null);
  await completed;
  const { result, attemptList } = await job.get();
  assert.deepEqual(result, { paid: 2 });
  assert.deepEqual(
    attemptList.map(({ reason, error }) => [reason, error?.code ?? null]),
    [
      ['threw', 'tx_rolled_back'],
      ['returned', null],
    ],
  );
  assert.deepEqual(
    db
      .prepare('SELECT id FROM orders')
      .all()
      .map(({ id }) => id),
    ['run-2'],
  );
});

test('a completion whose lease was lost rolls the transaction back', async (t) => {
  const { duly, db } = await setup(t);
  let code: unknown = null;
  const charge = duly.task({
    name: 'charge',
    retry: 1,
    run: async ({ job, completeIn }) => {
      db.prepare('UPDATE jobs SET fence = fence + 1000 WHERE id = ?').run(job.id);
      db.exec('BEGIN IMMEDIATE');
      db.exec("INSERT INTO orders VALUES ('o1')");
      await completeIn(db).catch((error: DulyError) => {
        code = error.code;
      });
      assert.throws(() => db.exec('COMMIT'), /no transaction is active/);
    },
  });
  await duly.start({ signals: false });
  const lost = duly.next('job.lost');
  await charge.now(null);
  await lost;
  assert.equal(code, 'lease_lost');
  assert.equal(orderCount(db), 0);
});

test('a completion of an attempt that was told of its loss rolls the transaction back too', async (t) => {
  const { db, folder } = await setup(t);
  const duly = new Duly({ store: `sqlite:${join(folder, 'duly.db')}`, lease: '1s' });
  t.after(() => duly.stop({ drain: 0 }));
  let code: unknown = null;
  const charge = duly.task({
    name: 'charge',
    retry: 1,
    run: async ({ job, signal, completeIn }) => {
      const reported = new Promise((resolve) => signal.addEventListener('abort', resolve));
      db.prepare('UPDATE jobs SET fence = fence + 1000 WHERE id = ?').run(job.id);
      await reported;
      db.exec('BEGIN IMMEDIATE');
      db.exec("INSERT INTO orders VALUES ('o1')");
      await completeIn(db).catch((error: DulyError) => {
        code = error.code;
      });
      assert.throws(() => db.exec('COMMIT'), /no transaction is active/);
      ended();
    },
  });
  let ended = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  await duly.start({ signals: false });
  await charge.now(null);
  await end;
  assert.equal(code, 'lease_lost');
  assert.equal(orderCount(db), 0);
});

test('what is no open transaction of this very file is refused, with a code that says which', async (t) => {
  const { duly, db, folder } = await setup(t);
  const hello = duly.task({ name: 'hello', run: () => null });
  for (const tx of [{}, 'BEGIN', null, () => {}]) {
    await assert.rejects(hello.now(1, { tx }), { code: 'tx_unknown' });
  }
  await assert.rejects(hello.now(1, { tx: db }), { code: 'tx_not_open' });
  const other = new DatabaseSync(join(folder, 'other.db'));
  t.after(() => other.close());
  other.exec('BEGIN');
  await assert.rejects(hello.now(1, { tx: other }), { code: 'tx_other_store' });
  db.exec('BEGIN');
  await assert.rejects(
    hello.nowMany([1, 2], (_, i) => ({ tx: i === 0 ? db : other })),
    {
      code: 'invalid_option',
    },
  );
  db.exec('COMMIT');
  assert.deepEqual(await ids(duly), []);
});

test('a store in memory, which no other connection can reach, says so', async (t) => {
  const { db } = await setup(t);
  const duly = new Duly({ store: 'sqlite::memory:' });
  t.after(() => duly.stop({ drain: 0 }));
  const hello = duly.task({ name: 'hello', run: () => null });
  db.exec('BEGIN');
  await assert.rejects(hello.now(1, { tx: db }), { code: 'tx_other_store' });
});
