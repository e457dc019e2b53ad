import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exec, folderOn } from './exec-folder.ts';

test('signals are passed on, and the exit code is the program’s', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  const script = 'trap "echo told; exit 7" TERM; echo up; while :; do sleep 0.1; done';
  const running = folder.start('exec', '--name', 'digest', '--', 'sh', '-c', script);
  await running.line(/^up$/);
  running.signal('SIGTERM');
  const { code, out } = await running.ended;
  assert.deepEqual([code, out], [7, 'up\ntold\n']);
  const [job] = (await folder.json('jobs', 'ls')).data;
  const { error, status } = await folder.json('jobs', 'show', job.id);
  assert.deepEqual([status, error.code], ['FAILED', 'command_failed']);
  assert.match(error.message, /^The program "sh" on \S+ ended with exit code 7 after \d+ ms\.$/);

  const killed = await folder.duly('exec', '--name', 'killed', '--', 'sh', '-c', 'kill -9 $$');
  assert.equal(killed.code, 137);
});

test('a person can cancel it: the program is ended', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  const running = folder.start('exec', '--name', 'digest', '--', 'sh', '-c', 'echo $DULY_JOB_ID; sleep 100');
  const id = await running.line(/^job_/);
  assert.equal((await folder.duly('jobs', 'cancel', id)).code, 0);
  assert.equal((await running.ended).code, 143);
  assert.equal((await folder.json('jobs', 'show', id)).status, 'CANCELLED');
});

test('without a slot it is run again as soon as it is over, but not beside itself', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  const running = folder.start(
    'exec',
    '--name',
    'digest',
    '--',
    'sh',
    '-c',
    'echo up; read line; echo "got $line"',
  );
  await running.line(/^up$/);
  const beside = await folder.duly('exec', '--name', 'digest', '--lost-exit', '75', '--', 'echo', 'no');
  assert.deepEqual([beside.code, beside.out], [75, '']);
  const quiet = await folder.duly('exec', '--name', 'digest', '--quiet', '--', 'echo', 'no');
  assert.deepEqual([quiet.code, quiet.out, quiet.err], [0, '', '']);
  running.signal('SIGTERM');
  await running.ended;
  assert.equal((await folder.duly('exec', '--name', 'digest', '--', 'echo', 'yes')).out, 'yes\n');
});

test('it is not run while its type or everything is paused', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  await folder.duly('migrate');
  await folder.duly('pause', 'type', 'exec:digest', '--note', 'the mail server moves');
  const { code, out, err } = await folder.duly(
    'exec',
    '--name',
    'digest',
    '--slot',
    '1d',
    '--',
    'echo',
    'no',
  );
  assert.deepEqual([code, out], [0, '']);
  assert.match(err, /is not run here: type "exec:digest" was paused by .* \(the mail server moves\)\./);
  await folder.duly('resume', 'type', 'exec:digest');
  assert.equal((await exec(folder, '1d', 'echo', 'yes')).out, 'yes\n', 'the slot was not spent');
});

test('input and output pass through unchanged, and JSON tells the outcome apart from them', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  await folder.duly('migrate');
  const piped = await folder.dulyWithInput('a\nb', 'exec', '--name', 'cat', '--', 'cat');
  assert.deepEqual([piped.out, piped.err], ['a\nb', '']);
  const ran = await folder.duly(
    'exec',
    '-o',
    'json',
    '--name',
    'cat',
    '--slot',
    '0 0 * * *',
    '--timezone',
    'UTC',
    '--',
    'echo',
    '-o',
    'x',
  );
  const { result, exit_code, status, slot, duration_ms } = JSON.parse(ran.out);
  assert.deepEqual([result, exit_code, status], ['ran', 0, 'COMPLETED']);
  assert.match(slot, /T00:00:00.000Z$/);
  assert.ok(duration_ms >= 0);
  assert.match(ran.err, /^-o x$/m);
  const lost = await folder.json('exec', '--name', 'cat', '--slot', '0 0 * * *', '--timezone', 'UTC', 'echo');
  assert.deepEqual([lost.result, lost.slot], ['lost', slot]);
});

test('what cannot be started has the exit codes of a shell, and is a dead letter', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  folder.write({ plain: 'no program' });
  const missing = await folder.duly('exec', '--name', 'a', '--', 'no-such-program');
  assert.equal(missing.code, 127);
  assert.match(
    missing.err,
    /error\[command_failed\]: The program "no-such-program" could not be started: there is none of this name\./,
  );
  assert.equal((await folder.duly('exec', '--name', 'b', '--', './plain')).code, 126);
  const shellLine = await folder.duly('exec', '--name', 'c', '--', 'echo hi');
  assert.match(shellLine.err, /hint: Its name has a blank in it/);
  assert.equal((await folder.json('dead', 'ls')).data.length, 3);
});

test('it is refused without a name, a program or a sensible time to live', async (t) => {
  const folder = folderOn(t, 'sqlite:./duly.db');
  for (const [args, message] of [
    [['--', 'true'], /required option "--name <name>" not specified/i],
    [['--name', 'a'], /missing required argument/i],
    [['--name', 'a', '--ttl', '10ms', '--', 'true'], /--ttl/],
    [['--name', 'a', '--lost-exit', '300', '--', 'true'], /--lost-exit to be 0 to 255/],
    [['--name', 'a', '--timezone', 'UTC', '--', 'true'], /--timezone needs a --slot that is a cron/],
  ] as const) {
    const { code, err } = await folder.duly('exec', ...args);
    assert.equal(code, 2, err);
    assert.match(err, message);
  }
});
