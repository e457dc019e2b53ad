// The commands of this folder, called as people call them.
import assert from 'node:assert/strict';
import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { joinNegatives } from '../arguments.ts';
import { repeatCommand } from '../chaos/report.ts';
import { exerciseNames, invariants } from '../checker/index.ts';
import { playRange, type RangeOptions } from '../simulation/play-range.ts';
import { drawScript } from '../simulation/script.ts';
import { createSeedProgress } from '../simulation/seed-progress.ts';
import { readStoredScript, storeScript } from '../simulation/stored-script.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

function call(file: string, ...args: string[]): { status: number | null; out: string; err: string } {
  const path = pathOf(file);
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path, ...args],
    options,
  );
  return { status, out: stdout, err: stderr };
}

for (const [file, name] of [
  ['simulate.ts', 'simulate'],
  ['chaos/run.ts', 'chaos'],
  ['soak/run.ts', 'soak'],
] as const) {
  test(`npm run ${name}: --help says how to call it, and what is not understood is refused with it`, () => {
    const help = call(file, '--help');
    assert.equal(help.status, 0, help.err);
    assert.match(help.out, new RegExp(`^Usage: npm run ${name} -- `));
    const unknown = call(file, '--bogus');
    assert.equal(unknown.status, 2);
    assert.match(unknown.err, /--bogus[\s\S]*Usage: npm run /);
    const wrong = call(file, '--seed', '1.5');
    assert.equal(wrong.status, 2);
    assert.match(wrong.err, /Expected --seed to be a whole number from 0 up, got "1\.5"\./);
  });
}

test('npm run simulate refuses what does not go together, and plays what it is asked for', () => {
  assert.match(call('simulate.ts', '--trace').err, /Expected --seed with --trace/);
  assert.match(call('simulate.ts', '--afresh').err, /Expected --mutations with --afresh/);
  assert.match(call('simulate.ts', '--seed', '3', '--seeds', '4').err, /Expected one of/);
  assert.match(call('simulate.ts', '--seeds', '0').err, /Expected --seeds to be a whole number from 1 up/);
  assert.match(
    call('simulate.ts', '--seeds', '-1').err,
    /^Expected --seeds to be a whole number from 1 up, got "-1"/,
  );
  assert.match(call('simulate.ts', '--seed', '3', '--keep-going').err, /Expected --seeds with --keep-going/);
  assert.match(
    call('simulate.ts', '--until-failure', '--seeds', '4').err,
    /^Expected --until-failure with --from and --jobs only/,
  );
  assert.match(call('simulate.ts', '--seed', '3', '--coverage').err, /Expected --seeds with --coverage/);
  const speed = 'played in [\\d.]+ s: [\\d.]+ seeds per second, [\\d.]+ ms of CPU time per seed\\.\n$';
  const fresh = call('simulate.ts', '--seeds', '1').out;
  assert.match(
    fresh,
    new RegExp(`^1 seeds? from (\\d+)\\.\n1 seed from \\1: every promise kept\\.\n1 ${speed}`),
  );
  const played = call('simulate.ts', '--seeds', '3', '--from', '7', '--jobs', '2');
  assert.equal(played.status, 0, played.err);
  assert.match(played.out, new RegExp(`^3 seeds from 7: every promise kept\\.\n3 ${speed}`));
  assert.match(call('simulate.ts', '--seed', '5', '--trace').out, /\nSeed 5: \d+ events, .* kept\.\n$/);
});

test('npm run simulate plays a stored script, and refuses a file that is none', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-script-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const stored = {
    invariant: 'one-lease',
    seed: 5,
    foundAt: '2026-01-01T00:00:00.000Z',
    script: drawScript(5),
  };
  storeScript(stored, folder);
  const path = join(folder, 'one-lease-5.json');
  const [fromScript, fromSeed] = [
    call('simulate.ts', '--script', path, '--trace'),
    call('simulate.ts', '--seed', '5', '--trace'),
  ];
  assert.equal(fromScript.status, 0, fromScript.err);
  assert.equal(fromScript.out.replace(path, 'Seed 5'), fromSeed.out);
  const refusals: [string, unknown, RegExp, ...string[]][] = [
    ['null', null, /^Expected ".*" to be an object, got null\.\nUsage: /],
    [
      'an engine',
      { ...stored, engine: 'mysql' },
      /^Expected engine in ".*" to be one of sqlite, postgres, got /,
    ],
    [
      'steps',
      { ...stored, script: { ...stored.script, steps: 'x' } },
      /^Expected script\.steps in ".*" to be a list/,
    ],
    [
      'a contradiction',
      { ...stored, engine: 'postgres' },
      /^Expected --engine postgres, as in ".*", got "sqlite"\.\n/,
      ...['--engine', 'sqlite'],
    ],
  ];
  for (const [name, content, message, ...args] of refusals) {
    writeFileSync(path, JSON.stringify(content));
    const { status, out, err } = call('simulate.ts', '--script', path, ...args);
    assert.deepEqual([status, out], [2, ''], `${name}: ${err}`);
    assert.match(err, message);
  }
});

test('npm run simulate refuses an unknown engine before it prints anything', () => {
  const { status, out, err } = call('simulate.ts', '--engine', 'mysql', '--seeds', '3');
  assert.deepEqual([status, out], [2, ''], err);
  assert.match(err, /^Expected --engine sqlite or --engine postgres\.\nUsage: /);
});

test('npm run simulate --until-failure ends at SIGINT with a summary', async (t) => {
  const args = [
    '--disable-warning=ExperimentalWarning',
    pathOf('simulate.ts'),
    '--until-failure',
    '--jobs',
    '1',
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let out = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    if (out === '') child.kill('SIGINT');
    out += text;
  }
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 130, out);
  assert.match(out, /^Seeds from (\d+) until one fails\.\nNo failure from seed \1 on\.\n\d+ played in /);
});

test('npm run simulate --coverage prints how often each invariant was exercised, the rarest first', () => {
  const { status, out, err } = call(
    'simulate.ts',
    '--coverage',
    '--seeds',
    '3',
    '--from',
    '7',
    '--jobs',
    '1',
  );
  assert.equal(status, 0, err);
  assert.match(out, /^3 seeds from 7: every promise kept\.\ninvariant +seeds +% +per seed\n/);
  assert.match(out, /^comes-to-rest +3 +100\.0 +1\.00$/m);
  assert.match(out, /^outcome-follows: \S+ +0 +0\.0 +0\.00 {2}below 1 %$/m);
  const rows = out.split('\n').filter((line) => / \d+\.\d +\d+\.\d\d/.test(line));
  assert.equal(rows.length, invariants.flatMap(exerciseNames).length);
  const seedCounts = rows.map((row) => Number(/ (\d) +\d+\.\d /.exec(row)?.[1]));
  assert.deepEqual(seedCounts, [...seedCounts].sort());
});

/** Plays a range with processes that report every multiple of `failingEvery` as failing. */
async function playFake(t: TestContext, failingEvery: number, options: Omit<RangeOptions, 'program'>) {
  return playProgram(
    t,
    `process.on('message', ({ from, count }) => {
      for (let seed = from; seed < from + count; seed++) {
        const broken = seed % ${failingEvery} === 0 ? [{ invariant: 'one-lease', message: 'x' }] : [];
        process.send({ seed, broken, headline: '', cpuMs: 1 });
      }
    });`,
    options,
  );
}

async function playProgram(t: TestContext, source: string, options: Omit<RangeOptions, 'program'>) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-seeds-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'program.mjs');
  writeFileSync(program, source);
  return playRange({ ...options, program });
}

test('a range stops at its lowest failing seed, or plays on, and a process that dies is reported', async (t) => {
  const range = { from: 101, count: 400, jobs: 3 };
  const stopped = await playFake(t, 77, range);
  assert.equal(stopped.failures[0]?.seed, 154);
  assert.ok(stopped.playedCount < 400, `${stopped.playedCount} played`);
  const whole = await playFake(t, 77, { ...range, keepGoing: true });
  assert.deepEqual(
    whole.failures.map(({ seed }) => seed),
    [154, 231, 308, 385, 462],
  );
  assert.equal(whole.playedCount, 400);
  assert.deepEqual((await playFake(t, 1_000, range)).failures, []);
  await assert.rejects(playProgram(t, 'process.exit(3)', range), /ended with exit code 3/);
});

/** A module that a process loads before its program: one more invariant of the checker, which judges as this body says. */
function writeInvariant(folder: string, body: string, checker = pathOf('checker/index.ts')): string {
  const path = join(folder, 'invariant.mjs');
  const source = `import { invariants } from ${JSON.stringify(pathToFileURL(checker).href)};
    invariants.push({ name: 'one-lease', promise: '', check() { ${body} } });`;
  writeFileSync(path, source);
  return path;
}

test('a process that plays seeds ends in silence when its parent is gone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-orphan-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // It stands still until the parent is surely gone, and has not noticed that when it reports.
  const body = `
    process.getBuiltinModule('fs').writeSync(1, 'played');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    return [];`;
  const child = fork(pathOf('simulation/seed-process.ts'), ['sqlite'], {
    execArgv: ['--disable-warning=ExperimentalWarning', '--import', writeInvariant(folder, body)],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  child.stdout?.once('data', () => child.disconnect());
  child.send({ from: 1, count: 2 });
  const [err] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'exit')]);
  assert.deepEqual([child.exitCode, err], [0, '']);
});

const broken = `return [{ message: 'a test says so', subjects: [] }];`;

/** Calls simulate.ts in a copy of this folder, whose checker finds a violation in every world, and where nothing is stored yet. */
function copyOfSimulate(t: TestContext, body = broken) {
  const folder = mkdtempSync(join(tmpdir(), 'duly-until-failure-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const isCopied = (path: string): boolean => ![pathOf('regressions'), pathOf('test')].includes(path);
  cpSync(pathOf('.'), join(folder, 'proof'), { recursive: true, filter: isCopied });
  for (const name of ['packages', 'node_modules', 'test', 'package.json'])
    symlinkSync(pathOf(`../${name}`), join(folder, name));
  const module = pathToFileURL(writeInvariant(folder, body, join(folder, 'proof/checker/index.ts')));
  const simulate = (...args: string[]) =>
    spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'proof/simulate.ts', ...args], {
      ...{ cwd: folder, encoding: 'utf8', timeout: 60_000 },
      env: { ...process.env, NODE_OPTIONS: `--import ${module.href}` },
    });
  return { folder, simulate };
}

const untilFailure = ['--until-failure', '--from', '5', '--jobs', '1'] as const;
const storedFile = 'proof/regressions/one-lease-5.json';

test('npm run simulate --until-failure stores what it found, with the command that plays it and its entries', (t) => {
  const { folder, simulate } = copyOfSimulate(t);
  const { status, stdout, stderr } = simulate(...untilFailure);
  assert.equal(status, 1, stderr);
  assert.match(stdout, /^\d+ played in /);
  const again = `Play it again: npm run simulate -- --script ${storedFile} --trace`;
  const [headline, told = '', entries = ''] = stderr.split(/^(?:The same with|Until it is fixed, .*:$)/m);
  assert.equal(
    headline,
    'Seed 5 breaks 1 promise:\n  one-lease: a test says so\nPlay it again: npm run simulate -- --seed 5 --trace\n',
  );
  assert.match(told, /^ 0 of \d+ steps \(3 nodes, lease \d+ ms\):\n {2}one-lease: a test says so\n/);
  assert.ok(told.endsWith(`\nWrote ${storedFile}. ${again}\n`), told);
  const stored = readStoredScript(join(folder, storedFile));
  assert.deepEqual([stored.invariant, stored.engine, stored.script.steps], ['one-lease', undefined, []]);
  const date = stored.foundAt.slice(0, 10);
  assert.deepEqual(JSON.parse(entries), [{ script: storedFile, invariant: 'one-lease', date }]);
  const played = simulate('--script', storedFile);
  assert.equal(played.status, 1);
  assert.ok(
    played.stderr.startsWith(`${storedFile} breaks 1 promise:\n  one-lease: a test says so\n${again}\n`),
    played.stderr,
  );
});

test('npm run simulate --until-failure prints what it found where it cannot store it', (t) => {
  const { folder, simulate } = copyOfSimulate(t);
  writeFileSync(join(folder, 'proof/regressions'), '');
  const { status, stderr } = simulate(...untilFailure);
  assert.equal(status, 1, stderr);
  assert.match(stderr, /\nThe same with 0 of \d+ steps /);
  const told = `\nExpected ${storedFile} to be a file that can be written. EEXIST`;
  const [, json = ''] = /^Save the next line as that file\. Play it again: .*\n(.*)$/m.exec(stderr) ?? [];
  assert.ok(stderr.includes(told), stderr);
  assert.doesNotMatch(stderr, /^ {4}at /m);
  assert.match(stderr, /"script": "proof\/regressions\/one-lease-5\.json"/);
  const path = join(folder, 'saved.json');
  writeFileSync(path, json);
  assert.equal(readStoredScript(path).invariant, 'one-lease');
});

test('npm run simulate --until-failure stops shrinking at SIGINT and stores what it has', (t) => {
  // Once, when the process that shrinks plays the world again: a second signal would end it on the spot.
  const interrupt = `
    const isFirst = process.send === undefined && globalThis.isInterrupted !== true;
    globalThis.isInterrupted = true;
    if (isFirst) process.kill(process.pid, 'SIGINT');`;
  const { folder, simulate } = copyOfSimulate(t, `${interrupt} ${broken}`);
  const { status, stderr } = simulate(...untilFailure);
  assert.equal(status, 130, stderr);
  assert.match(stderr, /^The same with \d+ of \d+ steps \(.* ms; shrinking was interrupted\):$/m);
  assert.ok(stderr.includes(`\nWrote ${storedFile}. `), stderr);
  assert.ok(readStoredScript(join(folder, storedFile)).script.steps.length > 0);
});

test('a number below zero is put to the option that awaits it, and nothing else is', () => {
  const options = { seed: { type: 'string' }, trace: { type: 'boolean' } } as const;
  for (const [args, expected] of [
    [['--seed', '-1'], ['--seed=-1']],
    [
      ['--seed', '-.5', '--trace'],
      ['--seed=-.5', '--trace'],
    ],
    [
      ['--trace', '-1'],
      ['--trace', '-1'],
    ],
    [
      ['--seed', '--trace'],
      ['--seed', '--trace'],
    ],
    [
      ['--seed=2', '-1'],
      ['--seed=2', '-1'],
    ],
  ] as const)
    assert.deepEqual(joinNegatives(args, options), expected);
});

test('the progress of npm run simulate is shown from the first seed on, on a terminal only, and taken away', () => {
  for (const isTTY of [true, false]) {
    const lines: string[] = [];
    const progress = createSeedProgress(3, { isTTY, write: (text) => lines.push(text) });
    progress.step();
    progress.end();
    assert.deepEqual(
      lines.map((line) => line.replace('\u001b[2K', '')),
      isTTY ? ['0 of 3\r', '1 of 3\r', '\r'] : [],
    );
  }
});

test('npm run soak refuses a file that it could not write before it runs', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-soak-json-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const refused = call('soak/run.ts', '--minutes', '10', '--json', join(folder, 'nowhere', 'soak.json'));
  assert.equal(refused.status, 2);
  assert.equal(refused.out, '');
  assert.match(refused.err, /^Expected --json to be a file that can be written, got ".*soak\.json"\. ENOENT/);
  assert.doesNotMatch(refused.err, /^ {4}at /m);
  assert.deepEqual(readdirSync(folder), []);
});

test('a soak that is ended by a signal keeps its samples and leaves nothing else behind', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-interrupted-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const json = join(folder, 'soak.json');
  const args = ['--expose-gc', pathOf('soak/run.ts'), '--minutes', '10', '--json', json];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  });
  t.after(() => child.kill('SIGKILL'));
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  const watcher = watch(folder, (_kind, name) => {
    if (!name?.startsWith('duly-soak-')) return;
    // A second signal would end it on the spot.
    watcher.close();
    child.kill('SIGINT');
  });
  t.after(() => watcher.close());
  await once(child, 'close');
  assert.equal(child.exitCode, 130, err);
  assert.match(err, /^Ended by SIGINT before its time/m);
  assert.deepEqual(readdirSync(folder), ['soak.json']);
  assert.equal(JSON.parse(readFileSync(json, 'utf8')).verdict, 'too short to tell');
});

test('npm run chaos refuses what it cannot do in a sentence', () => {
  for (const [args, expected] of [
    [['--only', '('], /^Expected --only to be a regular expression\. .*\/\(\/.*\nUsage: /],
    [
      ['--only', 'nosuchfault'],
      /^Expected --only to match at least one fault, got "nosuchfault"\. The faults are:\n(?: {2}.+\n)* {2}full disk\n/,
    ],
    [
      ['--engine', 'postgres', '--mutations', '--only', 'nosuchdefect'],
      /^Expected --only to match at least one defect, got "nosuchdefect"\. The defects are:\n {2}/,
    ],
    [['--pooler'], /^Only --engine postgres has a pooler\.\nUsage: /],
  ] as const) {
    const { status, out, err } = call('chaos/run.ts', ...args);
    assert.equal(status, 2, err);
    assert.equal(out, '');
    assert.match(err, expected);
    assert.doesNotMatch(err, /^ {4}at /m);
  }
  assert.match(call('chaos/run.ts', '--help').out, /at least once, however few the minutes/);
});

test('npm run failover prints its options, and refuses what it cannot play before it starts a server', (t) => {
  const file = 'chaos/engines/postgres/failover.ts';
  const help = call(file, '--help');
  assert.equal(help.status, 0, help.err);
  assert.match(help.out, /^Usage: npm run failover -- [\s\S]*--out FILE/);
  const folder = mkdtempSync(join(tmpdir(), 'duly-failover-json-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [args, expected] of [
    [['--bogus'], /--bogus[\s\S]*Usage: npm run failover/],
    [['--only', 'kill'], /^Expected --only to be one of schedules, promotion, got "kill"\.\nUsage: /],
    [['--rounds', '0'], /^Expected --rounds to be a whole number from 1 up, got "0"\.\n/],
    [['--schedules', '1.5'], /^Expected --schedules to be a whole number from 1 up, got "1\.5"\.\n/],
    [
      ['--out', join(folder, 'nowhere', 'failover.json')],
      /^Expected --out to be a file that can be written, /,
    ],
  ] as const) {
    const { status, out, err } = call(file, ...args);
    assert.deepEqual([status, out], [2, ''], err);
    assert.match(err, expected);
  }
});

test('the command that repeats a chaos run tells all that it was told', () => {
  const reported = { engine: 'postgres --pooler', minutes: 2, seed: 7, only: "a node's|kill" };
  const expected = `npm run chaos -- --engine postgres --pooler --minutes 2 --seed 7 --only 'a node'\\''s|kill'`;
  assert.equal(repeatCommand(reported), expected);
  assert.equal(
    repeatCommand({ ...reported, engine: 'sqlite', only: null }),
    'npm run chaos -- --engine sqlite --minutes 2 --seed 7',
  );
});

test('a chaos run that is ended by a signal leaves nothing behind', async (t) => {
  if (process.platform !== 'linux') return t.skip('the faults of a chaos run are created for Linux');
  const folder = mkdtempSync(join(tmpdir(), 'duly-interrupted-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const args = [pathOf('chaos/run.ts'), '--minutes', '10', '--only', 'kill -9 at random'];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  });
  t.after(() => child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  for await (const text of child.stdout.setEncoding('utf8')) {
    if (!out.includes(' s  kill -9') && `${out}${text}`.includes(' s  kill -9')) child.kill('SIGTERM');
    out += text;
  }
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 143, `${out}\n${err}`);
  assert.match(err, /^Ended by SIGTERM\. /);
  assert.deepEqual(readdirSync(folder), []);
  assert.ok(!readFileSync('/proc/mounts', 'utf8').includes(folder));
});
