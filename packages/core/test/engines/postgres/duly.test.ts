// The whole library on PostgreSQL: what the engine's own tests cannot show, the threads, the notifications and the pools around it.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { startPgBouncer } from '../../../../../test/servers/pgbouncer.ts';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { Duly, type DulyOptions } from '../../../src/index.ts';
import { ask, url } from './setup.ts';

function createDuly(options: DulyOptions): Duly {
  return new Duly({ logger: false, ...options });
}

it('jobs and schedules run on an address', async () => {
  const duly = createDuly({ store: inSchema(url, freshSchema()) });
  const hello = duly.task({ name: 'hello', run: async ({ input }) => `Hello ${input}` });
  await duly.start();
  assert.equal(await (await hello.now('Ada')).result(), 'Hello Ada');
  assert.equal(await (await hello.in('20ms', 'Grace')).result(), 'Hello Grace');
  const ran = Promise.withResolvers<unknown>();
  const tick = duly.task({ name: 'tick', run: async ({ slot }) => ran.resolve(slot) });
  await tick.every({ rate: '1s' }, null);
  assert.ok(await ran.promise);
  await duly.stop();
});

it('a job created by another Duly starts at once, by its notification', async () => {
  const store = inSchema(url, freshSchema());
  const node = createDuly({ store });
  const started = Promise.withResolvers<void>();
  node.task({ name: 'ping', run: async () => started.resolve() });
  await node.start({ roles: ['worker'] });
  const creator = createDuly({ store });
  const ping = creator.task({ name: 'ping', run: async () => {} });
  await creator.open();
  await ping.now(null);
  await started.promise;
  await Promise.all([node.stop(), creator.stop()]);
});

it('a pool of the program’s own carries everything and is left open', async () => {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const schema = freshSchema();
  const duly = createDuly({ store: { pool, schema } });
  const double = duly.task({ name: 'double', run: async ({ input }) => (input as number) * 2 });
  await duly.start();
  assert.equal(await (await double.now(21)).result(), 42);
  await duly.stop();
  const { rows } = await pool.query(`SELECT count(*)::int AS n FROM ${schema}.finished`);
  assert.deepEqual(rows, [{ n: 1 }]);
  await pool.end();
});

it('a pool is listened to once, however many stores are opened behind it', async () => {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const schema = freshSchema();
  const counts = [];
  for (let i = 0; i < 2; i++) {
    const duly = createDuly({ store: { pool, schema } });
    await duly.open();
    await duly.stop();
    counts.push([pool.listenerCount('error'), pool.listenerCount('connect')]);
  }
  assert.deepEqual(counts[1], counts[0]);
  await pool.end();
});

it('behind a pooler in transaction mode, without a direct connection, everything works within the poll', async () => {
  const bouncer = await startPgBouncer(url);
  const schema = freshSchema();
  const store = inSchema(bouncer.url, schema);
  const node = createDuly({ store });
  const started = Promise.withResolvers<void>();
  node.task({ name: 'ping', run: async () => started.resolve() });
  await node.start({ roles: ['worker'] });
  const creator = createDuly({ store });
  const job = await creator.task({ name: 'ping', run: async () => {} }).now(null);
  await started.promise;
  const [row] = await ask(
    `SELECT (SELECT lateness_ms FROM ${schema}.jobs WHERE id = $1) AS live, (SELECT lateness_ms FROM ${schema}.finished WHERE id = $1) AS over`,
    [job.id],
  );
  const lateness = Number(row?.live ?? row?.over);
  // One second of sleep, and what a busy machine adds to it.
  assert.ok(lateness < 3_000, `it started ${lateness} ms late`);
  await Promise.all([node.stop(), creator.stop()]);
  await bouncer.stop();
});

it('a handler that blocks the main loop for longer than its lease keeps its job', async () => {
  const schema = freshSchema();
  const duly = createDuly({ store: inSchema(url, schema), lease: '600ms', heartbeat: '100ms' });
  const block = duly.task({
    name: 'block',
    run: async () => {
      // Nothing of this thread runs meanwhile.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
      return 'kept';
    },
  });
  await duly.start();
  const job = await block.now(null);
  assert.equal(await job.result(), 'kept');
  assert.equal((await job.get())?.attempts, 1);
  await duly.stop();
});

it('what a call knows of the job it created is what the store keeps', async () => {
  const duly = createDuly({ store: inSchema(url, freshSchema()) });
  const task = duly.task({ name: 'a', run: async () => {} });
  const options = { tenant: 'acme', priority: 7, metadata: { a: 1 }, startDeadline: '1h' } as const;
  for (const job of [await task.now({ n: 1 }), await task.in('1h', 'x', options)]) {
    assert.deepEqual(await job.created(), await job.get());
  }
  await duly.stop();
});

it('a process that only creates jobs has no connection that listens', async () => {
  const schema = freshSchema();
  const creator = createDuly({ store: inSchema(url, schema) });
  await creator.task({ name: 'a', run: async () => {} }).now(null);
  const [row] = await ask(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND query LIKE '%' || $1 || '%'",
    [schema],
  );
  assert.equal(row?.n, 0);
  await creator.stop();
});

it('a node whose outcomes cannot be recorded says so to the others, and takes work again afterwards', async () => {
  const schema = freshSchema();
  const duly = createDuly({ store: inSchema(url, schema), concurrency: 4 });
  const entered = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const work = duly.task({
    name: 'work',
    run: async () => {
      entered.resolve();
      await end.promise;
    },
  });
  await duly.start();
  const job = await work.now(null);
  await entered.promise;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; SELECT 1 FROM ${schema}.leases FOR UPDATE`);
  const published = async (isReady: boolean) => {
    for (;;) {
      const [node] = await duly.nodes();
      if ((node?.notReady === null) === isReady) return node?.notReady ?? null;
      // Every heartbeat of a node is a call.
      await new Promise<void>((resolve) => {
        const off = duly.on('call', ({ verb }) => {
          if (verb !== 'nodes') return;
          off();
          resolve();
        });
      });
    }
  };
  end.resolve();
  assert.match((await published(false)) as string, /wait to be recorded/);
  const waiting = await work.now(null);
  assert.match((await waiting.why()).sentence, /wait to be recorded/);
  await client.query('ROLLBACK');
  await client.end();
  await Promise.all([job.result(), waiting.result()]);
  assert.equal(await published(true), null);
  await duly.stop();
});
