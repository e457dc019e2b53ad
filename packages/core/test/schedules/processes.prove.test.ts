import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Duly, systemClock } from '../../src/index.ts';
import type { ScheduleNews } from './schedule-child.ts';

const child = new URL('./schedule-child.ts', import.meta.url).pathname;
type Ran = Extract<ScheduleNews, { kind: 'ran' }>;

/** Several processes on one file that declare the same schedule, and a client in this one. */
function createCluster(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-schedules-'));
  const file = join(folder, 'duly.db');
  const store = `sqlite:${file}`;
  const client = new Duly({ store, app: 'cluster' });
  const children: ChildProcess[] = [];
  const ran: Ran[] = [];
  const listeners = new Set<() => void>();
  t.after(async () => {
    for (const one of children) {
      if (one.exitCode !== null || one.signalCode !== null) continue;
      one.kill('SIGKILL');
      await once(one, 'exit');
    }
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    file,
    client,
    ran,
    async spawn(...args: string[]): Promise<ChildProcess> {
      const one = fork(child, [store, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      children.push(one);
      await new Promise<void>((resolve, reject) => {
        one.on('message', (news: ScheduleNews) => {
          if (news.kind === 'ready') resolve();
          else ran.push(news);
          for (const listener of [...listeners]) listener();
        });
        one.once('exit', (code) => reject(new Error(`A process ended with ${code} before it was ready.`)));
      });
      return one;
    },
    /** Resolves when this holds of what ran so far. */
    until(holds: () => boolean): Promise<void> {
      return new Promise((resolve) => {
        const look = () => {
          if (!holds()) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
      });
    },
  };
}

/** Every slot from the first to the last that ran, and how often each did. */
function gapsAndDoubles(ran: readonly Ran[]): { missing: number[]; doubles: number[] } {
  const slots = ran.map(({ slotAt }) => slotAt).sort((a, b) => a - b);
  const missing: number[] = [];
  for (let at = slots[0] as number; at <= (slots.at(-1) as number); at += 1_000)
    if (!slots.includes(at)) missing.push(at);
  return { missing, doubles: slots.filter((at, i) => slots[i - 1] === at) };
}

test('five processes that declare the same schedule make one run for each slot', async (t) => {
  const cluster = createCluster(t);
  await Promise.all(Array.from({ length: 5 }, () => cluster.spawn()));
  await cluster.until(() => cluster.ran.length >= 6);
  assert.deepEqual(gapsAndDoubles(cluster.ran), { missing: [], doubles: [] });
  const { schedules } = await cluster.client.schedules.list();
  assert.deepEqual(
    schedules.map(({ name, generation }) => [name, generation]),
    [['tick', 1]],
  );
  const slots = await cluster.client.schedules.slots('tick', { to: (cluster.ran[0] as Ran).slotAt + 6_000 });
  for (const { decision, runs, count } of slots.filter(({ decision }) => decision !== null)) {
    assert.deepEqual([decision, runs.length, count], ['fired', 1, 1]);
  }
  assert.ok(
    (await cluster.client.audit({ limit: 1_000 })).filter(({ action }) => action === 'create').length === 1,
  );
});

test('kill -9 between claim and fire: nothing is lost, nothing doubled, and no slot is more than four seconds late', async (t) => {
  const cluster = createCluster(t);
  const victim = await cluster.spawn('dies');
  if (victim.signalCode === null) await once(victim, 'exit');
  assert.equal(victim.signalCode, 'SIGKILL');
  const db = new DatabaseSync(cluster.file, { readOnly: true });
  assert.notEqual(db.prepare('SELECT token FROM schedules').get()?.token, null, 'it died with a lease');
  db.close();
  const diedAt = systemClock.now();
  await cluster.spawn();
  await cluster.until(() => cluster.ran.some(({ slotAt }) => slotAt >= diedAt + 5_000));
  assert.deepEqual(gapsAndDoubles(cluster.ran), { missing: [], doubles: [] });
  for (const { latenessMs, isCatchUp } of cluster.ran) {
    assert.ok(latenessMs < 4_500, `${latenessMs}`);
    assert.equal(isCatchUp, false);
  }
});
