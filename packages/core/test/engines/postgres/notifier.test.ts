import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startPgBouncer } from '../../../../../test/servers/pgbouncer.ts';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { startTcpProxy, throughPort } from '../../../../../test/servers/tcp-proxy.ts';
import type { Hint } from '../../../src/contract/engine.ts';
import { channelOf } from '../../../src/engines/postgres/notifier.ts';
import type { OpenedPostgres } from '../../../src/engines/postgres/open-postgres.ts';
import { ask, open, url } from './setup.ts';

/** Everything a store hears, and a way to wait for it. */
function listenTo(store: OpenedPostgres) {
  const heard: Hint[] = [];
  let look = (): void => {};
  const stop = store.wakeups((hint) => {
    heard.push(hint);
    look();
  });
  return {
    heard,
    stop,
    /** Resolves once all of these were heard since the last `forget`. */
    hears(...hints: Hint[]): Promise<void> {
      return new Promise((resolve) => {
        look = () => {
          if (hints.every((hint) => heard.includes(hint))) resolve();
        };
        look();
      });
    },
    forget() {
      heard.length = 0;
    },
  };
}

it('a listener proves itself by an echo, hears others, and of its own calls nothing twice', async () => {
  const schema = freshSchema();
  const [one, other] = [await open({ schema }), await open({ schema })];
  const [mine, theirs] = [listenTo(one), listenTo(other)];
  // Without being asked: from the first echo on a node may sleep long.
  await Promise.all([mine.hears('echo'), theirs.hears('echo')]);
  mine.forget();
  one.tell(['jobs', 'locks']);
  await theirs.hears('jobs', 'locks');
  other.tell(['cancel']);
  await mine.hears('cancel');
  assert.deepEqual(mine.heard, ['jobs', 'locks', 'cancel'], 'its own at once and once');
  mine.forget();
  theirs.forget();
  await one.ring();
  await mine.hears('echo');
  assert.ok(!theirs.heard.includes('echo'), 'an echo is for the one that rang');
  await Promise.all([one.close(), other.close()]);
});

it('stores in one database do not hear each other', async () => {
  const [one, other] = [await open({ schema: freshSchema() }), await open({ schema: freshSchema() })];
  const [mine, theirs] = [listenTo(one), listenTo(other)];
  await Promise.all([mine.hears('echo'), theirs.hears('echo')]);
  theirs.forget();
  one.tell(['jobs']);
  await one.ring();
  await other.ring();
  await theirs.hears('echo');
  assert.deepEqual(theirs.heard, ['echo']);
  await Promise.all([one.close(), other.close()]);
});

it('nobody listens until somebody wants to hear', async () => {
  const schema = freshSchema();
  const store = await open({ schema, poolSize: 1 });
  const count = async () => {
    const [row] = await ask(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'",
      [channelOf(schema)],
    );
    return row?.n;
  };
  assert.equal(await count(), 0);
  const ear = listenTo(store);
  await ear.hears('echo');
  assert.equal(await count(), 1);
  await store.close();
});

it('hints of a burst travel together', async () => {
  const schema = freshSchema();
  const store = await open({ schema });
  const witness = new pg.Client({ connectionString: url });
  await witness.connect();
  let count = 0;
  const done = Promise.withResolvers<void>();
  witness.on('notification', ({ payload }) => {
    count++;
    if (payload?.includes('schedules')) done.resolve();
  });
  await witness.query(`LISTEN "${channelOf(schema)}"`);
  for (let call = 0; call < 1_000; call++) {
    store.tell(['jobs']);
    if (call % 100 === 0) await null;
  }
  store.tell(['schedules']);
  await done.promise;
  assert.ok(count <= 3, `a thousand calls sent ${count} notifications`);
  await witness.end();
  await store.close();
});

it('a connection that ends is told at once and made again; what may have been missed is looked for', async () => {
  const schema = freshSchema();
  const store = await open({ schema });
  const ear = listenTo(store);
  await ear.hears('echo');
  ear.forget();
  await ask(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND query LIKE '%' || $1 || '%'",
    [channelOf(schema)],
  );
  await ear.hears('deaf', 'jobs', 'schedules', 'cancel', 'locks', 'echo');
  assert.equal(ear.heard[0], 'deaf');
  await store.close();
});

it('a half-open connection is noticed by the echo that does not come', async () => {
  const schema = freshSchema();
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const store = await open({ schema, listenUrl: throughPort(url, proxy.port) });
  const ear = listenTo(store);
  await ear.hears('echo');
  ear.forget();
  proxy.freeze();
  await store.ring();
  await ear.hears('deaf');
  assert.ok(!ear.heard.includes('echo'));
  proxy.thaw();
  await ear.hears('echo', 'jobs');
  await store.close();
  await proxy.stop();
});

it('behind a pooler in transaction mode LISTEN proves nothing, and a direct connection beside it does', async () => {
  const schema = freshSchema();
  const bouncer = await startPgBouncer(url);
  try {
    const pooled = await open({ schema, connection: bouncer.url });
    const ear = listenTo(pooled);
    await ear.hears('deaf');
    assert.ok(!ear.heard.includes('echo'), 'no echo came');
    const direct = await open({ schema, connection: bouncer.url, listenUrl: url });
    const heard = listenTo(direct);
    await heard.hears('echo');
    // Sending needs no session: what the deaf one tells is heard.
    pooled.tell(['jobs']);
    await heard.hears('jobs');
    await Promise.all([pooled.close(), direct.close()]);
  } finally {
    await bouncer.stop();
  }
});

it('closing does not wait for a server that does not answer', async () => {
  const schema = freshSchema();
  const proxy = await startTcpProxy(Number(new URL(url).port));
  proxy.freeze();
  const store = await open({ schema, listenUrl: throughPort(url, proxy.port) });
  store.wakeups(() => {});
  await store.close();
  await proxy.stop();
});

it('a process whose store was cut off without a word ends soon after it has closed it', async () => {
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const fixture = fileURLToPath(new URL('./fixtures/close-when-told.ts', import.meta.url));
  // Without the flags of this process: of what `test:nodes` gives to Node 22 one keeps a process alive, which is what is asked here.
  const child = fork(fixture, [inSchema(throughPort(url, proxy.port), freshSchema())], { execArgv: [] });
  assert.deepEqual(await once(child, 'message'), ['open', undefined]);
  proxy.freeze();
  child.send('close');
  // The limit of the test is the limit of this.
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  await proxy.stop();
});
