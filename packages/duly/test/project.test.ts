import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createFolder, quickTasks } from './command.ts';

test('up runs the tasks of a config that holds options and definitions', async (t) => {
  const folder = createFolder(t);
  folder.linkPackage();
  folder.write({
    'duly.config.ts': `
      import { defineConfig, defineTask } from 'duly';
      const twice = defineTask({ name: 'twice', run: async ({ input }) => Number(input) * 2 });
      export default defineConfig({ store: 'sqlite:./data/own.db', app: 'studio', tasks: [twice] });
    `,
    'data/.keep': '',
    'tasks/deep/more.ts': `export default { name: 'more', run: (): string => 'more' };`,
    'tasks/_shared.ts': `throw new Error('Files that begin with _ are not loaded.');`,
    'tasks/more.test.ts': `throw new Error('Tests are not loaded.');`,
  });
  const up = folder.start('up');
  await up.line(/store {2}sqlite:\.\/data\/own\.db/);
  await up.line(/tasks {2}twice, more \(duly\.config\.ts and tasks\/\)/);
  const job = await folder.duly('run', 'twice', '21', '--watch');
  assert.equal(job.code, 0, job.err);
  assert.match(job.out, /result: 42\n$/);
  assert.equal((await folder.duly('run', 'more', '--watch')).code, 0);
  assert.equal((await folder.json('nodes')).data[0].app, 'studio');
  assert.ok(!existsSync(join(folder.path, 'duly.db')), 'commands find the store through the config too');
});

test('up runs the Duly that a config exports, with the tasks defined on it elsewhere', async (t) => {
  const folder = createFolder(t);
  folder.linkPackage();
  folder.write({
    'duly.config.ts': `
      import { Duly } from 'duly';
      export const duly = new Duly({ store: 'sqlite:./own.db', app: 'studio' });
      export default duly;
    `,
    'tasks/twice.ts': `
      import duly from '../duly.config.ts';
      export const twice = duly.task({ name: 'twice', retry: 1, run: async ({ input }) => {
        if (typeof input !== 'number') throw new TypeError('A number, please.');
        return input * 2;
      } });
    `,
  });
  const up = folder.start('up');
  await up.line(/tasks {2}twice \(duly\.config\.ts and tasks\/\)/);
  assert.match((await folder.duly('run', 'twice', '4', '--watch')).out, /result: 8\n$/);
  const failed = await folder.json('run', 'twice', 'text');
  assert.equal(failed.max_attempts, 1, "the task's own defaults are used, because its code is here");
  assert.equal((await folder.duly('watch', failed.id)).code, 10);
  const elsewhere = await folder.duly('worker', '--store', 'sqlite:./other.db');
  assert.equal(elsewhere.code, 2);
  assert.match(elsewhere.err, /^error\[config_invalid\]: The config exports a Duly with a store of its own/);
});

test('an isolated task of the tasks folder runs in a thread of its own', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/apart.mjs': `
      import { isMainThread } from 'node:worker_threads';
      export const apart = { name: 'apart', isolate: true, run: () => ({ isMainThread }) };
    `,
  });
  const up = folder.start('up');
  await up.line(/is up/);
  assert.match((await folder.duly('run', 'apart', '--watch')).out, /result: \{"isMainThread":false\}\n$/);
});

test('DULY_STORE names the store, and --store goes before it', async (t) => {
  const folder = createFolder(t);
  folder.env = { DULY_STORE: 'sqlite:./env.db' };
  await folder.duly('run', 'a');
  assert.ok(existsSync(join(folder.path, 'env.db')));
  await folder.duly('run', 'b', '--store', 'sqlite:./option.db');
  const types = async (...args: string[]): Promise<string[]> =>
    (await folder.json('jobs', 'ls', ...args)).data.map((job: { type: string }) => job.type);
  assert.deepEqual(await types(), ['a']);
  assert.deepEqual(await types('--store', 'sqlite:./option.db'), ['b']);
});

test('a config or a task that cannot be used is named with the reason', async (t) => {
  const cases: [Record<string, string>, string[], RegExp][] = [
    [{}, ['up', '--config', 'none.ts'], /^error\[config_not_found\]: There is no config at "none\.ts"\./],
    [
      { 'duly.config.js': 'export default 1;' },
      ['up'],
      /^error\[config_invalid\]: Expected "duly\.config\.js" to export by default a config or a Duly, got a value of type number\./,
    ],
    [
      { 'duly.config.js': 'export default { concurency: 1, tasks: [{ name: "a", run() {} }] };' },
      ['up'],
      /^error\[invalid_option\]: In "duly\.config\.js": Unknown option "concurency".*\nhint: Did you mean "concurrency"\?/,
    ],
    [
      { 'duly.config.js': 'export default { tasks: [{ name: "a" }] };' },
      ['up'],
      /^error\[invalid_task\]: In "duly\.config\.js": Expected "run" of task "a" to be a function/,
    ],
    [
      { 'duly.config.js': 'export default {};' },
      ['up'],
      /^error\[config_invalid\]: No task is defined in .*\nhint: .*up --demo/,
    ],
    [
      { 'tasks/a.mjs': 'export default { name: "a", run() {} ' },
      ['up'],
      /^error\[config_invalid\]: "tasks\/a\.mjs" could not be loaded: SyntaxError/,
    ],
    [
      { 'tasks/a.mjs': 'null.field;' },
      ['worker'],
      /^error\[config_invalid\]: "tasks\/a\.mjs" could not be loaded: TypeError.*\nhint: Look at .*a\.mjs:1/,
    ],
    [
      {
        'tasks/a.mjs': 'export default { name: "a", run() {} };',
        'tasks/b.mjs': 'export default { name: "a", run() {} };',
      },
      ['up'],
      /^error\[duplicate_task\]: Two tasks are named "a": one in "tasks\/a\.mjs", one in "tasks\/b\.mjs"\./,
    ],
    [{}, ['worker'], /^error\[config_invalid\]: There are no tasks here/],
    [
      { 'tasks/b.mjs': "export default { name: 'b' };" },
      ['up'],
      /^error\[invalid_task\]: In "tasks\/b\.mjs": Expected "run" of task "b" to be a function/,
    ],
    [
      { 'tasks/b.mjs': 'export const b = { run() {} };' },
      ['up'],
      /^error\[invalid_task\]: In "tasks\/b\.mjs": Expected "name"/,
    ],
    [
      { 'tasks/b.mjs': "export default { name: 'b', retry: -1, run() {} };" },
      ['up'],
      /^error\[\w+\]: In "tasks\/b\.mjs": /,
    ],
    [
      { 'tasks/notes.txt': 'Nothing to load.' },
      ['up'],
      /^error\[config_invalid\]: No task is defined in the folder tasks\/, which holds no module\./,
    ],
    [
      { 'duly.config.mjs': 'throw undefined;' },
      ['up'],
      /^error\[config_invalid\]: "duly\.config\.mjs" could not be loaded: undefined was thrown\.\n/,
    ],
    [
      {
        'duly.config.mjs':
          "throw new Error('No settings.', { cause: new TypeError('settings.json is missing') });",
      },
      ['up'],
      /could not be loaded: Error: No settings\.\ncause: TypeError: settings\.json is missing\nhint: Look at /,
    ],
  ];
  await Promise.all(
    cases.map(async ([files, args, pattern]) => {
      const folder = createFolder(t);
      folder.write(files);
      const { code, err } = await folder.duly(...args);
      assert.match(err, pattern);
      assert.equal(code, 2, err);
    }),
  );
});

test('a job can be created while the code of a task does not load', async (t) => {
  const folder = createFolder(t);
  folder.write({ ...quickTasks, 'tasks/broken.mjs': 'null.field;' });
  const { code, out, err } = await folder.duly('run', 'hello', 'Ada');
  assert.equal(code, 0, err);
  assert.match(out, /^job_\w+\n$/);
  assert.match(err, /warning: "tasks\/broken\.mjs" could not be loaded: .* The input is not checked here\./);
});

test("a module of tasks without a task is told of; one that defines it on the config's Duly is not", async (t) => {
  const folder = createFolder(t);
  folder.linkPackage();
  folder.write({
    'duly.config.ts': `
      import { Duly } from 'duly';
      export default new Duly({ store: 'sqlite:./own.db' });
    `,
    'tasks/plain.ts': `
      import duly from '../duly.config.ts';
      duly.task({ name: 'plain', run: () => 1 });
      console.log('loaded');
    `,
    'tasks/words.ts': 'export const words = [1, 2];',
  });
  const worker = folder.start('worker');
  await worker.line(/tasks {2}plain/);
  worker.signal('SIGTERM');
  const { code, err } = await worker.ended;
  assert.equal(code, 0);
  assert.match(err, /^loaded\nwarning: "tasks\/words\.ts" exports no task: .*\n$/);
});

test('what a task module prints is not a part of the answer', async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/loud.mjs': `
      console.log('loading');
      export default { name: 'loud', run: () => console.log('running') };
    `,
  });
  const { out, err } = await folder.duly('run', 'loud');
  assert.match(out, /^job_\w+\n$/);
  assert.match(err, /^loading\n/);
  const worker = folder.start('worker', '-o', 'json');
  await worker.line(/"event":"job\.settled"/);
  worker.signal('SIGTERM');
  const node = await worker.ended;
  for (const line of node.out.trimEnd().split('\n')) JSON.parse(line);
  assert.match(node.err, /^loading\nrunning\n/);
});
