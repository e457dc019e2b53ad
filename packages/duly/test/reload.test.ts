import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFolder } from './command.ts';

const greeting = (word: string): string => `export const word: string = '${word}';`;
const hello = `
  import { existsSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { word } from './_words.ts';
  export default { name: 'hello', async run({ input }: { input: unknown }) {
    if (input === 'slow') while (!existsSync('go')) await setTimeout(10);
    return word;
  } };
`;

test('up loads tasks anew when a module of theirs changes, and lets what runs finish as it was', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'tasks/hello.ts': hello, 'tasks/_words.ts': greeting('before') });
  const up = folder.start('up', '--port', '0');
  await up.line(/tasks {2}hello/);
  const address = await up.line(/^Dashboard: /);
  await up.line(/schedules ls/);
  const slow = await folder.json('run', 'hello', 'slow');
  await up.line(/hello started/);

  folder.write({ 'tasks/_words.ts': greeting('after, and longer') });
  await up.line(/^Reloaded: hello \(tasks\/\)/);
  assert.match((await folder.duly('run', 'hello', '--watch')).out, /result: "after, and longer"/);
  folder.write({ go: '' });
  assert.match((await folder.duly('watch', slow.id)).out, /result: "before"/);

  // A second task with a schedule of its own: it fires.
  folder.write({
    'tasks/tick.ts': `export default { name: 'tick', every: { rate: '1s' }, run: () => 'tock' };`,
  });
  await up.line(/^Reloaded: hello, tick \(tasks\/\)/);
  await up.line(/tick completed/);
  const url = new URL(address.replace('Dashboard: ', ''));
  assert.equal((await fetch(new URL('/livez', url))).status, 200, 'the server is where it was');

  folder.write({ 'tasks/tick.ts': `export default { name: 'tick', every: { rate: '1s' }, run( ` });
  await up.line(/^Not reloaded/);
  assert.match((await folder.duly('run', 'hello', '--watch')).out, /after, and longer/);
  up.signal('SIGTERM');
  const { code, out, err } = await up.ended;
  assert.equal(code, 0);
  assert.match(
    err,
    /^error\[config_invalid\]: "tasks\/tick\.ts" could not be loaded.*\nhint: Look at \S*\/tasks\/tick\.ts:1\.\n$/,
    'told once, with the place as people know it',
  );
  assert.equal(out.match(/^Reloaded: hello, tick/gm)?.length, 1, 'a new file is one change');
});

test('up in an empty folder goes from the demo to what is written there', async (t) => {
  const folder = createFolder(t);
  const up = folder.start('up', '--no-server');
  await up.line(/the demo set/);
  await up.line(/schedules ls/);
  await folder.duly('init');
  await up.line(/^Reloaded: hello \(duly\.config\.ts and tasks\/\)/);
  assert.match((await folder.duly('run', 'hello', 'Ada', '--watch')).out, /result: "Hello Ada!"/);
  up.signal('SIGTERM');
  assert.equal((await up.ended).code, 0);
});
