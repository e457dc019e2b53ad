import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeFolder } from './command.ts';

test('doctor and schedules add warn, with what to do, about what works and should be thought about', async (t) => {
  const folder = makeFolder(t);
  folder.write({ 'tasks/all.mjs': `export default { name: 'poll', timeout: 'none', run: () => 1 };` });
  const often = await folder.duly('schedules', 'add', 'often', '--task', 'poll', '--every', '5s');
  assert.equal(often.code, 0, often.err);
  assert.match(often.err, /warning: "often" runs more often than once a minute\. If it asks whether/);
  assert.match(often.err, /warning: The task "poll" has no timeout: one run that hangs/);
  const gap = await folder.duly(
    'schedules',
    'add',
    'gap',
    '--task',
    'report',
    '--cron',
    '30 2 * * *',
    '--timezone',
    'Europe/Rome',
  );
  assert.match(
    gap.err,
    /warning: "gap": 02:30 does not exist on \d{4}-03-\d\d in Europe\/Rome\. By default it runs once/,
  );
  assert.match(gap.err, /warning: "gap": 02:30 comes twice on \d{4}-10-\d\d/);
  assert.doesNotMatch(gap.err, /timeout|more often/);
  for (let i = 0; i < 10; i++)
    await folder.duly('schedules', 'add', `nightly-${i}`, '--task', 'report', '--cron', '0 4 * * *');
  const last = await folder.duly('schedules', 'add', 'nightly', '--task', 'report', '--cron', '0 4 * * *');
  const { advice } = await folder.json('doctor');
  const names = new Set(advice.map(({ name }: { name: string }) => name));
  for (const name of ['timeout', 'clock_change', 'herd', 'polling', 'handler'])
    assert.ok(names.has(name), `${name} in ${[...names]}`);
  for (const { hint } of advice) assert.ok(hint.length > 10);
  const shown = await folder.duly('doctor');
  assert.match(
    shown.out,
    /^warning +herd +1\d runs of different schedules begin in the same second, at .*T04:00:00/m,
  );
  assert.match(shown.out, /^warning +handler +No live node handles the task of "/m);
  assert.equal(last.code, 0);
});
