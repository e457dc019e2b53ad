import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Duly } from '@duly/core';
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { createFolder, type Folder } from './command.ts';

// Each run leaves a line. A held one goes on until it is told to end, or until it may be killed for it.
const tasks = {
  // Short, so that what ran at the moment of the move need not be waited for long.
  'duly.config.mjs': `export default { lease: '3s', heartbeat: '1s' };`,
  'tasks/all.mjs': `
    import { appendFileSync, existsSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    const note = (text) => appendFileSync('runs.txt', text + '\\n');
    export const mark = { name: 'mark', run: ({ job, input }) => { note('mark ' + job.id); return input; } };
    export const held = { name: 'held', async run({ job, signal }) {
      note('held-start ' + job.id + ' ' + process.env.SIDE);
      while (!signal.aborted && !existsSync('go')) await setTimeout(10);
      note((signal.aborted ? 'held-aborted ' : 'held-end ') + job.id + ' ' + process.env.SIDE);
      signal.throwIfAborted();
    } };
    export const broken = { name: 'broken', retry: 1, run() { throw new Error('It cannot work.'); } };
  `,
};

async function dieAfter(from: string, to: string, pages: number, cwd: string): Promise<void> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./move-child.ts', import.meta.url)), from, to, String(pages)],
    { cwd, stdio: 'inherit', env: { ...process.env, NODE_NO_WARNINGS: '1' } },
  );
  const [, signal] = await once(child, 'exit');
  assert.equal(signal, 'SIGKILL');
}

async function moveBetween(folder: Folder, from: string, to: string): Promise<void> {
  folder.write(tasks);
  folder.env.SIDE = 'source';
  const duly = new Duly({ store: from, app: 'test' });
  const mark = duly.task({ name: 'mark', run: () => {} });
  const worker = folder.start('worker', '--store', from);
  await worker.line(/is up|^Duly/);
  await duly
    .job((await folder.json('run', 'broken', '--store', from)).id)
    .result()
    .catch(() => {});
  await folder.duly('run', 'held', '--store', from);
  await worker.line(/held started/);
  await mark.nowMany(Array.from({ length: 50 }, (_, i) => i));
  await mark.inMany(
    '1h',
    Array.from({ length: 2_500 }, (_, i) => i),
  );
  await mark.every({ rate: '1h' }, 'tick', { name: 'hourly' });
  await duly.pause({ queue: 'later' }, { note: 'kept' });
  const values = duly.expiring<string>('values');
  await values.put('one', 'kept', { for: '1h' });
  await folder.duly('schedules', 'trigger', 'hourly', '--store', from);
  await duly.stop();
  const before = await folder.json('schedules', 'show', 'hourly', '--store', from);

  const dry = await folder.json('move', '--from', from, '--to', to, '--dry-run');
  assert.equal(dry.result, 'dry');
  assert.equal(dry.nodes, 1);
  for (const pages of [1, 8]) await dieAfter(from, to, pages, folder.path);
  const { code, err } = await worker.ended;
  assert.equal(code, 5);
  assert.match(err, /error\[store_moved\]: The store at ".*" was moved to "/);
  const refused = await folder.duly('jobs', 'ls', '--store', to);
  assert.match(refused.err, /error\[store_arriving\]/);
  const moved = await folder.json('move', '--from', from, '--to', to, '--yes');
  assert.equal(moved.result, 'moved');
  assert.ok(moved.counts.jobs >= 2_501);
  assert.equal((await folder.json('move', '--from', from, '--to', to, '--yes')).result, 'already');
  assert.match((await folder.duly('jobs', 'ls', '--store', from)).err, /error\[store_moved\]/);

  folder.env.SIDE = 'target';
  const after = await folder.json('schedules', 'show', 'hourly', '--store', to);
  for (const field of ['id', 'next_slot', 'next_run_at', 'rate', 'slots'])
    assert.deepEqual(after[field], before[field], field);
  assert.equal((await folder.json('pause', 'ls', '--store', to)).data[0].note, 'kept');
  assert.equal((await folder.json('dead', 'ls', '--store', to)).data.length, 1);
  const again = folder.start('worker', '--store', to);
  await again.line(/held started/);
  folder.write({ go: '' });
  await again.line(/held completed/);
  const there = new Duly({ store: to, app: 'test' });
  assert.equal(await there.expiring<string>('values').get('one'), 'kept');
  for (const { id } of (
    await folder.json('jobs', 'ls', '--type', 'mark', '--status', 'pending,running', '--store', to)
  ).data)
    await there.job(id).result();
  const finished = await there.jobs({ type: 'mark', status: 'COMPLETED' }).count();
  assert.equal(finished.count, 51);
  await there.stop();
  again.signal('SIGTERM');
  await again.ended;

  const lines = readFileSync(join(folder.path, 'runs.txt'), 'utf8').trim().split('\n');
  const marks = lines.filter((line) => line.startsWith('mark '));
  assert.equal(new Set(marks).size, 51);
  assert.equal(marks.length, 51, 'no job ran on both sides');
  // The one that ran at the moment of the move: it was told, and only then it ran there.
  assert.deepEqual(
    lines.filter((line) => line.startsWith('held')).map((line) => line.replace(/job_\S+/, 'id')),
    ['held-start id source', 'held-aborted id source', 'held-start id target', 'held-end id target'],
  );
}

const url = await testPostgresUrl();

test('a move from SQLite to PostgreSQL that was killed twice is repeated, and nothing is lost or doubled', async (t) => {
  const folder = createFolder(t);
  await moveBetween(folder, `sqlite:${folder.path}/duly.db`, inSchema(url, freshSchema()));
});

test('and from PostgreSQL to SQLite', async (t) => {
  const folder = createFolder(t);
  await moveBetween(folder, inSchema(url, freshSchema()), `sqlite:${folder.path}/duly.db`);
});

test('a move that has not ended is given up', async (t) => {
  const folder = createFolder(t);
  const [from, to] = ['sqlite:./one.db', 'sqlite:./other.db'];
  await folder.duly('migrate', '--store', from);
  await folder.duly('run', 'hello', '--store', from);
  await dieAfter(from, to, 3, folder.path);
  assert.equal((await folder.duly('jobs', 'ls', '--store', from)).code, 5);
  assert.equal((await folder.duly('move', '--from', from, '--to', to, '--abandon')).code, 0);
  assert.equal((await folder.json('jobs', 'ls', '--store', from)).data.length, 1);
  const nothing = await folder.duly('move', '--from', from, '--to', to, '--abandon');
  assert.equal(nothing.code, 2);
  const same = await folder.duly('move', '--from', from, '--to', from, '--yes');
  assert.match(same.err, /error\[invalid_option\]: Expected "to" to be another store/);
  assert.equal((await folder.duly('move', '--from', from, '--to', to)).code, 2, 'nobody can be asked');
});
