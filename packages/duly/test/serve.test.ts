import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { makeFolder, quickTasks } from './command.ts';

async function takePort(t: { after(fn: () => Promise<void>): void }): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => holder.close(() => resolve())));
  return (holder.address() as AddressInfo).port;
}

test('up serves: a key once, in the address of the dashboard, and a call that makes a first job as it is printed', async (t) => {
  const folder = makeFolder(t);
  const up = folder.start('up', '--demo', '--port', '0');
  const dashboard = await up.line(/^Dashboard: http/);
  const [, url, key] = /(http:\/\/127\.0\.0\.1:\d+)\/signin\?key=(duly_\w+)$/.exec(dashboard) ?? [];
  const call = await up.line(/^ {2}curl -s http/);
  const [, target, bearer, body] =
    /curl -s (\S+) -H 'Authorization: (.*?)' -H .* -d '(.*)'$/.exec(call) ?? [];
  const made = await fetch(target as string, {
    method: 'POST',
    headers: { Authorization: bearer as string, 'Content-Type': 'application/json' },
    body: body as string,
  });
  assert.equal(made.status, 201);
  const job = (await made.json()) as { id: string; type: string; input: string };
  assert.deepEqual([job.type, job.input], ['video_transcode', 's3://uploads/video_789.mp4']);
  assert.equal(bearer, `Bearer ${key}`);
  const signedIn = await fetch(`${url}/signin?key=${key}`, { redirect: 'manual' });
  assert.equal(signedIn.status, 303);
  assert.equal((await fetch(`${url}/api/jobs`)).status, 401);
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  up.signal('SIGTERM');
  assert.equal((await up.ended).code, 0);

  const again = folder.start('up', '--demo', '--port', '0');
  assert.match(await again.line(/^Dashboard: http/), /:\d+$/);
  await again.line(/Bearer \$DULY_KEY/);
  again.signal('SIGTERM');
  const { out } = await again.ended;
  assert.doesNotMatch(out, /duly_[0-9a-z]{12}_/);
});

test('the port: one that was asked for and is taken is an error, the usual one moves with a message', async (t) => {
  const folder = makeFolder(t);
  folder.write(quickTasks);
  const port = await takePort(t);
  const refused = await folder.duly('up', '--port', String(port));
  assert.notEqual(refused.code, 0);
  assert.match(refused.err, /is taken/);

  const first = folder.start('up', '-o', 'json');
  const second = folder.start('up', '-o', 'json');
  const urls = await Promise.all(
    [first, second].map(async (up) => JSON.parse(await up.line(/"event":"serving"/)).url as string),
  );
  assert.notEqual(urls[0], urls[1]);
  for (const url of urls) assert.equal((await fetch(`${url}/livez`)).status, 200);
  for (const up of [first, second]) up.signal('SIGTERM');
  await Promise.all([first.ended, second.ended]);
});

test('beyond this machine only with a key; keys are made, listed and revoked', async (t) => {
  const folder = makeFolder(t);
  folder.write(quickTasks);
  const refused = await folder.duly('up', '--host', '0.0.0.0', '--port', '0');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /Without a key the server listens to this machine only/);
  assert.match(refused.err, /keys add --scope admin/);

  const { out: text } = await folder.duly('keys', 'add', '--scope', 'admin', '--note', 'ours');
  assert.match(text, /^duly_[0-9a-z]{12}_[0-9a-z]{52}\n$/);
  const key = text.trim();
  const made = await folder.json('keys', 'add', '--tenant', 'a', '--for', '1h');
  assert.deepEqual([made.scope, made.tenant], ['run', 'a']);
  const { data } = await folder.json('keys', 'ls');
  assert.equal(data.length, 2);
  assert.ok(!JSON.stringify(data).includes(key.slice(-52)));
  const wrong = await folder.duly('keys', 'add', '--scope', 'amdin');
  assert.match(wrong.err, /admin/);

  const up = folder.start('up', '--host', '0.0.0.0', '--port', '0', '-o', 'json');
  const serving = JSON.parse(await up.line(/"event":"serving"/));
  assert.equal(serving.key, null);
  const url = serving.url.replace('0.0.0.0', '127.0.0.1');
  const status = async (text: string) =>
    (await fetch(`${url}/api/session`, { headers: { Authorization: `Bearer ${text}` } })).status;
  assert.equal(await status(key), 200);
  assert.equal(await status(made.key), 200);
  await folder.duly('keys', 'revoke', made.id);
  assert.equal((await folder.json('keys', 'ls')).data.length, 1);
  const missing = await folder.duly('keys', 'revoke', 'nothing');
  assert.match(missing.err, /No key has the id "nothing"/);
  up.signal('SIGTERM');
  await up.ended;
});

test('--no-server serves nothing', async (t) => {
  const folder = makeFolder(t);
  folder.write(quickTasks);
  const up = folder.start('up', '--no-server');
  await up.line(/In another terminal/);
  up.signal('SIGTERM');
  assert.doesNotMatch((await up.ended).out, /Dashboard/);
});
