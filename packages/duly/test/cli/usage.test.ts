import assert from 'node:assert/strict';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createFolder } from '../command.ts';

test('a typing mistake is answered with what was likely meant', async (t) => {
  const folder = createFolder(t);
  const cases: [string[], RegExp][] = [
    [['jbos', 'ls'], /^error\[usage\]: Unknown command "jbos"\.\nhint: Did you mean "jobs"\?\n$/],
    [['jobs', 'lss'], /^error\[usage\]: Unknown command "lss"\.\nhint: Did you mean "ls"\?\n$/],
    // Where help is asked for too, which the parser would answer with that of the command above.
    [
      ['help', 'schedule'],
      /^error\[usage\]: Unknown command "schedule"\.\nhint: Did you mean "schedules"\?\n$/,
    ],
    [['help', 'jobs', 'lss'], /^error\[usage\]: Unknown command "lss"\.\nhint: Did you mean "ls"\?\n$/],
    [
      ['shedules', '--help'],
      /^error\[usage\]: Unknown command "shedules"\.\nhint: Did you mean "schedules"\?\n$/,
    ],
    [['jobs', 'lss', '--help'], /^error\[usage\]: Unknown command "lss"\.\nhint: Did you mean "ls"\?\n$/],
    [['-o', 'yaml', 'jobs', 'ls'], / Allowed are table, json and jsonl\.\n/],
    [['jobs', 'lis'], /\nhint: Did you mean "(list" or "ls|ls" or "list)"\?\n$/],
    [
      ['dead', 'ls', 'extra'],
      /^error\[usage\]: Too many arguments .*\nhint: Usage: duly dead (ls|ls\|list) \[options\]\. With --help/,
    ],
    [['jobs', 'ls', '--status', ''], /^error\[usage\]: Expected --status to name at least one, got ""\.\n$/],
    [
      ['dead', 'retry', '--all'],
      /^error\[usage\]: To retry dead letters without naming them needs --yes here/,
    ],
    [
      ['run', 'a', '--in', '5'],
      /^error\[invalid_duration\]: Expected --in to have a unit, .*\nhint: Write it like 250ms/,
    ],
    [
      ['run', 'a', '--at', '5'],
      /^error\[invalid_instant\]: Expected --at to be ISO 8601 .*\nhint: Write it like 2027-/,
    ],
    [
      ['run', 'a', '--at', '2027-01-01T00:00:00'],
      /^error\[invalid_instant\]: Expected --at to have an offset.*\nhint: Write "2027-01-01T00:00:00Z" if you mean UTC/,
    ],
    [
      ['run', 'a', '--metadata', '{"a"'],
      /^error\[usage\]: Expected --metadata to be name=value or a JSON object, got "\{"a"", which is no JSON\.\n$/,
    ],
    [
      ['jobs', 'ls', '--statsu', 'x'],
      /^error\[usage\]: Unknown option "--statsu"\.\nhint: Did you mean "--status"\?\n$/,
    ],
    [
      ['schedules', 'add', 'a', '--type', 'a', '--rate', '1h'],
      /^error\[usage\]: Unknown option "--rate"\.\nhint: Did you mean "--every"\?\n$/,
    ],
    // As code calls what has this name.
    [
      ['jobs', 'ls', '--task', 'hello'],
      /^error\[usage\]: Unknown option "--task"\.\nhint: Did you mean "--type"\?\n$/,
    ],
    [
      ['schedules', 'add', 'a', '--task=a', '--rate', '1h'],
      /^error\[usage\]: Unknown option "--task"\.\nhint: Did you mean "--type"\?\n$/,
    ],
    [
      ['run', '--task', 'hello'],
      /^error\[usage\]: Unknown option "--task"\.\nhint: Give the task as the first argument: duly run <task> \[input\]\.\n$/,
    ],
    [
      ['forecast', '--task', 'hello'],
      /^error\[usage\]: Unknown option "--task"\.\nhint: A forecast covers the schedules of every type\. With --tenant <name> it /,
    ],
    [['workers'], /^error\[usage\]: Unknown command "workers"\.\nhint: Did you mean "nodes"\?\n$/],
    [['pause', 'task', 'hello'], /^error\[usage\]: Unknown command "task"\.\nhint: Did you mean "type"\?\n$/],
    // What is not known is told before what is missing.
    [
      ['schedules', 'add', 'a', '--rate', '1h'],
      /^error\[usage\]: Unknown option "--rate"\.\nhint: Did you mean "--every"\?\n$/,
    ],
    [
      ['schedules', 'add', 'a', '--tpye=a', '--every', '1h'],
      /^error\[usage\]: Unknown option "--tpye"\.\nhint: Did you mean "--type"\?\n$/,
    ],
    [
      ['schedules', 'add', 'a', '--every', '1h'],
      /^error\[usage\]: Required option "--type <name>" not specified\.\n/,
    ],
    [['jobs', 'ls', '-o', 'jsn'], /^error\[usage\]: .*"jsn".*\nhint: Did you mean "json"\?\n$/],
    [['worker', '--roles', 'wroker'], /^error\[usage\]: .*"wroker".*\nhint: Did you mean "worker"\?\n$/],
    [
      ['up', '--concurrency', 'many'],
      /^error\[usage\]: Expected --concurrency to be a whole number, got "many"\./,
    ],
    [
      ['up', '--concurrency', '0'],
      /^error\[invalid_option\]: Expected "concurrency" to be a whole number from 1 /,
    ],
    [
      ['run'],
      /^error\[usage\]: Missing required argument "task"\.\nhint: Usage: duly run \[options\] <task> \[input\]\./,
    ],
    [
      ['run', 'a', '--in', '1s', '--at', '2030-01-01T00:00:00Z'],
      /^error\[usage\]: Give --in or --at, not both\.\n$/,
    ],
  ];
  await Promise.all(
    cases.map(async ([args, pattern]) => {
      const { code, out, err } = await folder.duly(...args);
      assert.equal(code, 2, `${args.join(' ')}: ${err}`);
      assert.equal(out, '', args.join(' '));
      assert.match(err, pattern);
    }),
  );
  assert.ok(!existsSync(join(folder.path, 'duly.db')), 'a call that is refused makes no store');
});

test('bad values are refused with a code', async (t) => {
  const folder = createFolder(t);
  await folder.duly('migrate');
  const cases: [string[], string][] = [
    [['run', 'a', '--in', '-5m'], 'invalid_duration'],
    [['run', 'a', '--in', '1e9 days'], 'invalid_duration'],
    [['run', 'a', '--at', '2027-02-30T00:00:00Z'], 'invalid_instant'],
    [['run', 'a', '--at', 'tomorrow'], 'invalid_instant'],
    [['run', 'a', '--priority', '1001'], 'invalid_option'],
    [['run', 'a', '--metadata', '[1]'], 'usage'],
    [['run', ''], 'invalid_task'],
    [['jobs', 'ls', '--status', 'faild'], 'invalid_filter'],
    [['jobs', 'ls', '--limit', '0'], 'invalid_option'],
    [['jobs', 'ls', '--cursor', 'nonsense'], 'invalid_cursor'],
    [['jobs', 'ls', '--since', 'yesterday'], 'invalid_duration'],
    [['jobs', 'ls', '--input', 'user'], 'usage'],
    [['pause', 'queue', 'a', '--until', '1999-01-01T00:00:00Z'], 'invalid_option'],
    [['jobs', 'cancel'], 'usage'],
    [['jobs', 'reschedule', 'job_a'], 'usage'],
    [['jobs', 'ls', '--store', 'nonsense'], 'unknown_store'],
  ];
  await Promise.all(
    cases.map(async ([args, expected]) => {
      const { code, err } = await folder.duly(...args, '-o', 'json');
      assert.equal(JSON.parse(err).error.code, expected, `${args.join(' ')}: ${err}`);
      assert.equal(code, 2, args.join(' '));
    }),
  );
  const large = await folder.dulyWithInput(JSON.stringify('x'.repeat(2 ** 20)), 'run', 'a', '-');
  assert.equal(large.code, 2);
  assert.match(large.err, /^(warning: .*\n)*error\[input_too_large\]/);
  assert.deepEqual((await folder.json('jobs', 'ls')).data, []);
});

test('commands that look say that there is no store instead of making one', async (t) => {
  const folder = createFolder(t);
  for (const args of [
    ['jobs', 'ls'],
    ['dead', 'ls'],
    ['why', 'job_a'],
    ['queues'],
    ['nodes'],
    ['locks', 'ls'],
    ['pause', 'all'],
  ]) {
    const { code, err } = await folder.duly(...args);
    assert.equal(code, 5, args.join(' '));
    assert.match(
      err,
      /^error\[store_not_found\]: There is no store at "\.\/duly\.db" in ".*"\.\nhint: Start one with /,
    );
  }
  assert.ok(!existsSync(join(folder.path, 'duly.db')));
  for (const args of [['jobs', 'ls'], ['run', 'a'], ['migrate']]) {
    const memory = await folder.duly(...args, '--store', 'sqlite::memory:');
    assert.equal(memory.code, 5, args.join(' '));
    assert.match(
      memory.err,
      /^error\[store_not_found\]: A store in memory is seen only by the process that created it/,
    );
  }
  writeFileSync(join(folder.path, 'empty.db'), '');
  const empty = await folder.duly('jobs', 'ls', '--store', 'sqlite:empty.db');
  assert.equal(empty.code, 5);
  assert.match(
    empty.err,
    /^error\[store_not_found\]: .*: the file is empty\.\nhint: .* up --store sqlite:empty\.db"/,
  );
  assert.equal(statSync(join(folder.path, 'empty.db')).size, 0);
  const nowhere = await folder.duly('run', 'a', '--store', 'sqlite:none/a.db');
  assert.equal(nowhere.code, 5);
  assert.match(
    nowhere.err,
    /^error\[store_unavailable\]: There is no folder ".*none" for the store "none\/a\.db"\./,
  );
  const directory = await folder.duly('run', 'a', '--store', 'sqlite:.');
  assert.match(directory.err, /^error\[store_unavailable\]: "\." is a folder; a store is a file\./);
});

test('options that all commands have are taken before the command too', async (t) => {
  const folder = createFolder(t);
  await folder.duly('--store', 'sqlite:./own.db', 'run', 'a');
  const listed = await folder.duly('-o', 'json', 'jobs', '--store', 'sqlite:./own.db', 'ls');
  assert.equal(JSON.parse(listed.out).data[0].type, 'a');
  const nearest = await folder.duly(
    '--store',
    'sqlite:./none.db',
    'jobs',
    'ls',
    '--store',
    'sqlite:./own.db',
  );
  assert.equal(nearest.code, 0, nearest.err);
  const checked = await folder.json('migrate', '--store', 'sqlite:./own.db');
  assert.equal(checked.schema, checked.known_schema);
  const newer = new DatabaseSync(join(folder.path, 'own.db'));
  newer.exec(`UPDATE meta SET value = ${checked.schema + 1} WHERE key = 'schema_version'`);
  newer.close();
  const migrated = await folder.duly('migrate', '--store', 'sqlite:./own.db');
  assert.match(
    migrated.out,
    new RegExp(`schema ${checked.schema + 1}, newer than this version's ${checked.schema},`),
  );
});

test('migrate status tells what is missing and creates nothing', async (t) => {
  const folder = createFolder(t);
  const before = await folder.json('migrate', 'status');
  assert.deepEqual([before.schema, before.serves, before.steps[0]], [0, true, 'initial']);
  const reported = await folder.duly('migrate', 'status');
  assert.match(
    reported.out,
    /no schema yet; \d+ steps? (is|are) missing to \d+: initial.*\nTo do it: .* migrate\n/,
  );
  assert.ok(!existsSync(join(folder.path, 'duly.db')));
  const created = await folder.json('migrate');
  assert.deepEqual(
    [created.created, created.schema, created.steps],
    [true, before.known_schema, before.steps],
  );
  assert.deepEqual((await folder.json('migrate')).created, false);
  const after = await folder.json('migrate', 'status');
  assert.deepEqual([after.schema, after.steps], [before.known_schema, []]);
  const newer = new DatabaseSync(join(folder.path, 'duly.db'));
  newer.exec("UPDATE meta SET value = 99 WHERE key IN ('schema_version', 'lowest_schema')");
  newer.close();
  const { serves, lowest_code: lowest, code } = await folder.json('migrate', 'status');
  assert.deepEqual([serves, lowest, code], [false, 99, before.known_schema]);
  const refused = await folder.duly('migrate');
  assert.equal(refused.code, 5);
  assert.match(refused.err, /^error\[schema_too_new\]/);
});

test('a store that cannot be used is refused with a code and left as it is', async (t) => {
  const folder = createFolder(t);
  writeFileSync(
    join(folder.path, 'text.db'),
    'This is a text and no database, however long it is.'.repeat(50),
  );
  const other = new DatabaseSync(join(folder.path, 'other.db'));
  other.exec('CREATE TABLE customers (id INTEGER)');
  other.close();
  const cases: [string, string][] = [
    ['sqlite:text.db', 'store_not_a_database'],
    ['sqlite:other.db', 'store_not_a_database'],
    ['sqlite:.', 'store_unavailable'],
    ['redis://localhost', 'engine_not_yet'],
    ['postgres://127.0.0.1:1/a', 'store_unavailable'],
  ];
  for (const [store, expected] of cases) {
    for (const args of [
      ['jobs', 'ls'],
      ['run', 'a'],
      ['up', '--demo'],
    ]) {
      const { code, out, err } = await folder.duly(...args, '--store', store, '-o', 'json');
      const errors = err
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .filter((line) => 'error' in line);
      assert.equal(errors[0]?.error.code, expected, `${args.join(' ')} --store ${store}: ${out}${err}`);
      assert.equal(code, 5);
    }
  }
});

/** Whether a user who owns nothing here may reach a file: every folder above it lets others through. */
function isOpenToOthers(path: string): boolean {
  const folder = dirname(path);
  return (statSync(folder).mode & 0o001) !== 0 && (folder === path || isOpenToOthers(folder));
}

test('a store that may only be read is refused', async (t) => {
  if (process.getuid?.() === 0 && !isOpenToOthers(process.execPath)) {
    t.skip('Root may write everything, and nobody else may enter the folder that this repository is in.');
    return;
  }
  const folder = createFolder(t);
  await folder.duly('migrate');
  const file = join(folder.path, 'duly.db');
  chmodSync(file, 0o444);
  chmodSync(folder.path, 0o555);
  // Root may write everything, so root asks somebody else to try.
  if (process.getuid?.() === 0) folder.uid = 65_534;
  for (const args of [
    ['run', 'a'],
    ['jobs', 'ls'],
    ['up', '--demo'],
  ]) {
    const { code, err } = await folder.duly(...args);
    assert.equal(code, 5);
    assert.match(err, /^error\[store_read_only\]: The database file "\.\/duly\.db" cannot be written\./);
  }
  chmodSync(folder.path, 0o755);
});

test('help and version need no store and end with 0; a noun without a verb ends with 2', async (t) => {
  const folder = createFolder(t);
  assert.match((await folder.duly('--version')).out, /^\d+\.\d+\.\d+\n$/);
  for (const args of [
    [],
    ['--help'],
    ['help'],
    ['jobs', '--help'],
    ['help', 'run'],
    ['jobs', 'ls', '--help'],
  ]) {
    const { code, out, err } = await folder.duly(...args);
    assert.equal(code, 0, args.join(' '));
    assert.match(out, /^Usage: duly/);
    assert.doesNotMatch(out, /default: ["[]/);
    assert.equal(err, '');
  }
  const noun = await folder.duly('jobs');
  assert.equal(noun.code, 2);
  assert.match(noun.err, /^Usage: duly jobs/);
});

// Prints every module of the library that is loaded, except the lists of words that options accept.
const reportsCore = `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => {
  const words = /\\/core\\/src\\/(contract\\/(browser|job-status|key-scopes|policy-modes)|base\\/nearest)\\.ts$/;
  if (url.includes('/packages/core/') && !words.test(url)) process.stderr.write(url + '\\n');
  return next(url, context);
} });`;

test('help and version load nothing of the library; help of a command is that of its innermost word', async (t) => {
  const folder = createFolder(t);
  folder.env.NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(reportsCore)}`;
  for (const args of [
    ['--help'],
    ['help'],
    ['help', 'jobs', 'ls'],
    ['jobs', 'ls', '--help'],
    ['--version'],
  ]) {
    const { code, err } = await folder.duly(...args);
    assert.deepEqual({ code, err }, { code: 0, err: '' }, args.join(' '));
  }
  const { out } = await folder.duly('help', 'jobs', 'ls');
  assert.match(out, /^Usage: duly jobs ls/);
  // It is told where it is loaded.
  assert.match((await folder.duly('jbos')).err, /packages\/core\/src\/index\.ts/);
});

test('colours come only when they are forced, off a terminal, and never with NO_COLOR', async (t) => {
  const folder = createFolder(t);
  await folder.duly('run', 'a');
  assert.ok(!(await folder.duly('jobs', 'ls')).out.includes('\u001b'));
  folder.env = { FORCE_COLOR: '1' };
  assert.ok((await folder.duly('jobs', 'ls')).out.includes('\u001b'));
  folder.env = { FORCE_COLOR: '1', NO_COLOR: '1' };
  assert.ok(!(await folder.duly('jobs', 'ls')).out.includes('\u001b'));
});
