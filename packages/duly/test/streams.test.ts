/** Readers that go away, and disks that are full. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { createFolder } from './command.ts';

const full = '/dev/full';
const noFull = existsSync(full) ? false : 'there is no /dev/full here';

test('a program whose output nobody reads any more is told so, and its run ends', async (t) => {
  const folder = createFolder(t);
  const line = 'echo begun; until ! echo more; do :; done 2>/dev/null; exit 3';
  const running = folder.start('exec', '--name', 'talkative', '--', 'sh', '-c', `trap '' PIPE; ${line}`);
  await running.line(/^begun$/);
  running.leave('stdout');
  assert.equal((await running.ended).code, 3);
  const [job] = (await folder.json('jobs', 'ls')).data;
  assert.deepEqual([job.status, job.error.code], ['FAILED', 'command_failed']);
  const again = await folder.duly('exec', '--name', 'talkative', '--', 'echo', 'again');
  assert.equal(again.out, 'again\n', 'the name is free');
});

test('a program that is asked nothing about its errors goes on without their reader', async (t) => {
  const folder = createFolder(t);
  const line = 'echo begun; read go; echo lost >&2; echo lost >&2; echo ended';
  const running = folder.start('exec', '--name', 'talkative', '--', 'sh', '-c', `trap '' PIPE; ${line}`);
  await running.line(/^begun$/);
  running.leave('stderr');
  running.answer('go\n');
  await running.line(/^ended$/);
  assert.equal((await running.ended).code, 0);
});

test('a list whose reader goes away ends well; a watch does not say that the job is done', async (t) => {
  const folder = createFolder(t);
  const { out } = await folder.duly('run', 'nobody');
  const list = folder.start('jobs', 'ls', '-o', 'jsonl');
  list.leave('stdout');
  assert.deepEqual([(await list.ended).code, (await list.ended).err], [0, '']);
  const watch = folder.start('watch', out.trim(), '-o', 'json');
  await watch.line(/"status":"PENDING"/);
  watch.leave('stdout');
  await folder.duly('jobs', 'reschedule', out.trim(), '--in', '1h');
  assert.equal((await watch.ended).code, 141);
});

test('the exit code tells of an error that nobody reads', async (t) => {
  const folder = createFolder(t);
  for (const [code, ...args] of [
    [2, 'jobs', 'lss'],
    [5, 'jobs', 'ls'],
    [5, 'jobs', 'ls', '-o', 'json'],
  ] as const) {
    const running = folder.start(...args);
    running.leave('stderr');
    assert.equal((await running.ended).code, code, args.join(' '));
  }
});

test('a full disk is said in a sentence', { skip: noFull }, async (t) => {
  const folder = createFolder(t);
  await folder.duly('run', 'nobody');
  for (const args of [
    ['jobs', 'ls'],
    ['queues', '-o', 'json'],
  ]) {
    const { code, err } = await folder.dulyInto(full, ...args);
    assert.equal(code, 1, args.join(' '));
    assert.match(
      err,
      /^(error\[output_failed\]: |\{"error":\{"code":"output_failed",).*no space left on device/,
    );
    assert.doesNotMatch(err, /\bat /);
  }
});
