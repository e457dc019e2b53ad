import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startPgBouncer } from '../../../../../test/servers/pgbouncer.ts';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import { startTcpProxy, throughPort } from '../../../../../test/servers/tcp-proxy.ts';
import type { Notification, NotificationKind } from '../../../src/contract/engine.ts';
import { channelOf } from '../../../src/engines/postgres/notifier.ts';
import type { OpenedPostgres } from '../../../src/engines/postgres/open-postgres.ts';
import { ask, open, url } from './setup.ts';

/** Everything a store receives, and a way to wait for it. */
function listenTo(store: OpenedPostgres) {
  const received: Notification[] = [];
  let look = (): void => {};
  const stop = store.subscribe((notification) => {
    received.push(notification);
    look();
  });
  return {
    received,
    kinds: () => received.map(({ kind }) => kind),
    stop,
    /** Resolves once all of these were received since the last `forget`. */
    receives(...kinds: NotificationKind[]): Promise<void> {
      return new Promise((resolve) => {
        look = () => {
          if (kinds.every((kind) => received.some((one) => one.kind === kind))) resolve();
        };
        look();
      });
    },
    forget() {
      received.length = 0;
    },
  };
}

it('a listener proves itself by a probe, receives others, and nothing of its own calls twice', async () => {
  const schema = freshSchema();
  const [one, other] = [await open({ schema }), await open({ schema })];
  const [mine, theirs] = [listenTo(one), listenTo(other)];
  // Without being asked: from the first probe on a node may sleep long.
  await Promise.all([mine.receives('probe'), theirs.receives('probe')]);
  mine.forget();
  one.notify([{ kind: 'jobs' }, { kind: 'locks' }]);
  await theirs.receives('jobs', 'locks');
  other.notify([{ kind: 'cancel' }]);
  await mine.receives('cancel');
  assert.deepEqual(mine.kinds(), ['jobs', 'locks', 'cancel'], 'its own at once and once');
  mine.forget();
  theirs.forget();
  await one.probe();
  await mine.receives('probe');
  assert.ok(!theirs.kinds().includes('probe'), 'a probe is for its sender');
  await Promise.all([one.close(), other.close()]);
});

it('types travel to other processes, whatever they are called, and those of one moment together', async () => {
  const schema = freshSchema();
  const [one, other] = [await open({ schema }), await open({ schema })];
  const theirs = listenTo(other);
  await theirs.receives('probe');
  theirs.forget();
  const odd = [`it's "quoted"`, 'a,b:c d', 'back\\slash', 'größe 🦉'];
  // The first goes at once, the next ones are collected.
  one.notify([{ kind: 'jobs', types: odd }]);
  one.notify([{ kind: 'jobs', types: ['b'] }]);
  one.notify([{ kind: 'jobs', types: ['c'] }, { kind: 'locks' }]);
  await theirs.receives('jobs', 'locks');
  const locks = { kind: 'locks' };
  assert.deepEqual(theirs.received, [
    { kind: 'jobs', types: odd },
    { kind: 'jobs', types: ['b', 'c'] },
    locks,
  ]);
  theirs.forget();
  one.notify([{ kind: 'jobs', types: ['d'] }]);
  one.notify([{ kind: 'jobs', types: ['e'] }]);
  one.notify([{ kind: 'jobs' }]);
  one.notify([{ kind: 'schedules' }]);
  await theirs.receives('schedules');
  assert.deepEqual(theirs.received.at(-2), { kind: 'jobs' }, 'any type wins');
  theirs.forget();
  one.notify([{ kind: 'jobs', types: ['ж'.repeat(4_000)] }]);
  await theirs.receives('jobs');
  assert.deepEqual(theirs.received, [{ kind: 'jobs' }], 'too long for a NOTIFY');
  await Promise.all([one.close(), other.close()]);
});

it('stores in one database do not receive notifications of each other', async () => {
  const [one, other] = [await open({ schema: freshSchema() }), await open({ schema: freshSchema() })];
  const [mine, theirs] = [listenTo(one), listenTo(other)];
  await Promise.all([mine.receives('probe'), theirs.receives('probe')]);
  theirs.forget();
  one.notify([{ kind: 'jobs' }]);
  await one.probe();
  await other.probe();
  await theirs.receives('probe');
  assert.deepEqual(theirs.kinds(), ['probe']);
  await Promise.all([one.close(), other.close()]);
});

it('a store does not listen until there is a subscriber', async () => {
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
  const listener = listenTo(store);
  await listener.receives('probe');
  assert.equal(await count(), 1);
  await store.close();
});

it('notifications of a burst travel together', async () => {
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
    store.notify([{ kind: 'jobs' }]);
    if (call % 100 === 0) await null;
  }
  store.notify([{ kind: 'schedules' }]);
  await done.promise;
  assert.ok(count <= 3, `a thousand calls sent ${count} notifications`);
  await witness.end();
  await store.close();
});

it('a connection that ends is told at once and created again; what may have been missed is looked for', async () => {
  const schema = freshSchema();
  const store = await open({ schema });
  const listener = listenTo(store);
  await listener.receives('probe');
  listener.forget();
  await ask(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND query LIKE '%' || $1 || '%'",
    [channelOf(schema)],
  );
  await listener.receives('disconnected', 'jobs', 'schedules', 'cancel', 'locks', 'probe');
  assert.equal(listener.kinds()[0], 'disconnected');
  await store.close();
});

it('a half-open connection is noticed by the probe that does not arrive', async () => {
  const schema = freshSchema();
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const store = await open({ schema, listenUrl: throughPort(url, proxy.port) });
  const listener = listenTo(store);
  await listener.receives('probe');
  listener.forget();
  proxy.freeze();
  await store.probe();
  await listener.receives('disconnected');
  assert.ok(!listener.kinds().includes('probe'));
  proxy.thaw();
  await listener.receives('probe', 'jobs');
  await store.close();
  await proxy.stop();
});

it('behind a pooler in transaction mode LISTEN proves nothing, and a direct connection beside it does', async () => {
  const schema = freshSchema();
  const bouncer = await startPgBouncer(url);
  try {
    const pooled = await open({ schema, connection: bouncer.url });
    const listener = listenTo(pooled);
    await listener.receives('disconnected');
    assert.ok(!listener.kinds().includes('probe'), 'no probe arrived');
    const direct = await open({ schema, connection: bouncer.url, listenUrl: url });
    const other = listenTo(direct);
    await other.receives('probe');
    // Sending needs no session: the disconnected one still notifies others.
    pooled.notify([{ kind: 'jobs' }]);
    await other.receives('jobs');
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
  store.subscribe(() => {});
  await store.close();
  await proxy.stop();
});

it('a process whose store was cut off without a word ends soon after it has closed it', async () => {
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const fixture = fileURLToPath(new URL('./fixtures/close-when-asked.ts', import.meta.url));
  // Without the flags of this process: of what `test:nodes` gives to Node 22 one keeps a process alive, which is what is asked here.
  const child = fork(fixture, [inSchema(throughPort(url, proxy.port), freshSchema())], { execArgv: [] });
  assert.deepEqual(await once(child, 'message'), ['open', undefined]);
  proxy.freeze();
  child.send('close');
  // The limit of the test is the limit of this.
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  await proxy.stop();
});
