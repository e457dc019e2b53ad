import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { examineStore } from '../../../src/store/examine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { testFolder } from './folder.ts';

async function setup(t: TestContext) {
  const path = join(testFolder(t), 'duly.db');
  await (await openEngine(`sqlite:${path}`)).close();
  const states = async () => {
    const { checks } = await examineStore(`sqlite:${path}`);
    return Object.fromEntries(checks.map(({ name, state }) => [name, state]));
  };
  return { path, states };
}

test('a sound file is said to be sound', async (t) => {
  const { states } = await setup(t);
  const { filesystem, version, ...rest } = await states();
  assert.ok(filesystem === 'ok' || filesystem === 'warning', 'wherever temporary files lie here');
  assert.ok(version === 'ok' || version === 'warning', 'whichever SQLite this Node brings');
  assert.deepEqual(rest, { schema: 'ok', permissions: 'ok', synchronous: 'ok', integrity: 'ok' });
});

test('a journal that somebody changed, and a damaged file, are found', async (t) => {
  const { path, states } = await setup(t);
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = DELETE');
  db.close();
  assert.equal((await states()).synchronous, 'warning');
  const file = await open(path, 'r+');
  const { size } = await file.stat();
  // Everything behind the schema's first pages.
  await file.write(Buffer.alloc(size - 8 * 4096, 0xff), 0, size - 8 * 4096, 8 * 4096);
  await file.close();
  const found = await states();
  assert.ok(found.integrity === 'failing' || found.store_corrupt === 'failing', JSON.stringify(found));
});

test('no file, and one of somebody else, are findings, and nothing is created', async (t) => {
  const path = join(testFolder(t), 'none.db');
  const none = await examineStore(`sqlite:${path}`);
  assert.deepEqual([none.state, existsSync(path)], ['failing', false]);
  writeFileSync(path, 'no database at all, but a text that is long enough to be looked at');
  const other = await examineStore(`sqlite:${path}`);
  assert.equal(other.state, 'failing');
});
