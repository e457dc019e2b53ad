import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFolder } from './command.ts';

test('top off a terminal prints one frame: queues, workers, and what runs with its progress', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/held.mjs': `
      import { existsSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      export default { name: 'held', concurrency: 1, async run({ progress }) {
        await progress(40, 'Half way', { step: 1, of: 2 });
        while (!existsSync('go')) await setTimeout(10);
      } };
    `,
  });
  const worker = folder.start('worker');
  await worker.line(/tasks {2}held/);
  const { id } = await folder.json('run', 'held');
  await worker.line(/Half way/);
  await folder.duly('run', 'held');
  await folder.duly('run', 'held');
  await folder.duly('pause', 'queue', 'default');
  const { out, code } = await folder.duly('top');
  assert.equal(code, 0);
  assert.match(out, /^2 PENDING, 1 RUNNING$/m);
  assert.match(out, /^default +2 .*paused$/m);
  assert.match(out, /^node_\w+ +1\/20 +\S+:\d+$/m);
  assert.match(out, new RegExp(`40% +held +Half way \\(1 of 2\\) +${id}$`, 'm'));
  assert.ok(!out.includes('\u001b'));
  const seen = await folder.json('top');
  assert.equal(seen.running[0].id, id);
  assert.equal(seen.queues[0].ready, 2);
  folder.write({ go: '' });
  worker.signal('SIGTERM');
  await worker.ended;
  assert.match((await folder.duly('top', '--every', 'soon')).err, /error\[invalid_duration\]/);
});
