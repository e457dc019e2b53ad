import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from '@duly/core/testing';
import { adviceOn } from '../../src/schedules/advice.ts';
import { createFolder } from '../command.ts';

test('doctor and schedules add warn, with what to do, about what works and should be thought about', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'tasks/all.mjs': `export default { name: 'poll', timeout: 'none', run: () => 1 };` });
  const often = await folder.duly('schedules', 'add', 'often', '--type', 'poll', '--every', '5s');
  assert.equal(often.code, 0, often.err);
  assert.match(often.err, /warning: "often" runs more often than once a minute\. If it checks whether/);
  assert.match(often.err, /warning: The task "poll" has no timeout: one run that hangs/);
  assert.doesNotMatch(often.err, /longer than its interval/, 'nobody knows yet how long it takes');
  const gap = await folder.duly(
    'schedules',
    'add',
    'gap',
    '--type',
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
    await folder.duly('schedules', 'add', `nightly-${i}`, '--type', 'report', '--cron', '0 4 * * *');
  const last = await folder.duly('schedules', 'add', 'nightly', '--type', 'report', '--cron', '0 4 * * *');
  const { advice } = await folder.json('doctor');
  const names = new Set(advice.map(({ name }: { name: string }) => name));
  for (const name of ['timeout', 'clock_change', 'herd', 'polling', 'handler'])
    assert.ok(names.has(name), `${name} in ${[...names]}`);
  for (const { hint } of advice) assert.ok(hint.length > 10);
  const herd = advice.find(({ name }: { name: string }) => name === 'herd');
  assert.match(herd.hint, /: --jitter \d+min\. /, 'as one word, to be pasted');
  const shown = await folder.duly('doctor');
  assert.match(
    shown.out,
    /^warning +herd +1\d runs of different schedules begin in the same second, at .*T04:00:00/m,
  );
  assert.match(shown.out, /^warning +handler +No live node handles the task of "/m);
  assert.equal(last.code, 0);
});

test('a schedule whose runs take longer than its interval is told of, with what is lost and what to do', async (t) => {
  const duly = createTestDuly();
  t.after(() => duly.stop());
  const slow = duly.task({
    name: 'slow',
    run: () => duly.clock.sleep(25 * 60_000, new AbortController().signal),
  });
  const quick = duly.task({
    name: 'quick',
    run: () => duly.clock.sleep(1_000, new AbortController().signal),
  });
  const late = await slow.every({ rate: '10m' }, null, { name: 'too-often' });
  const good = await quick.every({ rate: '10m' }, null, { name: 'often-enough' });
  await duly.advance('6h');
  const found = (await adviceOn(duly, { tasks: [] })).filter(({ name }) => name === 'overlap');
  assert.equal(found.length, 1);
  assert.match(
    found[0]?.message ?? '',
    /^"too-often" runs longer than its interval: usually 25 min, so that of \d+ slots of a day \d+ create no run\.$/,
  );
  assert.match(found[0]?.hint ?? '', /longer interval.*--overlap buffer-one/);
  // Whoever adds a schedule is told of this one only.
  const names = async (only: typeof late) =>
    (await adviceOn(duly, { tasks: [], only })).map(({ name }) => name);
  assert.ok((await names(late)).includes('overlap'));
  assert.ok(!(await names(good)).includes('overlap'));
});
