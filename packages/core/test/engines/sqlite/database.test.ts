// Not part of the shared suite: versions, files and error codes of SQLite itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { jobSpec } from '@duly/conformance/builders';
import { systemClock } from '../../../src/base/clock.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { hasWalResetBug } from '../../../src/engines/sqlite/database.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/engine.ts';
import { testFolder } from './folder.ts';

const clock = systemClock;

test('the SQLite versions that can corrupt a shared WAL are known, and the patched ones are not among them', () => {
  for (const version of ['3.7.0', '3.43.2', '3.44.5', '3.45.0', '3.50.6', '3.51.0', '3.51.2']) {
    assert.equal(hasWalResetBug(version), true, version);
  }
  for (const version of ['3.44.6', '3.44.9', '3.50.7', '3.51.3', '3.52.0', '3.53.4', '4.0.0']) {
    assert.equal(hasWalResetBug(version), false, version);
  }
});

test('a second connection to an exclusive file is refused with a code that says so', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const first = await openSqliteEngine({ path, clock, exclusive: true });
  t.after(() => first.close());
  await assert.rejects(openSqliteEngine({ path, clock, exclusive: true, busyMs: 50 }), (error) =>
    isDulyError(error, 'sqlite_second_process'),
  );
  await assert.rejects(openSqliteEngine({ path, clock, busyMs: 50 }), (error) =>
    isDulyError(error, 'sqlite_second_process'),
  );
});

test('a file that is not a database is refused and left as it is', async (t) => {
  const path = join(testFolder(t), 'notes.txt');
  writeFileSync(
    path,
    'these are my notes, not a database, and they are long enough to have a header\n'.repeat(20),
  );
  await assert.rejects(openSqliteEngine({ path, clock }), (error) =>
    isDulyError(error, 'store_not_a_database'),
  );
});

test('a database of somebody else is refused and left as it is', async (t) => {
  const path = join(testFolder(t), 'other.db');
  const other = new DatabaseSync(path);
  other.exec('CREATE TABLE customers (id INTEGER)');
  other.close();
  await assert.rejects(openSqliteEngine({ path, clock }), (error) =>
    isDulyError(error, 'store_not_a_database'),
  );
  const again = new DatabaseSync(path);
  const tables = again.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  again.close();
  assert.deepEqual(
    tables.map((table) => table.name),
    ['customers'],
  );
});

test('a folder that does not exist is named in the error', async (t) => {
  const path = join(testFolder(t), 'missing', 'duly.db');
  await assert.rejects(
    openSqliteEngine({ path, clock }),
    (error) => isDulyError(error, 'store_unavailable') && error.message.includes('missing'),
  );
});

test('opening and reading wait for nobody who writes', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  await (await openSqliteEngine({ path, clock })).close();
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const engine = await openSqliteEngine({ path, clock, busyMs: 20 });
  t.after(async () => {
    await engine.close();
    other.close();
  });
  assert.deepEqual((await engine.get({ ids: ['job_1'] })).jobs, [null]);
  assert.deepEqual(
    (await engine.nodes({ heartbeat: null, leave: null, drain: null, forgetAfterMs: 1_000 })).nodes,
    [],
  );
  const pauses = { op: 'list' as const, kind: 'pause', after: null, limit: 10 };
  assert.ok((await engine.records({ groups: [{ actor: 'ada', ops: [pauses] }] })).groups[0]?.ok);
});

test('who reads has a turn while a write waits for its own', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await openSqliteEngine({ path, clock, busyMs: 10_000 });
  const other = new DatabaseSync(path);
  t.after(async () => {
    other.close();
    await engine.close();
  });
  other.exec('BEGIN IMMEDIATE');
  const story: string[] = [];
  const heartbeat = engine
    .prune({ limit: 1, ledgerMs: 1, auditMs: 1, changesMs: 1 })
    .then(() => story.push('written'));
  await engine.get({ ids: [] }).then(() => story.push('read'));
  other.exec('ROLLBACK');
  await heartbeat;
  assert.deepEqual(story, ['read', 'written']);
});

test('a database of somebody else is known by its columns, whatever its tables are called', async (t) => {
  const path = join(testFolder(t), 'other.db');
  const other = new DatabaseSync(path);
  other.exec('CREATE TABLE meta (a); CREATE TABLE jobs (a)');
  other.close();
  await assert.rejects(openSqliteEngine({ path, clock }), (error) =>
    isDulyError(error, 'store_not_a_database'),
  );
});

test('a notifier that cannot be opened is a warning: polling does without it', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  mkdirSync(`${path}-bell`);
  const engine = await openSqliteEngine({ path, clock });
  t.after(() => engine.close());
  assert.equal(engine.info().wake, 'poll');
  assert.match(engine.info().warnings.join(), /cannot be received/);
});

test('a notifier that cannot write, as on a full disk, fails no call: the change is committed', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has a file that is always full');
  const path = join(testFolder(t), 'duly.db');
  symlinkSync('/dev/full', `${path}-bell`);
  const engine = await openSqliteEngine({ path, clock });
  t.after(() => engine.close());
  const spec = jobSpec();
  const { groups } = await engine.enqueue({ groups: [{ jobs: [spec] }] });
  assert.equal(groups[0]?.ok, true);
  await engine.probe();
});

test('a write lock that another process keeps ends the call with store_busy, which names the process', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await openSqliteEngine({ path, clock, busyMs: 20 });
  t.after(() => engine.close());
  const script = `const { DatabaseSync } = require('node:sqlite'); const db = new DatabaseSync(process.argv[1]);
    db.exec('BEGIN IMMEDIATE'); process.stdout.write('held'); process.stdin.on('data', () => process.exit());`;
  const holder = spawn(process.execPath, ['-e', script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => holder.kill());
  await once(holder.stdout, 'data');
  const heartbeat = { heartbeat: null, leave: 'nobody', drain: null, forgetAfterMs: 1_000 };
  await assert.rejects(
    engine.nodes(heartbeat),
    (error) =>
      isDulyError(error, 'store_busy') &&
      (process.platform !== 'linux' || error.details['holder'] === holder.pid),
  );
  holder.stdin.write('go');
  await once(holder, 'exit');
  assert.deepEqual((await engine.nodes(heartbeat)).nodes, []);
});

test("a wait for the program's own open transaction ends with a code that says so, and the next call goes on", async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await openSqliteEngine({ path, clock, busyMs: 20 });
  const other = new DatabaseSync(path);
  t.after(async () => {
    other.close();
    await engine.close();
  });
  other.exec('BEGIN IMMEDIATE');
  const heartbeat = { heartbeat: null, leave: 'nobody', drain: null, forgetAfterMs: 1_000 };
  // Only Linux tells who holds a lock.
  const code = process.platform === 'linux' ? 'store_locked_by_user_transaction' : 'store_busy';
  await assert.rejects(engine.nodes(heartbeat), (error) => isDulyError(error, code));
  other.exec('ROLLBACK');
  assert.deepEqual((await engine.nodes(heartbeat)).nodes, []);
});

test('a closed store says so', async () => {
  const engine = await openSqliteEngine({ path: ':memory:', clock });
  await engine.close();
  await engine.close();
  await assert.rejects(engine.get({ ids: [] }), (error) => isDulyError(error, 'store_closed'));
});
