// Not part of the shared suite: the schema of an SQLite file.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { isDulyError } from '../../../src/base/errors.ts';
import { openSqliteEngine } from '../../../src/engines/sqlite/engine.ts';
import { readSqliteStatus, schemaVersion } from '../../../src/engines/sqlite/migrate.ts';
import { testFolder } from './folder.ts';

const clock = systemClock;

function setMeta(path: string, values: Record<string, number>): void {
  const db = new DatabaseSync(path);
  for (const [key, value] of Object.entries(values)) {
    db.prepare('UPDATE meta SET value = ? WHERE key = ?').run(value, key);
  }
  db.close();
}

test('a new file is migrated when it is opened, and a second opening has nothing to do', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  await (await openSqliteEngine({ path, clock })).close();
  const engine = await openSqliteEngine({ path, clock });
  t.after(() => engine.close());
  const { from, to, steps } = await engine.migrate({ dryRun: false });
  assert.deepEqual({ from, to, steps }, { from: schemaVersion, to: schemaVersion, steps: [] });
});

test('many processes that open a new file at once make its schema once', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  const engines = await Promise.all(Array.from({ length: 5 }, () => openSqliteEngine({ path, clock })));
  for (const engine of engines) await engine.close();
  assert.equal(engines.length, 5);
});

test('a newer schema that still serves this code is used', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  await (await openSqliteEngine({ path, clock })).close();
  setMeta(path, { schema_version: schemaVersion + 3, lowest_schema: schemaVersion });
  const engine = await openSqliteEngine({ path, clock });
  t.after(() => engine.close());
  assert.equal((await engine.migrate({ dryRun: true })).from, schemaVersion + 3);
});

test('a schema whose lowest code is newer than this one is refused, and nothing is changed', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  await (await openSqliteEngine({ path, clock })).close();
  setMeta(path, { schema_version: schemaVersion + 3, lowest_schema: schemaVersion + 1 });
  await assert.rejects(
    openSqliteEngine({ path, clock }),
    (error) => isDulyError(error, 'schema_too_new') && error.details.lowestCode === schemaVersion + 1,
  );
});

test('code from before the first release refuses a new file', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  await (await openSqliteEngine({ path, clock })).close();
  const db = new DatabaseSync(path);
  const row = db.prepare("SELECT value FROM meta WHERE key = 'lowest_code'").get();
  db.close();
  // It has schema 1, and refuses what serves a higher one only.
  assert.deepEqual({ ...row }, { value: 1_000 });
});

test('a store from before the first release is refused, and nothing is changed', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  await (await openSqliteEngine({ path, clock })).close();
  const db = new DatabaseSync(path);
  db.exec('ALTER TABLE nodes RENAME COLUMN heartbeat_at TO beat_at');
  db.close();
  const isRefused = (error: unknown): boolean =>
    isDulyError(error, 'schema_too_old') && error.hint?.includes('another file') === true;
  await assert.rejects(openSqliteEngine({ path, clock }), isRefused);
  await assert.rejects(readSqliteStatus(path), isRefused);
});
