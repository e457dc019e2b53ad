import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshSchema, inSchema, testPostgresUrl } from '../../../test/servers/postgres.ts';
import { createFolder } from './command.ts';

const tasks = {
  'tasks/mark.mjs': `
    import { appendFileSync } from 'node:fs';
    export const mark = { name: 'mark', run: ({ input }) => appendFileSync('marks', input + '\\n') };
    export const hourly = { name: 'hourly', every: { rate: '1h', startAt: '2027-01-01T00:00:00Z' }, run: () => 'done' };
    export const slow = { name: 'slow', run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))) };
  `,
};

test('a tick does what is due and what falls due in its time, and then ends', async (t) => {
  const folder = createFolder(t);
  folder.write(tasks);
  await folder.duly('run', 'mark', 'now');
  await folder.duly('run', 'mark', 'soon', '--in', '4s');
  await folder.duly('run', 'mark', 'later', '--in', '1h');
  const { started, completed, failed, next_due_at } = await folder.json('tick', '--for', '30s');
  assert.deepEqual([started, completed, failed], [2, 2, 0]);
  assert.equal(readFileSync(join(folder.path, 'marks'), 'utf8'), 'now\nsoon\n');
  // Sooner than the schedule, which begins next year.
  assert.ok(Date.parse(next_due_at) < Date.parse('2027-01-01T00:00:00Z'));
  const idle = await folder.duly('tick', '--for', '1s');
  assert.match(idle.out, /^Nothing was due\. Next due in (1 h|60 min|59 min)\.\n$/);
  assert.deepEqual([(await folder.duly('tick', '--for', '1s', '--quiet')).out, idle.code], ['', 0]);
  assert.deepEqual((await folder.json('nodes')).data, [], 'it left');
});

test('ticks beside each other run every job once', async (t) => {
  const folder = createFolder(t);
  folder.write(tasks);
  for (let i = 0; i < 6; i++) await folder.duly('run', 'mark', `${i}`);
  const all = await Promise.all(Array.from({ length: 3 }, () => folder.json('tick', '--for', '5s')));
  assert.equal(
    all.reduce((sum, { completed }) => sum + completed, 0),
    6,
  );
  const marks = readFileSync(join(folder.path, 'marks'), 'utf8').trim().split('\n');
  assert.deepEqual(marks.sort(), ['0', '1', '2', '3', '4', '5']);
});

test('what still runs at its end is given back unspent', async (t) => {
  const folder = createFolder(t);
  folder.write(tasks);
  const { out: id } = await folder.duly('run', 'slow');
  const tick = folder.start('tick', '--for', '1s', '--drain', '1s', '-o', 'json');
  const { out } = await tick.ended;
  assert.equal(JSON.parse(out).other, 1);
  const job = await folder.json('jobs', 'show', id.trim());
  assert.deepEqual([job.status, job.attempts], ['PENDING', 0]);
});

test('a tick runs commands only where it may', async (t) => {
  const folder = createFolder(t);
  await folder.duly('migrate');
  const input = {
    command: { argv: ['sh', '-c', 'cat > said; echo {{end}}'], stdin: 'hello', placeholders: false },
  };
  const { out: id } = await folder.duly('run', 'duly:command', JSON.stringify(input));
  // Types and queues of Duly itself are not for callers.
  for (const words of [['duly:webhook'], ['mail', '--queue', 'duly:internal']]) {
    const { code, err } = await folder.duly('run', ...words);
    assert.notEqual(code, 0);
    assert.match(err, /not to begin with "duly:"/);
  }
  assert.equal((await folder.json('tick', '--for', '1s')).started, 0);
  assert.equal((await folder.json('tick', '--for', '10s', '--allow-commands')).completed, 1);
  assert.equal(readFileSync(join(folder.path, 'said'), 'utf8'), 'hello');
  assert.match((await folder.duly('jobs', 'logs', id.trim())).out, /\{\{end\}\}/);
});

test('on PostgreSQL too: an imported line runs in a tick', async (t) => {
  const folder = createFolder(t);
  folder.env.DULY_STORE = inSchema(await testPostgresUrl(), freshSchema());
  folder.write({ tab: '0 2 * * * echo "hi from $DULY_SCHEDULE"\n' });
  await folder.duly('import', 'crontab', 'tab', '--live');
  const { job } = await folder.json('schedules', 'trigger', 'echo');
  const { completed, next_due_at } = await folder.json('tick', '--for', '5s', '--allow-commands');
  assert.equal(completed, 1);
  assert.match(next_due_at, /T\d\d:00:00\.000Z$/);
  assert.equal((await folder.json('jobs', 'show', job.id)).result.exit_code, 0);
});
