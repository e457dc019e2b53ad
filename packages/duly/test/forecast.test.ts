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
  const reported = await folder.json('forecast', '--takes', '2m', '--concurrency', '2');
  assert.equal(reported.runs, 5);
  assert.equal(reported.load.peak, 5);
  assert.equal(reported.load.concurrency_needed, 5);
  assert.equal(reported.with_concurrency.late, 3);
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
  assert.match(spread.out, /^ {2}Concurrency 9 when they are spread evenly/m);
  assert.match(spread.out, /^ {2}Concurrency 100 to start all of them at once/m);
  const long = await folder.duly('forecast', '--jobs', '10000', '--concurrency', '20', '--takes', '5m');
  assert.match(long.out, /With concurrency 20 they take 41\.7 hours/);
  assert.equal(
    (await folder.json('forecast', '--jobs', '100', '--every', '1h', '--takes', '5m')).spread_concurrency,
    9,
  );
  for (const wrong of [
    ['--jobs', '5'],
    ['--jobs', '5', '--takes', '1m'],
    ['--every', '1h'],
    ['--jobs', 'many', '--takes', '1m', '--concurrency', '2'],
  ]) {
    const refused = await folder.duly('forecast', ...wrong);
    assert.equal(refused.code, 2, `${wrong.join(' ')}: ${refused.out}`);
  }
  const none = await folder.duly('forecast');
  assert.notEqual(none.code, 0);
  assert.match(none.err, /no store/i);
});
