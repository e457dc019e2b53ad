import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { examineStore } from '../../../src/store/examine.ts';
import { openEngine } from '../../../src/store/open-engine.ts';
import { testFolder } from './folder.ts';

const child = fileURLToPath(new URL('./private-file-child.ts', import.meta.url));
const run = promisify(execFile);

/** The modes of the files of a store that a process with this umask opened. */
async function modesUnder(umask: string, path: string): Promise<Record<string, string>> {
  const { stdout } = await run(process.execPath, [child, umask, path]);
  return JSON.parse(stdout);
}

const all = (mode: string) => ({
  'duly.db': mode,
  'duly.db-wal': mode,
  'duly.db-shm': mode,
  'duly.db-bell': mode,
});

test('a new store is readable for its user only, whatever the umask is', async (t) => {
  for (const umask of ['000', '022', '077']) {
    const modes = await modesUnder(umask, join(testFolder(t), 'duly.db'));
    assert.deepEqual(modes, all('600'), `umask ${umask}`);
  }
});

test('a file that is there keeps its mode, and the files beside it take it: a group can share a store', async (t) => {
  const path = join(testFolder(t), 'duly.db');
  writeFileSync(path, '');
  chmodSync(path, 0o660);
  assert.deepEqual(await modesUnder('022', path), all('660'));
});

test('a link to a file that is missing creates that file with mode 600', async (t) => {
  const folder = testFolder(t);
  mkdirSync(join(folder, 'data'));
  symlinkSync('data/real.db', join(folder, 'duly.db'));
  const engine = await openEngine(`sqlite:${join(folder, 'duly.db')}`);
  await engine.close();
  assert.equal(statSync(join(folder, 'data', 'real.db')).mode & 0o777, 0o600);
});

test('an examination warns of files that others may read and of a folder that others may write', async (t) => {
  const folder = testFolder(t);
  const path = join(folder, "it's.db");
  const engine = await openEngine(`sqlite:${path}`);
  t.after(() => engine.close());
  const permissions = async () =>
    (await examineStore(`sqlite:${path}`)).checks.find(({ name }) => name === 'permissions');
  assert.equal((await permissions())?.state, 'ok');
  chmodSync(path, 0o640);
  assert.equal((await permissions())?.state, 'note');
  chmodSync(path, 0o644);
  const found = await permissions();
  assert.equal(found?.state, 'warning');
  assert.match(found?.message ?? '', /it's\.db" \(mode 644\)/);
  // Nothing was changed without a person asking for it, and the advice works as it is printed.
  assert.equal(statSync(path).mode & 0o777, 0o644);
  await run('sh', ['-c', found?.hint ?? '']);
  assert.equal((await permissions())?.state, 'ok');
  chmodSync(folder, 0o777);
  assert.match((await permissions())?.hint ?? '', /^chmod o-w /);
  chmodSync(folder, 0o1777);
  assert.equal((await permissions())?.state, 'ok');
});
