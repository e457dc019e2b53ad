// Commands over a server. That they say the same of it as of its store is in remote.prove.test.ts.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFolder, quickTasks } from './command.ts';

test('a watch over a server bears that it is started anew', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const first = folder.start('up', '--port', '0');
  const address = new URL((await first.line(/^Dashboard: /)).replace('Dashboard: ', ''));
  folder.env.DULY_KEY = folder.firstKey() as string;
  const { id } = await folder.json('run', 'hello', 'Ada', '--in', '1h');
  const watch = folder.start('watch', id, '--server', address.origin);
  await watch.line(/SCHEDULED/);
  first.signal('SIGKILL');
  await first.ended;
  await watch.line(/cannot be reached\. It is asked again for 1 min\.$/);
  const second = folder.start('up', '--port', address.port);
  await second.line(/^Dashboard: /);
  assert.equal((await folder.duly('jobs', 'reschedule', id, '--in', '1ms')).code, 0);
  assert.equal((await watch.ended).code, 0);
  second.signal('SIGTERM');
  await second.ended;
});

test('profiles are kept for this user only, and used when nothing else is named', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  folder.env.XDG_CONFIG_HOME = join(folder.path, 'config');
  const up = folder.start('up', '--port', '0');
  const address = new URL((await up.line(/^Dashboard: /)).replace('Dashboard: ', ''));
  await up.line(/schedules ls/);
  const key = folder.firstKey() as string;
  const added = await folder.dulyWithInput(
    `${key}\n`,
    'profiles',
    'add',
    'prod',
    address.origin,
    '--server-key',
    '-',
  );
  assert.equal(added.code, 0, added.err);
  assert.equal(statSync(join(folder.path, 'config/duly/profiles.json')).mode & 0o777, 0o600);
  const listed = await folder.duly('profiles', 'ls');
  assert.match(listed.out, /prod +http:\/\/127\.0\.0\.1/);
  assert.ok(!listed.out.includes(key));
  const created = await folder.json('run', 'hello', 'Ada', '--profile', 'prod');
  await folder.duly('profiles', 'use', 'prod');
  assert.equal((await folder.json('jobs', 'ls')).data[0].id, created.id);
  assert.match(
    (await folder.duly('jobs', 'ls', '--profile', 'prd')).err,
    /error\[profile_not_found\].*\n.*Did you mean "prod"/,
  );
  const both = await folder.duly('jobs', 'ls', '--profile', 'prod', '--store', 'sqlite:./duly.db');
  assert.equal(both.code, 2);
  await folder.duly('profiles', 'rm', 'prod');
  assert.deepEqual((await folder.json('profiles', 'ls')).data, []);
  up.signal('SIGTERM');
  await up.ended;
});
