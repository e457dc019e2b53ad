import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { it } from 'node:test';
import pg from 'pg';
import { freePort } from '../../../../../test/servers/guarded-process.ts';
import { freshSchema, startPostgres } from '../../../../../test/servers/postgres.ts';
import { startTcpProxy, throughPort } from '../../../../../test/servers/tcp-proxy.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { createConnector } from '../../../src/engines/postgres/connect.ts';
import { isConnectionSpent, storeError } from '../../../src/engines/postgres/store-error.ts';
import { isPgPool, type PgPool } from '../../../src/engines/shared/pool.ts';
import { createManualClock } from '../../../src/testing/manual-clock.ts';
import { ask, open, openDatabase, url } from './setup.ts';

const schema = freshSchema();
await ask(`CREATE SCHEMA ${schema}`);
const accounts = `${schema}.accounts`;
await ask(`CREATE TABLE ${accounts} (id int PRIMARY KEY, amount bigint NOT NULL)`);

let lastId = 0;
/** Two rows of this test's own. */
async function twoRows(): Promise<[number, number]> {
  lastId += 2;
  await ask(`INSERT INTO ${accounts} VALUES ($1, 0), ($2, 0)`, [lastId - 1, lastId]);
  return [lastId - 1, lastId];
}

async function amountOf(id: number): Promise<number> {
  const [row] = await ask(`SELECT amount FROM ${accounts} WHERE id = $1`, [id]);
  return Number(row?.amount);
}

const add = `UPDATE ${accounts} SET amount = amount + 1 WHERE id = $1`;

it('64-bit integers come as numbers, JSON as values, whatever the program told its driver', async () => {
  const database = openDatabase();
  const rows = await database.query(
    `SELECT 9007199254740991::bigint AS big, 1.5::numeric AS n, true AS yes, '{"a":[1]}'::jsonb AS json, 'x'::text AS text, NULL AS nothing, count(*) FROM pg_class WHERE false`,
  );
  assert.deepEqual(rows, [
    { big: 9007199254740991, n: 1.5, yes: true, json: { a: [1] }, text: 'x', nothing: null, count: 0 },
  ]);
  await database.close();
});

it('a transaction is kept as a whole or undone as a whole, and its connection is used again', async () => {
  const [id] = await twoRows();
  const database = openDatabase({ max: 1 });
  await database.transaction(async (inside) => {
    await inside.query(add, [id]);
    await inside.transaction((part) => part.query(add, [id]));
  });
  assert.equal(await amountOf(id), 2);
  const [before] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const refused = new Error('not like this');
  await assert.rejects(
    database.transaction(async (inside) => {
      await inside.query(add, [id]);
      throw refused;
    }),
    (error: Error) => error.cause === refused || error === refused,
  );
  assert.equal(await amountOf(id), 2);
  const [now] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  assert.deepEqual(now, before);
  await database.close();
});

it('the connection that was used last is at hand for the next call, and goes back to the pool in the end', async () => {
  const database = openDatabase({ keepMs: 50 });
  const { pool } = database;
  let acquired = 0;
  pool.on('acquire', () => {
    acquired++;
  });
  const released = once(pool, 'release');
  for (let i = 0; i < 5; i++) await database.query('SELECT 1');
  assert.deepEqual([acquired, pool.totalCount, pool.idleCount], [1, 1, 0]);
  await released;
  assert.equal(pool.idleCount, 1);
  await database.close();
});

it('whoever waits for the pool is given the connection that another call ends with', async () => {
  const database = openDatabase({ max: 1, keepMs: 60_000 });
  const pid = 'SELECT pg_backend_pid() AS pid';
  await database.query(pid);
  const answers = await Promise.all([database.query(pid), database.query(pid), database.query(pid)]);
  assert.equal(new Set(answers.map(([row]) => (row as { pid: number }).pid)).size, 1);
  await database.close();
});

it('a connection at hand that the server ends is replaced by another', async () => {
  const database = openDatabase({ keepMs: 60_000 });
  const [first] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const removed = once(database.pool, 'remove');
  await ask('SELECT pg_terminate_backend($1)', [first?.pid]);
  await removed;
  const [next] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  assert.notEqual(next?.pid, first?.pid);
  await database.close();
});

it('settings of a transaction end with it', async () => {
  const database = openDatabase({ max: 1, lockMs: 777 });
  const show = "SELECT current_setting('lock_timeout') AS value";
  const inside = await database.transaction((one) => one.query(show));
  assert.deepEqual(inside, [{ value: '777ms' }]);
  assert.deepEqual(await database.query(show), [{ value: '0' }]);
  await database.close();
});

it('two transactions that deadlock both go through', async () => {
  const [one, other] = await twoRows();
  const database = openDatabase({ lockMs: 10_000, callMs: 20_000 });
  let runs = 0;
  const hasFirst = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const cross = (mine: 0 | 1, first: number, second: number) =>
    database.transaction(async (inside) => {
      runs++;
      await inside.query(add, [first]);
      hasFirst[mine]?.resolve();
      await hasFirst[1 - mine]?.promise;
      await inside.query(add, [second]);
    });
  await Promise.all([cross(0, one, other), cross(1, other, one)]);
  // Whoever was undone may come again before the other has gone on, and be undone again.
  assert.ok(runs >= 3, `one of them ran again: ${runs} runs`);
  assert.deepEqual([await amountOf(one), await amountOf(other)], [2, 2]);
  await database.close();
});

it('a lock that somebody keeps is store_busy, and nothing was kept', async () => {
  const [id] = await twoRows();
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(add, [id]);
  const database = openDatabase({ lockMs: 50 });
  await assert.rejects(
    database.transaction((inside) => inside.query(add, [id])),
    (error) => isDulyError(error, 'store_busy') && error.details.sqlState === '55P03',
  );
  await holder.query('ROLLBACK');
  await holder.end();
  await database.close();
});

it('a connection that ends during a statement leaves the outcome unknown, before the commit it does not', async () => {
  const [id] = await twoRows();
  const database = openDatabase({ max: 1 });
  await assert.rejects(
    database.query('SELECT pg_terminate_backend(pg_backend_pid())'),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === true,
  );
  await assert.rejects(
    database.transaction(async (inside) => {
      await inside.query(add, [id]);
      await inside.query('SELECT pg_terminate_backend(pg_backend_pid())');
    }),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === false,
  );
  assert.equal(await amountOf(id), 0);
  assert.deepEqual(
    await database.query('SELECT 1 AS one'),
    [{ one: 1 }],
    'the next call has a new connection',
  );
  await database.close();
});

it('a server that is not there is told as such: nothing was sent', async () => {
  const database = openDatabase({ address: throughPort(url, await freePort()) });
  await assert.rejects(
    database.query('SELECT 1'),
    (error) =>
      isDulyError(error, 'store_unavailable') &&
      error.details.unknown === false &&
      error.message.includes('ECONNREFUSED'),
  );
  await database.close();
});

it('a server that accepts and never answers is given up', async () => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const database = openDatabase({ address: throughPort(url, port), callMs: 300 });
  await assert.rejects(
    database.query('SELECT 1'),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === false,
  );
  await database.close();
  silent.close();
});

it('a connection that was cut without a word is given up, with an unknown outcome, and the next call has another', async () => {
  const clock = createManualClock();
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const database = openDatabase({ address: throughPort(url, proxy.port), max: 1, callMs: 2_000, clock });
  await database.query('SELECT 1');
  proxy.freeze();
  const lost = assert.rejects(
    database.query('SELECT 1'),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === true,
  );
  await clock.advance(2_000);
  await lost;
  proxy.thaw();
  assert.deepEqual(await database.query('SELECT 1 AS one'), [{ one: 1 }]);
  await database.close();
  await proxy.stop();
});

it('a connection that is ended in the breath in which it is created ends nothing: its call takes another', async () => {
  const ended = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(ended.length + 4, 1);
  let isHarmed = false;
  // Whatever makes the connection ready also says, in the same packet, that it is over.
  const proxy = createServer((client) => {
    const server = connect(Number(new URL(url).port), '127.0.0.1');
    client.on('error', () => {}).pipe(server);
    server
      .on('error', () => {})
      .on('data', (bytes) => {
        if (isHarmed || !bytes.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I'))) return client.write(bytes);
        isHarmed = true;
        return client.end(Buffer.concat([bytes, head, Buffer.from(ended)]));
      });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as { port: number };
  const store = await open({ schema: freshSchema(), connection: throughPort(url, port) });
  assert.ok(isHarmed);
  assert.deepEqual(await store.database.query('SELECT 1 AS one'), [{ one: 1 }]);
  await store.close();
  proxy.close();
});

it('a new connection is created also over a way that is almost two seconds long', async () => {
  const proxy = await startTcpProxy(Number(new URL(url).port));
  proxy.slow({ delayMs: 1_800, lossPercent: 0, random: () => 0.5 });
  const { pool, end } = await createConnector({
    ...{ connection: throughPort(url, proxy.port), listenUrl: null, schema: 'duly', poolSize: 1 },
    clock: systemClock,
  });
  const client = await pool.connect();
  client.release();
  await end();
  await proxy.stop();
});

it('one connection that was cut off is enough to distrust the others that were silent for as long', async () => {
  const clock = createManualClock();
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const database = openDatabase({ address: throughPort(url, proxy.port), max: 3, callMs: 1_500, clock });
  const three = () => Promise.all([1, 2, 3].map(() => database.query('SELECT pg_sleep(0.02) IS NULL AS no')));
  await three();
  await clock.advance(1);
  proxy.freeze();
  const lost = assert.rejects(database.query('SELECT 1'), (error) => isDulyError(error, 'store_unavailable'));
  await clock.advance(1_500);
  await lost;
  proxy.thaw();
  // Time stands still: a call on one of the connections that were cut would never end.
  await three();
  await database.close();
  await proxy.stop();
});

it('a server that crashed and came back is used again, without a connection of before', async () => {
  const server = await startPostgres({ durable: true });
  const database = openDatabase({ address: server.url });
  try {
    await Promise.all([1, 2, 3].map(() => database.query('SELECT pg_sleep(0.01)')));
    const running = database.query('SELECT pg_sleep(60)');
    const lost = assert.rejects(
      running,
      (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === true,
    );
    await server.halt('immediate');
    await lost;
    await assert.rejects(
      database.query('SELECT 1'),
      (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === false,
    );
    await server.restart();
    assert.deepEqual(await database.query('SELECT 1 AS one'), [{ one: 1 }]);
  } finally {
    await database.close();
    await server.stop();
  }
});

it('a call waits for a connection of a pool that is used up, and is rejected after its time', async () => {
  // The time of the transaction must not end with that of the query: its connection would become free for the query.
  const clock = createManualClock();
  const database = openDatabase({ max: 1, callMs: 2_000, clock });
  const free = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const holding = database.transaction(async (_inside, allow) => {
    await allow(60_000);
    taken.resolve();
    await free.promise;
  });
  await taken.promise;
  const waiting = assert.rejects(
    database.query('SELECT 1'),
    (error) => isDulyError(error, 'store_unavailable') && error.details.unknown === false,
  );
  await clock.advance(1_999);
  assert.equal(database.pool.waitingCount, 1);
  await clock.advance(1);
  await waiting;
  free.resolve();
  await holding;
  assert.deepEqual(
    await database.query('SELECT 1 AS one'),
    [{ one: 1 }],
    'no connection was lost on the way',
  );
  await database.close();
});

it('calls for which the server has no connection left take those of their own process, and without one it is told at once', async () => {
  const role = `few_${process.pid}`;
  await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT 2`);
  const address = Object.assign(new URL(url), { username: role, password: 'few' }).href;
  for (const keepMs of [0, 60_000]) {
    const database = openDatabase({ address, max: 8, keepMs });
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 20 }, (_, n) => database.query('SELECT $1::int AS n', [n]));
      assert.deepEqual(
        (await Promise.all(calls)).flat(),
        calls.map((_, n) => ({ n })),
      );
    }
    // One that is closed makes room for another.
    const ended = await Promise.allSettled([
      ...[1, 2].map(() => database.query('SELECT pg_terminate_backend(pg_backend_pid())')),
      ...Array.from({ length: 6 }, () => database.query('SELECT 1')),
    ]);
    assert.deepEqual(
      ended.map(({ status }) => status),
      ['rejected', 'rejected', ...Array(6).fill('fulfilled')],
    );
    const others = [
      new pg.Client({ connectionString: address }),
      new pg.Client({ connectionString: address }),
    ];
    await database.close();
    for (const other of others) await other.connect();
    const late = openDatabase({ address });
    await assert.rejects(
      late.query('SELECT 1'),
      (error) => isDulyError(error, 'store_unavailable') && error.details.sqlState === '53300',
    );
    await late.close();
    for (const other of others) await other.end();
  }
});

it('while a program holds every connection of its own pool, calls go by one beside it', async () => {
  const name = freshSchema();
  const pool = new pg.Pool({ connectionString: url, max: 1, application_name: name });
  const sessions = async () =>
    (await ask('SELECT pid FROM pg_stat_activity WHERE application_name = $1', [name])).map(({ pid }) => pid);
  const store = await open({ schema: name, connection: pool });
  const held = await pool.connect();
  const askTwice = () =>
    Promise.all([1, 2].map((n) => store.database.query('SELECT $1::int AS n, pg_backend_pid() AS pid', [n])));
  const answers = (await askTwice()).flat() as { n: number; pid: number }[];
  assert.deepEqual(
    answers.map(({ n }) => n),
    [1, 2],
  );
  assert.equal(answers[0]?.pid, answers[1]?.pid, 'one, for one call after the other');
  // One that the server ends meanwhile is followed by another.
  await ask('SELECT pg_terminate_backend($1)', [answers[0]?.pid]);
  assert.equal((await askTwice()).length, 2);
  assert.equal((await sessions()).length, 2);
  held.release();
  const own = (await store.database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;
  await store.close();
  assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [1, 1, 0]);
  while ((await sessions()).length > 1);
  assert.deepEqual(await sessions(), [own]);
  await pool.end();
  await ask(`DROP SCHEMA ${name} CASCADE`);
});

it('a wrong password and a missing database are told apart', async () => {
  const wrong = new URL(url);
  wrong.password = 'wrong';
  const denied = openDatabase({ address: wrong.href });
  await assert.rejects(denied.query('SELECT 1'), (error) => isDulyError(error, 'store_denied'));
  await denied.close();
  const missing = new URL(url);
  missing.pathname = '/nowhere';
  const absent = openDatabase({ address: missing.href });
  await assert.rejects(absent.query('SELECT 1'), (error) => isDulyError(error, 'store_not_found'));
  await absent.close();
});

it('a transaction that went on after a failed statement is not taken for committed', async () => {
  const [id] = await twoRows();
  const database = openDatabase();
  await assert.rejects(
    database.transaction(async (inside) => {
      await inside.query(add, [id]);
      await inside.query('SELECT 1 / 0').catch(() => {});
    }),
    (error) => isDulyError(error, 'internal') && error.message.includes('ROLLBACK'),
  );
  assert.equal(await amountOf(id), 0);
  await database.close();
});

it('after close every call is refused, and those that run are waited for', async () => {
  const database = openDatabase();
  const running = database.query('SELECT pg_sleep(0.05) IS NULL AS slept');
  const closed = database.close();
  await assert.rejects(database.query('SELECT 1'), (error) => isDulyError(error, 'store_closed'));
  assert.deepEqual(await running, [{ slept: false }]);
  await closed;
});

it('every SQLSTATE that has a meaning for a store gets its code', () => {
  const expected = {
    '25006': 'store_read_only',
    '53100': 'store_full',
    '53300': 'store_unavailable',
    '57P01': 'store_unavailable',
    '57P03': 'store_unavailable',
    '08006': 'store_unavailable',
    '08P01': 'store_unavailable',
    '57014': 'store_busy',
    '40001': 'store_busy',
    '40P01': 'store_busy',
    '42501': 'store_denied',
    '28000': 'store_denied',
    '42P01': 'store_not_found',
    '42883': 'schema_too_new',
    XX001: 'store_corrupt',
    '42601': 'internal',
  };
  for (const [state, code] of Object.entries(expected)) {
    const raw = Object.assign(new Error('said so'), { code: state, severity: 'ERROR' });
    assert.equal(storeError(raw, { place: 'here', unknown: true }).code, code, state);
  }
  const withState = (code: string) => Object.assign(new Error('said so'), { code, severity: 'ERROR' });
  for (const [said, code] of [
    ['relation "duly.live_f12" does not exist', 'schema_too_new'],
    ['la relation « duly.live_f12 » n’existe pas', 'schema_too_new'],
    ['relation "app_f12.jobs" does not exist', 'store_not_found'],
  ] as const) {
    const raw = Object.assign(new Error(said), { code: '42P01', severity: 'ERROR' });
    assert.equal(storeError(raw, { place: 'here', unknown: false }).code, code, said);
  }
  // After a failover a new connection may lead to the new primary; one that was only told of a conflict is as good as before.
  assert.deepEqual(['25006', '57P01', '23505', '40001'].map(withState).map(isConnectionSpent), [
    true,
    true,
    false,
    false,
  ]);
  // Five letters, and not a SQLSTATE.
  const pipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  assert.equal(storeError(pipe, { place: 'here', unknown: true }).code, 'store_unavailable');
});

it('what `pg` makes is a pool by our account, and an address is not', async () => {
  const pool = new pg.Pool({ connectionString: url });
  // Fits by its type too: nothing of the driver's own types is in ours.
  const ours: PgPool = pool;
  assert.ok(isPgPool(ours));
  assert.ok(!isPgPool(url));
  assert.ok(!isPgPool(null));
  await pool.end();
});
