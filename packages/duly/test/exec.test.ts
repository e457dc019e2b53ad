import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { type Folder, makeFolder, type Outcome } from './command.ts';

const url = await testPostgresUrl();

for (const [engine, storeOf] of [
  ['sqlite', () => 'sqlite:./duly.db'],
  ['postgres', () => inSchema(url, freshSchema())],
] as const) {
  describe(`exec on ${engine}`, () => {
    test('of five processes one runs it; the others say so in a line and end well', async (t) => {
      const folder = folderOn(t, storeOf());
      await folder.duly('migrate');
      const all = await Promise.all(
        Array.from({ length: 5 }, () =>
          exec(folder, '1d', 'sh', '-c', 'echo "$DULY_FENCE $DULY_JOB_ID" >> ran; echo done'),
        ),
      );
      for (const { code, err } of all) assert.equal(code, 0, err);
      const [ran, ...more] = readFileSync(join(folder.path, 'ran'), 'utf8').trim().split('\n');
      assert.deepEqual(more, []);
      assert.deepEqual(all.map(({ out }) => out).sort(), ['', '', '', '', 'done\n']);
      const losers = all.filter(({ out }) => out === '');
      for (const { err } of losers) assert.match(err, /^duly exec: digest is not run here: .*\.\n$/);

      const [job, ...others] = (await folder.json('jobs', 'ls')).data;
      assert.deepEqual(others, []);
      assert.equal(job.id, ran?.split(' ')[1]);
      const shown = await folder.json('jobs', 'show', job.id);
      assert.deepEqual([shown.type, shown.status, shown.result.exit_code], ['exec:digest', 'COMPLETED', 0]);
      assert.ok(shown.result.host && shown.result.pid && shown.result.duration_ms >= 0);
      assert.deepEqual(shown.input.command.slice(0, 2), ['sh', '-c']);
      assert.equal((await folder.duly('jobs', 'logs', job.id)).out.includes('done'), true);
    });

    test('a host that is killed in the middle: its slot stays taken until the lease ends, then a later arrival takes it over', async (t) => {
      const folder = folderOn(t, storeOf());
      const first = folder.start(
        'exec',
        '--name',
        'digest',
        '--slot',
        '1d',
        '--ttl',
        '4s',
        '--',
        'sh',
        '-c',
        'echo "up $$ $DULY_FENCE"; exec sleep 100',
      );
      const [, pid, fence] = (await first.line(/^up/)).split(' ');
      after(() => endProcess(Number(pid)));
      const lost = await Promise.all(Array.from({ length: 4 }, () => exec(folder, '1d', 'touch', 'doubled')));
      for (const { code, err } of lost) {
        assert.equal(code, 0);
        assert.match(err, /^duly exec: digest is not run here: process \d+ on .* has it/);
      }
      first.signal('SIGKILL');
      await first.ended;
      // What it ran goes on without it: nobody can hold a process that is gone to its end. The fence tells the two apart.
      endProcess(Number(pid));

      const ran = await arriveUntil(folder, 'sh', '-c', 'echo "$DULY_FENCE $DULY_ATTEMPT"');
      const [newFence, attempt] = ran.out.trim().split(' ');
      assert.ok(Number(newFence) > Number(fence), `${newFence} after ${fence}`);
      assert.equal(attempt, '2');
      assert.equal(existsSync(join(folder.path, 'doubled')), false);
      const { data } = await folder.json('jobs', 'ls');
      assert.equal(data.length, 1);
      const shown = await folder.json('jobs', 'show', data[0].id);
      assert.equal(shown.status, 'COMPLETED');
      assert.deepEqual(
        shown.attempt_list.map(({ reason }: { reason: string }) => reason),
        ['lost', 'returned'],
      );
      const again = await exec(folder, '1d', 'touch', 'doubled');
      assert.match(again.err, /this slot was taken by .* and is COMPLETED/);
    });
  });
}

describe('exec', () => {
  test('a lost run is not taken over with --at-most-once, nor by the next slot, which begins anew', async (t) => {
    const folder = folderOn(t, 'sqlite:./duly.db');
    const first = folder.start(
      'exec',
      '--name',
      'digest',
      '--slot',
      '2s',
      '--ttl',
      '2s',
      '--at-most-once',
      '--',
      'sh',
      '-c',
      'echo "up $$"; exec sleep 100',
    );
    const pid = Number((await first.line(/^up/)).split(' ')[1]);
    first.signal('SIGKILL');
    await first.ended;
    endProcess(pid);
    const ran = await arriveUntil(folder, 'echo', 'next');
    assert.equal(ran.out, 'next\n');
    const statuses = async (): Promise<string[]> =>
      (await folder.json('jobs', 'ls')).data.map(({ status }: { status: string }) => status);
    // The first run that comes after the lease has ended gives it up; this one may have come before.
    while ((await statuses()).at(-1) === 'RUNNING') await arriveUntil(folder, 'echo', 'next');
    const all = await statuses();
    assert.equal(all.pop(), 'FAILED');
    assert.deepEqual(new Set(all), new Set(['COMPLETED']));
  });

  test('a run that was lost and of which nobody of its slot is left is given up by the next slot', async (t) => {
    const folder = folderOn(t, 'sqlite:./duly.db');
    const first = folder.start(
      'exec',
      '--name',
      'digest',
      '--slot',
      '2s',
      '--ttl',
      '2s',
      '--',
      'sh',
      '-c',
      'echo "up $$"; exec sleep 100',
    );
    const pid = Number((await first.line(/^up/)).split(' ')[1]);
    first.signal('SIGKILL');
    await first.ended;
    endProcess(pid);
    await arriveUntil(folder, 'echo', 'next');
    const { data } = await folder.json('jobs', 'ls', '--status', 'failed');
    assert.equal(data.length, 1);
    assert.match(data[0].error.message, /was lost with its host/);
  });

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
    const running = folder.start(
      'exec',
      '--name',
      'digest',
      '--',
      'sh',
      '-c',
      'echo $DULY_JOB_ID; sleep 100',
    );
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

  test('it is not run while the task or everything is paused', async (t) => {
    const folder = folderOn(t, 'sqlite:./duly.db');
    await folder.duly('migrate');
    await folder.duly('pause', 'task', 'exec:digest', '--note', 'the mail server moves');
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
    assert.match(err, /is not run here: task "exec:digest" was paused by .* \(the mail server moves\)\./);
    await folder.duly('resume', 'task', 'exec:digest');
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
    const lost = await folder.json(
      'exec',
      '--name',
      'cat',
      '--slot',
      '0 0 * * *',
      '--timezone',
      'UTC',
      'echo',
    );
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
});

function folderOn(t: Parameters<typeof makeFolder>[0], store: string): Folder {
  const folder = makeFolder(t);
  folder.env.DULY_STORE = store;
  return folder;
}

function exec(folder: Folder, slot: string, ...argv: string[]): Promise<Outcome> {
  return folder.duly('exec', '--name', 'digest', '--slot', slot, '--ttl', '4s', '--', ...argv);
}

/** Arrives again and again, as hosts do, until it is run here. */
async function arriveUntil(folder: Folder, ...argv: string[]): Promise<Outcome> {
  for (;;) {
    const outcome = await folder.duly(
      'exec',
      '--name',
      'digest',
      '--slot',
      '1d',
      '--ttl',
      '4s',
      '--',
      ...argv,
    );
    assert.equal(outcome.code, 0, outcome.err);
    if (outcome.out !== '') return outcome;
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}
