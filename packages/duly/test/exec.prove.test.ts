// Runs of `duly exec` that are lost, and hosts that arrive at the same time. They wait for leases to end.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import type { Folder, Outcome } from './command.ts';
import { exec, folderOn } from './exec-folder.ts';

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

describe('lost runs of exec', () => {
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
    // The first run that comes after the lease has ended gives it up. This one may have come before, and its slot lasts a day.
    while ((await statuses()).at(-1) === 'RUNNING') await exec(folder, '2s', 'echo', 'next');
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
});

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
