// Real processes on one SQLite file: killed, stopped past their lease, blocked for twice its length.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Task } from '../../src/index.ts';
import { createCluster } from './cluster.ts';
import type { ChildNews } from './node-child.ts';

const leaseMs = 900;

type Entered = Extract<ChildNews, { kind: 'entered' }>;

const entriesOf = (reported: readonly ChildNews[], id: string) =>
  reported.filter((news): news is Entered => news.kind === 'entered' && news.id === id);

/** A task's verbs without its code: the children have it. */
function defineTask(
  client: { task(options: { name: string; run(): void; delivery?: 'at-most-once' }): Task },
  name: string,
  delivery?: 'at-most-once',
): Task {
  return client.task({ name, run: () => {}, ...(delivery === undefined ? {} : { delivery }) });
}

test('each job is taken once by many processes, and all of them take part', async (t) => {
  const cluster = createCluster(t, { leaseMs });
  const { client } = cluster;
  const work = defineTask(client, 'work');
  await Promise.all([cluster.spawn(), cluster.spawn(), cluster.spawn()]);
  // Held until each process has one: otherwise the first could do them all.
  const held = await work.nowMany(Array.from({ length: 15 }, () => 'go'));
  const entered = await Promise.all(held.map(({ id }) => cluster.news('entered', (news) => news.id === id)));
  const pids = new Set(entered.map(({ pid }) => pid));
  assert.equal(pids.size, 3);
  for (const pid of pids) cluster.process(pid).send('go');
  const rest = await work.nowMany(Array.from({ length: 300 }, (_, i) => i));
  const jobs = [...held, ...rest];
  for (const job of jobs) assert.equal((await job.wait()).status, 'COMPLETED');
  for (const { id } of jobs) assert.equal(entriesOf(cluster.reported, id).length, 1, id);
});

test('SIGSTOP past the lease, then SIGCONT: the stale outcome is refused and the handler is told', async (t) => {
  const cluster = createCluster(t, { leaseMs });
  const work = defineTask(cluster.client, 'work');
  await cluster.spawn();
  const job = await work.now('go');
  const first = await cluster.news('entered', ({ id }) => id === job.id);
  await cluster.spawn();
  const sleeper = cluster.process(first.pid);
  cluster.freeze(sleeper);
  const second = await cluster.news('entered', ({ id, attempt }) => id === job.id && attempt === 2);
  sleeper.kill('SIGCONT');
  await cluster.news('lost', ({ id, pid }) => id === job.id && pid === first.pid);
  // The first one ends only now, after it has lost its lease; its return must not count.
  sleeper.send('go');
  const left = await cluster.news('left', ({ id, attempt }) => id === job.id && attempt === 1);
  assert.equal(left.aborted, 'lost');
  assert.equal((await job.get()).status, 'RUNNING');
  cluster.process(second.pid).send('go');
  const done = await job.wait();
  assert.equal(done.status, 'COMPLETED');
  assert.equal(done.result, 2);
});

test('an event loop blocked for twice the lease loses nothing and is not taken for dead', async (t) => {
  const cluster = createCluster(t, { leaseMs });
  const block = defineTask(cluster.client, 'block');
  await Promise.all([cluster.spawn(), cluster.spawn()]);
  const job = await block.now(2 * leaseMs);
  const done = await job.wait();
  assert.equal(done.status, 'COMPLETED');
  assert.equal(done.result, 1);
  assert.equal(entriesOf(cluster.reported, job.id).length, 1);
});

test('a poison job ends FAILED with reason lost, and its neighbours complete', async (t) => {
  const cluster = createCluster(t, { leaseMs });
  const { client } = cluster;
  // They are in the middle of their first attempt when the poison job takes their process down.
  const neighbours = await defineTask(client, 'work').nowMany(['once', 'once', 'once']);
  const victim = await cluster.spawn();
  for (const { id } of neighbours) await cluster.news('entered', (news) => news.id === id);
  const poison = await defineTask(client, 'poison').now(null);
  await once(victim, 'exit');
  // As a supervisor would: whoever dies is started again.
  let isOver = false;
  let last = victim;
  const supervisor = (async () => {
    while (!isOver) {
      last = await cluster.spawn();
      await once(last, 'exit');
    }
  })();
  const ended = await poison.wait();
  assert.equal(ended.status, 'FAILED');
  assert.equal(ended.error?.code, 'lost');
  // Once among others, then three times with its beginning written.
  assert.equal(entriesOf(cluster.reported, poison.id).length, 4);
  for (const neighbour of neighbours) assert.equal((await neighbour.wait()).status, 'COMPLETED');
  isOver = true;
  last.kill('SIGTERM');
  await supervisor;
});

test('an at-most-once job whose process dies is FAILED, and never started again', async (t) => {
  const cluster = createCluster(t, { leaseMs });
  const fragile = await defineTask(cluster.client, 'fragile', 'at-most-once').now(null);
  await Promise.all([cluster.spawn(), cluster.spawn()]);
  const ended = await fragile.wait();
  assert.equal(ended.status, 'FAILED');
  assert.equal(ended.error?.code, 'lost');
  assert.equal(entriesOf(cluster.reported, fragile.id).length, 1);
});

test('SIGTERM drains: what runs finishes, what waits goes to others, nothing is spent', async (t) => {
  const cluster = createCluster(t, { leaseMs });
  const work = defineTask(cluster.client, 'work');
  const one = await cluster.spawn(1);
  const running = await work.now('go');
  await cluster.news('entered', ({ id }) => id === running.id);
  const waiting = await work.now(0);
  one.kill('SIGTERM');
  await cluster.spawn(1);
  assert.equal((await waiting.wait()).status, 'COMPLETED');
  one.send('go');
  const done = await running.wait();
  assert.equal(done.status, 'COMPLETED');
  assert.equal(done.attempts, 1);
  const [code] = one.exitCode === null ? await once(one, 'exit') : [one.exitCode];
  assert.equal(code, 0);
});
