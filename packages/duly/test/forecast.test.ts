import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFolder } from './command.ts';

test('forecast plays the schedules of a store forward', async (t) => {
  const folder = createFolder(t);
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    await folder.duly(
      'schedules',
      'add',
      name,
      '--type',
      'report',
      '--cron',
      '30 2 * * *',
      '--timezone',
      'Europe/Rome',
    );
  }
  const reported = await folder.json('forecast', '--takes', '2m', '--workers', '2');
  assert.equal(reported.runs, 5);
  assert.equal(reported.load.peak, 5);
  assert.equal(reported.load.workers_needed, 5);
  assert.equal(reported.with_workers.late, 3);
  assert.equal(reported.collisions[0].runs, 5);
  assert.match(reported.collisions[0].at, /:30:00\.000Z$/);
  assert.deepEqual(reported.clock_changes.map(({ kind }: { kind: string }) => kind).sort(), [
    'gap',
    'repeat',
  ]);
  const text = await folder.duly('forecast', '--takes', '2m');
  assert.equal(text.code, 0, text.err);
  assert.match(text.out, /^5 runs of 5 schedules/m);
  assert.match(text.out, /^Peak {6}5 runs at a time/m);
  assert.match(text.out, /02:30 +Europe\/Rome +does not exist +five, four/);
});

test('forecast --jobs answers without a store', async (t) => {
  const folder = createFolder(t);
  const spread = await folder.duly('forecast', '--jobs', '100', '--every', '1h', '--takes', '5m');
  assert.match(spread.out, /^ {2}9 workers when they are spread evenly/m);
  assert.match(spread.out, /^ {2}100 workers to start all of them at once/m);
  const long = await folder.duly('forecast', '--jobs', '10000', '--workers', '20', '--takes', '5m');
  assert.match(long.out, /20 workers take 41\.7 hours/);
  assert.equal(
    (await folder.json('forecast', '--jobs', '100', '--every', '1h', '--takes', '5m')).spread_workers,
    9,
  );
  for (const wrong of [
    ['--jobs', '5'],
    ['--jobs', '5', '--takes', '1m'],
    ['--every', '1h'],
    ['--jobs', 'many', '--takes', '1m', '--workers', '2'],
  ]) {
    const refused = await folder.duly('forecast', ...wrong);
    assert.equal(refused.code, 2, `${wrong.join(' ')}: ${refused.out}`);
  }
  const none = await folder.duly('forecast');
  assert.notEqual(none.code, 0);
  assert.match(none.err, /no store/i);
});
