// Not part of the shared suite: only SQLite has a WAL whose room is ours to keep.
import assert from 'node:assert/strict';
import { cpSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import { systemClock } from '../../../src/base/clock.ts';
import type { Engine } from '../../../src/contract/engine.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/index.ts';
import { testFolder } from './folder.ts';

async function open(t: TestContext, path: string): Promise<Engine> {
  const engine = await openSqliteEngine({ path, clock: systemClock });
  t.after(() => engine.close());
  return engine;
}

async function createJobs(engine: Engine, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await engine.enqueue({ groups: [{ jobs: [jobSpec()] }] });
}

const walBytes = (path: string) => statSync(`${path}-wal`).size;

const countJobs = (path: string): unknown => {
  const db = new DatabaseSync(path);
  const { found } = db.prepare('SELECT count(*) AS found FROM jobs').get() as { found: number };
  const { integrity_check } = db.prepare('PRAGMA integrity_check').get() as { integrity_check: string };
  db.close();
  return [found, integrity_check];
};

test('commits write over room that is there already, and do not make the WAL longer one by one', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await open(t, path);
  await createJobs(engine, 4);
  const few = walBytes(path);
  assert.ok(few < 500_000, 'A call or two leave the WAL as short as SQLite makes it.');
  const lengths = new Set<number>();
  for (let n = 0; n < 50; n++) {
    await createJobs(engine, 1);
    lengths.add(walBytes(path));
  }
  assert.ok(walBytes(path) > few + 1_000_000);
  // At most one for each of the first commits, and then one for all of them.
  assert.ok(lengths.size < 20, `${lengths.size} lengths in 50 commits`);
});

test('the room ends where a checkpoint comes first', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await open(t, path);
  const jobs = (count: number) => Array.from({ length: count }, () => jobSpec());
  await createJobs(engine, 20);
  // Far more than a WAL holds, with a checkpoint in between.
  for (let n = 0; n < 40; n++) await engine.enqueue({ groups: [{ jobs: jobs(1_000) }] });
  const bytes = walBytes(path);
  assert.ok(bytes < 24 * 1024 * 1024, `${bytes} bytes`);
  await createJobs(engine, 40);
  assert.equal(walBytes(path), bytes);
});

test('a WAL with room at its end opens again with everything in it, after a crash too, and takes more', async (t) => {
  const folder = testFolder(t);
  const path = join(folder, 'duly.db');
  const engine = await open(t, path);
  await createJobs(engine, 60);
  // What a machine that stops just now leaves behind.
  const left = join(folder, 'left.db');
  cpSync(path, left);
  cpSync(`${path}-wal`, `${left}-wal`);
  const again = await open(t, left);
  await createJobs(again, 60);
  await again.close();
  assert.deepEqual(countJobs(left), [120, 'ok']);
});

test('two connections that make room by turns spoil nothing of each other', async (t) => {
  const folder = testFolder(t);
  const path = join(folder, 'duly.db');
  // SQLite keeps the WAL beside the file itself, not beside the link.
  const link = join(folder, 'link.db');
  const first = await open(t, path);
  symlinkSync(path, link);
  const second = await open(t, link);
  for (let n = 0; n < 10; n++) {
    await Promise.all([createJobs(first, 25), createJobs(second, 25)]);
  }
  await first.close();
  await second.close();
  assert.deepEqual(countJobs(path), [500, 'ok']);
});
