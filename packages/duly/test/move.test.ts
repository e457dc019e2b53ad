// A move between two files. Moves between engines, and those that were killed, are in move.prove.test.ts.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFolder } from './command.ts';

test('a dry run makes no file', async (t) => {
  const folder = createFolder(t);
  await folder.duly('run', 'a');
  const plan = await folder.json(
    'move',
    '--from',
    'sqlite:./duly.db',
    '--to',
    'sqlite:./other.db',
    '--dry-run',
  );
  assert.deepEqual([plan.result, plan.to, plan.counts.jobs], ['dry', 'sqlite:./other.db', 1]);
  const refused = await folder.duly('move', '--from', 'sqlite:./duly.db', '--to', 'sqlite:./other.db');
  assert.equal(refused.code, 2, refused.err);
  assert.ok(
    !existsSync(join(folder.path, 'other.db')),
    'neither by the plan nor by a question without an answer',
  );
  const moved = await folder.duly('move', '--from', 'sqlite:./duly.db', '--to', 'sqlite:./other.db', '--yes');
  assert.equal(moved.code, 0, moved.err);
  assert.equal((await folder.json('jobs', 'ls', '--store', 'sqlite:./other.db')).data.length, 1);
});
