import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setInterval } from 'node:timers/promises';
import { createFolder, quickTasks } from './command.ts';

test('up --demo on an empty store makes three jobs and shows how each of them ends', async (t) => {
  const folder = createFolder(t);
  const up = folder.start('up', '--demo');
  await up.line(/^Duly .* is up/);
  await up.line(/store {2}sqlite:\.\/duly\.db$/);
  await up.line(/tasks {2}video_transcode, flaky_email, broken_import, analytics_report/);
  const suggestion = await up.line(/^ {2}\S.* why job_\w+$/);
  const id = suggestion.split(' ').at(-1) as string;
  const watch = folder.start('watch', id);

  await up.line(/flaky_email failed in attempt 1 of 5(, next in .*)?: Error: The mail server/);
  await up.line(/broken_import failed in attempt 1 of 2/);
  await up.line(/broken_import is a dead letter after attempt 2 of 2: TypeError/);
  await up.line(/flaky_email completed/);
  // Which of its steps are seen is the machine's to say: one that is overtaken by the next is not shown.
  await up.line(/video_transcode \d+% .* \(\d of 4\)/);
  await up.line(/video_transcode completed in /);
  const watched = await watch.ended;
  assert.equal(watched.code, 0);
  assert.match(watched.out, /COMPLETED after .*\nresult: \{"source":"uploads\/video_789\.mp4"/);
  const shown = await folder.json('jobs', 'show', id);
  assert.equal(shown.input, 'uploads/video_789.mp4');
  assert.equal(shown.progress, 100);
  assert.equal(shown.metadata.current_step, 'Writing the playlist');
  assert.equal(shown.metadata.steps_completed, 4);
  assert.equal(shown.metadata.steps_total, 4);

  const { data: schedules } = await folder.json('schedules', 'ls');
  assert.equal(schedules.length, 1);
  assert.equal(schedules[0].type, 'analytics_report');
  assert.equal(schedules[0].words, 'Every minute, in UTC.');
  assert.equal(schedules[0].app, 'duly-demo');

  const workers = await folder.json('nodes');
  assert.equal(workers.data.length, 1);
  assert.deepEqual(workers.data[0].roles, ['scheduler', 'worker', 'maintenance']);

  up.signal('SIGTERM');
  const { code, out, err } = await up.ended;
  assert.equal(code, 0);
  assert.match(out, /Draining.*\nStopped\.\n$/s);
  assert.equal(err, '');
  assert.ok(!out.includes('\u001b'), 'no colours and no cursor moves off a terminal');
  assert.deepEqual((await folder.json('nodes')).data, []);

  const again = folder.start('up', '--demo');
  await again.line(/dead retry --all$/);
  again.signal('SIGINT');
  assert.equal((await again.ended).code, 0);
  // A full minute may have come meanwhile, with a job of the schedule.
  const { data } = await folder.json('jobs', 'ls', '--type', 'video_transcode,flaky_email,broken_import');
  assert.equal(data.length, 3, 'a store with jobs is left as it is');
});

test('what up proposes first in an empty folder with commands allowed can be run', async (t) => {
  const folder = createFolder(t);
  const up = folder.start('up', '--port', '0', '--allow-commands');
  const curl = await up.line(/^ {2}curl /);
  const [, url, body] = /curl -s (\S+) .* -d '(.*)'$/.exec(curl) as RegExpExecArray;
  await up.line(/ init$/);
  const created = await fetch(url as string, {
    method: 'POST',
    headers: { authorization: `Bearer ${folder.firstKey()}`, 'content-type': 'application/json' },
    body: body as string,
  });
  assert.equal(created.status, 201);
  const { id } = (await created.json()) as { id: string };
  const { out } = await folder.duly('watch', id);
  assert.match(out, /COMPLETED/);
  assert.match((await folder.duly('jobs', 'logs', id)).out, /hello/);
  up.signal('SIGTERM');
  assert.equal((await up.ended).code, 0);
});

test('watch shows the progress of a job while it runs, and how it ends', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/steps.mjs': `
      import { existsSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      export default { name: 'steps', async run({ progress }) {
        await progress(30, 'Cutting', { step: 1, of: 4 });
        while (!existsSync('go')) await setTimeout(10);
        return 'done';
      } };`,
  });
  const worker = folder.start('worker');
  await worker.line(/is up/);
  const { out: id } = await folder.duly('run', 'steps');
  const watch = folder.start('watch', id.trim());
  await watch.line(/RUNNING 30% Cutting \(1 of 4\)$/);
  folder.write({ go: '' });
  const { code, out } = await watch.ended;
  assert.equal(code, 0);
  assert.match(out, /COMPLETED after .*\nresult: "done"/);
  worker.signal('SIGTERM');
  assert.equal((await worker.ended).code, 0);
});

test('SIGTERM lets what runs finish and starts nothing new', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/slow.mjs': `
      import { existsSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      export default { name: 'slow', concurrency: 1, async run() {
        while (!existsSync('go')) await setTimeout(10);
        return 'done';
      } };
    `,
  });
  const up = folder.start('up');
  await up.line(/tasks {2}slow \(tasks\/\)/);
  await folder.duly('run', 'slow', '1');
  await folder.duly('run', 'slow', '2');
  await up.line(/slow started/);
  up.signal('SIGTERM');
  await up.line(/^Draining/);
  folder.write({ go: '' });
  const { code, out } = await up.ended;
  assert.equal(code, 0);
  assert.match(out, /Draining.*slow completed.*Stopped\.\n$/s);
  const { data } = await folder.json('jobs', 'ls');
  const statuses = Object.fromEntries(
    data.map((job: { input: number; status: string }) => [job.input, job.status]),
  );
  assert.deepEqual(statuses, { 1: 'COMPLETED', 2: 'PENDING' });
});

test('a second signal stops at once', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/endless.mjs': `export default { name: 'endless', run: () => new Promise(() => {}) };`,
  });
  const up = folder.start('up');
  await up.line(/is up/);
  await folder.duly('run', 'endless');
  await up.line(/endless started/);
  let isReached = false;
  const received = up.line(/^Giving back what runs/).then(() => {
    isReached = true;
  });
  // Signals close together are one, so it takes some.
  for await (const _ of setInterval(100)) {
    if (isReached) break;
    up.signal('SIGTERM');
  }
  await received;
  const { code, out } = await up.ended;
  assert.equal(code, 143);
  assert.match(
    out,
    /Draining.*\nGiving back.*\n.*endless is PENDING again.*\nStopped at once\. 1 job was given back unspent\.\n$/,
  );
  const [job] = (await folder.json('jobs', 'ls')).data;
  assert.equal(job.status, 'PENDING');
  assert.equal(job.attempts, 0);
});

test('a job that was cut off shows what was started and what was spent', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/endless.mjs': `export default { name: 'endless', run: () => new Promise(() => {}) };`,
  });
  const up = folder.start('up');
  await up.line(/is up/);
  const id = (await folder.duly('run', 'endless')).out.trim();
  await up.line(/endless started/);
  const [node] = (await folder.json('nodes')).data;
  assert.equal(node.running, 1, 'counted by the store: the node has sent no heartbeat since');
  assert.equal(node.silent, false);
  await folder.duly('jobs', 'cancel', id, '--terminate');
  const shown = await folder.duly('jobs', 'show', id);
  assert.match(shown.out, /^attempts +1 started, 0 of 3 spent$/m);
  assert.match(shown.out, /was cancelled at .*, in attempt 1/);
  assert.match(shown.out, /^ATTEMPT +STARTED +TOOK +ENDED/m);
  up.signal('SIGKILL');
  await up.ended;
});

test('a node that cannot share its store says so instead of telling what to type elsewhere', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  for (const [store, pattern] of [
    [
      'sqlite:./alone.db?exclusive=1',
      /^Only this process can use the store while it runs: its address says "exclusive"/,
    ],
    ['sqlite::memory:', /^The store is in memory: only this process sees it/],
  ] as const) {
    const up = folder.start('up', '--store', store);
    await up.line(pattern);
    up.signal('SIGTERM');
    const { code, out } = await up.ended;
    assert.equal(code, 0);
    assert.doesNotMatch(out, /In another terminal|dead ls/);
  }
});

test('a node tells as JSON what it does, one object on each line', async (t) => {
  const folder = createFolder(t);
  folder.write(quickTasks);
  const worker = folder.start('worker', '-o', 'json', '--concurrency', '2', '--queues', 'default,brief');
  const started = JSON.parse(await worker.line(/"event":"started"/));
  assert.deepEqual(started.tasks, ['brief', 'failing', 'hello']);
  const created = await folder.json('run', 'hello', 'Ada');
  const settled = JSON.parse(await worker.line(/"event":"job\.settled"/));
  assert.equal(settled.id, created.id);
  assert.equal(settled.status, 'COMPLETED');
  const [node] = (await folder.json('nodes')).data;
  assert.equal(node.concurrency, 2);
  assert.deepEqual(node.queues, ['default', 'brief']);
  worker.signal('SIGTERM');
  assert.equal((await worker.ended).code, 0);
});
