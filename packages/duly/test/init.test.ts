import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFolder } from './command.ts';

test('a folder that cannot be created is told', {
  skip: platform() !== 'linux' && 'only Linux has /proc',
}, async (t) => {
  const { code, err } = await createFolder(t).duly('init', '/proc/duly');
  assert.equal(code, 4);
  assert.match(err, /^error\[file_unwritable\]: "\/proc\/duly\/.*" cannot be written \(ENOENT\)\.\n/);
});

test('init writes a config, a task and a test that passes, and tells what to do next', async (t) => {
  const folder = createFolder(t);
  const created = await folder.duly('init');
  assert.equal(created.code, 0, created.err);
  for (const name of ['duly.config.ts', 'tasks/hello.ts', 'tasks/hello.test.ts', 'package.json'])
    assert.match(created.out, new RegExp(`^\\+ ${name}$`, 'm'));
  assert.match(created.out, /^ {2}npm install$/m);
  assert.match(created.out, /^ {2}.* up$/m);
  assert.match(created.out, /^ {2}node --test$/m);

  // Types are all that the config and the task import, so they run before anything is installed.
  const up = folder.start('up');
  await up.line(/tasks {2}hello \(duly\.config\.ts and tasks\/\)/);
  assert.match((await folder.duly('run', 'hello', 'Ada', '--watch')).out, /result: "Hello Ada!"/);
  up.signal('SIGTERM');
  await up.ended;

  folder.linkPackage();
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const tested = spawnSync(process.execPath, ['--test'], { cwd: folder.path, env, encoding: 'utf8' });
  assert.equal(tested.status, 0, tested.stdout + tested.stderr);
  assert.match(tested.stdout, /pass 2\n/);
});

test('init writes over nothing, and keeps a package.json that is there', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'tasks/hello.ts': 'mine', 'package.json': '{"name":"mine"}' });
  const refused = await folder.duly('init');
  assert.equal(refused.code, 4);
  assert.match(
    refused.err,
    /^error\[file_exists\]: Nothing was written: "tasks\/hello\.ts" is there already\./,
  );
  assert.equal(readFileSync(join(folder.path, 'tasks/hello.ts'), 'utf8'), 'mine');
  const other = await folder.json('init', 'new-app');
  assert.deepEqual(other.files, ['duly.config.ts', 'tasks/hello.ts', 'tasks/hello.test.ts', 'package.json']);
  assert.equal(other.next[0], 'cd new-app');
  assert.match(readFileSync(join(folder.path, 'new-app/duly.config.ts'), 'utf8'), /app: 'new-app'/);
  assert.equal(readFileSync(join(folder.path, 'package.json'), 'utf8'), '{"name":"mine"}');
});

test('in a project whose package.json says commonjs, as npm init writes it, what init writes runs all the same', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'package.json': '{ "name": "stranger", "type": "commonjs" }' });
  folder.linkPackage();
  const { files } = await folder.json('init');
  assert.deepEqual(files, ['duly.config.mts', 'tasks/hello.mts', 'tasks/hello.test.mts']);
  const tested = spawnSync(process.execPath, ['--test'], { cwd: folder.path, encoding: 'utf8' });
  assert.equal(tested.status, 0, tested.stdout);
  const created = await folder.json('run', 'hello', 'Ada');
  await folder.duly('tick', '--for', '1s');
  assert.equal((await folder.json('jobs', 'show', created.id)).status, 'COMPLETED');
  folder.write({ 'duly.config.ts': 'export default {};' });
  const refused = await folder.duly('jobs', 'ls');
  assert.match(refused.err, /hint: Its package\.json says "type": "commonjs"\. Write "module" there/);
});
