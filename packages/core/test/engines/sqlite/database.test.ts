// Not part of the shared suite: versions, files and error codes of SQLite itself.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../../src/clock.ts';
import { hasWalResetBug } from '../../../src/engines/sqlite/database.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/engine.ts';
import { isDulyError } from '../../../src/errors.ts';
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

test('a write lock that somebody keeps ends the call with store_busy, and the next call goes on', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engine = await openSqliteEngine({ path, clock, busyMs: 20 });
  const other = new DatabaseSync(path);
  t.after(async () => {
    other.close();
    await engine.close();
  });
  other.exec('BEGIN IMMEDIATE');
  const beat = { beat: null, leave: null, drain: null, forgetAfterMs: 1_000 };
  await assert.rejects(
    engine.nodes(beat),
    (error) => isDulyError(error, 'store_busy') && /open transaction/.test(error.hint ?? ''),
  );
  other.exec('ROLLBACK');
  assert.deepEqual((await engine.nodes(beat)).nodes, []);
});

test('a closed store says so', async () => {
  const engine = await openSqliteEngine({ path: ':memory:', clock });
  await engine.close();
  await engine.close();
  await assert.rejects(engine.get({ ids: [] }), (error) => isDulyError(error, 'store_closed'));
});
