import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createFolder, quickTasks } from './command.ts';

async function takePort(t: { after(fn: () => Promise<void>): void }): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => holder.close(() => resolve())));
  return (holder.address() as AddressInfo).port;
}

const hasScript = spawnSync('script', ['--version']).status === 0;

test('up on a terminal: a key once, in the address of the dashboard, and a call that makes a first job as it is printed', {
  skip: hasScript ? false : 'the program "script" of util-linux is not installed',
}, async (t) => {
  const folder = createFolder(t);
  const up = folder.startOnTerminal('up', '--demo', '--port', '0');
  // Escape sequences of the live area come before the lines.
  const dashboard = await up.line(/Dashboard: http/);
  const [, url, key] = /(http:\/\/127\.0\.0\.1:\d+)\/signin\?key=(duly_\w+)/.exec(dashboard) ?? [];
  const call = await up.line(/^ {2}curl -s http/);
  const [, target, bearer, body] = /curl -s (\S+) -H 'Authorization: (.*?)' -H .* -d '(.*)'/.exec(call) ?? [];
  const created = await fetch(target as string, {
    method: 'POST',
    headers: { Authorization: bearer as string, 'Content-Type': 'application/json' },
    body: body as string,
  });
  assert.equal(created.status, 201);
  const job = (await created.json()) as { id: string; type: string; input: string };
  assert.deepEqual([job.type, job.input], ['video_transcode', 's3://uploads/video_789.mp4']);
  assert.equal(bearer, `Bearer ${key}`);
  const opened = await fetch(`${url}/signin?key=${key}`, { redirect: 'manual' });
  assert.equal(opened.status, 303);
  assert.equal((await fetch(`${url}/api/jobs`)).status, 401);
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  assert.equal(folder.firstKey(), null, 'it is not in a file as well');
  up.answer('\x03');
  await up.ended;

  const again = folder.start('up', '--demo', '--port', '0');
  assert.match(await again.line(/^Dashboard: http/), /:\d+$/);
  await again.line(/Bearer \$DULY_KEY/);
  again.signal('SIGTERM');
  const { out } = await again.ended;
  assert.doesNotMatch(out, /duly_[0-9a-z]{12}_/);
});

test('up in a log: the first key is in a file for this user only, and not in the output', async (t) => {
  for (const format of [[], ['-o', 'json']]) {
    const folder = createFolder(t);
    const up = folder.start('up', '--no-tasks', '--port', '0', ...format);
    const line = await up.line(/duly-first-key-/);
    const file = /[^\s"]*duly-first-key-[0-9a-z]{12}/.exec(line)?.[0] as string;
    const key = readFileSync(file, 'utf8').trim();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const { url } =
      format.length > 0
        ? JSON.parse(line)
        : { url: (await up.line(/^ {2}curl -s/)).match(/http:[^/]*\/\/[^/]*/)?.[0] };
    const headers = { Authorization: `Bearer ${key}` };
    assert.equal((await fetch(`${url}/api/keys`, { headers })).status, 200);
    up.signal('SIGTERM');
    const { out, err } = await up.ended;
    assert.doesNotMatch(out + err, /duly_[0-9a-z]{12}_/);
  }
});

test('--rate-limit bounds the requests of a key, and a limit that is no number is refused', async (t) => {
  const folder = createFolder(t);
  const refused = await folder.duly('up', '--rate-limit', '-1');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /--rate-limit/);
  const up = folder.start('up', '--no-tasks', '--port', '0', '--rate-limit', '1');
  const url = /http:\S+/.exec(await up.line(/^Dashboard: http/))?.[0] as string;
  const headers = { Authorization: `Bearer ${folder.firstKey()}` };
  const statuses = new Set<number>();
  for (let i = 0; i < 5; i++) statuses.add((await fetch(`${url}/api/jobs`, { headers })).status);
  assert.deepEqual([...statuses], [200, 429]);
  up.signal('SIGTERM');
  await up.ended;
});

test('the port: one that was asked for and is taken is an error, the usual one moves with a message', async (t) => {
  const folder = createFolder(t);
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

test('the first start makes a key before it listens, beyond this machine too, and takes it back where it cannot listen', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const taken = await takePort(t);
  const failed = await folder.duly('up', '--host', '127.0.0.1', '--port', String(taken));
  assert.match(failed.err, /^error\[listen_failed\]/m);
  assert.deepEqual((await folder.json('keys', 'ls')).data, [], 'a key that nobody has seen is none');
  assert.equal(folder.firstKey(), null);
  const up = folder.start('up', '--host', '0.0.0.0', '--port', '0', '-o', 'json');
  const { url } = JSON.parse(await up.line(/"event":"serving"/));
  const key = folder.firstKey();
  assert.match(url, /^http:\/\/localhost:\d+$/);
  const status = async (headers: Record<string, string>) =>
    (await fetch(`${url.replace('localhost', '127.0.0.1')}/api/session`, { headers })).status;
  assert.deepEqual([await status({}), await status({ Authorization: `Bearer ${key}` })], [401, 200]);
  up.signal('SIGTERM');
  await up.ended;
});

test('a change at the store names the page that shows it while somebody serves there, and only then', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const up = folder.start('up', '--port', '0', '-o', 'json');
  const { url } = JSON.parse(await up.line(/"event":"serving"/));
  const page = async (...args: string[]): Promise<string | undefined> => {
    const { err } = await folder.duly(...args);
    return /^Dashboard: (.*)$/m
      .exec(err)?.[1]
      ?.replace(url, '')
      .replace(/(job|sch)_\w+/, '$1');
  };
  const pages: [string[], string | undefined][] = [
    [['run', 'later', '1', '--in', '1h', '--key', 'a'], '/jobs/job'],
    [['jobs', 'cancel', '--type', 'later', '--key', 'a'], '/jobs'],
    [['pause', 'queue', 'mail'], '/queues'],
    [['schedules', 'add', 'daily', '--type', 'later', '--cron', '@daily'], '/schedules/sch'],
    [['schedules', 'pause', 'daily'], '/schedules/sch'],
    [['schedules', 'trigger', 'daily'], '/jobs/job'],
    [['schedules', 'backfill', 'daily', '--from', '2026-11-01', '--dry-run'], undefined],
    [['schedules', 'rm', 'daily'], '/schedules'],
    [['jobs', 'ls'], undefined],
  ];
  for (const [args, shown] of pages) assert.equal(await page(...args), shown, args.join(' '));
  assert.doesNotMatch((await folder.duly('run', 'later', '1', '-o', 'json')).err, /Dashboard/);
  up.signal('SIGTERM');
  await up.ended;
  assert.equal(await page('run', 'later', '1', '--in', '1h'), undefined, 'nobody is there to look at');
});

test('keys are created, listed and revoked', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const { out: text } = await folder.duly('keys', 'add', '--scope', 'admin', '--note', 'ours');
  assert.match(text, /^duly_[0-9a-z]{12}_[0-9a-z]{52}\n$/);
  const key = text.trim();
  const created = await folder.json('keys', 'add', '--tenant', 'a', '--for', '1h');
  assert.deepEqual([created.scope, created.tenant], ['run', 'a']);
  const { data } = await folder.json('keys', 'ls');
  assert.equal(data.length, 2);
  assert.ok(!JSON.stringify(data).includes(key.slice(-52)));
  const wrong = await folder.duly('keys', 'add', '--scope', 'amdin');
  assert.match(wrong.err, /admin/);

  const up = folder.start('up', '--host', '0.0.0.0', '--port', '0', '-o', 'json');
  const serving = JSON.parse(await up.line(/"event":"serving"/));
  assert.equal(serving.key, null);
  const url = serving.url.replace('localhost', '127.0.0.1');
  const status = async (text: string) =>
    (await fetch(`${url}/api/session`, { headers: { Authorization: `Bearer ${text}` } })).status;
  assert.equal(await status(key), 200);
  assert.equal(await status(created.key), 200);
  await folder.duly('keys', 'revoke', created.id);
  assert.equal((await folder.json('keys', 'ls')).data.length, 1);
  const missing = await folder.duly('keys', 'revoke', 'nothing');
  assert.match(missing.err, /No key has the id "nothing"/);
  up.signal('SIGTERM');
  await up.ended;
});

test('--no-tasks serves and decides, and leaves the jobs to nodes that have tasks', async (t) => {
  const folder = createFolder(t);
  folder.write({ ...quickTasks, 'tasks/broken.mjs': 'throw new Error("not to be loaded");' });
  const both = await folder.duly('up', '--no-tasks', '--demo');
  assert.equal(both.code, 2);
  const up = folder.start('up', '--no-tasks', '--port', '0');
  assert.match(await up.line(/^ {2}tasks/), /none/);
  await up.line(/^Dashboard: http/);
  folder.write({ 'tasks/broken.mjs': 'export default { name: "other", run: () => 1 };' });
  const created = await folder.json('run', 'hello', 'Ada');
  const worker = folder.start('worker', '--roles', 'worker');
  const watched = await folder.duly('watch', created.id);
  assert.match(watched.out, /Hello Ada/);
  for (const one of [worker, up]) one.signal('SIGTERM');
  await Promise.all([worker.ended, up.ended]);
});

test('--no-server serves nothing', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const up = folder.start('up', '--no-server');
  await up.line(/In another terminal/);
  up.signal('SIGTERM');
  assert.doesNotMatch((await up.ended).out, /Dashboard/);
});
